/* normalize_dump.c — runs the normalizers, pre-tokenizers and models of tokenizer files by
 * themselves, for parity_normalize.py.
 *
 * Usage: normalize_dump normalizer|splitter|model|encode|spm SPEC.json < texts > answers
 * SPEC: the member of that name of tokenizer.json; all of tokenizer.json for `encode` (added tokens
 * aside); for `spm` {"normalizer": {charsmap: base64, prefix, extra, escape, suffix, symbols: []},
 * "model": {unk, bytes, pieces: [[text, score, kind]]}}.
 * In: for each text a little-endian u32 length and its bytes. Out: for each text, `normalizer`: u32
 * length and bytes; `splitter`: u32 count, and of each piece length and bytes; the others: u32
 * count and the ids. Exit: 0; 1 with a message on stderr. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "normalize/normalizer.h"
#include "normalize/normalizer_charsmap.h"
#include "split/splitter.h"
#include "model/unigram.h"
#include "model/wordpiece.h"

struct parts {
    struct normalizer *normalizer;
    struct normalizer_worker *normalizer_worker;
    struct splitter *splitter;
    struct splitter_worker *splitter_worker;
    struct unigram *unigram;
    struct unigram_scratch scratch;
    struct wordpiece *wordpiece;
    uint32_t *ids;
    size_t cap;
};

static void put(const void *bytes, size_t len)
{
    uint32_t n = (uint32_t)len;
    (void)fwrite(&n, 4, 1, stdout);
    (void)fwrite(bytes, 1, len, stdout);
}

static int32_t read_model(struct parts *p, const json_t *model, struct sluice_error *err)
{
    const char *type = json_string_value(json_object_get(model, "type"));
    return type && strcmp(type, "WordPiece") == 0 ? wordpiece_read(model, &p->wordpiece, err)
                                                  : unigram_read(model, &p->unigram, err);
}

static int truth(const json_t *node, const char *name)
{
    return json_is_true(json_object_get(node, name));
}

static int32_t read_spm(struct parts *p, const json_t *spec, struct sluice_error *err)
{
    const json_t *n = json_object_get(spec, "normalizer"), *m = json_object_get(spec, "model"),
                 *symbols = json_object_get(n, "symbols"), *list = json_object_get(m, "pieces"),
                 *map = json_object_get(n, "charsmap");
    struct normalizer_spm spm = { .add_dummy_prefix = truth(n, "prefix"),
                                  .remove_extra_whitespaces = truth(n, "extra"),
                                  .escape_whitespaces = truth(n, "escape"),
                                  .whitespace_as_suffix = truth(n, "suffix") };
    struct unigram_options options = { .peer = UNIGRAM_SPM, .n = json_array_size(list) };
    struct unigram_piece *pieces = calloc(options.n + 1, sizeof(*pieces));
    struct normalizer_symbol *kept = calloc(json_array_size(symbols) + 1, sizeof(*kept));
    void *blob = NULL;
    size_t i;
    int32_t status = SLUICE_OK;
    if (json_string_length(map) > 0) {
        status = charsmap_decode(json_string_value(map), json_string_length(map), &blob,
                                 &spm.charsmap_size, err);
    }
    spm.charsmap = blob;
    for (i = 0; i < json_array_size(symbols); i++) {
        kept[i].bytes = json_string_value(json_array_get(symbols, i));
        kept[i].len = json_string_length(json_array_get(symbols, i));
    }
    spm.symbols = kept;
    spm.n_symbols = json_array_size(symbols);
    for (i = 0; i < options.n; i++) {
        const json_t *piece = json_array_get(list, i);
        pieces[i].bytes = json_string_value(json_array_get(piece, 0));
        pieces[i].len = json_string_length(json_array_get(piece, 0));
        pieces[i].score = json_number_value(json_array_get(piece, 1));
        pieces[i].kind = (enum unigram_kind)json_integer_value(json_array_get(piece, 2));
    }
    options.pieces = pieces;
    options.unk = (uint32_t)json_integer_value(json_object_get(m, "unk"));
    options.byte_fallback = truth(m, "bytes");
    if (status == SLUICE_OK) {
        status = normalizer_from_spm(&spm, &p->normalizer, err);
    }
    if (status == SLUICE_OK) {
        status = unigram_create(&options, &p->unigram, err);
    }
    free(pieces);
    free(kept);
    free(blob);
    return status;
}

static int32_t read_spec(struct parts *p, const char *mode, const json_t *spec,
                         struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    if (strcmp(mode, "normalizer") == 0) {
        status = normalizer_read(spec, &p->normalizer, err);
    } else if (strcmp(mode, "splitter") == 0) {
        status = splitter_read(spec, &p->splitter, err);
    } else if (strcmp(mode, "model") == 0) {
        status = read_model(p, spec, err);
    } else if (strcmp(mode, "spm") == 0) {
        status = read_spm(p, spec, err);
    } else {
        status = normalizer_read(json_object_get(spec, "normalizer"), &p->normalizer, err);
        if (status == SLUICE_OK) {
            status = splitter_read(json_object_get(spec, "pre_tokenizer"), &p->splitter, err);
        }
        if (status == SLUICE_OK) {
            status = read_model(p, json_object_get(spec, "model"), err);
        }
    }
    if (status == SLUICE_OK && p->normalizer) {
        status = normalizer_worker_create(p->normalizer, &p->normalizer_worker, err);
    }
    if (status == SLUICE_OK && p->splitter) {
        status = splitter_worker_create(p->splitter, &p->splitter_worker, err);
    }
    return status;
}

static int32_t encode_piece(struct parts *p, const char *piece, size_t len, size_t *n,
                            struct sluice_error *err)
{
    size_t more = 0;
    int32_t status;
    if (p->cap - *n < len) {
        p->cap = *n * 2 + len + 256;
        p->ids = realloc(p->ids, p->cap * sizeof(*p->ids));
        if (!p->ids) {
            return SLUICE_E_NOMEM;
        }
    }
    status = p->wordpiece
                 ? wordpiece_encode(p->wordpiece, piece, len, p->ids + *n, p->cap - *n, &more, err)
                 : unigram_encode(p->unigram, &p->scratch, piece, len, p->ids + *n, p->cap - *n,
                                  &more, err);
    *n += more;
    return status;
}

static int32_t answer(struct parts *p, const char *mode, const char *text, size_t len,
                      struct sluice_error *err)
{
    struct normalizer_text normal = { text, len, 0 };
    struct splitter_pieces pieces = { 0 };
    struct splitter_piece whole = { 0, 0 };
    size_t i, n = 0;
    uint32_t count;
    int32_t status = SLUICE_OK;
    for (normal.head = len > 0; normal.head < len && (text[normal.head] & 0xC0) == 0x80;) {
        normal.head++;
    }
    if (p->normalizer) {
        status = normalizer_run(p->normalizer_worker, text, len, 1, &normal, err);
        if (status == SLUICE_OK && normal.len > normalizer_bound(p->normalizer, len)) {
            (void)fprintf(stderr, "%zu bytes became %zu, beyond the bound\n", len, normal.len);
            return SLUICE_E_INTERNAL;
        }
    }
    whole.len = normal.len;
    pieces = (struct splitter_pieces){ normal.data, &whole, normal.len > 0 };
    if (status == SLUICE_OK && p->splitter) {
        status =
            splitter_run(p->splitter_worker, normal.data, normal.len, normal.head, &pieces, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (strcmp(mode, "normalizer") == 0) {
        put(normal.data, normal.len);
        return SLUICE_OK;
    }
    if (strcmp(mode, "splitter") == 0) {
        count = (uint32_t)pieces.n;
        (void)fwrite(&count, 4, 1, stdout);
        for (i = 0; i < pieces.n; i++) {
            put(pieces.data + pieces.pieces[i].begin, pieces.pieces[i].len);
            n += pieces.pieces[i].len;
        }
        if (n > splitter_bound(p->splitter, normal.len)) {
            (void)fprintf(stderr, "%zu bytes became %zu, beyond the bound\n", normal.len, n);
            return SLUICE_E_INTERNAL;
        }
        return SLUICE_OK;
    }
    for (i = 0; i < pieces.n && status == SLUICE_OK; i++) {
        status =
            encode_piece(p, pieces.data + pieces.pieces[i].begin, pieces.pieces[i].len, &n, err);
    }
    if (status == SLUICE_OK) {
        count = (uint32_t)n;
        (void)fwrite(&count, 4, 1, stdout);
        (void)fwrite(p->ids, 4, n, stdout);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct parts p = { 0 };
    json_t *spec =
        argc == 3 ? json_load_file(argv[2], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    char *text = NULL;
    size_t cap = 0;
    uint32_t len;
    int failed = 1;
    if (!spec) {
        (void)fprintf(stderr, "usage: normalize_dump normalizer|splitter|model|encode|spm "
                              "SPEC.json < texts > answers\n");
        return 1;
    }
    if (read_spec(&p, argv[1], spec, &err) != SLUICE_OK) {
        goto out;
    }
    while (fread(&len, 4, 1, stdin) == 1) {
        char *own = malloc(len + 1u); /* so that a sanitizer sees each byte beyond */
        if (len + 1u > cap) {
            free(text);
            cap = len + 1u;
            text = malloc(cap);
        }
        if (!text || !own || fread(text, 1, len, stdin) != len) {
            free(own);
            goto out;
        }
        memcpy(own, text, len);
        if (answer(&p, argv[1], own, len, &err) != SLUICE_OK) {
            free(own);
            goto out;
        }
        free(own);
    }
    failed = 0;
out:
    if (failed) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    json_decref(spec);
    splitter_worker_destroy(p.splitter_worker);
    splitter_destroy(p.splitter);
    normalizer_worker_destroy(p.normalizer_worker);
    normalizer_destroy(p.normalizer);
    unigram_scratch_deinit(&p.scratch);
    unigram_destroy(p.unigram);
    wordpiece_destroy(p.wordpiece);
    free(p.ids);
    free(text);
    return failed;
}
