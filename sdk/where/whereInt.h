/* What the files of this folder share: the tree of an expression. `not` is gone from it: it is
 * moved to the comparisons when the text is parsed, so that "neither true nor false" needs no third
 * value: a comparison with null is not true, negated or not. */
#ifndef SLUICE_WHERE_INT_H
#define SLUICE_WHERE_INT_H

#include "where/where.h"

enum where_op {
    WHERE_AND,
    WHERE_OR,
    WHERE_EQUAL,
    WHERE_LESS,
    WHERE_LESS_EQUAL,
    WHERE_GREATER,
    WHERE_GREATER_EQUAL,
    WHERE_IN,
    WHERE_NULL,
    WHERE_LIKE
};

/* Of patterns: a byte, or one of these. */
#define WHERE_ANY_ONE 256u
#define WHERE_ANY_RUN 257u

struct where_node {
    enum where_op op;
    bool negated;              /* comparisons */
    size_t at;                 /* byte of the text */
    struct where_node **parts; /* and, or: two at least */
    size_t n_parts;
    struct where_path path;
    const struct where_value *values; /* one; in: n, ascending, each once, where they are bound */
    size_t n_values;
    const uint16_t *pattern; /* like */
    size_t n_pattern;
    char escape; /* like; '\0' = none */
    /* of a bound tree */
    size_t leaf;
    bool ranged; /* the whole numbers [lo, hi] are what the comparison says, before it is negated */
    int64_t lo, hi;
};

/* How values of a leaf lie in memory. */
enum where_class {
    WHERE_OF_NULLS,
    WHERE_OF_OTHERS, /* only nulls are told from what is not null */
    WHERE_OF_BOOLS,
    WHERE_OF_INT8,
    WHERE_OF_INT16,
    WHERE_OF_INT32,
    WHERE_OF_INT64,
    WHERE_OF_UINT8,
    WHERE_OF_UINT16,
    WHERE_OF_UINT32,
    WHERE_OF_UINT64,
    WHERE_OF_FLOAT16,
    WHERE_OF_FLOAT32,
    WHERE_OF_FLOAT64,
    WHERE_OF_TEXTS, /* offsets of 32 bits */
    WHERE_OF_LARGE_TEXTS,
    WHERE_OF_FIXED
};
enum where_way { WHERE_MEMBER, WHERE_ITEM, WHERE_LARGE_ITEM };
struct where_turn { /* one level down */
    enum where_way way;
    uint64_t index;
};
struct where_end { /* a leaf */
    struct where_leaf shown;
    enum where_class how;
    size_t width; /* fixed */
    const struct where_turn *turns;
};
struct where_bound {
    struct where_block *blocks;
    const struct where *where;
    struct where_node *root;
    struct where_end *ends;
    size_t n_ends;
};

/* Memory that goes at once. */
struct where_block {
    struct where_block *next;
    size_t used, size;
};
struct where {
    struct where_block *blocks;
    const char *text;
    struct where_node *root;
};
/* Aligned, cleared; NULL = no more memory. */
void *where_alloc(struct where_block **blocks, size_t size);
void where_free(struct where_block *blocks);

/* "where, character 12: ..." into the error's message. */
sluice_status where_fail(struct sluice_error *, sluice_status status, const char *text, size_t at,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The path as it is written; cut at room. */
void where_path_text(const struct where_path *, char *out, size_t room);

bool where_is_number(enum where_kind);
bool where_has_reals(enum where_class); /* and so perhaps NaN */
/* Does a text match? */
bool where_like(const uint16_t *pattern, size_t n, const char *text, size_t size);
/* Does a comparison hold for a value? WHERE_NONE is null. */
bool where_test(const struct where_node *, const struct where_value *);
/* Sorts values and leaves each once; returns how many are left. NaN goes. */
size_t where_sort(struct where_value *values, size_t n);

/* A date, time or both, as the number of a column: digits 0, 3, 6, 9 of a second's fraction, or -1:
 * days. false = it is none. */
bool where_date(const char *text, size_t n, int digits, struct where_value *out);
bool where_clock(const char *text, size_t n, int digits, struct where_value *out);
/* zoned: a Z behind it is allowed. */
bool where_stamp(const char *text, size_t n, int digits, struct where_value *out);

#endif
