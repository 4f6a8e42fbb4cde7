/* where - the expressions by which rows are chosen: "lang == 'en' and n_words > 50".
 *
 * For readers of files that know something of their rows before they read them, for commands that
 * look at rows, and for anybody else: `head --where` and read_parquet's `where` mean the same.
 * Depends on sluice.h; knows no file format. A text is parsed once (where_parse), bound to each
 * schema that it meets (where_bind), and then asked: which rows of a batch hold (where_eval), and
 * can any row hold of which only bounds are known (where_may). Where there is no schema, rows are
 * asked one by one (where_holds).
 *
 *     expression  is made with and, or, not, ( ) of
 *     comparison  PATH = VALUE, also ==, !=, <, <=, >, >=, and VALUE < PATH
 *                 PATH [not] in (VALUE, …)
 *                 PATH is [not] null
 *                 PATH [not] like 'a%_' [escape 'c']    % any characters, _ any one
 *     PATH        a, a.b, a[0].b, `any name`; a name with dots is found as well
 *     VALUE       12, -1.5e3, true, false, 'it''s', "it's"
 *
 * Words of the language may be written in capitals. Texts are compared byte by byte, numbers by
 * value, whatever their types (a float32 with the nearest float32), dates and times with texts such
 * as '2024-02-29T23:59:59.5Z'. A comparison with null is neither true nor false: no row is kept by
 * it, behind `not` neither. NaN equals nothing, and is neither below nor above anything.
 *
 * All of these may be used by any number of threads at once once they are made. */
#ifndef SLUICE_WHERE_H
#define SLUICE_WHERE_H

#include <stdbool.h>

#include "sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WHERE_MOST_BYTES ((size_t)1 << 20) /* of a text */

enum where_kind {
    WHERE_NONE, /* null, or not known */
    WHERE_BOOL,
    WHERE_INT,
    WHERE_BIG, /* whole numbers above INT64_MAX */
    WHERE_REAL,
    WHERE_TEXT,
    WHERE_OTHER /* of rows: not null, and compared with nothing */
};
struct where_value {
    enum where_kind kind;
    bool above; /* WHERE_INT: above it, but below the next one */
    union {
        bool truth;
        int64_t whole;
        uint64_t big;
        double real;
        const char *text; /* n bytes */
    } as;
    size_t n;
};
/* The value of a whole number without sign, which is WHERE_BIG only where it has to be. */
struct where_value where_unsigned(uint64_t);
/* -1, 0, 1; 2 = they can't be compared: kinds that differ (numbers are one), NaN, null. */
int where_compare(const struct where_value *, const struct where_value *);

struct where_step {
    const char *name; /* NULL: an item of a list */
    uint64_t index;
};
struct where_path {
    const struct where_step *steps;
    size_t n;
};

struct where;

/* SLUICE_E_CONFIG says where in the text (by characters, from 1) what was found and what was
 * expected. The text is copied. */
sluice_status where_parse(const char *text, struct where **out, struct sluice_error *);
void where_destroy(struct where *); /* NULL is fine */
/* Writes the canonical form, as snprintf does: equal for expressions that differ in spelling only.
 * `not` is resolved: what is left of it stands before a single comparison. */
size_t where_text(const struct where *, char *out, size_t room);
/* Whether a path begins with the name; *kind (may be NULL): of a value that it is compared with. */
bool where_names(const struct where *, const char *name, enum where_kind *kind);
/* The expression is a single comparison PATH = VALUE, not negated. */
bool where_is_equals(const struct where *);

/* What a row has at a path; WHERE_NONE for null and for what is not there. */
typedef struct where_value (*where_find_fn)(void *ctx, const struct where_path *);
/* Rows of any types: what can't be compared is as null. */
bool where_holds(const struct where *, where_find_fn, void *ctx);

struct where_bound;

#define WHERE_ABSENT_IS_NULL 1u /* columns that are not there; else they are refused */

/* schema: a struct ("+s"). SLUICE_E_SCHEMA: no such column (with a suggestion), or one that can't
 * be compared with that value. Copies what it needs of schema; where must outlive it. */
sluice_status where_bind(const struct where *, const struct ArrowSchema *schema, uint32_t flags,
                         struct where_bound **out, struct sluice_error *);
void where_unbind(struct where_bound *); /* NULL is fine */

/* The columns at the ends of the paths, each once. */
struct where_leaf {
    const uint32_t *children; /* which child, from the top; of a list its only one */
    size_t n;                 /* 0: the column is not there */
    bool listed;              /* an item of a list: others of its column are other rows' */
    char format[24];          /* Arrow's, of the leaf; "" where it is not there */
};
size_t where_leaves(const struct where_bound *);
const struct where_leaf *where_leaf_at(const struct where_bound *, size_t k);

/* keep[k] becomes 1 where row k holds, else 0. rows: a struct array of the schema, of which
 * children that no leaf leads to may be empty. SLUICE_E_NOMEM. */
sluice_status where_eval(const struct where_bound *, const struct ArrowArray *rows, uint8_t *keep,
                         struct sluice_error *);

/* What is known of all values of a leaf in a set of rows. */
struct where_facts {
    /* No value is below min or above max; both of WHERE_NONE where that is not known. They need not
     * be values that occur (texts that were cut), and NaN may occur beside them. Dates and times
     * are the whole numbers of their column. */
    struct where_value min, max;
    int64_t nulls;  /* -1 = not known */
    int64_t values; /* with nulls; -1 = not known */
};
typedef void (*where_facts_fn)(void *ctx, size_t leaf, struct where_facts *);
/* true: the value occurs in none of the rows (a Bloom filter). Not called for NaN. */
typedef bool (*where_absent_fn)(void *ctx, size_t leaf, const struct where_value *);
/* false: no row of the set holds. Any function may be NULL: nothing is known. */
bool where_may(const struct where_bound *, where_facts_fn, where_absent_fn, void *ctx);

#ifdef __cplusplus
}
#endif

#endif
