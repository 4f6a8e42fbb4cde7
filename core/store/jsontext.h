/* JSON as the store's records use it: integers and text, sorted keys, strict reading. Helpers for
 * commit and snapshot. Depends on base, jansson, text_base64.h. */
#ifndef SLUICE_STORE_JSONTEXT_H
#define SLUICE_STORE_JSONTEXT_H

#include <jansson.h>

#include "base/buf.h"
#include "base/hash.h"

/* Appends text as a JSON string. Bytes that are no UTF-8 (names of files may hold any) become the
 * four characters \xHH. */
void jsontext_put_string(struct buf *, const char *text);

/* The same as a value; NULL = out of memory. Gives a reference. */
json_t *jsontext_string(const char *text);

/* Appends a value with sorted keys; indent 0 = compact. NULL is written as null. */
void jsontext_put_value(struct buf *, const json_t *value, size_t indent);

/* Appends "…" around 32 digits. */
void jsontext_put_hash(struct buf *, struct hash128);

/* Appends n; false (and nothing appended) if it is too large for readers' signed 64-bit integers.
 */
bool jsontext_put_u64(struct buf *, uint64_t n);

/* A JSON text: one object, no duplicate keys, no bytes behind it. SLUICE_E_DATA with line and
 * column. Gives a reference. */
sluice_status jsontext_parse(const char *data, size_t n, json_t **out,
                             struct sluice_error *) MUST_USE;

/* Members of an object: false if absent, of another type, negative or no hash. Texts are borrowed
 * from the object. */
bool jsontext_get_u64(const json_t *object, const char *key, uint64_t *out);
bool jsontext_get_u32(const json_t *object, const char *key, uint32_t *out);
bool jsontext_get_text(const json_t *object, const char *key, const char **out);
bool jsontext_get_hash(const json_t *object, const char *key, struct hash128 *out);
bool jsontext_get_array(const json_t *object, const char *key, json_t **out);

/* Whether text is well-formed UTF-8 without surrogates. */
bool jsontext_utf8(const char *text);

/* Base64 (RFC 4648, with padding). Decoding refuses anything else, also non-zero padding bits; *out
 * is given (free()), never NULL. */
void jsontext_put_base64(struct buf *, const void *data, size_t n);
sluice_status jsontext_decode_base64(const char *text, size_t n, unsigned char **out, size_t *size,
                                     struct sluice_error *) MUST_USE;

#endif
