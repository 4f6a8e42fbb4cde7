/* Types: making, comparing, printing. The parser is type_parse.c. See schema.h. */
#include "data/typeInt.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

const struct type_word type_words[TYPE_DICTIONARY + 1] = {
    [TYPE_NULL] = { "null", TYPE_NULL, SHAPE_PLAIN, NULL },
    [TYPE_BOOL] = { "bool", TYPE_BOOL, SHAPE_PLAIN, NULL },
    [TYPE_INT8] = { "int8", TYPE_INT8, SHAPE_PLAIN, NULL },
    [TYPE_INT16] = { "int16", TYPE_INT16, SHAPE_PLAIN, NULL },
    [TYPE_INT32] = { "int32", TYPE_INT32, SHAPE_PLAIN, NULL },
    [TYPE_INT64] = { "int64", TYPE_INT64, SHAPE_PLAIN, NULL },
    [TYPE_UINT8] = { "uint8", TYPE_UINT8, SHAPE_PLAIN, NULL },
    [TYPE_UINT16] = { "uint16", TYPE_UINT16, SHAPE_PLAIN, NULL },
    [TYPE_UINT32] = { "uint32", TYPE_UINT32, SHAPE_PLAIN, NULL },
    [TYPE_UINT64] = { "uint64", TYPE_UINT64, SHAPE_PLAIN, NULL },
    [TYPE_FLOAT32] = { "float32", TYPE_FLOAT32, SHAPE_PLAIN, NULL },
    [TYPE_FLOAT64] = { "float64", TYPE_FLOAT64, SHAPE_PLAIN, NULL },
    [TYPE_UTF8] = { "utf8", TYPE_UTF8, SHAPE_PLAIN, NULL },
    [TYPE_BINARY] = { "binary", TYPE_BINARY, SHAPE_PLAIN, NULL },
    [TYPE_JSON] = { "json", TYPE_JSON, SHAPE_PLAIN, NULL },
    [TYPE_FIXED] = { "fixed", TYPE_FIXED, SHAPE_SIZE, NULL },
    [TYPE_LIST] = { "list", TYPE_LIST, SHAPE_ITEM, NULL },
    [TYPE_STRUCT] = { "struct", TYPE_STRUCT, SHAPE_MEMBERS, NULL },
    [TYPE_MAP] = { "map", TYPE_MAP, SHAPE_PAIR, NULL },
    [TYPE_LARGE_UTF8] = { "large_utf8", TYPE_LARGE_UTF8, SHAPE_PLAIN, NULL },
    [TYPE_LARGE_BINARY] = { "large_binary", TYPE_LARGE_BINARY, SHAPE_PLAIN, NULL },
    [TYPE_LARGE_LIST] = { "large_list", TYPE_LARGE_LIST, SHAPE_ITEM, NULL },
    [TYPE_DATE32] = { "date32", TYPE_DATE32, SHAPE_PLAIN, NULL },
    [TYPE_DATE64] = { "date64", TYPE_DATE64, SHAPE_PLAIN, NULL },
    [TYPE_TIME32] = { "time32", TYPE_TIME32, SHAPE_UNIT, " s ms " },
    [TYPE_TIME64] = { "time64", TYPE_TIME64, SHAPE_UNIT, " us ns " },
    [TYPE_TIMESTAMP] = { "timestamp", TYPE_TIMESTAMP, SHAPE_UNIT, " s ms us ns " },
    [TYPE_DURATION] = { "duration", TYPE_DURATION, SHAPE_UNIT, " s ms us ns " },
    [TYPE_DECIMAL128] = { "decimal128", TYPE_DECIMAL128, SHAPE_DECIMAL, NULL },
    [TYPE_DICTIONARY] = { "dictionary", TYPE_DICTIONARY, SHAPE_PAIR, NULL },
};

size_t type_width(const struct type *type)
{
    switch (type->kind) {
    case TYPE_INT8:
    case TYPE_UINT8:
        return 1;
    case TYPE_INT16:
    case TYPE_UINT16:
        return 2;
    case TYPE_INT32:
    case TYPE_UINT32:
    case TYPE_FLOAT32:
        return 4;
    case TYPE_INT64:
    case TYPE_UINT64:
    case TYPE_FLOAT64:
        return 8;
    case TYPE_FIXED:
        return (size_t)type->width;
    default:
        return 0;
    }
}

struct type *type_create(enum type_kind kind)
{
    struct type *type = calloc(1, sizeof *type);

    if (type != NULL) {
        type->kind = kind;
    }
    return type;
}

bool type_adopt(struct type *type, struct type *child, char *name)
{
    size_t n = type->n_children;

    /* Room doubles at powers of two, so the count alone tells when it is used up. */
    if ((n & (n - 1)) == 0) {
        size_t room = n == 0 ? 1 : n * 2;
        struct type **children = realloc(type->children, room * sizeof *children);
        char **names;
        if (children != NULL) {
            type->children = children;
        }
        names = children == NULL ? NULL : realloc(type->names, room * sizeof *names);
        if (names == NULL) {
            type_destroy(child);
            free(name);
            return false;
        }
        type->names = names;
    }
    type->children[n] = child;
    type->names[n] = name;
    type->n_children++;
    return true;
}

