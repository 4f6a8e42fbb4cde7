/* Fuzzes the charsmap of SentencePiece and tokenizers, and what tokenizer.json asks of normalizers
 * and pre-tokenizers. The first byte chooses, two bytes give the length of the charsmap or JSON,
 * the rest is a text, of which what is UTF-8 is kept. Beside what the sanitizers find: what comes
 * out is UTF-8 within the bound, pieces lie in the text in order, and a second run gives the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "normalize/normalizer.h"
#include "normalize/normalizer_charsmap.h"
#include "split/splitter.h"

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static int is_utf8(const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + len;
    while (p < end) {
        uint32_t cp;
        size_t n = utf8_decode(p, end, &cp);
        if (n == 1 && *p >= 0x80) {
            return 0;
        }
        p += n;
    }
    return 1;
}

/* A copy of exactly the UTF-8 in [p, end), so that reading beyond it is found. */
static char *clean(const uint8_t *p, const uint8_t *end, size_t *len)
{
    char *text = malloc((size_t)(end - p) + 1), *exact;
    *len = 0;
    while (text && p < end) {
        uint32_t cp;
        size_t n = utf8_decode(p, end, &cp);
        if (n > 1 || *p < 0x80) {
            memcpy(text + *len, p, n);
            *len += n;
        }
        p += n;
    }
    exact = malloc(*len > 0 ? *len : 1);
    if (text && exact) {
        memcpy(exact, text, *len);
    }
    free(text);
    return exact;
}

static void run_normalizer(struct normalizer *n, const char *text, size_t len)
{
    struct normalizer_worker *w = NULL;
    struct normalizer_text out, again;
    char *kept;
    require(normalizer_worker_create(n, &w, NULL) == SLUICE_OK);
    if (normalizer_run(w, text, len, 1, &out, NULL) == SLUICE_OK) {
        require(out.len <= normalizer_bound(n, len) && out.head <= out.len);
        require(is_utf8(out.data, out.len));
        kept = malloc(out.len + 1);
        require(kept != NULL);
        memcpy(kept, out.data, out.len);
        require(normalizer_run(w, text, len, 0, &again, NULL) == SLUICE_OK);
        require(again.len == out.len && again.head == 0);
        require(memcmp(kept, again.data, again.len) == 0);
        free(kept);
    }
    normalizer_worker_destroy(w);
}

static void run_splitter(struct splitter *s, const char *text, size_t len)
{
    struct splitter_worker *w = NULL;
    struct splitter_pieces out;
    size_t i, end = 0, bytes = 0;
    require(splitter_worker_create(s, &w, NULL) == SLUICE_OK);
    if (splitter_run(w, text, len, len > 0, &out, NULL) == SLUICE_OK) {
        for (i = 0; i < out.n; i++) {
            require(out.pieces[i].begin >= end && out.pieces[i].len > 0);
            end = out.pieces[i].begin + out.pieces[i].len;
            bytes += out.pieces[i].len;
            require(is_utf8(out.data + out.pieces[i].begin, out.pieces[i].len));
        }
        require(bytes <= splitter_bound(s, len));
    }
    splitter_worker_destroy(w);
}

static void run_charsmap(const uint8_t *blob, size_t size, uint8_t options, const char *text,
                         size_t len)
{
    static const struct normalizer_symbol symbols[] = { { "ab", 2 } };
    struct normalizer_spm spec = { .charsmap = blob,
                                   .charsmap_size = size,
                                   .symbols = symbols,
                                   .n_symbols = options >> 6 & 1u,
                                   .add_dummy_prefix = options >> 2 & 1,
                                   .remove_extra_whitespaces = options >> 3 & 1,
                                   .escape_whitespaces = options >> 4 & 1,
                                   .whitespace_as_suffix = options >> 5 & 1 };
    struct normalizer_unicode unicode;
    struct normalizer_sink sink = { 0 };
    struct normalizer *n = NULL;
    struct charsmap map;
    if (normalizer_from_spm(&spec, &n, NULL) == SLUICE_OK) {
        run_normalizer(n, text, len);
        normalizer_destroy(n);
    }
    if (charsmap_init(&map, blob, size, NULL) == SLUICE_OK) {
        require(normalizer_unicode_init(&unicode) == 0);
        sink_begin(&sink, text, len, len > 0);
        if (charsmap_run(&map, &unicode, &sink) == 1) {
            require(is_utf8(sink.data, sink.len) && sink.len <= len * map.growth);
        }
        free(sink.data);
        charsmap_deinit(&map);
        normalizer_unicode_deinit(&unicode);
    }
}

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n, len;
    char *text;
    json_t *spec;
    if (size < 3) {
        return 0;
    }
    n = data[1] | (size_t)data[2] << 8;
    n = n < size - 3 ? n : size - 3;
    text = clean(data + 3 + n, data + size, &len);
    if (!text) {
        return 0;
    }
    if ((data[0] & 3) == 0) {
        run_charsmap(data + 3, n, data[0], text, len);
    } else if ((spec = json_loadb((const char *)data + 3, n, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                                  NULL)) != NULL) {
        if (data[0] & 1) {
            struct normalizer *normalizer = NULL;
            if (normalizer_read(spec, &normalizer, NULL) == SLUICE_OK) {
                run_normalizer(normalizer, text, len);
                normalizer_destroy(normalizer);
            }
        } else {
            struct splitter *splitter = NULL;
            if (splitter_read(spec, &splitter, NULL) == SLUICE_OK) {
                run_splitter(splitter, text, len);
                splitter_destroy(splitter);
            }
        }
        json_decref(spec);
    }
    free(text);
    return 0;
}
