/* test_tokenizer_json_chars.c — byte pairs over characters through bpe.h: the ids that Hugging Face
 * tokenizers and SentencePiece give under small vocabularies, each about one rule (chars.json, made
 * by make_chars.py); decoding back; offsets; encoding a long text in parts; what is refused. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "model/bpe.h"
#include "text/text_base64.h"

static json_t *fixture(void)
{
    char path[512];
    json_error_t at;
    const char *root = getenv("SLUICE_SOURCE_DIR");
    json_t *top;
    (void)snprintf(path, sizeof(path), "%s/tests/data/tokenize/chars.json", root ? root : ".");
    top = json_load_file(path, JSON_ALLOW_NUL, &at);
    if (!top) {
        fail_msg("%s: %s: run from the repository's root or set SLUICE_SOURCE_DIR", path, at.text);
    }
    return top;
}

/* The file of a fixture's tokenizer, to be freed. */
static void *file_of(json_t *one, size_t *size)
{
    const char *model = json_string_value(json_object_get(one, "model"));
    char *data;
    if (model) {
        data = malloc(strlen(model) + 1);
        assert_non_null(data);
        *size = text_base64_decode(model, strlen(model), data);
        assert_true(*size != (size_t)-1);
        return data;
    }
    data = json_dumps(json_object_get(one, "tokenizer"), JSON_COMPACT);
    assert_non_null(data);
    *size = strlen(data);
    return data;
}

static struct bpe *load(json_t *one, enum bpe_specials specials)
{
    struct bpe_options options = { .specials = specials };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    size_t size;
    void *data = file_of(one, &size);
    if (bpe_load(data, size, &options, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s: %s", json_string_value(json_object_get(one, "name")), err.message);
    }
    free(data);
    return bpe;
}

static json_t *named(json_t *top, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(top, "tokenizers"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0) {
            return one;
        }
    }
    fail_msg("the fixture has no '%s'", name);
    return NULL;
}

static struct bpe_worker *worker_of(const struct bpe *bpe, size_t cache)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    assert_int_equal(bpe_worker_create(bpe, cache, &worker, &err), SLUICE_OK);
    return worker;
}

#define IDS_MOST 8192u

