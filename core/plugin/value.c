/* Option values: construction, copying, comparing, printing. See value.h; reading JSON is in
 * value_json.c. */
#include "plugin/value.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct value value_nil(void)
{
    struct value value = VALUE_INIT;

    return value;
}

struct value value_bool(bool boolean)
{
    struct value value = { .kind = VALUE_BOOL, .as.boolean = boolean };

    return value;
}

struct value value_int(int64_t integer)
{
    struct value value = { .kind = VALUE_INT, .as.integer = integer };

    return value;
}

struct value value_float(double number)
{
    struct value value = { .kind = VALUE_FLOAT, .as.number = number };

    return value;
}

bool value_string(struct value *out, const char *data, size_t n)
{
    char *copy = n < SIZE_MAX ? str_copy(data, n) : NULL;

    *out = value_nil();
    if (copy == NULL) {
        return false;
    }
    out->kind = VALUE_STRING;
    out->as.string.data = copy;
    out->as.string.size = n;
    return true;
}

void value_list_init(struct value *out)
{
    memset(out, 0, sizeof *out);
    out->kind = VALUE_LIST;
}

void value_map_init(struct value *out)
{
    memset(out, 0, sizeof *out);
    out->kind = VALUE_MAP;
}

/* Room for one more element of size bytes in an array of n; false = out of memory. */
static bool grow(void **items, size_t n, size_t *capacity, size_t size)
{
    size_t more;
    void *moved;

    if (n < *capacity) {
        return true;
    }
    more = *capacity < 4 ? 4 : *capacity * 2;
    if (more > SIZE_MAX / 2 / size) {
        return false;
    }
    moved = realloc(*items, more * size);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *capacity = more;
    return true;
}

bool value_list_add(struct value *list, struct value item)
{
    void *items = list->as.list.items;

    if (!grow(&items, list->as.list.n, &list->as.list.capacity, sizeof item)) {
        value_deinit(&item);
        return false;
    }
    list->as.list.items = items;
    list->as.list.items[list->as.list.n++] = item;
    return true;
}

