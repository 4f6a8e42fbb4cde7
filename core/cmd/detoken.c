/* Token ids back to bytes: see detoken.h. */
#include "cmd/detoken.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/disk.h"
#include "store/jsontext.h"

#define FILE_MOST (UINT64_C(256) << 20)
#define IDS_MOST (1u << 24)

struct token {
    size_t at;
    uint32_t n;
    bool there;
};

struct detoken {
    struct buf bytes;
    struct token *tokens; /* by id */
    uint32_t n, capacity;
    struct hash128 hash;
};

void detoken_close(struct detoken *detoken)
{
    if (detoken != NULL) {
        buf_deinit(&detoken->bytes);
        free(detoken->tokens);
        free(detoken);
    }
}

static sluice_status put(struct detoken *detoken, uint32_t id, const void *bytes, size_t n,
                         struct sluice_error *err)
{
    if (id >= IDS_MOST || n > UINT32_MAX) {
        return error_set(err, SLUICE_E_CONFIG, "found token id %u, at most %u are possible", id,
                         IDS_MOST - 1);
    }
    if (id >= detoken->capacity) {
        uint32_t capacity = detoken->capacity == 0 ? 65536 : detoken->capacity;
        struct token *tokens;
        while (capacity <= id) {
            capacity *= 2;
        }
        tokens = realloc(detoken->tokens, capacity * sizeof *tokens);
        if (tokens == NULL) {
            return error_nomem(err, "a vocabulary");
        }
        memset(tokens + detoken->capacity, 0, (capacity - detoken->capacity) * sizeof *tokens);
        detoken->tokens = tokens;
        detoken->capacity = capacity;
    }
    if (!detoken->tokens[id].there) {
        detoken->tokens[id] = (struct token){ detoken->bytes.size, (uint32_t)n, true };
        buf_append(&detoken->bytes, bytes, n);
        detoken->n = id >= detoken->n ? id + 1 : detoken->n;
    }
    return buf_status(&detoken->bytes, err);
}

/* ---- .tiktoken ---- */

/* The special tokens of OpenAI's files, which do not hold them; known by the highest rank. */
static sluice_status put_specials(struct detoken *detoken, struct sluice_error *err)
{
    static const struct {
        uint32_t ranks, id;
        const char *content;
    } known[] = {
        { 50256, 50256, "<|endoftext|>" },     { 50281, 50256, "<|endoftext|>" },
        { 100256, 100257, "<|endoftext|>" },   { 100256, 100258, "<|fim_prefix|>" },
        { 100256, 100259, "<|fim_middle|>" },  { 100256, 100260, "<|fim_suffix|>" },
        { 100256, 100276, "<|endofprompt|>" }, { 199998, 199999, "<|endoftext|>" },
        { 199998, 200018, "<|endofprompt|>" },
    };
    uint32_t ranks = detoken->n;

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        if (known[k].ranks == ranks) {
            TRY(put(detoken, known[k].id, known[k].content, strlen(known[k].content), err));
        }
    }
    return SLUICE_OK;
}

static sluice_status read_ranks(struct detoken *detoken, const char *path, const char *data,
                                size_t size, struct sluice_error *err)
{
    size_t line = 1;

    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(data + at, '\n', size - at);
        size_t n = end == NULL ? size - at : (size_t)(end - data) - at;
        const char *text = data + at;
        const char *space = memchr(text, ' ', n);
        unsigned char *bytes = NULL;
        size_t length = 0;
        uint32_t id = 0;
        sluice_status status;
        at += n + 1;
        if (n == 0 || (n == 1 && text[0] == '\r')) {
            continue;
        }
        if (space == NULL) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s, line %zu: expected \"base64 rank\"; it is neither a .tiktoken "
                             "file nor a tokenizer.json",
                             path, line);
        }
        for (const char *p = space + 1; p < text + n && *p != '\r'; p++) {
            if (*p < '0' || *p > '9' || id > IDS_MOST) {
                return error_set(err, SLUICE_E_CONFIG,
                                 "%s, line %zu: the rank is no number below %u", path, line,
                                 IDS_MOST);
            }
            id = id * 10 + (uint32_t)(*p - '0');
        }
        status = jsontext_decode_base64(text, (size_t)(space - text), &bytes, &length, err);
        if (status == SLUICE_OK) {
            status = put(detoken, id, bytes, length, err);
        }
        free(bytes);
        if (status != SLUICE_OK) {
            return error_prefix(err, "%s, line %zu", path, line);
        }
    }
    return put_specials(detoken, err);
}

/* ---- tokenizer.json ---- */

/* The customary byte alphabet (openai/gpt-2, encoder.py, bytes_to_unicode): printable Latin-1 stands for itself, the other bytes are U+0100
 * and on in order. */