static size_t encode(const struct bpe *bpe, struct bpe_worker *worker, const char *text, size_t len,
                     uint32_t ids[IDS_MOST])
{
    struct sluice_error err = { .size = sizeof(err) };
    size_t n = 0;
    const size_t cap = bpe_encode_bound(bpe, len);
    assert_true(cap <= IDS_MOST); /* and is enough: */
    if (bpe_encode(worker, text, len, ids, cap, &n, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    return n;
}

static void check_ids(const char *name, json_t *text, json_t *expected, const uint32_t *ids,
                      size_t n)
{
    size_t i;
    for (i = 0; i < n && i < json_array_size(expected); i++) {
        if (json_integer_value(json_array_get(expected, i)) != (json_int_t)ids[i]) {
            break;
        }
    }
    if (n != json_array_size(expected) || i < n) {
        fail_msg("%s, '%s': id %zu of %zu differs: %u, expected %lld of %zu", name,
                 json_string_value(text), i, n, i < n ? ids[i] : 0,
                 (long long)json_integer_value(json_array_get(expected, i)),
                 json_array_size(expected));
    }
}

static void ids_of_the_peers(void **state)
{
    json_t *top = fixture(), *texts = json_object_get(top, "texts"), *one;
    size_t k, i, seen = 0;
    (void)state;
    json_array_foreach(json_object_get(top, "tokenizers"), k, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        json_t *special = json_object_get(one, "special");
        struct bpe *plain = load(one, BPE_SPECIALS_ORDINARY),
                   *allow = load(one, BPE_SPECIALS_ALLOW);
        struct bpe_worker *workers[2] = { worker_of(plain, 0), worker_of(allow, 1) };
        int round;
        for (round = 0; round < 2; round++) { /* the second time from the cache */
            for (i = 0; i < json_array_size(texts); i++) {
                json_t *text = json_array_get(texts, i),
                       *ids = json_array_get(json_object_get(one, "ids"), i);
                uint32_t found[IDS_MOST];
                size_t n = encode(plain, workers[0], json_string_value(text),
                                  json_string_length(text), found);
                check_ids(name, text, ids, found, n);
                if (special) {
                    json_t *other = json_array_get(special, i);
                    n = encode(allow, workers[1], json_string_value(text), json_string_length(text),
                               found);
                    check_ids(name, text, json_is_null(other) ? ids : other, found, n);
                }
                seen++;
            }
        }
        bpe_worker_destroy(workers[0]);
        bpe_worker_destroy(workers[1]);
        bpe_destroy(plain);
        bpe_destroy(allow);
    }
    assert_true(seen > 4000);
    json_decref(top);
}

/* Tokens decode to the text, but for the space in front and for spaces that were U+2581. */
static void tokens_decode_to_the_text(void **state)
{
    static const char *const names[] = { "llama", "gemma", "Metaspace first, split False",
                                         "spm llama" };
    json_t *top = fixture(), *texts = json_object_get(top, "texts");
    size_t k, i, j;
    (void)state;
    for (k = 0; k < 4; k++) {
        json_t *one = named(top, names[k]);
        struct bpe *bpe = load(one, BPE_SPECIALS_ORDINARY);
        struct bpe_worker *worker = worker_of(bpe, 0);
        for (i = 0; i < json_array_size(texts); i++) {
            const char *text = json_string_value(json_array_get(texts, i));
            size_t len = json_string_length(json_array_get(texts, i)), n, at = 0, in = 0;
            char decoded[4096], wanted[4096];
            uint32_t ids[IDS_MOST];
            if (k == 2 && strncmp(text, "<n>", 3) == 0) {
                continue; /* an added token comes first, so that there is no space in front */
            }
            n = encode(bpe, worker, text, len, ids);
            for (j = 0; j < n; j++) {
                const char *bytes;
                size_t m;
                assert_int_equal(bpe_decode_token(bpe, ids[j], &bytes, &m), SLUICE_OK);
                memcpy(decoded + at, bytes, m);
                at += m;
            }
            decoded[at] = '\0';
            for (j = 0; j < len;) {
                const int is_space = len - j >= 3 && memcmp(text + j, "\xE2\x96\x81", 3) == 0;
                wanted[in++] = is_space ? ' ' : text[j];
                j += is_space ? 3 : 1;
            }
            wanted[in] = '\0';
            if (in > 0 && (k == 0 || k == 3 || (k == 2 && wanted[0] != ' '))) {
                assert_int_equal(decoded[0], ' ');
                assert_string_equal(decoded + 1, wanted);
            } else {
                assert_string_equal(decoded, wanted);
            }
        }
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
    json_decref(top);
}

static void offsets(void **state)
{
    static const char text[] = "ab <s>a\xF0\x9F\x98\x80";
    static const struct {
        const char *name;
        size_t n;
        uint64_t at[16];
    } cases[] = {
        /* the space in front has no place; bytes of a character have one each */
        { "llama", 8, { 0, 2, 3, 6, 7, 8, 9, 10 } },
        { "gemma", 8, { 0, 2, 3, 6, 7, 8, 9, 10 } },
        { "Metaspace always, split True", 9, { 0, 2, 3, 6, 6, 7, 8, 9, 10 } },
        { "Metaspace first, split True", 8, { 0, 2, 3, 6, 7, 8, 9, 10 } },
    };
    json_t *top = fixture();
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe;
    struct bpe_worker *worker;
    uint32_t ids[64], plain[IDS_MOST];
    uint64_t at[64];
    size_t k, n, i;
    (void)state;
    for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        bpe = load(named(top, cases[k].name), BPE_SPECIALS_ALLOW);
        worker = worker_of(bpe, 0);
        assert_int_equal(bpe_encode_offsets(worker, text, sizeof(text) - 1, ids, at, 64, &n, &err),
                         SLUICE_OK);
        assert_int_equal(encode(bpe, worker, text, sizeof(text) - 1, plain), n);
        assert_memory_equal(ids, plain, n * sizeof(*ids));
        for (i = 0; i < n; i++) {
            if (at[i] >= sizeof(text) || (i > 0 && at[i - 1] > at[i])) {
                fail_msg("%s: token %zu at %llu", cases[k].name, i, (unsigned long long)at[i]);
            }
        }
        for (i = 0; i < n; i++) {
            const char *bytes;
            size_t len;
            assert_int_equal(bpe_decode_token(bpe, ids[i], &bytes, &len), SLUICE_OK);
            if (len == 1 && (uint8_t)bytes[0] >= 0x80) {
                assert_int_equal((uint8_t)text[at[i]], (uint8_t)bytes[0]);
            } else if (strncmp(bytes, "<s>", 3) == 0) {
                assert_int_equal(at[i], 3);
            }
        }
        assert_int_equal(at[0], 0);
        assert_int_equal(bpe_encode_offsets(worker, "a\xE2\x96\x81", 4, ids, at, 64, &n, &err),
                         SLUICE_E_DATA);
        assert_non_null(strstr(err.message, "U+2581"));
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
    bpe = load(named(top, "nothing for the unknown"), BPE_SPECIALS_ALLOW);
    worker = worker_of(bpe, 0);
    assert_int_equal(bpe_encode_offsets(worker, "ab", 2, ids, at, 64, &n, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "lacks characters"));
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    json_decref(top);
}

/* A text in parts of few ids is what it is as one, where nothing looks back. */
static void in_parts(void **state)
{
    json_t *top = fixture();
    struct bpe *bpe = load(named(top, "gemma"), BPE_SPECIALS_ORDINARY);
    struct bpe_worker *worker = worker_of(bpe, 0);
    struct sluice_error err = { .size = sizeof(err) };
    enum { LEN = 6000 };
    static char text[LEN];
    uint32_t whole[IDS_MOST], part[48];
    size_t i, n, all, at = 0, from = 0, calls = 0;
    (void)state;
    for (i = 0; i < LEN; i++) {
        text[i] = "ab a\nxc bb"[(i * i / 7 + i) % 10];
    }
    all = encode(bpe, worker, text, LEN, whole);
    while (at < LEN) {
        size_t used;
        assert_int_equal(bpe_encode_some(worker, text + at, LEN - at, part, 48, &n, &used, &err),
                         SLUICE_OK);
        assert_true(used > 0 && from + n <= all);
        assert_memory_equal(part, whole + from, n * sizeof(*part));
        from += n;
        at += used;
        calls++;
    }
    assert_int_equal(from, all);
    assert_true(calls > 50);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    json_decref(top);
}

/* One piece of a whole document without a cut. */
static void a_long_piece(void **state)
{
    json_t *top = fixture();
    struct bpe *bpe = load(named(top, "llama"), BPE_SPECIALS_ORDINARY);
    struct bpe_worker *worker = worker_of(bpe, 0);
    struct sluice_error err = { .size = sizeof(err) };
    const size_t len = 100001;
    char *text = malloc(len);
    uint32_t *ids = malloc((len + 1) * sizeof(*ids)), space, four;
    size_t n, i;
    (void)state;
    assert_true(text && ids);
    memset(text, 'a', len);
    assert_int_equal(bpe_encode(worker, text, len, ids, len + 1, &n, &err), SLUICE_OK);
    space = ids[0]; /* a space with an a, then fours of a */
    four = ids[1];
    assert_int_equal(n, 1 + len / 4);
    for (i = 1; i < n; i++) {
        assert_int_equal(ids[i], four);
    }
    assert_int_not_equal(space, four);
    free(text);
    free(ids);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    json_decref(top);
}

/* What stands for the place in a word is not text. */
static void tokens_without_affixes(void **state)
{
    static const struct {
        const char *name, *text, *decoded;
    } cases[] = { { "suffix, unknown None, fused False", "ab cab", "abcab" },
                  { "prefix and suffix", "abab", "abab" },
                  { "bytes, suffix", "ab\xC3\xA9 b",
                    "ab\xC3\xA9"
                    "b" } };
    json_t *top = fixture();
    size_t k, i;
    (void)state;
    for (k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct bpe *bpe = load(named(top, cases[k].name), BPE_SPECIALS_ORDINARY);
        struct bpe_worker *worker = worker_of(bpe, 0);
        char decoded[256] = { 0 };
        uint32_t ids[IDS_MOST];
        size_t at = 0;
        const size_t n = encode(bpe, worker, cases[k].text, strlen(cases[k].text), ids);
        for (i = 0; i < n; i++) {
            const char *bytes;
            size_t m;
            assert_int_equal(bpe_decode_token(bpe, ids[i], &bytes, &m), SLUICE_OK);
            memcpy(decoded + at, bytes, m);
            at += m;
        }
        assert_string_equal(decoded, cases[k].decoded);
        bpe_worker_destroy(worker);
        bpe_destroy(bpe);
    }
    json_decref(top);
}

static void special_tokens(void **state)
{
    json_t *top = fixture();
    struct bpe *bpe = load(named(top, "spm llama"), BPE_SPECIALS_ALLOW);
    struct bpe_worker *worker = worker_of(bpe, 0);
    const char *content;
    uint32_t id, ids[IDS_MOST];
    size_t n;
    (void)state;
    assert_int_equal(bpe_bos(bpe, &id, &content), SLUICE_OK);
    assert_int_equal(id, 1);
    assert_string_equal(content, "<s>");
    assert_int_equal(bpe_eos(bpe, &id, &content), SLUICE_OK);
    assert_int_equal(id, 2);
    n = encode(bpe, worker, "a<s>", 4, ids);
    assert_int_equal(ids[n - 1], 1);
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    bpe = load(named(top, "llama"), BPE_SPECIALS_ORDINARY);
    assert_int_equal(bpe_eos(bpe, &id, &content), SLUICE_OK);
    assert_string_equal(content, "</s>");
    bpe_destroy(bpe);
    json_decref(top);
}

/* ---- refusals ---- */

static void must_refuse(const void *data, size_t size, const char *says)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    const int32_t status = bpe_load(data, size, NULL, &bpe, &err);
    if (status != SLUICE_E_CONFIG || bpe || !strstr(err.message, says)) {
        fail_msg("status %d, '%s', but '%s' was expected", status, err.message, says);
    }
}

static void refused_by_name(void **state)
{
    static const struct {
        const char *path, *value, *says;
    } cases[] = {
        { "model.unk_token", "\"<gone>\"", "'<gone>' is not in the vocabulary" },
        { "model.unk_token", "3", "unk_token" },
        { "model.dropout", "0.1", "'dropout'" },
        { "model.byte_fallback", "\"yes\"", "wrong type" },
        { "model.end_of_word_suffix", "\"</w>\"", "'byte_fallback'" },
        { "model.continuing_subword_prefix", "3", "continuing_subword_prefix" },
        { "truncation", "{\"max_length\":512}", "'truncation'" },
        { "padding", "{\"strategy\":\"BatchLongest\"}", "'padding'" },
        { "decoder.type", "\"CTC\"", "decoder 'CTC'" },
        { "pre_tokenizer",
          "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"x\"}", "" },
        { "pre_tokenizer",
          "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"x\"}",
          "'x'" },
        { "pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"more\":1}",
          "'more'" },
        { "pre_tokenizer", "{\"type\":\"Novel\"}", "'Novel'" },
        { "normalizer", "{\"type\":\"Novel\"}", "'Novel'" },
    };
    json_t *top = fixture();
    size_t i;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *one = json_deep_copy(json_object_get(named(top, "llama"), "tokenizer"));
        json_t *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
        char path[64], *dot;
        char *data;
        (void)snprintf(path, sizeof(path), "%s", cases[i].path);
        dot = strchr(path, '.');
        assert_non_null(value);
        if (dot) {
            *dot = '\0';
            assert_int_equal(json_object_set_new(json_object_get(one, path), dot + 1, value), 0);
        } else {
            assert_int_equal(json_object_set_new(one, path, value), 0);
        }
        data = json_dumps(one, JSON_COMPACT);
        must_refuse(data, strlen(data), cases[i].says);
        free(data);
        json_decref(one);
    }
    json_decref(top);
}

/* An added token that the normalizer makes nothing of would be found everywhere. */
static void empty_once_normalized(void **state)
{
    json_t *top = fixture(),
           *one = json_deep_copy(json_object_get(named(top, "added"), "tokenizer"));
    char *data;
    (void)state;
    assert_int_equal(json_object_set_new(one, "normalizer",
                                         json_pack("{s:s,s:{s:s},s:s}", "type", "Replace",
                                                   "pattern", "String", "<n>", "content", "")),
                     0);
    data = json_dumps(one, JSON_COMPACT);
    must_refuse(data, strlen(data), "leaves nothing of the added token '<n>'");
    free(data);
    json_decref(one);
    json_decref(top);
}

/* A SentencePiece model from pieces: text, score, type. */
struct piece {
    const char *text;
    float score;
    int type;
};

static size_t put_piece(uint8_t *out, struct piece piece)
{
    const size_t len = strlen(piece.text);
    size_t n = 0;
    out[n++] = 0x0A;
    out[n++] = (uint8_t)(len + 9);
    out[n++] = 0x0A;
    out[n++] = (uint8_t)len;
    memcpy(out + n, piece.text, len);
    n += len;
    out[n++] = 0x15;
    memcpy(out + n, &piece.score, 4);
    n += 4;
    out[n++] = 0x18;
    out[n++] = (uint8_t)piece.type;
    return n;
}

static void models_are_refused(void **state)
{
    static const struct {
        const char *says;
        struct piece pieces[4];
        uint8_t kind, spaces, bytes;
    } cases[] = {
        { "UNUSED", { { "<unk>", 0, 2 }, { "a", 0, 5 } }, 2, 0, 0 },
        { "no piece is the unknown one", { { "a", 0, 1 } }, 2, 0, 0 },
        { "two pieces are the unknown one", { { "<unk>", 0, 2 }, { "<ank>", 0, 2 } }, 2, 0, 0 },
        { "type BYTE", { { "<unk>", 0, 2 }, { "<0x4>", 0, 6 } }, 2, 0, 0 },
        { "a byte has no piece", { { "<unk>", 0, 2 }, { "<0x41>", 0, 6 } }, 2, 0, 1 },
        { "two pieces are the same",
          { { "<unk>", 0, 2 }, { "a", 0, 1 }, { "a", -1, 1 } },
          2,
          0,
          0 },
        { "one character", { { "<unk>", 0, 2 }, { "$", 0, 3 } }, 2, 0, 0 },
        { "kind Word", { { "<unk>", 0, 2 } }, 3, 0, 0 },
        { "no piece is the unknown one", { { "a", 0, 1 } }, 1, 1, 0 }, /* Unigram */
    };
    size_t i;
    json_t *top = fixture();
    uint8_t *data;
    size_t size, cut;
    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t model[256] = { 0 };
        size_t n = 0, k;
        for (k = 0; k < 4 && cases[i].pieces[k].text; k++) {
            n += put_piece(model + n, cases[i].pieces[k]);
        }
        model[n++] = 0x12; /* trainer_spec: model_type, byte_fallback */
        model[n++] = 5;
        model[n++] = 0x18;
        model[n++] = cases[i].kind;
        model[n++] = 0x98;
        model[n++] = 0x02;
        model[n++] = cases[i].bytes;
        model[n++] = 0x1A; /* normalizer_spec: remove_extra_whitespaces */
        model[n++] = 2;
        model[n++] = 0x20;
        model[n++] = cases[i].spaces;
        must_refuse(model, n, cases[i].says);
    }
    data = file_of(named(top, "spm llama"), &size);
    for (cut = 1; cut < size; cut += 13) { /* cut anywhere: no crash, and mostly an error */
        struct sluice_error err = { .size = sizeof(err) };
        struct bpe *bpe = NULL;
        if (bpe_load(data, cut, NULL, &bpe, &err) == SLUICE_OK) {
            bpe_destroy(bpe);
        } else {
            assert_true(err.message[0] != '\0');
        }
    }
    free(data);
    json_decref(top);
}

