/* Tests of MinHash signatures: datatrove's golden numbers, vectors made with numpy
 * (tests/data/minhash/signatures.tsv), equality of all instruction sets, memory bounds, options and
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <nettle/sha2.h>

#include "minhash_sig.h"
#include "minhash_sig_kernel.h"
#include "mt19937.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define GOLDEN_TEXT "the quick brown fox jumps over the lazy dog near the quiet river bank"
#define WORDS_MOST 70000

static const char *data_dir(void)
{
    const char *dir = getenv("SLUICE_DATA_DIR");
    return dir != NULL ? dir : "tests/data";
}

/* A small generator, so that cases are the same everywhere. */
static uint64_t mix(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t words_of(const char *text, struct text_span *words)
{
    size_t n = 0;
    size_t size = strlen(text);
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && text[end] != ' ') {
            end++;
        }
        words[n++] = (struct text_span){ (uint32_t)at, (uint32_t)end };
        at = end + 1;
    }
    return n;
}

static struct minhash *make(struct minhash_options options)
{
    struct minhash *minhash = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(minhash_create(&options, &minhash, &err), SLUICE_OK);
    return minhash;
}

static bool sign(const struct minhash *minhash, const char *text, size_t size,
                 const struct text_span *words, size_t n, uint64_t *signature)
{
    struct minhash_scratch *scratch = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    bool has = true;
    assert_int_equal(minhash_scratch_create(&scratch, &err), SLUICE_OK);
    assert_int_equal(minhash_sign(minhash, scratch, text, size, words, n, signature, &has, &err),
                     SLUICE_OK);
    minhash_scratch_destroy(scratch);
    return has;
}

