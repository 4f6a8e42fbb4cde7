/* MinHash signatures: the functions, shingling, band keys, similarities. See minhash_sig.h.
 *
 * The hot path: words -> (checked, joined if need be) -> hashes of up to CHUNK shingles -> repeated
 * ones dropped -> minima. */
#include "minhash_sig.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/sha1.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "minhash_sig_kernel.h"
#include "mt19937.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "band keys hash little-endian numbers in place");

#define CHUNK \
    2048u /* shingles hashed before the minima are updated: 16 KiB, in the first-level cache */
#define SEEN_SLOTS 8192u /* remembers recent shingles of a document; a power of two, 64 KiB */
#define FACTOR_MAX 4096u
#define NGRAM_MAX 1024u

struct minhash {
    struct minhash_options options;
    enum minhash_level level;
    const struct minhash_kernel *kernel;
    size_t values;    /* bands * rows */
    size_t functions; /* values padded to MINHASH_LANES */
    uint64_t mask;
    uint64_t *a; /* functions numbers, 64-byte aligned; then b */
    uint64_t *b;
};

struct minhash_scratch {
    uint64_t hashes[CHUNK];
    uint64_t seen[SEEN_SLOTS];
    uint64_t *minima; /* room numbers, 64-byte aligned */
    size_t room;
    /* the document's words parted by single spaces, where the text is not so already */
    char *joined;
    size_t joined_room;
    struct text_span *spans; /* of these words */
    size_t spans_room;
};

__attribute__((format(printf, 4, 5))) static int32_t
minhash_fail(struct sluice_error *err, int32_t code, const char *field, const char *format, ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        snprintf(err->field, sizeof(err->field), "%s", field);
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

static int32_t option_check(const char *name, uint32_t value, uint32_t most,
                            struct sluice_error *err)
{
    if (value == 0 || value > most) {
        return minhash_fail(err, SLUICE_E_CONFIG, name, "%s is %u, expected 1 to %u", name, value,
                            most);
    }
    return SLUICE_OK;
}

static enum minhash_level level_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("bmi2")) {
        return MINHASH_LEVEL_AVX512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return MINHASH_LEVEL_AVX2;
    }
#endif
    return MINHASH_LEVEL_SCALAR;
}

static const struct minhash_kernel *level_kernel(enum minhash_level level)
{
#if defined(__x86_64__)
    if (level == MINHASH_LEVEL_AVX512) {
        return &minhash_kernel_avx512;
    }
    if (level == MINHASH_LEVEL_AVX2) {
        return &minhash_kernel_avx2;
    }
#endif
    assert(level == MINHASH_LEVEL_SCALAR);
    return &minhash_kernel_scalar;
}

/* numpy: first all of a in [1, prime), then all of b in [0, prime). */
static void functions_draw(struct minhash *minhash)
{
    struct mt19937 twister;
    mt19937_init(&twister, minhash->options.seed);
    for (size_t i = 0; i < minhash->values; i++) {
        minhash->a[i] = mt19937_range(&twister, 1, MINHASH_PRIME);
    }
    for (size_t i = 0; i < minhash->values; i++) {
        minhash->b[i] = mt19937_range(&twister, 0, MINHASH_PRIME);
    }
    for (size_t i = minhash->values; i < minhash->functions; i++) {
        minhash->a[i] = 0;
        minhash->b[i] = MINHASH_PRIME / 2;
    }
}

