#include "dolma_class.h"

#include <stddef.h>

#include "dolma_class_data.h"
#include "text/text.h"

static bool within(const uint32_t (*ranges)[2], size_t n, uint32_t cp)
{
    size_t lo = 0;

    while (lo < n) {
        size_t middle = lo + (n - lo) / 2;
        if (ranges[middle][1] < cp) {
            lo = middle + 1;
        } else {
            n = middle;
        }
    }
    return ranges[lo][0] <= cp && cp <= ranges[lo][1];
}

/* lo may end behind the last range: that one is asked then. */
#define WITHIN(ranges, cp) within(ranges, sizeof ranges / sizeof ranges[0] - 1, cp)

bool dolma_is_word(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp | 0x20) - 'a' < 26 || cp - '0' < 10 || cp == '_';
    }
    return WITHIN(dolma_word, cp);
}

bool dolma_is_punct(uint32_t cp)
{
    if (cp < 0x80) {
        return cp > ' ' && cp < 0x7F && ((cp | 0x20) - 'a' >= 26 && cp - '0' >= 10);
    }
    return WITHIN(dolma_punct, cp);
}

bool dolma_is_space(uint32_t cp)
{
    return (text_classes(cp) & TEXT_SPACE) != 0 && (cp < 0x1C || cp > 0x1F);
}
