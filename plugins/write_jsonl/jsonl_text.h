/* JSON text of single values, appended to memory: strings, numbers, base64, verbatim JSON, members
 * of objects.
 *
 * Depends on sluice_arrays.h; the numbers need libstdc++'s <charconv>. Promises: one value never
 * holds a line break, numbers read back equal, and nothing depends on the locale. Functions return
 * 0 when memory is used up, else 1, unless they say otherwise. */
#ifndef JSONL_TEXT_H
#define JSONL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice_arrays.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JSONL_NUMBER_MAX 40

/* The text in quotation marks. Valid UTF-8 is the caller's promise; only ", \ and control
 * characters are escaped. */
int jsonl_string(struct sluice_bytes *out, const char *text, size_t n);

/* One JSON value as it is, but for line breaks (white space in valid JSON), which become spaces.
 * Nothing at all becomes null. */
int jsonl_raw(struct sluice_bytes *out, const char *json, size_t n);

/* The bytes in base64 (RFC 4648, padded), in quotation marks. */
int jsonl_base64(struct sluice_bytes *out, const void *data, size_t n);

/* The members of a JSON object, one by one. */
struct jsonl_walk {
    const char *at, *end;
    int first, ended;
};
struct jsonl_member { /* "key": value, as they stand there */
    const char *key, *key_end, *value, *value_end;
};
/* 0: it is no object. */
int jsonl_walk_begin(struct jsonl_walk *walk, const char *json, size_t n);
/* 1: there is one more; 0: that was all; -1: what follows is no JSON. */
int jsonl_walk_next(struct jsonl_walk *walk, struct jsonl_member *member);
int jsonl_is_named(const struct jsonl_member *member, const char *const *names, size_t n_names);

/* The members of a JSON object, each behind a comma (the first one only if comma != 0), without the
 * braces; those called names[k] are left out. Gives how many were written in *written. Returns -1,
 * with out as it was, when json is no object. */
int jsonl_members(struct sluice_bytes *out, const char *json, size_t n, const char *const *names,
                  size_t n_names, int comma, size_t *written);

/* Decimal digits to at (JSONL_NUMBER_MAX bytes, not terminated); returns their number. */
size_t jsonl_uint(uint64_t value, char *at);
size_t jsonl_int(int64_t value, char *at);

/* The shortest text that reads back equal, with a point or exponent so that it stays a float (1.0,
 * 1e+22); null for inf and nan. */
size_t jsonl_double(double value, char *at);
size_t jsonl_float(float value, char *at);

#ifdef __cplusplus
}
#endif
#endif
