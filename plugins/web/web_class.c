/* web_class.c - see web_class.h. */
#include "web_class.h"

#include <stddef.h>

#include "text/text_class.h"
#include "web_class_data.h"

#define IN(table, cp) in_ranges(table, sizeof table / sizeof table[0], cp)

static bool in_ranges(const uint32_t (*ranges)[2], size_t n, uint32_t cp)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cp > ranges[middle][1]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && cp >= ranges[low][0];
}

bool web_rust_alphabetic(uint32_t cp)
{
    return (text_classes(cp) & TEXT_LETTER) != 0 || (cp >= 0x80 && IN(web_alphabetic, cp));
}

bool web_rust_alphanumeric(uint32_t cp)
{
    return (text_classes(cp) & TEXT_ALNUM) != 0 || (cp >= 0x80 && IN(web_alphanumeric, cp));
}

bool web_rust_space(uint32_t cp)
{
    return (text_classes(cp) & TEXT_SPACE) != 0 && !(cp >= 0x1C && cp <= 0x1F);
}

bool web_rust_word(uint32_t cp)
{
    if ((text_classes(cp) & (TEXT_LETTER | TEXT_DIGIT)) != 0) {
        return true;
    }
    return cp < 0x80 ? cp == '_' : IN(web_word, cp);
}

bool web_python_alnum(uint32_t cp)
{
    return (text_classes(cp) & TEXT_ALNUM) != 0 || (cp >= 0x80 && IN(web_digit, cp));
}

bool web_python_digit(uint32_t cp)
{
    return (text_classes(cp) & TEXT_DIGIT) != 0 || (cp >= 0x80 && IN(web_digit, cp));
}

bool web_python_word(uint32_t cp)
{
    return cp == '_' || web_python_alnum(cp);
}

bool web_python_space(uint32_t cp)
{
    return (text_classes(cp) & TEXT_SPACE) != 0;
}

bool web_upper(uint32_t cp)
{
    return (text_classes(cp) & TEXT_UPPER) != 0;
}

bool web_decimal(uint32_t cp)
{
    return (text_classes(cp) & TEXT_DIGIT) != 0;
}