static void sha256_hex(const uint64_t *values, size_t n, char hex[65])
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&sha);
    sha256_update(&sha, n * sizeof(*values), (const uint8_t *)values);
    sha256_digest(&sha, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

static bool level_exists(enum minhash_level level)
{
    struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
    options.level = level;
    struct minhash *minhash = NULL;
    int32_t status = minhash_create(&options, &minhash, NULL);
    minhash_destroy(minhash);
    return status == SLUICE_OK;
}

static const struct minhash_kernel *kernel_of(enum minhash_level level)
{
#if defined(__x86_64__)
    if (level == MINHASH_LEVEL_AVX2) {
        return &minhash_kernel_avx2;
    }
    if (level == MINHASH_LEVEL_AVX512) {
        return &minhash_kernel_avx512;
    }
#endif
    return &minhash_kernel_scalar;
}

static void test_parameters_are_numpys(void **state)
{
    (void)state;
    struct mt19937 twister;
    mt19937_init(&twister, 1);
    uint64_t a[112];
    uint64_t b[112];
    for (int i = 0; i < 112; i++) {
        a[i] = mt19937_range(&twister, 1, MINHASH_PRIME);
    }
    for (int i = 0; i < 112; i++) {
        b[i] = mt19937_range(&twister, 0, MINHASH_PRIME);
    }
    assert_true(a[0] == 775169054918279404u && a[1] == 1758426461858698313u &&
                a[2] == 2109959069025162u);
    assert_true(a[111] == 223865076026037746u);
    assert_true(b[0] == 1062448801025099917u && b[1] == 1324811268927594100u &&
                b[2] == 1217488311597731462u);
    assert_true(b[111] == 1097409548522419201u);
    /* The reference implementation's 10,000th output for its default seed. */
    mt19937_init(&twister, 5489);
    uint32_t last = 0;
    for (int i = 0; i < 10000; i++) {
        last = mt19937_next32(&twister);
    }
    assert_true(last == 4123659995u);
}

static void test_golden_signature(void **state)
{
    (void)state;
    static const uint64_t bucket[8] = { 85330943174081874u,  544587564993925049u,
                                        285742329127442222u, 34440879854629237u,
                                        143124923319805529u, 64059118737491077u,
                                        745609619376691355u, 66150417395887790u };
    struct text_span words[32];
    size_t n = words_of(GOLDEN_TEXT, words);
    uint64_t signature[112];
    char hex[65];
    for (enum minhash_level level = MINHASH_LEVEL_AUTO; level <= MINHASH_LEVEL_AVX512; level++) {
        if (!level_exists(level)) {
            continue;
        }
        struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
        options.level = level;
        struct minhash *minhash = make(options);
        assert_int_equal(minhash_values(minhash), 112);
        assert_true(minhash_level(minhash) != MINHASH_LEVEL_AUTO);
        assert_true(sign(minhash, GOLDEN_TEXT, strlen(GOLDEN_TEXT), words, n, signature));
        assert_memory_equal(signature, bucket, sizeof(bucket));
        sha256_hex(signature, 112, hex);
        assert_string_equal(hex,
                            "5f90980a927ca1bfe469e1e2741a529fe62d0718a5d1f6ec72e4b7f6c4a799e0");
        minhash_destroy(minhash);
        options.hash = MINHASH_SHA1;
        minhash = make(options);
        assert_true(sign(minhash, GOLDEN_TEXT, strlen(GOLDEN_TEXT), words, n, signature));
        assert_true(signature[0] == 197166454002902972u && signature[1] == 284080765670708113u);
        sha256_hex(signature, 112, hex);
        assert_string_equal(hex,
                            "44182f480c774eae106113ef02c0a01574bc06099e469e601078dcee02347dd3");
        minhash_destroy(minhash);
    }
    uint64_t hash = 0;
    minhash_kernel_scalar.hash(GOLDEN_TEXT, words, 5, 1, &hash);
    assert_true(hash == 7797000677988824208u);
}

static void test_numpy_vectors(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof(path), "%s/minhash/signatures.tsv", data_dir());
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot open %s; run from the repository's root or set SLUICE_DATA_DIR", path);
    }
    static char line[65536];
    static struct text_span words[4096];
    size_t cases = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        char name[16];
        char want[65];
        unsigned long long first;
        struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
        int text_at = 0;
        int fields =
            sscanf(line, "%15s %u %u %u %u %u %llu %64s%n", name, &options.bits, &options.ngram,
                   &options.bands, &options.rows, &options.seed, &first, want, &text_at);
        assert_int_equal(fields, 8);
        const char *text = line + text_at + 1;
        options.hash = strcmp(name, "sha1") == 0 ? MINHASH_SHA1 : MINHASH_XXHASH;
        size_t n = words_of(text, words);
        for (enum minhash_level level = MINHASH_LEVEL_SCALAR; level <= MINHASH_LEVEL_AVX512;
             level++) {
            options.level = level;
            if (!level_exists(level)) {
                continue;
            }
            struct minhash *minhash = make(options);
            size_t values = minhash_values(minhash);
            uint64_t *signature = calloc(values, sizeof(*signature));
            assert_non_null(signature);
            assert_true(sign(minhash, text, strlen(text), words, n, signature));
            char hex[65];
            sha256_hex(signature, values, hex);
            assert_true(signature[0] == first);
            assert_string_equal(hex, want);
            free(signature);
            minhash_destroy(minhash);
        }
        cases++;
    }
    fclose(file);
    assert_true(cases > 50);
}

/* Values whose reduction is delicate: multiples of the prime, the top of each eighth of 2^64. */
static uint64_t delicate(uint64_t *seed)
{
    uint64_t eighth = mix(seed) % 8;
    uint64_t near = mix(seed) % 24;
    switch (mix(seed) % 4) {
    case 0:
        return eighth * MINHASH_PRIME + near - 12;
    case 1:
        return (eighth << 61) + near - 12;
    case 2:
        return near;
    default:
        return mix(seed);
    }
}

