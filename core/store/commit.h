/* Task commit records: `tasks/PHASE/KEY.json`, put if absent, one a finished task. A record says
 * what the task was (key and what went into it), what it made (files, sizes, rows, hashes) and what
 * it counted (ledger, gate states, notes).
 *
 * Records hold no times, hosts, absolute paths or worker counts, so that two runs of one task write
 * equal ones; nor what a task is called, since any with the same key may have made it. Each is a
 * line of JSON with sorted keys that begins with {"check":"…", the XXH3-128 of all bytes behind it:
 * one that was damaged or edited is not believed. Depends on disk, pending, vouch, jansson. A
 * record is not thread-safe; functions on different records are. */
#ifndef SLUICE_STORE_COMMIT_H
#define SLUICE_STORE_COMMIT_H

#include <jansson.h>

#include "base/arena.h"
#include "store/vouch.h"

#define COMMIT_FORMAT 1 /* of records; raise when they change */

struct commit_output {
    const char *port; /* which output of the phase: node or port name */
    const char *file; /* name in its folder; "" = no file was made */
    uint64_t bytes;
    uint64_t rows;
    struct hash128 hash; /* of the stored bytes */
};

struct commit_part {
    const char *name;  /* "stage 2 options", "input 0" … in the order given */
    const char *value; /* text or hash */
};

struct commit_state {
    const char *name; /* gate or stage */
    void *data;       /* owned */
    size_t size;
};

struct commit {
    struct arena arena; /* texts and arrays, but for the parts */
    struct arena parts_arena;
    struct hash128 key;
    const char *phase;
    const char *task; /* "", or in records of earlier versions the name of a task with the key */
    struct commit_part *parts;
    uint32_t n_parts, parts_capacity;
    struct commit_output *outputs;
    uint32_t n_outputs, outputs_capacity;
    struct commit_state *states;
    uint32_t n_states, states_capacity;
    json_t *ledger; /* owned reference or NULL */
    json_t *notes;  /* owned reference or NULL */
    void *packed;   /* memory of outputs and states behind commit_trim; owned */
};

/* An empty record; texts are copied. NULL = out of memory. Gives. */
struct commit *commit_create(struct hash128 key, const char *phase, const char *task);
void commit_destroy(struct commit *);

/* Frees what a run in progress needs no more: phase, task, parts, ledger, notes, and the data of
 * states whose names begin with prefix; the rest takes as little memory as it can. It can't be
 * printed any more, and nothing may be added. */
void commit_trim(struct commit *, const char *prefix);

/* These copy what they are given. */
sluice_status commit_add_part(struct commit *, const char *name, const char *value,
                              struct sluice_error *) MUST_USE;
sluice_status commit_add_output(struct commit *, const struct commit_output *,
                                struct sluice_error *) MUST_USE;
sluice_status commit_add_state(struct commit *, const char *name, const void *data, size_t size,
                               struct sluice_error *) MUST_USE;

/* NULL when there is no such state / the first output of that port. Borrowed. */
const struct commit_state *commit_find_state(const struct commit *, const char *name);
const struct commit_output *commit_find_output(const struct commit *, const char *port);

/* Text form and back. commit_parse never believes a wrong check (SLUICE_E_DATA). commit_print
 * appends. */
sluice_status commit_print(const struct commit *, struct buf *out, struct sluice_error *) MUST_USE;
sluice_status commit_parse(const char *data, size_t n, struct commit **out,
                           struct sluice_error *) MUST_USE;

/* Puts the record into dir (an existing folder, `tasks/PHASE`). The outputs must be published
 * before. durable: it survives a power cut from the return on; their folders must be synced before.
 * If there is one with this key: equal but for the task's name is fine (*existed = true), a damaged
 * one is replaced, a different one is SLUICE_E_INTERNAL: the task is not deterministic, and which
 * part differs. existed may be NULL. */
sluice_status commit_write(const struct commit *, const char *dir, bool durable, bool *existed,
                           struct sluice_error *) MUST_USE;

/* Reads the record of key. Absent: OK and *out = NULL. Damaged: OK, *out = NULL, *damaged = true
 * and the error struct says how, for a warning (or verify's error); a resume treats it as absent.
 * damaged may be NULL. Gives *out. */
sluice_status commit_read(const char *dir, struct hash128 key, struct commit **out, bool *damaged,
                          struct sluice_error *) MUST_USE;

/* Keys of all records in dir, in order of their text, damaged ones too. *keys is given (free()). An
 * absent dir has none. */
sluice_status commit_list(const char *dir, struct hash128 **keys, size_t *n,
                          struct sluice_error *) MUST_USE;

/* Where an output's file stands: its folder, or NULL for a port that this plan has not. Borrowed
 * until the next call. */
typedef const char *(*commit_folder_fn)(void *ctx, const struct commit_output *);

/* Whether all outputs stand there with their sizes and, where somebody vouches for them, hashes.
 * *valid = false comes with OK and the reason in the error struct: found, expected. A status other
 * than OK means that looking failed. vouch NULL: sizes only. */
sluice_status commit_outputs_valid(const struct commit *, commit_folder_fn folder, void *ctx,
                                   struct vouch *vouch, bool *valid,
                                   struct sluice_error *) MUST_USE;

#endif
