/* test_bpe_property.c — random small vocabularies against the plainest possible BPE: the
 * definition, without any table.
 *
 * .tiktoken: while some two neighbouring parts join to a token, join those whose token has the
 * lowest rank, the leftmost first; a piece that is a token is that token. tokenizer.json: the same
 * over the list of merges. The vocabularies are arbitrary on purpose: tokens that nothing merges
 * to, parts that rank behind what they make, duplicate merges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/bpe.h"
#include "model/bpe_index.h"
#include "model/bpe_merge.h"
#include "text/text_base64.h"

#define MOST 96

struct toy {
    char text[MOST][10];
    size_t n; /* tokens of two letters and more; token k has id 256 + k */
    int pair[3 * MOST][2], result[3 * MOST]; /* merges, as tokens: -letter for a letter */
    size_t merges;
};

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

static int find_token(const struct toy *t, const char *text, size_t len)
{
    size_t i;
    if (len == 1) {
        return (unsigned char)text[0];
    }
    for (i = 0; i < t->n; i++) {
        if (strlen(t->text[i]) == len && memcmp(t->text[i], text, len) == 0) {
            return 256 + (int)i;
        }
    }
    return -1;
}

static void make_toy(struct toy *t, uint64_t *seed, int letters, size_t tokens, int natural)
{
    memset(t, 0, sizeof(*t));
    while (t->n < tokens) {
        char text[24] = "";
        size_t len = 2 + next_random(seed) % 7, i;
        if (natural && t->n > 2) { /* join two that are there, as a trainer does */
            for (i = 0; i < 2; i++) {
                if (next_random(seed) % 2) {
                    char letter[2] = { (char)('a' + next_random(seed) % (unsigned)letters), 0 };
                    strcat(text, letter);
                } else {
                    strcat(text, t->text[next_random(seed) % t->n]);
                }
            }
            if (strlen(text) > 9) {
                continue;
            }
        } else {
            for (i = 0; i < len; i++) {
                text[i] = (char)('a' + next_random(seed) % (unsigned)letters);
            }
        }
        if (find_token(t, text, strlen(text)) < 0) {
            memcpy(t->text[t->n++], text, 10);
        } else if (next_random(seed) % 50 == 0) {
            break; /* few letters have few words */
        }
    }
}

/* Merges by the definition. `merge` gives the rank and result of joining two parts, or -1. */
static size_t plain(const struct toy *t, const char *p, size_t len, int by_merges, int whole,
                    uint32_t *out)
{
    size_t end[1024], n = len, i;
    int id[1024];
    if (whole && find_token(t, p, len) >= 0) {
        out[0] = (uint32_t)find_token(t, p, len);
        return 1;
    }
    for (i = 0; i < len; i++) {
        end[i] = i + 1;
        id[i] = (unsigned char)p[i];
    }
    for (;;) {
        size_t best = n;
        int least = 0x7FFFFFFF, result = -1;
        for (i = 0; i + 1 < n; i++) {
            size_t from = i ? end[i - 1] : 0, k;
            int rank = -1, to = -1;
            if (by_merges) {
                for (k = 0; k < t->merges; k++) { /* the last of duplicates */
                    if (t->pair[k][0] == id[i] && t->pair[k][1] == id[i + 1]) {
                        rank = (int)k;
                        to = t->result[k];
                    }
                }
            } else {
                to = rank = find_token(t, p + from, end[i + 1] - from);
            }
            if (rank >= 0 && rank < least) {
                least = rank;
                best = i;
                result = to;
            }
        }
        if (best == n) {
            break;
        }
        id[best] = result;
        end[best] = end[best + 1];
        n--;
        memmove(id + best + 1, id + best + 2, (n - best - 1) * sizeof(id[0]));
        memmove(end + best + 1, end + best + 2, (n - best - 1) * sizeof(end[0]));
    }
    for (i = 0; i < n; i++) {
        out[i] = (uint32_t)id[i];
    }
    return n;
}