int32_t minhash_create(const struct minhash_options *options, struct minhash **out,
                       struct sluice_error *err)
{
    *out = NULL;
    int32_t status = option_check("ngram", options->ngram, NGRAM_MAX, err);
    if (status == SLUICE_OK) {
        status = option_check("bands", options->bands, FACTOR_MAX, err);
    }
    if (status == SLUICE_OK) {
        status = option_check("rows", options->rows, FACTOR_MAX, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (options->bits != 64 && options->bits != 32) {
        return minhash_fail(err, SLUICE_E_CONFIG, "bits", "bits is %u, expected 64 or 32",
                            options->bits);
    }
    if (options->hash != MINHASH_XXHASH && options->hash != MINHASH_SHA1) {
        return minhash_fail(err, SLUICE_E_CONFIG, "hash",
                            "hash is number %d, expected xxhash or sha1", (int)options->hash);
    }
    enum minhash_level best = level_best();
    enum minhash_level level = options->level == MINHASH_LEVEL_AUTO ? best : options->level;
    if (level < MINHASH_LEVEL_SCALAR || level > best) {
        return minhash_fail(err, SLUICE_E_CONFIG, "level",
                            "instruction set number %d was asked for, this machine has up to %d; "
                            "leave it to be chosen",
                            (int)level, (int)best);
    }
    struct minhash *minhash = calloc(1, sizeof(*minhash));
    if (minhash == NULL) {
        return minhash_fail(err, SLUICE_E_NOMEM, "", "out of memory for MinHash functions");
    }
    minhash->options = *options;
    minhash->level = level;
    minhash->kernel = level_kernel(level);
    minhash->values = (size_t)options->bands * options->rows;
    minhash->functions = (minhash->values + MINHASH_LANES - 1) / MINHASH_LANES * MINHASH_LANES;
    minhash->mask = options->bits == 64 ? UINT64_MAX : UINT32_MAX;
    minhash->a = aligned_alloc(64, 2 * minhash->functions * sizeof(uint64_t));
    if (minhash->a == NULL) {
        free(minhash);
        return minhash_fail(err, SLUICE_E_NOMEM, "",
                            "out of memory for %zu MinHash functions (bands times rows)",
                            (size_t)options->bands * options->rows);
    }
    minhash->b = minhash->a + minhash->functions;
    functions_draw(minhash);
    *out = minhash;
    return SLUICE_OK;
}

void minhash_destroy(struct minhash *minhash)
{
    if (minhash != NULL) {
        free(minhash->a);
        free(minhash);
    }
}

size_t minhash_values(const struct minhash *minhash)
{
    return minhash->values;
}

enum minhash_level minhash_level(const struct minhash *minhash)
{
    return minhash->level;
}

int32_t minhash_scratch_create(struct minhash_scratch **out, struct sluice_error *err)
{
    *out = calloc(1, sizeof(**out));
    if (*out == NULL) {
        return minhash_fail(err, SLUICE_E_NOMEM, "", "out of memory for MinHash working memory");
    }
    return SLUICE_OK;
}

void minhash_scratch_destroy(struct minhash_scratch *scratch)
{
    if (scratch != NULL) {
        free(scratch->minima);
        free(scratch->joined);
        free(scratch->spans);
        free(scratch);
    }
}

static int32_t scratch_reserve(struct minhash_scratch *scratch, size_t functions,
                               struct sluice_error *err)
{
    if (scratch->room >= functions) {
        return SLUICE_OK;
    }
    uint64_t *minima = aligned_alloc(64, functions * sizeof(*minima));
    if (minima == NULL) {
        return minhash_fail(err, SLUICE_E_NOMEM, "", "out of memory for a signature of %zu values",
                            functions);
    }
    free(scratch->minima);
    scratch->minima = minima;
    scratch->room = functions;
    return SLUICE_OK;
}

/* Whether the words lie in the text (*inside) and each is parted from the next by one space
 * (*spaced). Nearly always they do and are, so that no word is a branch. */
static void words_check(const char *text, size_t size, const struct text_span *words, size_t n,
                        bool *inside, bool *spaced)
{
    unsigned outside = (words[0].begin > words[0].end) | (words[0].end > size), loose = 0;
    for (size_t i = 1; i < n; i++) {
        outside |= (words[i].begin > words[i].end) | (words[i].end > size);
        loose |= words[i].begin - words[i - 1].end - 1; /* 0 for words one byte apart */
    }
    *inside = outside == 0;
    *spaced = outside == 0 && loose == 0;
    if (*spaced) {
        for (size_t i = 1; i < n; i++) {
            loose |= (unsigned char)text[words[i].begin - 1] ^ (unsigned)' ';
        }
        *spaced = loose == 0;
    }
}

/* Copies the words into scratch->joined, parted by one space, with scratch->spans. */
static int32_t words_join(struct minhash_scratch *scratch, const char *text,
                          const struct text_span *words, size_t n, struct sluice_error *err)
{
    uint64_t bytes = n;
    for (size_t i = 0; i < n; i++) {
        bytes += words[i].end - words[i].begin;
    }
    if (bytes > TEXT_MAX) {
        return minhash_fail(
            err, SLUICE_E_DATA, "",
            "the words of one document make %llu bytes, expected at most %zu; split the "
            "document or lower max_record",
            (unsigned long long)bytes, (size_t)TEXT_MAX);
    }
    if (scratch->joined_room < bytes) {
        free(scratch->joined);
        scratch->joined_room = 0;
        scratch->joined = malloc(bytes + bytes / 4);
        if (scratch->joined == NULL) {
            return minhash_fail(err, SLUICE_E_NOMEM, "", "out of memory for %llu bytes of words",
                                (unsigned long long)bytes);
        }
        scratch->joined_room = bytes + bytes / 4;
    }
    if (scratch->spans_room < n) {
        free(scratch->spans);
        scratch->spans_room = 0;
        scratch->spans = malloc((n + n / 4) * sizeof(*scratch->spans));
        if (scratch->spans == NULL) {
            return minhash_fail(err, SLUICE_E_NOMEM, "", "out of memory for %zu words", n);
        }
        scratch->spans_room = n + n / 4;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t length = words[i].end - words[i].begin;
        memcpy(scratch->joined + at, text + words[i].begin, length);
        scratch->spans[i] = (struct text_span){ at, at + length };
        at += length;
        scratch->joined[at++] = ' ';
    }
    return SLUICE_OK;
}

/* hashes[i] of shingles i < n in the three forms that no kernel has. */
static void hash_others(const struct minhash_options *options, const char *text,
                        const struct text_span *words, size_t n, uint64_t *hashes)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t begin = words[i].begin;
        const char *shingle = text + begin;
        size_t length = words[i + options->ngram - 1].end - begin;
        if (options->hash == MINHASH_XXHASH) {
            hashes[i] = XXH32(shingle, length, 0);
            continue;
        }
        struct sha1_ctx sha1;
        uint8_t digest[8];
        sha1_init(&sha1);
        sha1_update(&sha1, length, (const uint8_t *)shingle);
        sha1_digest(&sha1, sizeof(digest), digest);
        uint64_t wide;
        memcpy(&wide, digest, sizeof(wide));
        hashes[i] = options->bits == 64 ? wide : (uint32_t)wide;
    }
}