static void alphabet(int16_t byte_of[512])
{
    int next = 256;

    memset(byte_of, 0xff, 512 * sizeof *byte_of);
    for (int b = 0; b < 256; b++) {
        bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        byte_of[printable ? b : next++] = (int16_t)b;
    }
}

/* A vocabulary entry as bytes; one that leaves the alphabet stands for itself. */
static size_t entry_bytes(const int16_t byte_of[512], const char *text, size_t n, struct buf *out)
{
    buf_clear(out);
    for (size_t at = 0; at < n;) {
        unsigned char c = (unsigned char)text[at];
        uint32_t code = c;
        size_t size = c < 0x80 ? 1 : c < 0xe0 ? 2 : 3;
        if (size == 2 && at + 1 < n) {
            code = (uint32_t)(c & 0x1f) << 6 | ((unsigned char)text[at + 1] & 0x3fu);
        }
        if (size > 2 || code >= 512 || byte_of[code] < 0) {
            buf_clear(out);
            buf_append(out, text, n);
            break;
        }
        buf_putc(out, (char)byte_of[code]);
        at += size;
    }
    return out->size;
}

static bool read_id(const json_t *value, uint32_t *id)
{
    json_int_t n = json_integer_value(value);

    *id = (uint32_t)n;
    return json_is_integer(value) && n >= 0 && n < (json_int_t)IDS_MOST;
}

static sluice_status read_json(struct detoken *detoken, const char *path, const char *data,
                               size_t size, struct sluice_error *err)
{
    int16_t byte_of[512];
    json_error_t place;
    json_t *json = json_loadb(data, size, 0, &place);
    json_t *vocab = json_object_get(json_object_get(json, "model"), "vocab");
    struct buf bytes = BUF_INIT;
    const char *text;
    json_t *value;
    size_t i;
    uint32_t id;
    sluice_status status = SLUICE_OK;

    if (!json_is_object(vocab)) {
        status = error_set(err, SLUICE_E_CONFIG, "%s: %s%s", path,
                           json == NULL ? "no JSON: " : "no model.vocab in it",
                           json == NULL ? place.text : "");
    }
    alphabet(byte_of);
    /* Added tokens first: they stand for themselves, also where the vocabulary lists them. */
    json_array_foreach(json_object_get(json, "added_tokens"), i, value)
    {
        const json_t *content = json_object_get(value, "content");
        if (status == SLUICE_OK && json_is_string(content) &&
            read_id(json_object_get(value, "id"), &id)) {
            status = put(detoken, id, json_string_value(content), json_string_length(content), err);
        }
    }
    json_object_foreach(vocab, text, value)
    {
        if (status == SLUICE_OK && !read_id(value, &id)) {
            status = error_set(err, SLUICE_E_CONFIG, "%s: the id of '%.100s' is no number below %u",
                               path, text, IDS_MOST);
        }
        if (status == SLUICE_OK) {
            entry_bytes(byte_of, text, strlen(text), &bytes);
            status = bytes.failed ? error_nomem(err, "a vocabulary")
                                  : put(detoken, id, bytes.data, bytes.size, err);
        }
    }
    buf_deinit(&bytes);
    json_decref(json);
    return status;
}

/* ---- */

sluice_status detoken_open(const char *path, struct detoken **out, struct sluice_error *err)
{
    struct detoken *detoken = calloc(1, sizeof *detoken);
    struct buf text = BUF_INIT;
    sluice_status status = detoken == NULL ? error_nomem(err, "a vocabulary")
                                           : disk_read_file(path, FILE_MOST, &text, NULL, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        size_t skip = 0;
        while (skip < text.size && (text.data[skip] == ' ' || text.data[skip] == '\n' ||
                                    text.data[skip] == '\r' || text.data[skip] == '\t')) {
            skip++;
        }
        detoken->hash = hash_bytes(text.data, text.size);
        status = skip < text.size && text.data[skip] == '{'
                     ? read_json(detoken, path, text.data, text.size, err)
                     : read_ranks(detoken, path, text.data, text.size, err);
    }
    buf_deinit(&text);
    if (status == SLUICE_OK && detoken->n == 0) {
        status = error_set(err, SLUICE_E_CONFIG, "%s holds no tokens", path);
    }
    if (status != SLUICE_OK) {
        detoken_close(detoken);
        return status;
    }
    *out = detoken;
    return SLUICE_OK;
}

const char *detoken_bytes(const struct detoken *detoken, uint32_t id, size_t *n)
{
    if (id >= detoken->n || !detoken->tokens[id].there) {
        *n = 0;
        return NULL;
    }
    *n = detoken->tokens[id].n;
    return detoken->bytes.data + detoken->tokens[id].at;
}

struct hash128 detoken_hash(const struct detoken *detoken)
{
    return detoken->hash;
}
