/* sluice_hidden.h - names of the hidden columns, which say where a row comes from, and of the key
 * that keyed stages are fed by. Header-only C11/C++17; depends on libc alone.
 *
 * Names that begin with '_' are the host's: sluice.h says who may ask for which (plan->need) and
 * who may give which (plan->add). */
#ifndef SLUICE_HIDDEN_H
#define SLUICE_HIDDEN_H

#include <stddef.h>
#include <string.h>

#ifndef SLUICE_INLINE /* sluice_ffi.c makes them functions of a library */
#define SLUICE_INLINE static inline __attribute__((unused))
#endif

#define SLUICE_ROW "_row"       /* the row's number in its split */
#define SLUICE_POS "_pos"       /* split << 40 | row, behind an exchange */
#define SLUICE_ORIGIN "_origin" /* of a transform's row: the _row or _pos that it came from */
#define SLUICE_SPAN "_span"     /* beside a list _origin: which part of each of its rows */
#define SLUICE_FILE "_file"     /* of a reader's row: index of its file in the split */
#define SLUICE_BEGIN "_begin"   /* of a reader's row: its decoded bytes in the file */
#define SLUICE_END "_end"

#define SLUICE_KEY "key" /* not hidden; fixed[16]: partitions of a keyed stage are made by it */

/* The hidden ones to switch over and to count, in the order of the table below. */
enum sluice_hidden {
    SLUICE_HIDDEN_ROW,
    SLUICE_HIDDEN_POS,
    SLUICE_HIDDEN_ORIGIN,
    SLUICE_HIDDEN_SPAN,
    SLUICE_HIDDEN_FILE,
    SLUICE_HIDDEN_BEGIN,
    SLUICE_HIDDEN_END,
    SLUICE_HIDDEN_NONE /* no such column; not in the table */
};

struct sluice_hidden_column {
    const char *name;
    const char *type; /* as plan->need and plan->add take it */
};

static const struct sluice_hidden_column sluice_hidden_columns[SLUICE_HIDDEN_NONE] = {
    { SLUICE_ROW, "uint64" },
    { SLUICE_POS, "uint64" },
    { SLUICE_ORIGIN, "uint64|list<uint64>" },
    { SLUICE_SPAN, "list<uint64>" },
    { SLUICE_FILE, "uint32" },
    { SLUICE_BEGIN, "uint64" },
    { SLUICE_END, "uint64" },
};

/* Which of them has this name? SLUICE_HIDDEN_NONE: none. */
SLUICE_INLINE enum sluice_hidden sluice_hidden_of(const char *name)
{
    size_t k = 0;
    while (k < SLUICE_HIDDEN_NONE && strcmp(name, sluice_hidden_columns[k].name) != 0) {
        k++;
    }
    return (enum sluice_hidden)k;
}

#endif
