/* The output files of one writer in one task: host-owned, compressed, append-only, named from the
 * task key and an ordinal when they are published. Depends on store. One thread. */
#ifndef SLUICE_RUN_SHARDS_H
#define SLUICE_RUN_SHARDS_H

#include "plan/plan.h"
#include "store/outcodec.h"

struct shard {
    char *file;       /* stored name, once published; owned */
    uint32_t output;  /* kind of output: 0.. */
    uint32_t ordinal; /* files of one ordinal belong together (.bin and .idx) */
    uint64_t rows;
    uint64_t raw_bytes; /* before compression */
    struct published published;
};

struct shards;

/* The dataset's folder and data/ are made. */
sluice_status shards_open(const struct op *writer, struct shards **out,
                          struct sluice_error *) MUST_USE;
void shards_destroy(struct shards *); /* abandons what is not published */

/* For files of partitions, of which many are open: they share compressors, and each MiB of a file
 * is a frame (a gzip member) of its own. codecs outlive the shards; `beside`: how
 * many others the task has. */
struct shards_codecs;
sluice_status shards_codecs_create(const struct op *writer, struct shards_codecs **out,
                                   struct sluice_error *) MUST_USE;
void shards_codecs_destroy(struct shards_codecs *); /* NULL is fine */
sluice_status shards_open_sharing(const struct op *writer, struct shards_codecs *, uint32_t beside,
                                  struct shards **out, struct sluice_error *) MUST_USE;

/* Applies what a writer's call gave: bytes and rolls in order. */
sluice_status shards_apply(struct shards *, const struct stage_result *,
                           struct sluice_error *) MUST_USE;
/* Rows that went to the writer (before shards_apply of the same call). */
void shards_rows(struct shards *, uint64_t rows);
/* The current ordinal and the number of rows given to it, for tracing. */
uint32_t shards_ordinal(const struct shards *);
uint64_t shards_ordinal_rows(const struct shards *);
/* Saves the files so far, ended and open; restores them in shards that were just opened. */
struct saved;
struct restored;
sluice_status shards_save(struct shards *, struct saved *, struct sluice_error *) MUST_USE;
sluice_status shards_restore(struct shards *, struct restored *, struct sluice_error *) MUST_USE;
/* Ends the open files; after the writer's flush. */
sluice_status shards_finish(struct shards *, struct sluice_error *) MUST_USE;
/* Syncs the files and gives them their names, "KEY24-ORDINAL-HASH12.jsonl.zst"; the folder is
 * synced when they become a snapshot. */
sluice_status shards_publish(struct shards *, struct hash128 key, struct sluice_error *) MUST_USE;
/* After shards_finish: ordinals begin at `first` instead of 0. The one behind the last. */
uint32_t shards_number(struct shards *, uint32_t first);
const struct shard *shards_items(const struct shards *, uint32_t *n);

#endif