static struct bpe *load_tiktoken(const struct toy *t)
{
    struct bpe_options options = { .pattern = "[a-z]+|[^a-z]" };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    char *file = malloc(65536), line[64];
    size_t at = 0, i;
    assert_non_null(file);
    for (i = 0; i < 256 + t->n; i++) {
        unsigned char byte = (unsigned char)i;
        size_t n = i < 256 ? text_base64_encode(&byte, 1, line)
                           : text_base64_encode(t->text[i - 256], strlen(t->text[i - 256]), line);
        at += (size_t)snprintf(file + at, 65536 - at, "%.*s %zu\n", (int)n, line, i);
    }
    if (bpe_load(file, at, &options, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    free(file);
    return bpe;
}

/* Draws merges of each token from parts that are there, some twice. */
static void make_merges(struct toy *t, uint64_t *seed)
{
    size_t tries;
    for (tries = 0; tries < 40 * t->n && t->merges < 3 * MOST; tries++) {
        size_t k = next_random(seed) % t->n, len = strlen(t->text[k]),
               cut = 1 + next_random(seed) % (len - 1);
        int a = find_token(t, t->text[k], cut), b = find_token(t, t->text[k] + cut, len - cut);
        if (a >= 0 && b >= 0) {
            t->pair[t->merges][0] = a;
            t->pair[t->merges][1] = b;
            t->result[t->merges++] = 256 + (int)k;
        }
    }
}

static const char *name_of(const struct toy *t, int id, char one[2])
{
    one[0] = (char)id;
    one[1] = '\0';
    return id < 256 ? one : t->text[id - 256];
}

static struct bpe *load_json(const struct toy *t, int ignore_merges)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    char *file = malloc(65536), one[2], two[2];
    size_t at = 0, i;
    int next = 256;
    assert_non_null(file);
    at += (size_t)snprintf(
        file, 65536,
        "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\","
        "\"pattern\":"
        "{\"Regex\":\"[a-z]+\"},\"behavior\":\"Isolated\",\"invert\":false},{\"type\":"
        "\"ByteLevel\","
        "\"add_prefix_space\":false,\"use_regex\":false}]},\"model\":{\"type\":\"BPE\","
        "\"ignore_merges\":%s,\"vocab\":{",
        ignore_merges ? "true" : "false");
    for (i = 0; i < 256; i++) {
        int printable = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174;
        at += (size_t)snprintf(file + at, 65536 - at, "\"\\u%04x\":%zu,",
                               (unsigned)(printable ? (int)i : next++), i);
    }
    for (i = 0; i < t->n; i++) {
        at += (size_t)snprintf(file + at, 65536 - at, "%s\"%s\":%zu", i ? "," : "", t->text[i],
                               256 + i);
    }
    at += (size_t)snprintf(file + at, 65536 - at, "},\"merges\":[");
    for (i = 0; i < t->merges; i++) {
        at += (size_t)snprintf(file + at, 65536 - at, i % 2 ? "%s[\"%s\",\"%s\"]" : "%s\"%s %s\"",
                               i ? "," : "", name_of(t, t->pair[i][0], one),
                               name_of(t, t->pair[i][1], two));
    }
    at += (size_t)snprintf(file + at, 65536 - at, "]}}");
    if (bpe_load(file, at, NULL, &bpe, &err) != SLUICE_OK) {
        fail_msg("%s", err.message);
    }
    free(file);
    return bpe;
}

/* Encodes random words, short and long, and compares. Gives the number of words. */
static size_t compare(const struct toy *t, struct bpe *bpe, int letters, int by_merges, int whole,
                      uint64_t *seed)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    size_t round;
    assert_int_equal(bpe_worker_create(bpe, 1, &worker, &err), SLUICE_OK);
    for (round = 0; round < 40; round++) {
        char text[200];
        uint32_t ids[200], expected[1024];
        size_t len = 0, n, m, want = 1 + next_random(seed) % (round % 4 == 3 ? 150 : 20);
        while (len < want) {
            if (next_random(seed) % 2) {
                const char *word = t->text[next_random(seed) % t->n];
                memcpy(text + len, word, strlen(word));
                len += strlen(word);
            } else {
                text[len++] = (char)('a' + next_random(seed) % (unsigned)letters);
            }
        }
        m = plain(t, text, len, by_merges, whole, expected);
        if (bpe_encode(worker, text, len, ids, 200, &n, &err) != SLUICE_OK) {
            fail_msg("%s", err.message);
        }
        if (n != m || memcmp(ids, expected, n * sizeof(*ids)) != 0) {
            size_t i;
            (void)fprintf(stderr, "'%.*s': %zu ids, expected %zu\n", (int)len, text, n, m);
            for (i = 0; i < t->n; i++) {
                (void)fprintf(stderr, "%zu=%s ", 256 + i, t->text[i]);
            }
            fail();
        }
    }
    bpe_worker_destroy(worker);
    return round;
}

