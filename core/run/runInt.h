/* Private to core/run: what task.c, run.c, phase.c, pool.c, barrier.c and publish.c share. */
#ifndef SLUICE_RUN_RUNINT_H
#define SLUICE_RUN_RUNINT_H

#include "run/pool.h"
#include "run/run.h"

sluice_status task_key(const struct run *, uint32_t phase, uint32_t task, struct hash128 *key,
                       struct sluice_error *) MUST_USE;
/* Which slices of an edge an OP_LOAD reads for a task. */
struct slice_range {
    uint32_t first_task, n_tasks, partition;
    bool active;
};
struct slice_range task_slices(const struct run *, const struct phase *, const struct op *load,
                               uint32_t task);
/* What a done task stored of an edge. */
const struct edge_directory *task_directory(const struct run *, const struct plan_edge *,
                                            uint32_t task);
/* What an OP_LOAD reads for a task, of which the producers are done; hasher is used. */
struct hasher;
struct hash128 task_load_hash(const struct run *, const struct phase *, const struct op *load,
                              uint32_t task, struct hasher *);
/* The lane of whose splits the task reads one, and which; NULL: it reads stored rows alone. */
const struct lane *task_reads(const struct phase *, uint32_t task, uint32_t *index);
/* Whether all stored rows that a task loads are there. */
bool task_ready(const struct run *, uint32_t phase, uint32_t task);
/* What is done to know what a split holds: nothing but remembering; taking in what other processes
 * found meanwhile, too; reading it where that may save the task; reading it. */
enum key_effort { KEY_RECALL, KEY_SHARE, KEY_DOUBT, KEY_READ };
/* Sets the key of a task whose loads are there, unless it reads a split of which nobody knows what
 * it holds: then it stays unkeyed. */
sluice_status task_try_key(struct run *, uint32_t phase, uint32_t task, enum key_effort,
                           struct sluice_error *) MUST_USE;
/* Looks for a valid commit of a keyed task; makes the task done when there is one. old: it may be
 * from before this process began, so that its files must be vouched for; else their sizes do. */
sluice_status task_find(struct run *, uint32_t phase, uint32_t task, bool old,
                        struct sluice_error *) MUST_USE;

/* done.c: "RUN/tasks/PHASE"; given. */
sluice_status phase_folder(const struct run *, uint32_t phase, char **out,
                           struct sluice_error *) MUST_USE;
/* Takes commit; makes the task done. */
sluice_status task_adopt(struct run *, uint32_t phase, uint32_t task, struct commit *commit,
                         bool reused, struct sluice_error *) MUST_USE;

/* publish_join.c: joins the small files of a writer that wants it; *snapshot, which has its shards,
 * becomes one that has the joined ones and their lineage. */
sluice_status run_join(const struct run *, const struct op *writer, struct snapshot **snapshot,
                       struct sluice_error *) MUST_USE;

/* publish_put.c: whether the newest snapshot is the one of this number, which is carried on;
 * publishing the same files once more is no news. SLUICE_E_CONFIG: it is another. */
sluice_status run_check_newest(const struct op *writer, uint32_t number, const struct snapshot *,
                               struct sluice_error *) MUST_USE;
/* publish_put.c: all of a snapshot but its shards, owner and what it has of others: files that
 * formats want beside the shards, lineage (which may have what was joined), notes, ledger. */
sluice_status run_dress(const struct run *, const struct op *writer, struct snapshot *,
                        struct sluice_error *) MUST_USE;
/* Publishes it, and says what there is to say. */
sluice_status run_put_snapshot(struct run *, const struct op *writer, struct snapshot *,
                               struct run_published *, struct sluice_error *) MUST_USE;

/* publish_append.c: publishes the run's rows, whose shards `own` has, behind those of the newest
 * snapshot, unless that has them. */
sluice_status run_append(struct run *, uint32_t phase, const struct op *writer,
                         const struct snapshot *own, struct run_published *,
                         struct sluice_error *) MUST_USE;
/* append_check.c: no file comes twice (`files` as in store/appends.h); what stages say of the rows
 * that are there they say of the next ones. */
sluice_status append_check_files(const struct op *writer, const struct snapshot *newest,
                                 const json_t *files, struct sluice_error *) MUST_USE;
sluice_status append_check_notes(const struct op *writer, const struct snapshot *newest,
                                 const struct snapshot *next, struct sluice_error *) MUST_USE;
/* What it would refuse is refused before any work is done, as far as it is known by then. newest:
 * of the writer's dataset, or NULL. */
sluice_status run_append_check(const struct run *, const struct op *writer,
                               const struct snapshot *newest, struct sluice_error *) MUST_USE;
/* Whether no input file feeds it. */
bool run_append_empty(const struct run *, const struct op *writer);
/* Notes which files a snapshot was made of whose rows do not come behind the newest one's: it is
 * the first, or carries the parent on (0: none). */
sluice_status run_append_note(struct run *, uint32_t phase, const struct op *writer,
                              uint32_t parent, struct snapshot *, struct sluice_error *) MUST_USE;

/* owners.c: whose the snapshot of a writer's dataset will be. */
sluice_status run_own(const struct run *, const struct op *writer, struct snapshot *,
                      struct sluice_error *) MUST_USE;
/* Refuses, before any work is done, to write datasets of others, unless the run takes them over. */
sluice_status run_check_owners(const struct run *, struct sluice_error *) MUST_USE;

/* finish.c: joins the execution of the plan that is under way; begin: begins one if there is
 * none. */
sluice_status finish_join(struct run *, bool begin, struct sluice_error *) MUST_USE;

/* For who only looks at a frozen plan: run->execution becomes that of its last execution, whose
 * word on what files held is good, as they are those that were listed. */
void finish_look(struct run *);
/* Joins the execution under way, or begins one, and opens its log of attempts if it is not open. */
sluice_status run_attempts(struct run *, struct sluice_error *) MUST_USE;
/* retry.c: what becomes of a failure; final and delay_ns are set. count: with it; n_given_up: tasks
 * of the phase. Another status: the phase ends with it. */
sluice_status retry_decide(const struct run *, uint32_t phase, const struct trouble_count *,
                           size_t n_given_up, struct trouble *, struct sluice_error *) MUST_USE;

/* How many records of a phase there are; 0 where that can't be told. */
size_t run_records(const struct run *, uint32_t phase);
bool run_cancelled(const struct run *);
/* For source_files_watch; ctx: the run. SLUICE_E_NOMEM, with the number: there is not as much. */
sluice_status run_decoding(void *ctx, uint64_t window, struct sluice_error *) MUST_USE;
/* What each sorter of a task that begins now may use. */
uint64_t run_sorter_memory(struct run *, uint32_t phase);
/* For people; on the run's thread or one of its workers. */
void run_warn(const struct run *, const char *message);
/* The words for a run that was asked to stop. */
sluice_status run_stopped(struct sluice_error *) MUST_USE;

#endif