static int32_t load_and_encode(const void *data, size_t size)
{
    static const char text[] =
        "ab  a\xF0\x9F\x98\x80 <s> x\xE2\x96\x81<n> "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct bpe_options options = { .specials = BPE_SPECIALS_ALLOW };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    struct bpe_worker *worker = NULL;
    uint32_t ids[600];
    size_t n;
    int32_t status = bpe_load(data, size, &options, &bpe, &err);
    if (status == SLUICE_OK) {
        status = bpe_worker_create(bpe, 1, &worker, &err);
    }
    if (status == SLUICE_OK) {
        status = bpe_encode(worker, text, sizeof(text) - 1, ids, 600, &n, &err);
    }
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    return status;
}

static void without_memory(void **state)
{
    static const char *const names[] = { "spm user", "added" };
    json_t *top = fixture();
    int k;
    (void)state;
    for (k = 0; k < 2; k++) {
        size_t size;
        void *data = file_of(named(top, names[k]), &size);
        int64_t at;
        for (at = 0;; at += k == 0 || at < 40 ? 1 : 37) {
            int32_t status;
            bool hit;
            alloc_arm(at, false);
            status = load_and_encode(data, size);
            hit = alloc_disarm();
            if (!hit) {
                assert_int_equal(status, SLUICE_OK);
                break;
            } /* jansson says "not valid JSON" without memory */
            assert_true(status == SLUICE_OK || status == SLUICE_E_NOMEM ||
                        (k == 1 && status == SLUICE_E_CONFIG));
        }
        assert_true(at > 20);
        free(data);
    }
    json_decref(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_the_peers),
        cmocka_unit_test(tokens_decode_to_the_text),
        cmocka_unit_test(offsets),
        cmocka_unit_test(in_parts),
        cmocka_unit_test(a_long_piece),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(refused_by_name),
        cmocka_unit_test(models_are_refused),
        cmocka_unit_test(tokens_without_affixes),
        cmocka_unit_test(empty_once_normalized),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
