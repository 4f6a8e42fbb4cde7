/* pack_whole - the filter between pack and pack_carry: rows that have their place stay, pieces that have none yet are dropped as `carried`,
 * and so reach pack_carry through .dropped;
 * a verdict's value is the row that the piece's document was among those of its split. Depends on sluice.h. */
#ifndef PACK_WHOLE_H
#define PACK_WHOLE_H

#include "sluice.h"

extern const struct sluice_stage pack_whole_stage;

#endif
