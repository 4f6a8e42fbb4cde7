/* What the parts of the stage driver share: stage.c calls the plugin, stage_host.c serves it,
 * stage_plan*.c record what it asks for in prepare, stage_emit.c and stage_asks.c collect and check
 * what it gives back. See stage.h. */
#ifndef SLUICE_PLUGIN_STAGEINT_H
#define SLUICE_PLUGIN_STAGEINT_H

#include <pthread.h>

#include "data/column.h"
#include "plugin/stage.h"

/* ---- host services ---- */

struct host_map {
    const void *data;
    uint64_t size;
};

struct sluice_host { /* opaque to plugins */
    struct stage *stage;
    struct stage_services services;
    struct budget budget; /* of this instance, below services.budget */
    struct hash128 name_hash;
    pthread_mutex_t lock; /* over what follows */
    const void **files;   /* given by read_file */
    size_t n_files;
    struct host_map *maps; /* given by map */
    size_t n_maps;
    const char *scratch;
};

extern const struct sluice_host_api stage_host_api;

sluice_status stage_host_init(struct sluice_host *, struct stage *, const struct stage_services *,
                              struct sluice_error *err) MUST_USE;
void stage_host_deinit(struct sluice_host *);

/* ---- instances ---- */

struct stage {
    const struct registry_entry *entry;
    const struct sluice_stage *kind; /* of entry */
    struct options *options;
    char *name;
    struct sluice_host host;
    void *shared;
    bool opened, prepared, deep; /* deep: arrays are validated to the last byte */
    bool remote;                 /* in a child process: what stage_died knows may come */
    size_t verdict_stride;       /* bytes from one verdict of the plugin to the next */
    char *reason_text;           /* "a\0b\0c" */
    const char **reasons;
    uint32_t n_reasons;
    struct type output;            /* struct<...> of the declared columns; its parts are owned */
    uint32_t n_outputs;            /* writers */
    uint32_t n_needs[STAGE_PORTS]; /* columns that process was promised */
    char *lacking; /* a derived column that is not there yet: no worker opens; NULL = none */
    _Atomic int32_t n_workers;
};

enum worker_state { WORKER_OPEN, WORKER_WAITING, WORKER_FLUSHED, WORKER_FAILED };

enum emit_call { EMIT_PROCESS, EMIT_SIDE, EMIT_READ, EMIT_SURVEY, EMIT_SCAN, EMIT_FLUSH };

/* What a call was given, for its parts: the first one and those that go on with it. */
struct stage_call {
    enum emit_call kind;
    const struct sluice_batch *batch; /* process */
    const struct sluice_file *file;   /* survey, scan */
    struct sluice_scan *scan;
};

struct stage_worker {
    struct stage *stage;
    void *state;
    enum worker_state at;
    struct stage_call call; /* WORKER_WAITING */
    uint32_t rounds;        /* of answers to it, so far */
};

/* ---- prepare ---- */

struct stage_recorder {
    struct sluice_plan plan; /* given to the plugin; ctx leads back here */
    struct stage *stage;
    const struct stage_inputs *inputs;
    struct stage_prepared *out;
    char **texts; /* lent to the plugin until prepare returns */
    size_t n_texts;
    sluice_status failed; /* the first refusal: prepare fails even if the plugin ignores it */
    struct sluice_error error;
};

void stage_recorder_init(struct stage_recorder *, struct stage *, const struct stage_inputs *,
                         struct stage_prepared *out);
void stage_recorder_deinit(struct stage_recorder *);
/* Does what was recorded fit the role? Fills stage->output and n_outputs. */
sluice_status stage_recorder_finish(struct stage_recorder *, struct sluice_error *err) MUST_USE;
void stage_output_deinit(struct stage *);

/* ---- emit ---- */

struct stage_emitter {
    struct sluice_emit emit; /* given to the plugin; ctx leads back here */
    const struct stage *stage;
    struct stage_result *out;
    struct stage_call call;
    int64_t n;            /* rows of the batch */
    sluice_status failed; /* the first refusal, as above */
    struct sluice_error error;
};

void stage_emitter_init(struct stage_emitter *, const struct stage *, struct stage_result *,
                        const struct stage_call *);
/* Is what was given back complete? Turns text offsets into pointers. Where the call asked for
 * something neither is done: it goes on. */
sluice_status stage_emitter_finish(struct stage_emitter *, struct sluice_error *err) MUST_USE;

static inline struct stage_emitter *emitter_of(struct sluice_emit *emit)
{
    return emit->ctx;
}

/* stage_result.c: room for one more item of size bytes; false = out of memory. */
bool emit_room(void **items, uint32_t n, uint32_t *capacity, size_t size);
/* Copies n bytes and a NUL into the result's text; the place plus one, 0 = out of memory. */
uintptr_t emit_keep_text(struct stage_result *, const char *text, size_t n);
/* [a-z0-9_]+, under 64 bytes */
bool emit_word_valid(const char *word);

/* stage_asks.c: for stage_emitter_init. */
void emit_asks_init(struct sluice_emit *);

/* The first refusal decides the call's fate, whatever the plugin makes of the status. */
#define REFUSE(emitter, status, ...) \
    ((emitter)->failed != SLUICE_OK  \
         ? (emitter)->failed         \
         : ((emitter)->failed = error_set(&(emitter)->error, status, __VA_ARGS__)))
#define REFUSE_DEFECT(emitter, ...) \
    REFUSE(emitter, SLUICE_E_INTERNAL, "(a defect of the plugin) " __VA_ARGS__)
#define REFUSE_NOMEM(emitter)       \
    ((emitter)->failed != SLUICE_OK \
         ? (emitter)->failed        \
         : ((emitter)->failed = error_nomem(&(emitter)->error, "what a stage gives back")))

/* Copies an error to the caller's, which may be a plugin's: that of an older header is shorter, and
 * says so. NULL is fine. */
void error_give(struct sluice_error *to, const struct sluice_error *from);

/* An error that is the plugin's fault, without the stage's name (stage.c adds it). */
#define DEFECT(err, ...) error_set(err, SLUICE_E_INTERNAL, "(a defect of the plugin) " __VA_ARGS__)

#endif
