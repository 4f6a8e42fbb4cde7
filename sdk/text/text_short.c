/* text_short.c — see text_short.h. */
#include "text/text_short.h"

#define LOW(n) (((uint64_t)1 << 8 * (n)) - 1)
#define ALL (~(uint64_t)0)

const uint64_t text_short_masks[TEXT_SHORT + 1][2] = {
    { 0, 0 },        { LOW(1), 0 },   { LOW(2), 0 },   { LOW(3), 0 },   { LOW(4), 0 },
    { LOW(5), 0 },   { LOW(6), 0 },   { LOW(7), 0 },   { ALL, 0 },      { ALL, LOW(1) },
    { ALL, LOW(2) }, { ALL, LOW(3) }, { ALL, LOW(4) }, { ALL, LOW(5) }, { ALL, LOW(6) },
    { ALL, LOW(7) }, { ALL, ALL },
};
