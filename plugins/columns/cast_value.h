/* Values of one type as those of another, exactly or not at all. Depends on jansson and on
 * plugins/stats/number.h. Works on its arguments alone. */
#ifndef COLUMNS_CAST_VALUE_H
#define COLUMNS_CAST_VALUE_H

#include <sluice_arrays.h>
#include <stdbool.h>

enum cast_kind { CAST_BOOL, CAST_INT, CAST_UINT, CAST_FLOAT, CAST_TEXT, CAST_BINARY, CAST_JSON };

struct cast_type {
    enum cast_kind kind;
    unsigned bits; /* of numbers */
};

/* Of "int64" or "int64?". false: a type that is not cast from or to. */
bool cast_type_parse(const char *type, struct cast_type *out);
/* Is there a rule from one to the other? */
bool cast_possible(struct cast_type from, struct cast_type to);

/* A value between the two. */
struct cast_value {
    enum { VALUE_NONE, VALUE_BOOLEAN, VALUE_WHOLE, VALUE_REAL, VALUE_TEXT } is;
    bool truth;
    bool negative; /* whole: -magnitude */
    uint64_t magnitude;
    double real;
    const char *text; /* borrowed from the array, or from `own` */
    size_t n;
    char *own; /* free() it */
};

/* Reads the value of a row. false: out of memory. */
bool cast_read(struct cast_type from, const struct ArrowArray *array, int64_t row,
               struct cast_value *out);

/* A column in the making. */
struct cast_column {
    struct sluice_bytes values, offsets, validity;
    int64_t n, nulls;
};

/* Appends the value. *bad: why it can't be one of this type, a constant, or NULL; nothing is
 * appended then. false: out of memory. */
bool cast_write(struct cast_type to, const struct cast_value *value, struct cast_column *out,
                const char **bad);
/* Appends a null. false: out of memory. */
bool cast_write_null(struct cast_type to, struct cast_column *out);
/* Takes the column, also when it fails. */
sluice_status cast_make(struct cast_type to, struct cast_column *column, struct ArrowArray *out);
void cast_column_deinit(struct cast_column *);

#endif
