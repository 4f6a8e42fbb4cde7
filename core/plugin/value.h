/* Option values as a script or a command line gives them: nil, bool, int, float, string, list, map.
 * Owns their memory; depends on base. A map's keys are unique and sorted by bytes. Plain data: copy
 * with value_copy, free with value_deinit. Not thread-safe. */
#ifndef SLUICE_PLUGIN_VALUE_H
#define SLUICE_PLUGIN_VALUE_H

#include "base/buf.h"
#include "base/utf8.h"

enum value_kind {
    VALUE_NIL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING,
    VALUE_LIST,
    VALUE_MAP
};

#define VALUE_DEPTH_MAX 32 /* nesting that value_parse_json reads */

struct value_entry;

struct value {
    enum value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            char *data; /* owned, NUL after size bytes; may hold NULs */
            size_t size;
        } string;
        struct {
            struct value *items; /* owned */
            size_t n, capacity;
        } list;
        struct {
            struct value_entry *entries; /* owned, sorted by key */
            size_t n, capacity;
        } map;
    } as;
};

struct value_entry {
    char *key; /* owned, NUL-terminated */
    struct value value;
};

#define VALUE_INIT        \
    {                     \
        .kind = VALUE_NIL \
    }

/* Constructors. Those that allocate return false when memory runs out (then *out is nil). */
struct value value_nil(void);
struct value value_bool(bool);
struct value value_int(int64_t);
struct value value_float(double);
bool value_string(struct value *out, const char *data, size_t n);
void value_list_init(struct value *out);
void value_map_init(struct value *out);

/* Takes item, even when it returns false (no memory). */
bool value_list_add(struct value *list, struct value item);
/* Takes item, even when it returns false (no memory); an entry of the same key is replaced. */
bool value_map_set(struct value *map, const char *key, struct value item);
const struct value *value_map_get(const struct value *map,
                                  const char *key); /* NULL = absent; borrowed */

void value_deinit(struct value *); /* leaves nil; NULL is fine */
bool value_copy(struct value *out,
                const struct value *from); /* deep; out is uninitialised; false = out of memory */
bool value_equal(const struct value *, const struct value *); /* kinds as well; NaN equals NaN */

/* As a person would write it, for messages: `string "abc"`, `int 5`, `list of 3`. Long strings are
 * cut. */
void value_describe(const struct value *, struct buf *out);
/* Canonical JSON: sorted keys, no spaces, shortest numbers that read back equal; floats always with
 * `.` or `e`; NaN and infinities are the strings "nan" "inf" "-inf". Bytes that are not UTF-8
 * become U+FFFD. */
void value_print_json(const struct value *, struct buf *out);
/* One JSON text (whole; surrounding blanks allowed). Numbers without fraction and exponent that fit
 * are ints, others floats. Refuses duplicate keys, NULs in keys, depth over VALUE_DEPTH_MAX,
 * trailing bytes. SLUICE_E_CONFIG with the offset. *out is nil on failure. */
sluice_status value_parse_json(const char *text, size_t n, struct value *out,
                               struct sluice_error *err) MUST_USE;

/* The shortest decimal text that reads back to the same double (15 to 17 digits), at least 32
 * bytes; "inf", "-inf", "nan". No locale. */
#define NUMBER_TEXT_MAX 32
void number_print(double, char out[NUMBER_TEXT_MAX]);
/* Reads a decimal number ([+-]digits[.digits][e[+-]digits]) from the start; returns the bytes used,
 * 0 = none. No hex, inf, nan, locale. */
size_t number_parse(const char *text, size_t n, double *out);

/* Replaces bytes that are not UTF-8, and control characters but \n and \t, by '?'. */
void utf8_clean(char *text);

#endif