/* Where key is or belongs. */
static size_t map_place(const struct value *map, const char *key, bool *found)
{
    size_t low = 0;
    size_t high = map->as.map.n;

    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(map->as.map.entries[middle].key, key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool value_map_set(struct value *map, const char *key, struct value item)
{
    bool found;
    size_t place = map_place(map, key, &found);
    void *entries = map->as.map.entries;
    struct value_entry *entry;
    char *copy;

    if (found) {
        value_deinit(&map->as.map.entries[place].value);
        map->as.map.entries[place].value = item;
        return true;
    }
    copy = str_copy(key, strlen(key));
    if (copy == NULL || !grow(&entries, map->as.map.n, &map->as.map.capacity, sizeof *entry)) {
        free(copy);
        value_deinit(&item);
        return false;
    }
    map->as.map.entries = entries;
    entry = &map->as.map.entries[place];
    memmove(entry + 1, entry, (map->as.map.n - place) * sizeof *entry);
    entry->key = copy;
    entry->value = item;
    map->as.map.n++;
    return true;
}

const struct value *value_map_get(const struct value *map, const char *key)
{
    bool found;
    size_t place = map_place(map, key, &found);

    return found ? &map->as.map.entries[place].value : NULL;
}

void value_deinit(struct value *value)
{
    if (value == NULL) {
        return;
    }
    switch (value->kind) {
    case VALUE_STRING:
        free(value->as.string.data);
        break;
    case VALUE_LIST:
        for (size_t i = 0; i < value->as.list.n; i++) {
            value_deinit(&value->as.list.items[i]);
        }
        free(value->as.list.items);
        break;
    case VALUE_MAP:
        for (size_t i = 0; i < value->as.map.n; i++) {
            free(value->as.map.entries[i].key);
            value_deinit(&value->as.map.entries[i].value);
        }
        free(value->as.map.entries);
        break;
    case VALUE_NIL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT:
        break;
    }
    *value = value_nil();
}

bool value_copy(struct value *out, const struct value *from)
{
    struct value item;

    switch (from->kind) {
    case VALUE_STRING:
        return value_string(out, from->as.string.data, from->as.string.size);
    case VALUE_LIST:
        value_list_init(out);
        for (size_t i = 0; i < from->as.list.n; i++) {
            if (!value_copy(&item, &from->as.list.items[i]) || !value_list_add(out, item)) {
                value_deinit(out);
                return false;
            }
        }
        return true;
    case VALUE_MAP:
        value_map_init(out);
        for (size_t i = 0; i < from->as.map.n; i++) {
            const struct value_entry *entry = &from->as.map.entries[i];
            if (!value_copy(&item, &entry->value) || !value_map_set(out, entry->key, item)) {
                value_deinit(out);
                return false;
            }
        }
        return true;
    case VALUE_NIL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_FLOAT:
        break;
    }
    *out = *from;
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case VALUE_NIL:
        return true;
    case VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    case VALUE_INT:
        return a->as.integer == b->as.integer;
    case VALUE_FLOAT:
        /* For options NaN is a value like others: the same script gives equal options. */
        return a->as.number == b->as.number || (isnan(a->as.number) && isnan(b->as.number));
    case VALUE_STRING:
        return a->as.string.size == b->as.string.size &&
               memcmp(a->as.string.data, b->as.string.data, a->as.string.size) == 0;
    case VALUE_LIST:
        if (a->as.list.n != b->as.list.n) {
            return false;
        }
        for (size_t i = 0; i < a->as.list.n; i++) {
            if (!value_equal(&a->as.list.items[i], &b->as.list.items[i])) {
                return false;
            }
        }
        return true;
    case VALUE_MAP:
        if (a->as.map.n != b->as.map.n) {
            return false;
        }
        for (size_t i = 0; i < a->as.map.n; i++) {
            const struct value_entry *x = &a->as.map.entries[i];
            const struct value_entry *y = &b->as.map.entries[i];
            if (strcmp(x->key, y->key) != 0 || !value_equal(&x->value, &y->value)) {
                return false;
            }
        }
        return true;
    }
    return false;
}

/* ---- UTF-8 ---- */

/* Bytes of the well-formed character at data (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *data, size_t n)
{
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t length;

    if (data[0] < 0x80) {
        return 1;
    }
    if (data[0] < 0xc2 || data[0] > 0xf4) {
        return 0;
    }
    length = data[0] < 0xe0 ? 2 : data[0] < 0xf0 ? 3 : 4;
    if (length > n) {
        return 0;
    }
    if (data[0] == 0xe0) {
        low = 0xa0;
    } else if (data[0] == 0xed) {
        high = 0x9f;
    } else if (data[0] == 0xf0) {
        low = 0x90;
    } else if (data[0] == 0xf4) {
        high = 0x8f;
    }
    if (data[1] < low || data[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if (data[i] < 0x80 || data[i] > 0xbf) {
            return 0;
        }
    }
    return length;
}

void utf8_clean(char *text)
{
    size_t n = strlen(text);
    size_t i = 0;

    while (i < n) {
        size_t length = utf8_length((const unsigned char *)text + i, n - i);
        unsigned char c = (unsigned char)text[i];
        if (length == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
            text[i] = '?';
            length = 1;
        }
        i += length;
    }
}

/* Quoted JSON of any bytes. */
static void print_string(const char *data, size_t n, struct buf *out)
{
    struct buf clean = BUF_INIT;
    size_t i = 0;

    if (utf8_valid(data, n)) {
        buf_json_string(out, data, n);
        return;
    }
    while (i < n) {
        size_t length = utf8_length((const unsigned char *)data + i, n - i);
        if (length == 0) {
            buf_puts(&clean, "\xef\xbf\xbd");
            length = 1;
        } else {
            buf_append(&clean, data + i, length);
        }
        i += length;
    }
    if (clean.failed) {
        out->failed = true;
    } else {
        buf_json_string(out, clean.data, clean.size);
    }
    buf_deinit(&clean);
}

/* ---- numbers ---- */

void number_print(double number, char out[NUMBER_TEXT_MAX])
{
    locale_t before;
    locale_t plain;

    if (isnan(number)) {
        memcpy(out, "nan", 4);
        return;
    }
    if (isinf(number)) {
        memcpy(out, number < 0 ? "-inf" : "inf", number < 0 ? 5 : 4);
        return;
    }
    /* A plugin may have called setlocale against the rules; the text must not depend on it. */
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_TEXT_MAX, "%.*g", digits, number);
        if (strtod(out, NULL) == number) {
            break;
        }
    }
    if (plain != (locale_t)0) {
        uselocale(before);
        freelocale(plain);
    }
}

