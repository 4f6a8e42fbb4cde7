/* See exact_key.h. */
#include "exact_key.h"

#include <math.h>
#include <string.h>

uint64_t exact_rank(double priority)
{
    uint64_t bits;

    if (isnan(priority)) {
        return UINT64_MAX;
    }
    priority += 0.0; /* -0 and 0 are one priority */
    memcpy(&bits, &priority, sizeof bits);
    /* Ascending in the number: negative ones have all bits turned, others the sign. */
    bits = (bits >> 63) != 0 ? ~bits : bits | UINT64_C(1) << 63;
    return ~bits;
}

uint64_t exact_rank_integer(uint64_t priority)
{
    return priority >= UINT64_MAX - 2 ? 1 : UINT64_MAX - 1 - priority;
}

void exact_key_pack(const unsigned char hash[16], uint64_t rank, unsigned char key[16],
                    uint64_t *rest)
{
    memcpy(key, hash, 8);
    *rest = 0;
    for (int i = 0; i < 8; i++) {
        key[8 + i] = (unsigned char)(rank >> (56 - 8 * i));
        *rest = *rest << 8 | hash[8 + i];
    }
}

void exact_hex_write(const unsigned char hash[16], char hex[EXACT_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
}

int exact_hex_read(const char *hex, uint64_t n, unsigned char hash[16])
{
    if (n != EXACT_HEX) {
        return 0;
    }
    for (int i = 0; i < EXACT_HEX; i++) {
        unsigned char c = (unsigned char)hex[i];
        unsigned char digit = c >= '0' && c <= '9'   ? (unsigned char)(c - '0')
                              : c >= 'a' && c <= 'f' ? (unsigned char)(c - 'a' + 10)
                                                     : 16;
        if (digit > 15) {
            return 0;
        }
        hash[i / 2] = (unsigned char)((i & 1) == 0 ? digit << 4 : hash[i / 2] | digit);
    }
    return 1;
}