static void test_update_levels_agree(void **state)
{
    (void)state;
    enum { FUNCTIONS = 56, HASHES = 300 };
    uint64_t seed = 3;
    uint64_t *block = aligned_alloc(64, 4 * 64 * sizeof(uint64_t));
    assert_non_null(block);
    uint64_t *a = block;
    uint64_t *b = block + 64;
    uint64_t hashes[HASHES];
    for (int round = 0; round < 3000; round++) {
        size_t functions = 8 * (1 + mix(&seed) % 7);
        size_t n = 1 + mix(&seed) % (round % 10 == 0 ? HASHES : 4);
        for (size_t i = 0; i < functions; i++) {
            a[i] = round % 3 == 0 ? 1 : mix(&seed) % MINHASH_PRIME;
            b[i] = round % 3 == 0 ? mix(&seed) % 3 : delicate(&seed) % MINHASH_PRIME;
        }
        for (size_t i = 0; i < n; i++) {
            hashes[i] = round % 2 == 0 ? delicate(&seed) : mix(&seed);
        }
        uint64_t mask = round % 5 == 0 ? UINT32_MAX : UINT64_MAX;
        uint64_t want[FUNCTIONS];
        for (size_t i = 0; i < functions; i++) {
            want[i] = UINT64_MAX;
            for (size_t k = 0; k < n; k++) {
                /* The definition, with the division that the loops avoid. */
                uint64_t value = ((hashes[k] * a[i] + b[i]) % MINHASH_PRIME) & mask;
                want[i] = value < want[i] ? value : want[i];
            }
        }
        for (enum minhash_level level = MINHASH_LEVEL_SCALAR; level <= MINHASH_LEVEL_AVX512;
             level++) {
            if (!level_exists(level)) {
                continue;
            }
            uint64_t *minima = block + 128;
            memset(minima, 0xff, functions * sizeof(*minima));
            /* In two portions: minima accumulate. */
            size_t half = n / 2;
            if (half > 0) {
                kernel_of(level)->update(a, b, functions, mask, hashes, half, minima);
            }
            kernel_of(level)->update(a, b, functions, mask, hashes + half, n - half, minima);
            assert_memory_equal(minima, want, functions * sizeof(*want));
        }
    }
    free(block);
}

/* Hashes whose values differ by next to nothing: what AVX2 knows of them first, their upper 32
 * bits, is equal or one apart. */
static void test_values_close_to_each_other(void **state)
{
    (void)state;
    enum { FUNCTIONS = 24, HASHES = 9 };
    uint64_t seed = 21;
    uint64_t *a = aligned_alloc(64, 3 * 64 * sizeof(uint64_t)), *b, *minima;
    assert_non_null(a);
    b = a + 64;
    minima = a + 128;
    for (int round = 0; round < 20000; round++) {
        uint64_t hashes[HASHES], want[FUNCTIONS];
        bool bounds = round % 2 == 0; /* around those of the upper 32 bits */
        uint64_t first = bounds ? (mix(&seed) << 29) - 12 : mix(&seed);
        uint64_t step = (uint64_t)1 << (bounds ? 1 : mix(&seed) % 40);
        size_t n = bounds ? 2 : HASHES;
        for (size_t i = 0; i < n; i++) {
            /* Equal ones, neighbours, and the same low bits below other upper ones. */
            hashes[i] = first + mix(&seed) % 12 * step + (mix(&seed) % 8 << 61);
        }
        for (size_t i = 0; i < FUNCTIONS; i++) {
            a[i] = bounds ? 1 : 1 + mix(&seed) % 3;
            b[i] = bounds ? i % 3 : delicate(&seed) % MINHASH_PRIME;
            want[i] = UINT64_MAX;
            for (size_t k = 0; k < n; k++) {
                uint64_t value = (hashes[k] * a[i] + b[i]) % MINHASH_PRIME;
                want[i] = value < want[i] ? value : want[i];
            }
        }
        for (enum minhash_level level = MINHASH_LEVEL_SCALAR; level <= MINHASH_LEVEL_AVX512;
             level++) {
            if (level_exists(level)) {
                memset(minima, 0xff, FUNCTIONS * sizeof *minima);
                kernel_of(level)->update(a, b, FUNCTIONS, UINT64_MAX, hashes, n, minima);
                assert_memory_equal(minima, want, sizeof want);
            }
        }
    }
    free(a);
}

