/* Numbers of few bytes: see varint.h. */
#include "base/varint.h"

void varint_put(struct buf *out, uint64_t value)
{
    char bytes[10];
    size_t n = 0;

    while (value >= 0x80) {
        bytes[n++] = (char)(uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (char)(uint8_t)value;
    buf_append(out, bytes, n);
}

bool varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    const uint8_t *p = *at;
    uint64_t result = 0;

    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        result |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *at = p;
            *value = result;
            return byte != 0 || shift == 0;
        }
    }
    return false;
}
