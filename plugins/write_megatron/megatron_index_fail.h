/* What the parts of megatron_index share; private to megatron_index*.c. Depends on sluice.h. */
#ifndef MEGATRON_INDEX_FAIL_H
#define MEGATRON_INDEX_FAIL_H

#include "sluice.h"

#define MEGATRON_MAGIC "MMIDIDX\0" /* and the terminator: nine bytes */
#define MEGATRON_MAGIC_BYTES 9

/* Fills *err and returns code. */
__attribute__((format(printf, 3, 4))) int32_t megatron_fail(struct sluice_error *err, int32_t code,
                                                            const char *format, ...);

#endif