/* All lengths, with the text ending where unreadable memory begins and beginning where unreadable
 * memory ends. */
static void test_hash_levels_agree_and_stay_inside(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + 2 * page, page, PROT_NONE), 0);
    char *middle = map + page;
    uint64_t seed = 9;
    for (size_t i = 0; i < page; i++) {
        middle[i] = (char)mix(&seed);
    }
    for (enum minhash_level level = MINHASH_LEVEL_SCALAR; level <= MINHASH_LEVEL_AVX512; level++) {
        if (!level_exists(level)) {
            continue;
        }
        for (uint32_t longest = 0; longest < 300; longest++) {
            struct text_span words[70];
            uint64_t hashes[70];
            size_t n = 1 + longest % 64;
            for (size_t i = 0; i < n; i++) {
                uint32_t length = i == 0 ? longest : (uint32_t)(mix(&seed) % (longest + 1));
                uint32_t begin = i % 2 == 0 ? (uint32_t)page - length : 0;
                words[i] = (struct text_span){ begin, begin + length };
            }
            kernel_of(level)->hash(middle, words, 1, n, hashes);
            for (size_t i = 0; i < n; i++) {
                assert_true(hashes[i] ==
                            XXH64(middle + words[i].begin, words[i].end - words[i].begin, 0));
            }
        }
    }
    munmap(map, 3 * page);
}

/* Documents over several chunks, with and without repeats, against the definition. */
static void test_documents_against_definition(void **state)
{
    (void)state;
    static struct text_span words[WORDS_MOST];
    size_t sizes[] = { 5, 6, 12, 13, 100, 2052, 2053, 5000, 40000 };
    uint64_t seed = 77;
    char *text = malloc((size_t)WORDS_MOST * 12);
    assert_non_null(text);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int vocabulary = 3; vocabulary <= 30000; vocabulary *= 100) {
            size_t at = 0;
            for (size_t i = 0; i < sizes[s]; i++) {
                at += (size_t)sprintf(text + at, i == 0 ? "w%u" : " w%u",
                                      (unsigned)(mix(&seed) % (unsigned)vocabulary));
            }
            size_t n = words_of(text, words);
            assert_int_equal(n, sizes[s]);
            struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
            options.bands = 5;
            options.rows = 3;
            struct mt19937 twister;
            mt19937_init(&twister, 1);
            uint64_t draws[30];
            for (int i = 0; i < 30; i++) {
                draws[i] = mt19937_range(&twister, i < 15, MINHASH_PRIME);
            }
            uint64_t want[15];
            memset(want, 0xff, sizeof(want));
            for (size_t i = 0; i + 5 <= n; i++) {
                uint64_t hash = XXH64(text + words[i].begin, words[i + 4].end - words[i].begin, 0);
                for (int f = 0; f < 15; f++) {
                    uint64_t value = (hash * draws[f] + draws[15 + f]) % MINHASH_PRIME;
                    want[f] = value < want[f] ? value : want[f];
                }
            }
            for (enum minhash_level level = MINHASH_LEVEL_SCALAR; level <= MINHASH_LEVEL_AVX512;
                 level++) {
                if (!level_exists(level)) {
                    continue;
                }
                options.level = level;
                struct minhash *minhash = make(options);
                uint64_t signature[15];
                assert_true(sign(minhash, text, at, words, n, signature));
                assert_memory_equal(signature, want, sizeof(want));
                minhash_destroy(minhash);
            }
        }
    }
    free(text);
}

/* Words that are not parted by one space (other words rules) give the shingles of the words joined
 * by one space. */
