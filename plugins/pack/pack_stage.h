/* What pack.c, pack_fit.c and pack_state.c share: the stage, and its worker. Depends on
 * pack_held.h, pack_input.h, packer.h. */
#ifndef PACK_STAGE_H
#define PACK_STAGE_H

#include "pack_held.h"
#include "pack_input.h"
#include "packer.h"

#define PACK_BEST_FIT 0 /* of strategy */

struct config {
    int64_t sequence_length, pad_id, window;
    int32_t strategy;
    uint8_t pad, cu_seqlens, position_ids, document_ids, carry;
    const char *loss_mask;
};

extern const struct sluice_stage pack_stage, pack_carry_stage;

struct stage {
    struct config config;
    bool carried;    /* pack_carry: its input is what splits left */
    uint64_t window; /* tokens; UINT64_MAX = no bound */
    uint32_t pad_id;
    int32_t tokens, mask; /* places of the input columns; mask -1 = absent */
    struct pack_input input;
    uint32_t columns; /* PACK_… of the output */
};

struct worker {
    const struct stage *stage;
    struct pack_held held;       /* best_fit */
    struct packer_stream stream; /* concat */
    struct pack_rows rows;
    struct sluice_bytes scratch;      /* of pack_input_source */
    int64_t out, pad, sequences, cut; /* measures not yet told */
};

sluice_status pack_nomem(struct sluice_error *);

/* Ends the open row, padded if that is asked for; emits the rows when they are many. */
sluice_status pack_row_end(struct worker *, struct sluice_emit *, struct sluice_error *);
/* Ends the open row as pieces for pack_carry. */
sluice_status pack_row_carry(struct worker *, struct sluice_emit *, struct sluice_error *);

/* pack_fit.c: packs what is held by best fit. last: nothing comes behind; else incomplete rows, to
 * half a window, are held on. */
sluice_status pack_fit(struct worker *, bool last, struct sluice_emit *, struct sluice_error *);

/* pack_state.c: save and load of both stages. */
sluice_status pack_save(void *state, struct sluice_io *, struct sluice_error *);
sluice_status pack_load(void *state, struct sluice_io *, uint64_t version, struct sluice_error *);

#endif
