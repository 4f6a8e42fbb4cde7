/* minhash - near-duplicates by MinHash and banding (Broder 1997; datatrove's constants). The
 * composite `minhash` of the standard library puts the stages together: sign -> keys -> exchange by
 * band -> edges -> components -> members by split -> exchange by cluster -> pick -> drop lists by
 * split -> drop. */
#include "minhash_stages.h"
#include "sluice_simple.h"

SLUICE_PLUGIN("minhash", "2.0", "MIT", &minhash_sign_stage, &minhash_keys_stage,
              &minhash_edges_stage, &minhash_components_stage, &minhash_fixed_stage,
              &minhash_members_stage, &minhash_pick_stage, &minhash_index_rows_stage,
              &minhash_index_keys_stage, &write_minhash_index_stage);