static void test_words_not_spaced(void **state)
{
    (void)state;
    struct minhash *minhash = make((struct minhash_options)MINHASH_OPTIONS_DEFAULT);
    struct minhash_scratch *scratch = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(minhash_scratch_create(&scratch, &err), SLUICE_OK);
    struct text_span words[32];
    uint64_t plain[112];
    uint64_t other[112];
    bool has;
    size_t n = words_of(GOLDEN_TEXT, words);
    assert_true(sign(minhash, GOLDEN_TEXT, strlen(GOLDEN_TEXT), words, n, plain));

    const char *tight = "thequickbrownfoxjumpsoverthelazydognearthequietriverbank";
    uint32_t at = 0;
    struct text_span spans[32];
    for (size_t i = 0; i < n; i++) {
        uint32_t length = words[i].end - words[i].begin;
        spans[i] = (struct text_span){ at, at + length };
        at += length;
    }
    assert_int_equal(
        minhash_sign(minhash, scratch, tight, strlen(tight), spans, n, other, &has, &err),
        SLUICE_OK);
    assert_true(has);
    assert_memory_equal(plain, other, sizeof(plain));

    /* One tab instead of a space, two spaces, and the words taken out of order. */
    char tabbed[] = GOLDEN_TEXT;
    tabbed[3] = '\t';
    assert_int_equal(
        minhash_sign(minhash, scratch, tabbed, strlen(tabbed), words, n, other, &has, &err),
        SLUICE_OK);
    assert_memory_equal(plain, other, sizeof(plain));
    const char *wide = "the  quick brown fox jumps over the lazy dog near the quiet river bank";
    for (size_t i = 0; i < n; i++) {
        uint32_t shift = i == 0 ? 0 : 1;
        spans[i] = (struct text_span){ words[i].begin + shift, words[i].end + shift };
    }
    assert_int_equal(
        minhash_sign(minhash, scratch, wide, strlen(wide), spans, n, other, &has, &err), SLUICE_OK);
    assert_memory_equal(plain, other, sizeof(plain));
    const char *reversed = "bank river quiet the near dog lazy the over jumps fox brown quick the";
    size_t m = words_of(reversed, spans);
    for (size_t i = 0; i < m / 2; i++) {
        struct text_span swap = spans[i];
        spans[i] = spans[m - 1 - i];
        spans[m - 1 - i] = swap;
    }
    assert_int_equal(
        minhash_sign(minhash, scratch, reversed, strlen(reversed), spans, m, other, &has, &err),
        SLUICE_OK);
    assert_memory_equal(plain, other, sizeof(plain));
    minhash_scratch_destroy(scratch);
    minhash_destroy(minhash);
}

static void test_short_documents_and_bad_spans(void **state)
{
    (void)state;
    struct minhash *minhash = make((struct minhash_options)MINHASH_OPTIONS_DEFAULT);
    struct minhash_scratch *scratch = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(minhash_scratch_create(&scratch, &err), SLUICE_OK);
    struct text_span words[8];
    uint64_t signature[112] = { 7 };
    bool has = true;
    size_t n = words_of("a b c d", words);
    assert_int_equal(minhash_sign(minhash, scratch, "a b c d", 7, words, n, signature, &has, &err),
                     SLUICE_OK);
    assert_false(has);
    assert_true(signature[0] == 7);
    has = true;
    assert_int_equal(minhash_sign(minhash, scratch, "", 0, words, 0, signature, &has, &err),
                     SLUICE_OK);
    assert_false(has);
    n = words_of("a b c d e", words);
    words[4].end = 10;
    assert_int_equal(
        minhash_sign(minhash, scratch, "a b c d e", 9, words, n, signature, &has, &err),
        SLUICE_E_INTERNAL);
    assert_non_null(strstr(err.message, "leaves the text"));
    words[4] = (struct text_span){ 9, 8 };
    assert_int_equal(
        minhash_sign(minhash, scratch, "a b c d e", 9, words, n, signature, &has, &err),
        SLUICE_E_INTERNAL);
    words[0] = (struct text_span){ 11, 12 };
    assert_int_equal(
        minhash_sign(minhash, scratch, "a b c d e", 9, words, n, signature, &has, &err),
        SLUICE_E_INTERNAL);
    minhash_scratch_destroy(scratch);
    minhash_destroy(minhash);
}