size_t number_parse(const char *text, size_t n, double *out)
{
    char copy[320];
    size_t used = 0;
    size_t digits = 0;
    locale_t plain;

    if (used < n && (text[used] == '+' || text[used] == '-')) {
        used++;
    }
    for (; used < n && text[used] >= '0' && text[used] <= '9'; used++) {
        digits++;
    }
    /* "1..5" is the range from 1 to 5: a dot belongs to the number only when a digit follows. */
    if (used + 1 < n && text[used] == '.' && text[used + 1] >= '0' && text[used + 1] <= '9') {
        for (used++; used < n && text[used] >= '0' && text[used] <= '9'; used++) {
            digits++;
        }
    }
    if (digits == 0) {
        return 0;
    }
    if (used < n && (text[used] == 'e' || text[used] == 'E')) {
        size_t exponent = used + 1;
        if (exponent < n && (text[exponent] == '+' || text[exponent] == '-')) {
            exponent++;
        }
        if (exponent < n && text[exponent] >= '0' && text[exponent] <= '9') {
            while (exponent < n && text[exponent] >= '0' && text[exponent] <= '9') {
                exponent++;
            }
            used = exponent;
        }
    }
    if (used >= sizeof copy) {
        return 0;
    }
    memcpy(copy, text, used);
    copy[used] = '\0';
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return 0;
    }
    *out = strtod_l(copy, NULL, plain);
    freelocale(plain);
    return used;
}

/* ---- printing ---- */

void value_describe(const struct value *value, struct buf *out)
{
    char number[NUMBER_TEXT_MAX];

    switch (value->kind) {
    case VALUE_NIL:
        buf_puts(out, "nil");
        break;
    case VALUE_BOOL:
        buf_puts(out, value->as.boolean ? "bool true" : "bool false");
        break;
    case VALUE_INT:
        buf_printf(out, "int %lld", (long long)value->as.integer);
        break;
    case VALUE_FLOAT:
        number_print(value->as.number, number);
        buf_printf(out, "float %s", number);
        break;
    case VALUE_STRING: {
        size_t n = value->as.string.size;
        buf_puts(out, "string ");
        if (n > 60) {
            n = utf8_cut(value->as.string.data, n, 57);
        }
        print_string(value->as.string.data, n, out);
        if (n < value->as.string.size) {
            buf_puts(out, "...");
        }
        break;
    }
    case VALUE_LIST:
        buf_printf(out, "a list of %zu", value->as.list.n);
        break;
    case VALUE_MAP:
        buf_printf(out, "a map of %zu", value->as.map.n);
        break;
    }
}

void value_print_json(const struct value *value, struct buf *out)
{
    char number[NUMBER_TEXT_MAX];

    switch (value->kind) {
    case VALUE_NIL:
        buf_puts(out, "null");
        break;
    case VALUE_BOOL:
        buf_puts(out, value->as.boolean ? "true" : "false");
        break;
    case VALUE_INT:
        buf_printf(out, "%lld", (long long)value->as.integer);
        break;
    case VALUE_FLOAT:
        number_print(value->as.number, number);
        /* JSON has no infinities, so they go as text; 1.0 keeps its point, or it would come back
         * as an int. */
        if (!isfinite(value->as.number)) {
            buf_printf(out, "\"%s\"", number);
        } else {
            buf_puts(out, number);
            if (strpbrk(number, ".e") == NULL) {
                buf_puts(out, ".0");
            }
        }
        break;
    case VALUE_STRING:
        print_string(value->as.string.data, value->as.string.size, out);
        break;
    case VALUE_LIST:
        buf_putc(out, '[');
        for (size_t i = 0; i < value->as.list.n; i++) {
            if (i > 0) {
                buf_putc(out, ',');
            }
            value_print_json(&value->as.list.items[i], out);
        }
        buf_putc(out, ']');
        break;
    case VALUE_MAP:
        buf_putc(out, '{');
        for (size_t i = 0; i < value->as.map.n; i++) {
            const struct value_entry *entry = &value->as.map.entries[i];
            if (i > 0) {
                buf_putc(out, ',');
            }
            print_string(entry->key, strlen(entry->key), out);
            buf_putc(out, ':');
            value_print_json(&entry->value, out);
        }
        buf_putc(out, '}');
        break;
    }
}
