/* Numbers of one to ten bytes, seven bits a byte, the lowest first: small ones take one. Reading
 * treats every byte as hostile. */
#ifndef SLUICE_BASE_VARINT_H
#define SLUICE_BASE_VARINT_H

#include <stdint.h>

#include "base/buf.h"

void varint_put(struct buf *, uint64_t value);
/* Reads one number and moves *at behind it; false: the bytes end before it does, or it is not in
 * its shortest form. */
bool varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* Signed ones: small in both directions. */
static inline uint64_t varint_fold(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t varint_unfold(uint64_t value)
{
    return (int64_t)((value >> 1) ^ ((value & 1) != 0 ? UINT64_MAX : 0));
}

#endif
