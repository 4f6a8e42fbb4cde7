/* text_class.c — see text_class.h. */
#include "text/text_class.h"

#include "text/text_tables.h"

#include <string.h>

uint32_t text_classes(uint32_t cp)
{
    return text_table_classes(cp);
}

enum text_word_break text_word_break(uint32_t classes)
{
    return (enum text_word_break)(classes >> TEXT_WB_SHIFT);
}

uint32_t text_class_by_name(const char *name, size_t len)
{
    static const struct {
        const char *name;
        uint32_t classes;
    } names[] = {
        { "letter", TEXT_LETTER },     { "digit", TEXT_DIGIT },
        { "number", TEXT_NUMBER },     { "alnum", TEXT_ALNUM },
        { "space", TEXT_SPACE },       { "upper", TEXT_UPPER },
        { "lower", TEXT_LOWER },       { "punct", TEXT_PUNCT },
        { "symbol", TEXT_SYMBOL },     { "punctuation", TEXT_PUNCTUATION_SET },
        { "terminal", TEXT_TERMINAL },
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i].name) == len && memcmp(names[i].name, name, len) == 0) {
            return names[i].classes;
        }
    }
    return 0;
}
