/* pretoken_mask_scalar.c — the mask programs with bytes classified one by one: every machine.
 * Depends on: pretoken_mask_program.h. */
#include "split/pretoken_mask.h"

struct window {
    const uint8_t *bytes;
};

#include "split/pretoken_mask_program.h"

INLINE void window_load(const uint8_t *p, struct window *window)
{
    window->bytes = p;
}

INLINE uint64_t bytes_among(const struct window *window, uint8_t first, uint8_t last)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < WINDOW; i++) {
        bits |= (uint64_t)((uint8_t)(window->bytes[i] - first) <= (uint8_t)(last - first)) << i;
    }
    return bits;
}

INLINE size_t *write_places(size_t *ends, uint64_t bits, size_t base)
{
    return write_places_by_bit(ends, bits, base);
}

INLINE void classify(const struct window *window, struct ascii_masks *out)
{
    struct ascii_masks a = { 0 };
    for (unsigned i = 0; i < WINDOW; i++) {
        const uint64_t bit = UINT64_C(1) << i;
        const uint8_t c = window->bytes[i];
        a.upper |= bit_or_none((uint8_t)(c - 'A') < 26, 1, bit);
        a.lower |= bit_or_none((uint8_t)(c - 'a') < 26, 1, bit);
        a.number |= bit_or_none((uint8_t)(c - '0') < 10, 1, bit);
        a.space |= bit_or_none((uint8_t)(c - 9) < 5 || c == ' ', 1, bit);
        a.newline |= bit_or_none(c == '\r' || c == '\n', 1, bit);
        a.blank |= bit_or_none(c == ' ', 1, bit);
        a.quote |= bit_or_none(c == '\'', 1, bit);
        a.slash |= bit_or_none(c == '/', 1, bit);
        a.high |= bit_or_none(c, 0x80, bit);
    }
    *out = a;
}

pretoken_fill *const pretoken_mask_scalar[PROGRAMS] = PROGRAM_TABLE;
