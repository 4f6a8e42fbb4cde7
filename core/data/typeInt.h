/* Private to core/data: what type.c, type_parse.c, schema.c and the array code share about
 * types. */
#ifndef SLUICE_DATA_TYPE_INT_H
#define SLUICE_DATA_TYPE_INT_H

#include "base/buf.h"
#include "data/schema.h"

#define TYPE_DEPTH_MAX 32      /* levels of types inside types */
#define TYPE_FIXED_MAX 65536   /* bytes of fixed[N] */
#define TYPE_CHILDREN_MAX 4096 /* members of one struct */

/* How a kind is written and what follows its name. */
enum type_shape {
    SHAPE_PLAIN,
    SHAPE_ITEM,    /* <T> */
    SHAPE_PAIR,    /* <K,V> */
    SHAPE_MEMBERS, /* <name:T,...> */
    SHAPE_SIZE,    /* [N] */
    SHAPE_UNIT,    /* [unit] or, timestamps only, [unit,ZONE] */
    SHAPE_DECIMAL  /* (P,S) */
};

struct type_word {
    const char *text;
    enum type_kind kind;
    enum type_shape shape;
    const char *units; /* " s ms " for SHAPE_UNIT */
};

/* Indexed by enum type_kind. */
extern const struct type_word type_words[TYPE_DICTIONARY + 1];

static inline bool type_is_bytes(const struct type *type)
{
    return type->kind == TYPE_UTF8 || type->kind == TYPE_BINARY || type->kind == TYPE_JSON;
}

/* A new zeroed type of a kind with room for n children, or NULL. */
struct type *type_create(enum type_kind kind);
/* Appends a child; takes it and the name (which may be NULL), even on failure. */
bool type_adopt(struct type *, struct type *child, char *name);

/* The name as the language writes it: bare, or in double quotes with \" and \\. */
void type_name_print(struct buf *, const char *name);
/* Structural hash: kinds, widths, members' names; neither nullability nor the alias. */
uint64_t type_hash(const struct type *, uint64_t seed);

#endif
