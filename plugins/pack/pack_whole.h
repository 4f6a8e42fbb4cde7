/* pack_whole, pack_parts - what stands between pack and pack_carry: rows that have their place go
 * one way, pieces that have none yet the other. Depends on sluice.h. */
#ifndef PACK_WHOLE_H
#define PACK_WHOLE_H

#include "sluice.h"

/* The first is a filter: pieces are dropped as `carried`. The second makes rows of them: tokens,
 * loss_mask, and what they come from. */
extern const struct sluice_stage pack_whole_stage, pack_parts_stage;

#endif
