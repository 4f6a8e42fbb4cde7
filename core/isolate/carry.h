/* What calls to a child process carry, there and back: options, schemas, batches, results. Each has
 * a head of small values (wire.h) and, where columns or bytes go along, a body of larger pieces
 * behind it, at a multiple of 64 bytes. Depends on flat, wire and stage.
 *
 * put and write run on the side that sends, get on the other one. What the parent gets is
 * hostile: the head must be a copy of its own; bodies may change while they are looked at and
 * are copied first. */
#ifndef SLUICE_ISOLATE_CARRY_H
#define SLUICE_ISOLATE_CARRY_H

#include "isolate/isolate.h"
#include "isolate/wire.h"
#include "plugin/batch_view.h"
#include "plugin/stage.h"

/* Where the body begins behind a head of n bytes. */
size_t carry_body(size_t n);

/* ---- opening ---- */

struct carry_open { /* texts are borrowed: from the payload where it was got */
    struct isolate_target target;
    const char *name, *scratch;
    uint64_t seed, memory_share, memory;
    bool network, gpu, files, maps;
};

void carry_put_open(struct buf *, const struct carry_open *, const struct options *);
/* options is left at the options: carry_get_options. */
bool carry_get_open(struct wire *, struct carry_open *);
/* Parses the options again by the table of the stage, and checks that they mean the same. Gives. */
sluice_status carry_get_options(struct wire *, const struct registry_entry *, struct options **out,
                                struct sluice_error *err) MUST_USE;

/* ---- preparing ---- */

void carry_put_inputs(struct buf *, const struct stage_inputs *);
/* Schemas are the caller's, initialised; inputs gets pointers to them. *find, *wanted: is there
 * one to ask? */
sluice_status carry_get_inputs(struct wire *, struct schema *schemas, struct stage_inputs *,
                               bool *find, bool *wanted, struct sluice_error *err) MUST_USE;
void carry_put_prepared(struct buf *, const struct stage_prepared *);
/* Repeats what the stage asked for and declared, to the host's own plan. */
sluice_status carry_replay(struct wire *, struct sluice_plan *, struct sluice_error *err) MUST_USE;

/* ---- data ---- */

struct carry_ports { /* types of the columns that a stage sees; owned */
    struct type **types[STAGE_PORTS];
    uint32_t n[STAGE_PORTS];
};

sluice_status carry_ports_init(struct carry_ports *, const struct stage_prepared *,
                               const struct stage_inputs *, struct sluice_error *err) MUST_USE;
void carry_ports_deinit(struct carry_ports *);

/* *body = bytes of the body. */
void carry_put_batch(struct buf *, const struct sluice_batch *, const struct carry_ports *,
                     size_t *body);
void carry_write_batch(const struct sluice_batch *, const struct carry_ports *, char *body);

struct carry_batch { /* caller's memory */
    struct batch_view view;
    struct ArrowArray *columns;   /* owned; their buffers lie in the body */
    struct ArrowArray **pointers; /* owned */
    uint32_t n;
};

sluice_status carry_get_batch(struct wire *, const struct carry_ports *, const char *body, size_t n,
                              struct carry_batch *out, struct sluice_error *err) MUST_USE;
void carry_batch_deinit(struct carry_batch *);

void carry_put_result(struct buf *, const struct stage_result *, const struct type *output,
                      size_t *body);
void carry_write_result(const struct stage_result *, const struct type *output, char *body);
/* Gives what came to emit, which checks it. body may change meanwhile. */
sluice_status carry_emit(struct wire *, const struct type *output, const char *body, size_t n,
                         struct sluice_emit *, struct sluice_error *err) MUST_USE;

/* ---- asks ---- */

/* The first part of a result. Where the call goes on, it is all of it: what else was emitted stays
 * in the child until the call is over. */
void carry_put_asks(struct buf *, const struct stage_result *);
/* Asks emit for the same. *waits: there were any, and nothing stands behind them. */
sluice_status carry_emit_asks(struct wire *, struct sluice_emit *, bool *waits,
                              struct sluice_error *err) MUST_USE;
/* What a survey found, and what was not read: the second part of a whole result. */
void carry_put_units(struct buf *, const struct stage_result *);
sluice_status carry_emit_units(struct wire *, struct sluice_emit *,
                               struct sluice_error *err) MUST_USE;

/* The file of a survey. Its texts are borrowed where it was got. */
void carry_put_file(struct buf *, const struct sluice_file *);
bool carry_get_file(struct wire *, struct sluice_file *);
/* What scan is given but for the file; fresh: the description goes along, in the body. */
void carry_put_scan(struct buf *, const struct sluice_scan *, bool fresh);
bool carry_get_scan(struct wire *, struct sluice_scan *, bool *fresh);

/* *body = bytes of the body. */
void carry_put_answers(struct buf *, const struct sluice_answers *, size_t *body);
void carry_write_answers(const struct sluice_answers *, char *body);
/* items: *n answers, whose bytes lie in the body and whose texts lie in the head. Gives: free
 * them. */
sluice_status carry_get_answers(struct wire *, const char *body, size_t size,
                                struct sluice_answer **items, uint32_t *n,
                                struct sluice_error *err) MUST_USE;

/* "(a defect of the plugin's process) it answers nonsense": SLUICE_E_INTERNAL. */
sluice_status carry_nonsense(struct sluice_error *err, const char *what);

#endif
