/* JSON of the store's records: see jsontext.h. */
#include "store/jsontext.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "text/text_base64.h"

bool jsontext_utf8(const char *text)
{
    return utf8_valid(text, strlen(text));
}

/* Appends text with each byte that is no UTF-8 written as \xHH. */
static void put_clean(struct buf *out, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t n = 1;
        while (n <= 4 && n <= left && !utf8_valid_scalar(text, n)) {
            n++;
        }
        if (n > 4 || n > left) {
            n = 1;
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        } else {
            buf_append(out, text, n);
        }
        text += n;
        left -= n;
    }
}

void jsontext_put_string(struct buf *out, const char *text)
{
    struct buf clean = BUF_INIT;

    if (jsontext_utf8(text)) {
        buf_json_string(out, text, strlen(text));
        return;
    }
    put_clean(&clean, text);
    if (clean.failed) {
        out->failed = true;
    } else {
        buf_json_string(out, clean.data, clean.size);
    }
    buf_deinit(&clean);
}

json_t *jsontext_string(const char *text)
{
    struct buf clean = BUF_INIT;
    json_t *value = NULL;

    put_clean(&clean, text);
    if (!clean.failed) {
        value = json_stringn(clean.size > 0 ? clean.data : "", clean.size);
    }
    buf_deinit(&clean);
    return value;
}

static int append_piece(const char *data, size_t n, void *ctx)
{
    struct buf *out = ctx;

    buf_append(out, data, n);
    return out->failed ? -1 : 0;
}

void jsontext_put_value(struct buf *out, const json_t *value, size_t indent)
{
    size_t flags =
        JSON_SORT_KEYS | JSON_ENCODE_ANY | (indent > 0 ? JSON_INDENT(indent) : JSON_COMPACT);

    if (value == NULL) {
        buf_puts(out, "null");
    } else if (json_dump_callback(value, append_piece, out, flags) != 0) {
        out->failed = true;
    }
}

void jsontext_put_hash(struct buf *out, struct hash128 hash)
{
    char hex[33];

    hash_hex(hash, hex);
    buf_putc(out, '"');
    buf_append(out, hex, 32);
    buf_putc(out, '"');
}

bool jsontext_put_u64(struct buf *out, uint64_t n)
{
    if (n > INT64_MAX) {
        return false;
    }
    buf_printf(out, "%llu", (unsigned long long)n);
    return true;
}

sluice_status jsontext_parse(const char *data, size_t n, json_t **out, struct sluice_error *err)
{
    json_error_t why;
    json_t *value = json_loadb(data, n, JSON_REJECT_DUPLICATES, &why);

    *out = NULL;
    if (value == NULL) {
        if (json_error_code(&why) == json_error_out_of_memory) {
            return error_nomem(err, "a record");
        }
        return error_set(err, SLUICE_E_DATA, "no JSON object: %s at line %d, column %d", why.text,
                         why.line, why.column);
    }
    if (!json_is_object(value)) {
        json_decref(value);
        return error_set(err, SLUICE_E_DATA, "a JSON value that is no object");
    }
    *out = value;
    return SLUICE_OK;
}

bool jsontext_get_u64(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return false;
    }
    *out = (uint64_t)json_integer_value(value);
    return true;
}

bool jsontext_get_u32(const json_t *object, const char *key, uint32_t *out)
{
    uint64_t wide;

    if (!jsontext_get_u64(object, key, &wide) || wide > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)wide;
    return true;
}

bool jsontext_get_text(const json_t *object, const char *key, const char **out)
{
    *out = json_string_value(json_object_get(object, key));
    return *out != NULL;
}

bool jsontext_get_hash(const json_t *object, const char *key, struct hash128 *out)
{
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) && json_string_length(value) == 32 &&
           hash_parse(json_string_value(value), out);
}

bool jsontext_get_array(const json_t *object, const char *key, json_t **out)
{
    *out = json_object_get(object, key);
    return json_is_array(*out);
}

void jsontext_put_base64(struct buf *out, const void *data, size_t n)
{
    if (n / 3 > SIZE_MAX / 8 || !buf_reserve(out, TEXT_BASE64_SIZE(n))) {
        out->failed = true;
        return;
    }
    out->size += text_base64_encode(data, n, out->data + out->size);
}

sluice_status jsontext_decode_base64(const char *text, size_t n, unsigned char **out, size_t *size,
                                     struct sluice_error *err)
{
    unsigned char *data = malloc(n / 4 * 3 + 1);

    *out = NULL;
    *size = 0;
    if (data == NULL) {
        return error_nomem(err, "a record");
    }
    *size = text_base64_decode(text, n, data);
    if (*size == (size_t)-1) {
        *size = 0;
        free(data);
        return error_set(err, SLUICE_E_DATA, "text that is no base64");
    }
    *out = data;
    return SLUICE_OK;
}