void type_destroy(struct type *type)
{
    if (type == NULL) {
        return;
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        type_destroy(type->children[k]);
        if (type->names != NULL) {
            free(type->names[k]);
        }
    }
    free(type->children);
    free(type->names);
    free(type);
}

struct type *type_copy(const struct type *from)
{
    struct type *type = type_create(from->kind);

    if (type == NULL) {
        return NULL;
    }
    type->nullable = from->nullable;
    type->spans = from->spans;
    type->width = from->width;
    type->scale = from->scale;
    memcpy(type->unit, from->unit, sizeof type->unit);
    for (uint32_t k = 0; k < from->n_children; k++) {
        struct type *child = type_copy(from->children[k]);
        char *name = NULL;
        bool named = from->names != NULL && from->names[k] != NULL;
        if (child != NULL && named) {
            name = str_copy(from->names[k], strlen(from->names[k]));
        }
        if (child == NULL || (named && name == NULL)) {
            type_destroy(child);
            type_destroy(type);
            return NULL;
        }
        if (!type_adopt(type, child, name)) {
            type_destroy(type);
            return NULL;
        }
    }
    return type;
}

bool type_equal(const struct type *a, const struct type *b, bool compare_nullable)
{
    if (a->kind != b->kind || a->width != b->width || a->scale != b->scale ||
        a->n_children != b->n_children || strcmp(a->unit, b->unit) != 0 ||
        (compare_nullable && a->nullable != b->nullable)) {
        return false;
    }
    for (uint32_t k = 0; k < a->n_children; k++) {
        if (a->kind == TYPE_STRUCT && strcmp(a->names[k], b->names[k]) != 0) {
            return false;
        }
        if (!type_equal(a->children[k], b->children[k], compare_nullable)) {
            return false;
        }
    }
    return true;
}

bool type_supported(const struct type *type)
{
    if (type->kind < TYPE_BOOL || type->kind > TYPE_STRUCT) {
        return false;
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        if (!type_supported(type->children[k])) {
            return false;
        }
    }
    return true;
}

uint64_t type_hash(const struct type *type, uint64_t seed)
{
    const uint32_t facts[4] = { (uint32_t)type->kind, (uint32_t)type->width, (uint32_t)type->scale,
                                type->n_children };
    uint64_t hash = XXH3_64bits_withSeed(facts, sizeof facts, seed);

    hash = XXH3_64bits_withSeed(type->unit, strlen(type->unit), hash);
    for (uint32_t k = 0; k < type->n_children; k++) {
        if (type->kind == TYPE_STRUCT) {
            hash = XXH3_64bits_withSeed(type->names[k], strlen(type->names[k]), hash);
        }
        hash = type_hash(type->children[k], hash);
    }
    return hash;
}

/* True for names that need no quotes in the language. */
static bool type_name_plain(const char *name)
{
    if (name[0] == '\0') {
        return false;
    }
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '_' || c == '-' || c == '.' || c >= 0x80;
        if (!plain) {
            return false;
        }
    }
    return true;
}

void type_name_print(struct buf *buf, const char *name)
{
    if (type_name_plain(name)) {
        buf_puts(buf, name);
        return;
    }
    buf_putc(buf, '"');
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\') {
            buf_putc(buf, '\\');
        }
        buf_putc(buf, *name);
    }
    buf_putc(buf, '"');
}

/* The canonical text: schemas enter task keys as this. What is printed parses to the same type. */
static void print_type(struct buf *buf, const struct type *type)
{
    if (type->spans) {
        buf_puts(buf, "spans");
    } else {
        const struct type_word *word = &type_words[type->kind];
        buf_puts(buf, word->text);
        switch (word->shape) {
        case SHAPE_PLAIN:
            break;
        case SHAPE_SIZE:
            buf_printf(buf, "[%d]", type->width);
            break;
        case SHAPE_UNIT:
            buf_printf(buf, "[%s]", type->unit);
            break;
        case SHAPE_DECIMAL:
            buf_printf(buf, "(%d,%d)", type->width, type->scale);
            break;
        case SHAPE_ITEM:
        case SHAPE_PAIR:
        case SHAPE_MEMBERS:
            buf_putc(buf, '<');
            for (uint32_t k = 0; k < type->n_children; k++) {
                if (k > 0) {
                    buf_putc(buf, ',');
                }
                if (word->shape == SHAPE_MEMBERS) {
                    type_name_print(buf, type->names[k]);
                    buf_putc(buf, ':');
                }
                print_type(buf, type->children[k]);
            }
            buf_putc(buf, '>');
            break;
        }
    }
    if (type->nullable) {
        buf_putc(buf, '?');
    }
}

char *type_print(const struct type *type)
{
    struct buf buf = BUF_INIT;

    print_type(&buf, type);
    return buf_take(&buf);
}
