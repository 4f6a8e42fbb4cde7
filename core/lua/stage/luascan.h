/* What a function's source mentions: fields of its first parameter (doc.lang, doc["lang"]) and
 * string literals. A lexer, not a parser: it finds what is written in the function, not what it
 * reaches otherwise. Depends on base. */
#ifndef SLUICE_LUA_LUASCAN_H
#define SLUICE_LUA_LUASCAN_H

#include "base/error.h"

struct luascan_word {
    char *text;
    int line;
}; /* owned */

struct luascan {
    struct luascan_word *fields, *literals; /* in order of appearance, each once */
    size_t n_fields, n_literals;
};

/* Adds what the function on lines first .. last mentions. parameter is the name of its first
 * parameter ("" = none). Where several functions begin and end on these lines, those with that
 * parameter are read. Call luascan_deinit also after a failure. */
sluice_status luascan_read(struct luascan *, const char *text, size_t size, int first, int last,
                           const char *parameter, struct sluice_error *) MUST_USE;
void luascan_deinit(struct luascan *);

#endif
