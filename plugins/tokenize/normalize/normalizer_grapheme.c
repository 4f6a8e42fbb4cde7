/* normalizer_grapheme.c — extended grapheme clusters (Unicode Standard Annex 29, rules GB3 to
 * GB13), as far as they begin at a boundary. See normalizer_charsmap.h. */
#include "normalize/normalizer_charsmap.h"

static enum normalizer_grapheme kind_of(const struct normalizer_unicode *unicode, uint32_t cp)
{
    return (enum normalizer_grapheme)(nu_value(unicode, cp) >> 8);
}

static int is_extend(enum normalizer_grapheme k)
{
    return k == GRAPHEME_EXTEND || k == GRAPHEME_LINKER || k == GRAPHEME_CONJUNCT;
}

static int joins_hangul(enum normalizer_grapheme a, enum normalizer_grapheme b)
{
    switch (a) {
    case GRAPHEME_L:
        return b == GRAPHEME_L || b == GRAPHEME_V || b == GRAPHEME_LV || b == GRAPHEME_LVT;
    case GRAPHEME_LV:
    case GRAPHEME_V:
        return b == GRAPHEME_V || b == GRAPHEME_T;
    case GRAPHEME_LVT:
    case GRAPHEME_T:
        return b == GRAPHEME_T;
    default:
        return 0;
    }
}

const uint8_t *grapheme_end(const struct normalizer_unicode *unicode, const uint8_t *p,
                            const uint8_t *end)
{
    enum normalizer_grapheme before, next;
    /* What GB9c, GB11 and GB12 look back for. 2: a linker, or ZWJ, came since. */
    int conjunct, pictograph, regional;
    uint32_t cp;
    p += utf8_decode(p, end, &cp);
    before = kind_of(unicode, cp);
    conjunct = before == GRAPHEME_CONSONANT;
    pictograph = before == GRAPHEME_PICTOGRAPH;
    regional = before == GRAPHEME_REGIONAL;
    for (; p < end; before = next) {
        size_t n = utf8_decode(p, end, &cp);
        next = kind_of(unicode, cp);
        if (before == GRAPHEME_CR) {
            return next == GRAPHEME_LF ? p + n : p;
        }
        if (before == GRAPHEME_LF || before == GRAPHEME_CONTROL || next == GRAPHEME_CR ||
            next == GRAPHEME_LF || next == GRAPHEME_CONTROL) {
            return p;
        }
        if (!is_extend(next) && next != GRAPHEME_ZWJ && next != GRAPHEME_SPACING &&
            before != GRAPHEME_PREPEND && !joins_hangul(before, next) &&
            !(conjunct == 2 && next == GRAPHEME_CONSONANT) &&
            !(pictograph == 2 && next == GRAPHEME_PICTOGRAPH) &&
            !(regional == 1 && before == GRAPHEME_REGIONAL && next == GRAPHEME_REGIONAL)) {
            return p;
        }
        if (next == GRAPHEME_CONSONANT) {
            conjunct = 1;
        } else if (conjunct && next == GRAPHEME_LINKER) {
            conjunct = 2;
        } else if (next != GRAPHEME_CONJUNCT && next != GRAPHEME_ZWJ) {
            conjunct = 0;
        }
        if (next == GRAPHEME_PICTOGRAPH) {
            pictograph = 1;
        } else if (pictograph && next == GRAPHEME_ZWJ) {
            pictograph = 2;
        } else if (pictograph == 2 || !is_extend(next)) {
            pictograph = 0;
        }
        regional = next == GRAPHEME_REGIONAL ? regional + 1 : 0;
        p += n;
    }
    return end;
}