/* A table of recent hashes, one slot each: a lossy set, enough because a repeated hash changes no
 * minimum. A slot that was not written holds a number that belongs elsewhere. */
static size_t seen_clear(uint64_t *seen, size_t shingles)
{
    size_t slots = 64;
    while (slots < 2 * shingles && slots < SEEN_SLOTS) {
        slots *= 2;
    }
    memset(seen, 0xff, slots * sizeof(*seen));
    seen[slots - 1] = 0;
    return slots - 1;
}

/* Moves the hashes not seen before to the front; returns how many. */
static size_t seen_filter(uint64_t *seen, size_t mask, uint64_t *hashes, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = hashes[i];
        uint64_t *slot = &seen[hash & mask];
        hashes[kept] = hash;
        kept += *slot != hash;
        *slot = hash;
    }
    return kept;
}

/* Checks the words and makes them lie in the text parted by one space each: *text and *words stay,
 * or become those of scratch. */
static int32_t words_ready(struct minhash_scratch *scratch, const char **text, size_t size,
                           const struct text_span **words, size_t n, struct sluice_error *err)
{
    bool inside;
    bool spaced;
    words_check(*text, size, *words, n, &inside, &spaced);
    if (!inside) {
        return minhash_fail(
            err, SLUICE_E_INTERNAL, "",
            "a word's span leaves the text of %zu bytes; the stage that made the words is "
            "wrong",
            size);
    }
    if (!spaced) {
        int32_t status = words_join(scratch, *text, *words, n, err);
        if (status != SLUICE_OK) {
            return status;
        }
        *text = scratch->joined;
        *words = scratch->spans;
    }
    return SLUICE_OK;
}

