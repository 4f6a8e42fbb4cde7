/* The value of a field in a row of JSON Lines as a text to compare ids with: that of a string, and
 * a number as it is written. No row is parsed as a whole: rows of a dataset are JSON, which its
 * writer made, and all but the field is passed over. Depends on buf, jansson. */
#ifndef SLUICE_CMD_ROWFIELD_H
#define SLUICE_CMD_ROWFIELD_H

#include "base/buf.h"

enum rowfield {
    ROWFIELD_NONE,    /* the row has no such field, or null */
    ROWFIELD_TEXT,    /* *out */
    ROWFIELD_OTHER,   /* a boolean, an array or an object, which is no id */
    ROWFIELD_NO_JSON, /* the row is no JSON object, as far as it was looked at */
};

/* path: a member's name, which may have dots in it, or a path through objects such as meta.id.
 * The last member of a name counts. *out is borrowed from the row, or from scratch, which is
 * replaced. */
enum rowfield rowfield_find(const char *row, size_t n, const char *path, struct buf *scratch,
                            const char **out, size_t *out_n);

#endif