static void tiktoken_files(void **state)
{
    uint64_t seed = 1;
    size_t words = 0;
    int round;
    (void)state;
    for (round = 0; round < 120; round++) {
        struct toy t;
        int letters = 1 + round % 4;
        struct bpe *bpe;
        make_toy(&t, &seed, letters, 4 + next_random(&seed) % (MOST - 4), round % 3 == 0);
        bpe = load_tiktoken(&t);
        words += compare(&t, bpe, letters, 0, 1, &seed);
        bpe_destroy(bpe);
    }
    assert_int_equal(words, 4800);
}

static void json_files(void **state)
{
    uint64_t seed = 2;
    int round;
    (void)state;
    for (round = 0; round < 120; round++) {
        struct toy t;
        int letters = 1 + round % 4, whole = round % 2;
        struct bpe *bpe;
        make_toy(&t, &seed, letters, 4 + next_random(&seed) % (MOST - 4), round % 3 != 0);
        make_merges(&t, &seed);
        bpe = load_json(&t, whole);
        (void)compare(&t, bpe, letters, 1, whole, &seed);
        bpe_destroy(bpe);
    }
}

/* The three ways to merge give the same numbers, wherever each may be used. */
static void three_ways_to_merge(void **state)
{
    static uint64_t memo[MERGE_MEMO];
    uint64_t seed = 3;
    int round, ordered = 0 /* without odd tokens, in a vocabulary with some */, unordered = 0;
    (void)state;
    for (round = 0; round < 200; round++) {
        struct toy t;
        struct vocab vocab;
        struct token_index tokens;
        struct merges m;
        struct sluice_error err = { .size = sizeof(err) };
        int letters = 1 + round % 4, word;
        size_t i;
        make_toy(&t, &seed, letters, 4 + next_random(&seed) % (MOST - 4), round % 2);
        memset(&vocab, 0, sizeof(vocab));
        memset(vocab.byte_id, 0xFF, sizeof(vocab.byte_id));
        for (i = 0; i < 256 + t.n; i++) {
            unsigned char byte = (unsigned char)i;
            assert_int_equal(vocab_put(&vocab, (uint32_t)i,
                                       i < 256 ? (const void *)&byte : t.text[i - 256],
                                       i < 256 ? 1 : strlen(t.text[i - 256]), VOCAB_BYTES, &err),
                             SLUICE_OK);
        }
        assert_int_equal(token_index_init(&tokens, &vocab, &err), SLUICE_OK);
        assert_int_equal(merges_init(&m, &vocab, &tokens, &err), SLUICE_OK);
        token_index_deinit(&tokens);
        memset(memo, 0, sizeof(memo));
        for (word = 0; word < 40; word++) {
            uint8_t text[300], bits[64];
            uint32_t a[300], b[300], c[300];
            uint64_t scratch[MERGE_HEAP_BYTES(300) / 8 + 1];
            size_t len = 1 + next_random(&seed) % (word % 2 ? 300 : MERGE_SHORT), n, k;
            for (i = 0; i < len; i++) {
                text[i] = (uint8_t)('a' + next_random(&seed) % (unsigned)letters);
            }
            n = merge_heap(&m, text, len, a, scratch);
            ordered += merge_is_ordered(&m, text, len) && m.odd_pairs;
            unordered += !merge_is_ordered(&m, text, len);
            if (merge_is_ordered(&m, text, len)) {
                k = merge_backtrack(&m, text, len, b, bits, memo);
                assert_int_equal(k, n);
                assert_memory_equal(a, b, n * sizeof(*a));
            }
            if (len <= MERGE_SHORT) {
                k = merge_short(&m, text, len, c);
                assert_int_equal(k, n);
                assert_memory_equal(a, c, n * sizeof(*a));
            }
        }
        merges_deinit(&m);
        vocab_deinit(&vocab);
    }
    assert_true(ordered > 100 && unordered > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiktoken_files),
        cmocka_unit_test(json_files),
        cmocka_unit_test(three_ways_to_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
