/* The stages of the minhash plugin. */
#ifndef MINHASH_STAGES_H
#define MINHASH_STAGES_H

#include <sluice_rows.h>
#include <sluice_stage.h>
#include <sluice_state.h>
#include <stddef.h>

extern const struct sluice_stage minhash_sign_stage, minhash_keys_stage, minhash_edges_stage,
    minhash_components_stage, minhash_fixed_stage, minhash_members_stage, minhash_pick_stage,
    minhash_index_rows_stage, minhash_index_keys_stage, write_minhash_index_stage;

#endif