/* The hashes of n shingles from words[0] on. */
static void shingles_hash(const struct minhash *minhash, const char *text,
                          const struct text_span *words, size_t n, uint64_t *hashes)
{
    if (minhash->options.hash == MINHASH_XXHASH && minhash->options.bits == 64) {
        minhash->kernel->hash(text, words, minhash->options.ngram, n, hashes);
    } else {
        hash_others(&minhash->options, text, words, n, hashes);
    }
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int32_t minhash_shingles(const struct minhash *minhash, struct minhash_scratch *scratch,
                         const char *text, size_t size, const struct text_span *words, size_t n,
                         uint64_t *set, size_t *count, struct sluice_error *err)
{
    size_t ngram = minhash->options.ngram;
    *count = 0;
    if (n < ngram) {
        return SLUICE_OK;
    }
    int32_t status = words_ready(scratch, &text, size, &words, n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    size_t shingles = n - ngram + 1;
    shingles_hash(minhash, text, words, shingles, set);
    qsort(set, shingles, sizeof(*set), by_number);
    for (size_t i = 0; i < shingles; i++) {
        if (*count == 0 || set[*count - 1] != set[i]) {
            set[(*count)++] = set[i];
        }
    }
    return SLUICE_OK;
}

double minhash_jaccard(const uint64_t *one, size_t n, const uint64_t *other, size_t m)
{
    size_t i = 0;
    size_t k = 0;
    size_t both = 0;
    while (i < n && k < m) {
        uint64_t x = one[i];
        uint64_t y = other[k];
        both += x == y;
        i += x <= y;
        k += y <= x;
    }
    return n + m == 0 ? 0.0 : (double)both / (double)(n + m - both);
}

int32_t minhash_sign(const struct minhash *minhash, struct minhash_scratch *scratch,
                     const char *text, size_t size, const struct text_span *words, size_t n,
                     uint64_t *signature, bool *has, struct sluice_error *err)
{
    size_t ngram = minhash->options.ngram;
    *has = false;
    if (n < ngram) {
        return SLUICE_OK;
    }
    int32_t status = scratch_reserve(scratch, minhash->functions, err);
    if (status != SLUICE_OK) {
        return status;
    }
    status = words_ready(scratch, &text, size, &words, n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    memset(scratch->minima, 0xff, minhash->functions * sizeof(*scratch->minima));
    size_t shingles = n - ngram + 1;
    size_t slots = seen_clear(scratch->seen, shingles);
    for (size_t done = 0; done < shingles;) {
        size_t chunk = shingles - done < CHUNK ? shingles - done : CHUNK;
        shingles_hash(minhash, text, words + done, chunk, scratch->hashes);
        size_t kept = seen_filter(scratch->seen, slots, scratch->hashes, chunk);
        if (kept > 0) {
            minhash->kernel->update(minhash->a, minhash->b, minhash->functions, minhash->mask,
                                    scratch->hashes, kept, scratch->minima);
        }
        done += chunk;
    }
    memcpy(signature, scratch->minima, minhash->values * sizeof(*signature));
    *has = true;
    return SLUICE_OK;
}

struct minhash_key minhash_band_key(const struct minhash *minhash, const uint64_t *signature,
                                    uint32_t band)
{
    assert(band < minhash->options.bands);
    size_t rows = minhash->options.rows;
    XXH128_hash_t hash =
        XXH3_128bits_withSeed(signature + band * rows, rows * sizeof(*signature), band);
    return (struct minhash_key){ hash.low64, hash.high64 };
}

bool minhash_band_equal(const struct minhash *minhash, const uint64_t *one, const uint64_t *other,
                        uint32_t band)
{
    assert(band < minhash->options.bands);
    size_t rows = minhash->options.rows;
    return memcmp(one + band * rows, other + band * rows, rows * sizeof(*one)) == 0;
}

uint32_t minhash_agreement(const uint64_t *one, const uint64_t *other, size_t n)
{
    uint32_t equal = 0;
    for (size_t i = 0; i < n; i++) {
        equal += one[i] == other[i];
    }
    return equal;
}

double minhash_similarity(const uint64_t *one, const uint64_t *other, size_t n)
{
    return n == 0 ? 0.0 : (double)minhash_agreement(one, other, n) / (double)n;
}

void minhash_compact(const uint64_t *signature, size_t n, uint16_t *compact)
{
    for (size_t i = 0; i < n; i++) {
        compact[i] = (uint16_t)(signature[i] & 0xffff);
    }
}

uint32_t minhash_compact_agreement(const uint16_t *one, const uint16_t *other, size_t n)
{
    uint32_t equal = 0;
    for (size_t i = 0; i < n; i++) {
        equal += one[i] == other[i];
    }
    return equal;
}

double minhash_compact_similarity(const uint16_t *one, const uint16_t *other, size_t n)
{
    return n == 0 ? 0.0 : (double)minhash_compact_agreement(one, other, n) / (double)n;
}
