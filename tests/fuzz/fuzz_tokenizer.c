/* fuzz_tokenizer.c — libFuzzer target over tokenizer files, patterns and texts.
 *
 * The first byte chooses: 0 mod 3: the rest is a tokenizer file (JSON or .tiktoken with a fixed
 * pattern). 1 mod 3: the rest up to a NUL is a pattern, what follows a text, over a small built-in
 * vocabulary. 2 mod 3: the rest is a text for the built-in vocabulary under the cl100k, o200k and
 * GPT-2 scanners. Whatever loads must encode any bytes within the bound, and where nothing may be
 * dropped or normalized the ids must decode to the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/bpe.h"
#include "split/pretoken_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

/* Encodes; `exact`: the ids must decode to the text. */
static void encode(struct bpe *bpe, const uint8_t *text, size_t len, int exact)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    size_t cap = bpe_encode_bound(bpe, len), n = 0, i, at = 0;
    uint32_t *ids = malloc((cap + 1) * sizeof(*ids));
    int32_t status;
    check(ids && bpe_worker_create(bpe, 1, &worker, &err) == SLUICE_OK, "memory");
    status = bpe_encode(worker, (const char *)text, len, ids, cap, &n, &err);
    check(status == SLUICE_OK || status == SLUICE_E_DATA, "bpe_encode_bound is enough");
    check(status != SLUICE_OK || n <= cap, "ids fit");
    for (i = 0; i < n; i++) {
        const char *bytes;
        size_t k;
        check(ids[i] < bpe_vocab_size(bpe), "ids are below the vocabulary's size");
        check(bpe_decode_token(bpe, ids[i], &bytes, &k) == SLUICE_OK, "ids decode");
        if (exact) {
            check(at + k <= len && memcmp(bytes, text + at, k) == 0, "ids decode to the text");
            at += k;
        }
    }
    check(!exact || status != SLUICE_OK || at == len, "ids decode to the whole text");
    bpe_worker_destroy(worker);
    free(ids);
}

/* All bytes, some merges of common letters, one token that nothing merges to, one that ranks before
 * its parts. */
static size_t built_in(char *file, size_t cap)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char *const more[] = {
        "YWFhYQ==", "YWE=", "ICA=",     "ICAgIA==", "dGg=", "dGhl",
        "IHQ=",     "Cgo=", "eHl6enk=", "5Lg=",     "5Lit", "w6k="
    };
    size_t at = 0, i;
    for (i = 0; i < 256; i++) {
        at += (size_t)snprintf(file + at, cap - at, "%c%c== %zu\n", digits[i >> 2],
                               digits[(i & 3) << 4], i);
    }
    for (i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        at += (size_t)snprintf(file + at, cap - at, "%s %zu\n", more[i], 256 + i);
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t sample[] =
        "The  cat's 12345\r\n\n \xE4\xB8\xAD\xE6\x96\x87 e\xCC\x81\xF0\x9F\x98\x80 "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "<|endoftext|> <s>\x80\xFF";
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_options options = { .specials = BPE_SPECIALS_ALLOW };
    struct bpe *bpe = NULL;
    int kind;
    if (size == 0) {
        return 0;
    }
    kind = data[0] % 3;
    options.specials = (data[0] / 3) % 2 ? BPE_SPECIALS_ALLOW : BPE_SPECIALS_ORDINARY;
    data++;
    size--;
    if (kind == 0) {
        size_t i;
        for (i = 0;
             i < size && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t');
             i++) {
        }
        options.pattern = i < size && data[i] == '{'
                              ? NULL
                              : "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s+(?!\\S)|\\s|[^\\s\\p{L}]";
        if (bpe_load(data, size, &options, &bpe, &err) == SLUICE_OK) {
            encode(bpe, sample, sizeof(sample) - 1, 0);
            encode(bpe, data, size, 0);
        } else {
            check(err.message[0] != '\0' && strlen(err.message) < sizeof(err.message),
                  "errors have a message");
        }
    } else {
        char file[8192];
        size_t n = built_in(file, sizeof(file));
        const uint8_t *nul = kind == 1 ? memchr(data, 0, size) : NULL;
        const char *const known[] = { pretoken_cl100k, pretoken_o200k, pretoken_gpt2 };
        const uint8_t *text = nul ? nul + 1 : data;
        if (kind == 1 && !nul) {
            return 0;
        }
        options.pattern = kind == 1 ? (const char *)data : known[size % 3];
        if (bpe_load(file, n, &options, &bpe, &err) == SLUICE_OK) {
            size_t len = size - (size_t)(text - data);
            encode(bpe, text, len < 4096 ? len : 4096, 1);
        } else {
            check(kind == 1, "the built-in vocabulary loads");
        }
    }
    bpe_destroy(bpe);
    return 0;
}