/* A million overlapping spans of 8 KiB would join to 8 GiB. */
static void test_joined_words_are_limited(void **state)
{
    (void)state;
    enum { SPANS = 1 << 20, SIZE = 8192 };
    struct minhash *minhash = make((struct minhash_options)MINHASH_OPTIONS_DEFAULT);
    struct minhash_scratch *scratch = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(minhash_scratch_create(&scratch, &err), SLUICE_OK);
    struct text_span *words = malloc(SPANS * sizeof(*words));
    char *text = calloc(1, SIZE);
    assert_true(words != NULL && text != NULL);
    for (size_t i = 0; i < SPANS; i++) {
        words[i] = (struct text_span){ 0, SIZE };
    }
    uint64_t signature[112];
    bool has;
    assert_int_equal(
        minhash_sign(minhash, scratch, text, SIZE, words, SPANS, signature, &has, &err),
        SLUICE_E_DATA);
    assert_false(has);
    assert_non_null(strstr(err.message, "split the document"));
    free(words);
    free(text);
    minhash_scratch_destroy(scratch);
    minhash_destroy(minhash);
}

/* Shingles whose hashes are what the table of seen hashes is filled with, 2^64 - 1 and 0, are not
 * taken for seen. */
static void test_extreme_hashes_are_not_lost(void **state)
{
    (void)state;
    static const unsigned char text[2][8] = { { 0x1e, 0x37, 0x89, 0xcf, 0x19, 0x13, 0x73, 0xf8 },
                                              { 0x73, 0x85, 0x80, 0x7d, 0x8f, 0x0b, 0x53, 0x39 } };
    static const struct text_span word = { 0, 8 };
    struct minhash_options options = { .ngram = 1, .bands = 1, .rows = 1, .seed = 1, .bits = 64 };
    struct minhash *minhash = make(options);
    for (int i = 0; i < 2; i++) {
        uint64_t hash = i == 0 ? UINT64_MAX : 0;
        assert_true(XXH64(text[i], 8, 0) == hash);
        struct mt19937 twister;
        mt19937_init(&twister, 1);
        uint64_t a = mt19937_range(&twister, 1, MINHASH_PRIME);
        uint64_t b = mt19937_range(&twister, 0, MINHASH_PRIME);
        uint64_t signature = 0;
        assert_true(sign(minhash, (const char *)text[i], 8, &word, 1, &signature));
        assert_true(signature == (hash * a + b) % MINHASH_PRIME);
    }
    minhash_destroy(minhash);
}

static void refuse(struct minhash_options options, const char *field)
{
    struct minhash *minhash = NULL;
    struct sluice_error err = { .size = sizeof(err) };
    assert_int_equal(minhash_create(&options, &minhash, &err), SLUICE_E_CONFIG);
    assert_null(minhash);
    assert_string_equal(err.field, field);
    assert_true(strlen(err.message) > 10);
}

static void test_options(void **state)
{
    (void)state;
    struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
    options.ngram = 0;
    refuse(options, "ngram");
    options = (struct minhash_options)MINHASH_OPTIONS_DEFAULT;
    options.bands = 4097;
    refuse(options, "bands");
    options = (struct minhash_options)MINHASH_OPTIONS_DEFAULT;
    options.rows = 0;
    refuse(options, "rows");
    options = (struct minhash_options)MINHASH_OPTIONS_DEFAULT;
    options.bits = 16;
    refuse(options, "bits");
    options = (struct minhash_options)MINHASH_OPTIONS_DEFAULT;
    options.hash = (enum minhash_hash)9;
    refuse(options, "hash");
    options = (struct minhash_options)MINHASH_OPTIONS_DEFAULT;
    options.level = (enum minhash_level)9;
    refuse(options, "level");
}

