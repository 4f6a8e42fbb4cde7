/* The schema language: types, fields, schemas. Immutable after construction except through the
 * functions here. Depends on base.
 *
 * Types: bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 utf8 binary json
 * fixed[N] list<T> struct<name:T,...> map<K,V> and the alias `spans` (= list<uint64>). A
 * trailing `?` means nullable. `json` has utf8's memory. Names of members outside [A-Za-z0-9_.-]
 * and non-ASCII letters are written in double quotes, with \" and \\ as the only escapes.
 * Further Arrow types that stages refuse but the language parses: large_utf8 large_binary
 * large_list<T> date32 date64 time32[s|ms] time64[us|ns] timestamp[s|ms|us|ns(,ZONE)]
 * duration[unit] decimal128(P,S) null dictionary<I,T>. */
#ifndef SLUICE_DATA_SCHEMA_H
#define SLUICE_DATA_SCHEMA_H

#include "base/error.h"
#include "sluice_hidden.h"

enum type_kind {
    TYPE_NULL,
    TYPE_BOOL,
    TYPE_INT8,
    TYPE_INT16,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_UINT8,
    TYPE_UINT16,
    TYPE_UINT32,
    TYPE_UINT64,
    TYPE_FLOAT32,
    TYPE_FLOAT64,
    TYPE_UTF8,
    TYPE_BINARY,
    TYPE_JSON,
    TYPE_FIXED,
    TYPE_LIST,
    TYPE_STRUCT,
    TYPE_MAP,
    TYPE_LARGE_UTF8,
    TYPE_LARGE_BINARY,
    TYPE_LARGE_LIST,
    TYPE_DATE32,
    TYPE_DATE64,
    TYPE_TIME32,
    TYPE_TIME64,
    TYPE_TIMESTAMP,
    TYPE_DURATION,
    TYPE_DECIMAL128,
    TYPE_DICTIONARY
};

struct type {
    enum type_kind kind;
    bool nullable;
    bool spans;    /* written as the alias `spans` */
    int32_t width; /* fixed[N]: N; decimal: precision */
    int32_t scale; /* decimal */
    char unit[40]; /* time types: unit and zone as written */
    uint32_t n_children;
    struct type **children; /* list: 1, struct: n, map: 2, dictionary: 2 */
    char **names;           /* struct: child names */
};

/* Parses the whole text; the error names the place in it. Gives. Nesting deeper than 32 is
 * refused. */
sluice_status type_parse(const char *text, struct type **out, struct sluice_error *err) MUST_USE;
struct type *type_copy(const struct type *); /* NULL = out of memory */
void type_destroy(struct type *);
bool type_equal(const struct type *, const struct type *, bool compare_nullable);
/* Bytes of one value of a fixed-width kind; 0 for bool, text, nested and unsupported kinds. */
size_t type_width(const struct type *);
/* Canonical text (what type_parse reads back to an equal type). Gives; NULL = out of memory. */
char *type_print(const struct type *);
/* True when the engine stores such a column (TYPE_BOOL to TYPE_STRUCT, children as well). */
bool type_supported(const struct type *);

struct field {
    char *name;
    struct type *type;
    char *metadata; /* "key=value\n..." or NULL */
    bool hidden;    /* provenance: name begins with '_' */
    /* Derived columns: provider, its options' canonical text, source column; else NULL. */
    char *derived_provider;
    char *derived_options;
    char *derived_source;
};

struct schema {
    struct field *fields; /* owned */
    uint32_t n;
    uint32_t capacity;
};

void schema_init(struct schema *);
void schema_deinit(struct schema *);
sluice_status schema_copy(struct schema *out, const struct schema *from,
                          struct sluice_error *err) MUST_USE; /* out uninitialised */
int32_t schema_find(const struct schema *, const char *name); /* -1 = absent */
/* Appends a field (copies everything); a second field of the same name is SLUICE_E_SCHEMA. */
sluice_status schema_add(struct schema *, const char *name, const struct type *type,
                         const char *metadata, struct sluice_error *err) MUST_USE;
sluice_status schema_add_text(struct schema *, const char *name, const char *type,
                              const char *metadata, struct sluice_error *err) MUST_USE;
/* A hidden column under its name, with its type; not _origin, which has a choice. */
sluice_status schema_add_hidden(struct schema *, enum sluice_hidden,
                                struct sluice_error *err) MUST_USE;
void schema_remove(struct schema *, uint32_t index);
bool schema_equal(const struct schema *, const struct schema *); /* names, types, order */
/* "id:utf8, text:utf8?" - visible columns only, or all. Gives. */
char *schema_print(const struct schema *, bool all);
/* Value of key in a field's metadata; *n its length; NULL = absent. Borrowed. */
const char *field_metadata(const struct field *, const char *key, size_t *n);
/* "found the columns ..., no 'txt'; did you mean 'text'?" with SLUICE_E_SCHEMA. */
sluice_status schema_missing(const struct schema *, const char *name, struct sluice_error *err);

#endif
