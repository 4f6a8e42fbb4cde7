/* pretoken_unicode.c — unpacks the generated runs of pretoken_unicode_data.h into two-stage tables.
 * See the header. */
#include "split/pretoken_unicode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "split/pretoken_unicode_data.h"

static uint8_t flags_of(uint8_t value)
{
    unsigned flags = (value & UNICODE_SPACE) ? CH_SPACE : 0u;
    switch (value & UNICODE_CATEGORY) {
    case GC_LU:
    case GC_LT:
        flags |= CH_UPPER;
        break;
    case GC_LL:
        flags |= CH_LOWER;
        break;
    case GC_LM:
    case GC_LO:
        flags |= CH_CASELESS;
        break;
    case GC_MN:
    case GC_MC:
    case GC_ME:
        flags |= CH_MARK;
        break;
    case GC_ND:
    case GC_NL:
    case GC_NO:
        flags |= CH_NUMBER;
        break;
    case GC_PC:
    case GC_PD:
    case GC_PS:
    case GC_PE:
    case GC_PI:
    case GC_PF:
    case GC_PO:
    case GC_SM:
    case GC_SC:
    case GC_SK:
    case GC_SO:
        flags |= CH_PUNCT;
        break;
    default:
        break;
    }
    return (uint8_t)flags;
}

#define BLOCKS_MOST 512u /* 254 blocks differ in Unicode 16.0 */

/* Gives run k of the generated words, which begin at *word, and moves *word on. */
static size_t next_run(size_t *word, uint8_t *value)
{
    size_t length = unicode_runs[*word] & 1023u;
    *value = unicode_palette[unicode_runs[*word] >> 10];
    if (length == 0) {
        length = (size_t)unicode_runs[*word + 1] | (size_t)unicode_runs[*word + 2] << 16;
        *word += 2;
    }
    (*word)++;
    return length;
}

int unicode_table_init(struct unicode_table *table)
{
    /* the block that holds one value only, BLOCKS_MOST while there is none */
    uint16_t uniform[256];
    size_t word = 0, left = 0, n = 0, i, j;
    uint32_t at = 0;
    uint8_t value = 0;
    const size_t n_words = sizeof(unicode_runs) / sizeof(unicode_runs[0]);

    memset(table, 0, sizeof(*table));
    for (i = 0; i < 256; i++) {
        uniform[i] = BLOCKS_MOST;
    }
    table->values = malloc(BLOCKS_MOST * 256u);
    table->flags = malloc(BLOCKS_MOST * 256u);
    table->starts = malloc((n_words + 1) * sizeof(*table->starts));
    if (!table->values || !table->flags || !table->starts) {
        unicode_table_deinit(table);
        return -1;
    }
    for (i = 0; i < UNICODE_BLOCKS; i++) {
        uint8_t *block = table->values + n * 256;
        if (left >= 256 && uniform[value] != BLOCKS_MOST) {
            table->block[i] = uniform[value];
            left -= 256;
            continue;
        }
        assert(n < BLOCKS_MOST);
        if (left >= 256) {
            uniform[value] = (uint16_t)n;
        }
        for (j = 0; j < 256; j++) {
            if (left == 0) {
                left = next_run(&word, &value);
                table->starts[table->n_runs++] = at;
                at += (uint32_t)left;
            }
            block[j] = value;
            left--;
        }
        table->block[i] = (uint16_t)n++;
    }
    assert(at == 0x110000 && word == n_words);
    table->starts[table->n_runs] = at;
    for (i = 0; i < n * 256; i++) {
        table->flags[i] = flags_of(table->values[i]);
    }
    table->n_blocks = n;
    table->flags['\r'] |= CH_NEWLINE; /* block 0 holds ASCII and is the first that is stored */
    table->flags['\n'] |= CH_NEWLINE;
    memcpy(table->ascii, table->flags, 128);
    return 0;
}

void unicode_table_deinit(struct unicode_table *table)
{
    free(table->values);
    free(table->flags);
    free(table->starts);
    memset(table, 0, sizeof(*table));
}

int unicode_is_word(const struct unicode_table *table, uint32_t cp)
{
    switch (unicode_value(table, cp) & UNICODE_CATEGORY) {
    case GC_LU:
    case GC_LL:
    case GC_LT:
    case GC_LM:
    case GC_LO:
    case GC_MN:
    case GC_MC:
    case GC_ME:
    case GC_ND:
    case GC_NL:
    case GC_PC:
        return 1;
    default: /* Join_Control and the part of Other_Alphabetic that is So */
        return cp == 0x200C || cp == 0x200D || (cp >= 0x24B6 && cp <= 0x24E9) ||
               (cp >= 0x1F130 && cp <= 0x1F149) || (cp >= 0x1F150 && cp <= 0x1F169) ||
               (cp >= 0x1F170 && cp <= 0x1F189);
    }
}
