/* normalizer_unicode.c — unpacks the generated runs. See the header. */
#include "normalize/normalizer_unicode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each `step`-th code point from first to last has its lower case `delta` further. */
struct lower_run {
    uint32_t first, last;
    int32_t step, delta;
};

#include "normalize/normalizer_unicode_data.h"

static const uint32_t spaces[][2] = { { 9, 13 },          { 0x20, 0x20 },     { 0x85, 0x85 },
                                      { 0xA0, 0xA0 },     { 0x1680, 0x1680 }, { 0x2000, 0x200A },
                                      { 0x2028, 0x2029 }, { 0x202F, 0x202F }, { 0x205F, 0x205F },
                                      { 0x3000, 0x3000 } };
#define SPACES (sizeof(spaces) / sizeof(spaces[0]))

/* Reads a table of runs from the front. */
struct runs {
    const uint16_t (*next)[2];
    uint32_t left;
    uint16_t value;
};

static uint16_t runs_take(struct runs *r, uint32_t n)
{
    while (r->left == 0) {
        r->value = (*r->next)[0];
        r->left = (*r->next)[1];
        r->next++;
    }
    r->left -= n;
    return r->value;
}

/* 1 when the next 256 code points have one value. */
static int runs_uniform(struct runs *r)
{
    (void)runs_take(r, 0);
    return r->left >= 256;
}

int normalizer_unicode_init(struct normalizer_unicode *table)
{
    struct runs flags = { normalizer_flag_runs, 0, 0 };
    struct runs scripts = { normalizer_script_runs, 0, 0 };
    struct runs graphemes = { normalizer_grapheme_runs, 0, 0 };
    uint16_t values[256];
    uint8_t names[256];
    size_t block, i, cap = 0, uniform[64], n_uniform = 0;

    memset(table, 0, sizeof(*table));
    for (block = 0; block < NU_BLOCKS; block++) {
        int same = block > spaces[SPACES - 1][0] >> 8 && runs_uniform(&flags) &&
                   runs_uniform(&scripts) && runs_uniform(&graphemes);
        for (i = 0; i < 256; i += same ? 256 : 1) {
            uint32_t cp = (uint32_t)(block << 8 | i), n = same ? 256 : 1;
            size_t k;
            unsigned value = runs_take(&flags, n);
            for (k = 0; cp <= spaces[SPACES - 1][1] && k < SPACES; k++) {
                value |= cp >= spaces[k][0] && cp <= spaces[k][1] ? NU_SPACE : 0u;
            }
            values[i] = (uint16_t)(value | (unsigned)runs_take(&graphemes, n) << 8);
            names[i] = (uint8_t)runs_take(&scripts, n);
        }
        for (i = 0; same && i < n_uniform; i++) {
            size_t at = uniform[i] << 8;
            if (table->values[at] == values[0] && table->scripts[at] == names[0]) {
                break;
            }
        }
        if (same && i < n_uniform) {
            table->block[block] = (uint16_t)uniform[i];
            continue;
        }
        for (i = 1; same && i < 256; i++) {
            values[i] = values[0];
            names[i] = names[0];
        }
        if (table->n_blocks == cap) {
            void *grown;
            cap = cap * 2 + 256;
            grown = realloc(table->values, cap * sizeof(values));
            table->values = grown ? grown : table->values;
            if (grown) {
                grown = realloc(table->scripts, cap * sizeof(names));
                table->scripts = grown ? grown : table->scripts;
            }
            if (!grown) {
                normalizer_unicode_deinit(table);
                return -1;
            }
        }
        memcpy(table->values + (table->n_blocks << 8), values, sizeof(values));
        memcpy(table->scripts + (table->n_blocks << 8), names, sizeof(names));
        table->block[block] = (uint16_t)table->n_blocks;
        if (same && n_uniform < sizeof(uniform) / sizeof(uniform[0])) {
            uniform[n_uniform++] = table->n_blocks;
        }
        table->n_blocks++;
    }
    return 0;
}

void normalizer_unicode_deinit(struct normalizer_unicode *table)
{
    free(table->values);
    free(table->scripts);
    memset(table, 0, sizeof(*table));
}

size_t normalizer_unicode_memory(const struct normalizer_unicode *table)
{
    return table->n_blocks * 256 * (sizeof(*table->values) + sizeof(*table->scripts));
}

uint32_t nu_lower(uint32_t cp)
{
    const struct lower_run *runs = normalizer_lower_runs;
    size_t lo = 0, hi = sizeof(normalizer_lower_runs) / sizeof(normalizer_lower_runs[0]);
    const size_t n = hi;
    if (cp < 0x80) {
        return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (runs[mid].last < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == n || runs[lo].first > cp || (cp - runs[lo].first) % (uint32_t)runs[lo].step != 0) {
        return cp;
    }
    return (uint32_t)((int32_t)cp + runs[lo].delta);
}