static void test_bands_and_similarity(void **state)
{
    (void)state;
    struct minhash *minhash = make((struct minhash_options)MINHASH_OPTIONS_DEFAULT);
    uint64_t one[112];
    uint64_t other[112];
    for (size_t i = 0; i < 112; i++) {
        one[i] = 1000 + i % 8;
        other[i] = one[i];
    }
    other[9] = 0x10000 + one[9];
    other[17] += 1;
    struct minhash_key first = minhash_band_key(minhash, one, 0);
    struct minhash_key same = minhash_band_key(minhash, other, 0);
    struct minhash_key second = minhash_band_key(minhash, one, 1);
    struct minhash_key changed = minhash_band_key(minhash, other, 1);
    assert_true(first.low == same.low && first.high == same.high);
    assert_true(first.low != second.low &&
                first.high != second.high); /* equal rows, another band */
    assert_true(second.low != changed.low && second.high != changed.high);
    assert_true(minhash_band_equal(minhash, one, other, 0));
    assert_false(minhash_band_equal(minhash, one, other, 1));
    assert_false(minhash_band_equal(minhash, one, other, 2));
    assert_true(minhash_band_equal(minhash, one, other, 13));
    XXH128_hash_t want = XXH3_128bits_withSeed(one + 8, 64, 1);
    assert_true(second.low == want.low64 && second.high == want.high64);

    assert_int_equal(minhash_agreement(one, other, 112), 110);
    assert_true(minhash_similarity(one, other, 112) == 110.0 / 112.0);
    assert_true(minhash_similarity(one, other, 0) == 0.0);
    uint16_t small_one[112];
    uint16_t small_other[112];
    minhash_compact(one, 112, small_one);
    minhash_compact(other, 112, small_other);
    assert_int_equal(minhash_compact_agreement(small_one, small_other, 112),
                     111); /* 2^16 apart look equal */
    assert_true(minhash_compact_similarity(small_one, small_other, 112) == 111.0 / 112.0);
    minhash_destroy(minhash);
}

/* The share of equal values estimates the Jaccard similarity: within five standard deviations on
 * known sets. */
static void test_similarity_estimates_jaccard(void **state)
{
    (void)state;
    struct minhash_options options = { .ngram = 1, .bands = 64, .rows = 64, .seed = 1, .bits = 64 };
    struct minhash *minhash = make(options);
    static char text[2][8000];
    static struct text_span words[2][700];
    static uint64_t signature[2][4096];
    static uint16_t compact[2][4096];
    for (int d = 0; d < 2; d++) {
        size_t at = 0;
        for (int i = 0; i < 600; i++) {
            at += (size_t)sprintf(text[d] + at, i == 0 ? "t%d" : " t%d", i + 200 * d);
        }
        size_t n = words_of(text[d], words[d]);
        assert_true(sign(minhash, text[d], at, words[d], n, signature[d]));
        minhash_compact(signature[d], 4096, compact[d]);
    }
    double similarity = minhash_similarity(signature[0], signature[1], 4096);
    assert_true(similarity > 0.5 - 0.04 && similarity < 0.5 + 0.04); /* 400 of 800; sd 0.0078 */
    double small = minhash_compact_similarity(compact[0], compact[1], 4096);
    assert_true(small >= similarity && small < similarity + 0.002);
    minhash_destroy(minhash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_are_numpys),
        cmocka_unit_test(test_golden_signature),
        cmocka_unit_test(test_numpy_vectors),
        cmocka_unit_test(test_update_levels_agree),
        cmocka_unit_test(test_values_close_to_each_other),
        cmocka_unit_test(test_hash_levels_agree_and_stay_inside),
        cmocka_unit_test(test_documents_against_definition),
        cmocka_unit_test(test_words_not_spaced),
        cmocka_unit_test(test_short_documents_and_bad_spans),
        cmocka_unit_test(test_joined_words_are_limited),
        cmocka_unit_test(test_extreme_hashes_are_not_lost),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_bands_and_similarity),
        cmocka_unit_test(test_similarity_estimates_jaccard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
