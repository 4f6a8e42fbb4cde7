/* Tests of what MinHash clusters and indexes are made of: ranks and dates, true similarities, the
 * peer's union-find, and the files of an index, whole, damaged and cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "minhash_format.h"
#include "minhash_rank.h"
#include "minhash_sets.h"
#include "minhash_sig.h"
#include "peer_forest.h"

static void test_ranks(void **state)
{
    static const double values[] = { 1e300, 2, 1.5, 1e-300, 0, -1e-300, -1, -1e300 };
    (void)state;
    for (size_t i = 1; i < sizeof values / sizeof values[0]; i++) {
        assert_true(minhash_rank_float(values[i - 1]) < minhash_rank_float(values[i]));
    }
    assert_true(minhash_rank_float(-0.0) == minhash_rank_float(0.0));
    assert_true(minhash_rank_float(__builtin_nan("")) == MINHASH_RANK_LAST);
    assert_true(minhash_rank_signed(INT64_MAX) == 0 &&
                minhash_rank_signed(INT64_MIN) == UINT64_MAX);
    assert_true(minhash_rank_signed(1) < minhash_rank_signed(-1));
    assert_true(minhash_rank_unsigned(2) < minhash_rank_unsigned(1));
}

static void test_dates(void **state)
{
    static const struct {
        const char *text;
        int64_t micros;
    } good[] = { { "1970-01-01", 0 },
                 { "2024-05-31T12:00:00Z", INT64_C(1717156800000000) },
                 { "2024-05-31 14:00:00.25+02:00", INT64_C(1717156800250000) },
                 { "2024-05-31T08:30-0330", INT64_C(1717156800000000) },
                 { "20240531", INT64_C(1717113600000000) },
                 { "20240531120000", INT64_C(1717156800000000) },
                 { "2000-02-29", INT64_C(951782400000000) },
                 { "1969-12-31T23:59:59Z", -1000000 } };
    static const char *const bad[] = { "",
                                       "2024",
                                       "2024-05",
                                       "2024-0531",
                                       "202405-31",
                                       "2024-13-01",
                                       "2024-00-01",
                                       "2024-01-32",
                                       "2024-01-01T",
                                       "2024-01-01T25:00",
                                       "2024-01-01T10:00:00.",
                                       "2024-01-01T10:00+2",
                                       "20240101T10",
                                       "2024-01-01x",
                                       "x024-01-01" };
    int64_t micros;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(minhash_date(good[i].text, strlen(good[i].text), &micros));
        assert_int_equal(micros, good[i].micros);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(minhash_date(bad[i], strlen(bad[i]), &micros));
    }
}

static void test_jaccard(void **state)
{
    static const uint64_t one[] = { 1, 3, 5, 7 };
    static const uint64_t other[] = { 3, 4, 5 };
    (void)state;
    assert_true(minhash_jaccard(one, 4, other, 3) == 0.4);
    assert_true(minhash_jaccard(other, 3, one, 4) == 0.4);
    assert_true(minhash_jaccard(one, 4, one, 4) == 1.0);
    assert_true(minhash_jaccard(one, 4, other, 0) == 0.0);
    assert_true(minhash_jaccard(one, 0, other, 0) == 0.0);
}

static void test_shingles(void **state)
{
    static const char text[] = "a b a b a b c";
    struct minhash_options options = MINHASH_OPTIONS_DEFAULT;
    struct text_span words[7];
    struct minhash *minhash = NULL;
    struct minhash_scratch *scratch = NULL;
    uint64_t set[7];
    size_t n = 0;
    (void)state;
    options.ngram = 2;
    for (uint32_t i = 0; i < 7; i++) {
        words[i] = (struct text_span){ 2 * i, 2 * i + 1 };
    }
    assert_int_equal(minhash_create(&options, &minhash, NULL), SLUICE_OK);
    assert_int_equal(minhash_scratch_create(&scratch, NULL), SLUICE_OK);
    /* "a b", "b a", "b c" */
    assert_int_equal(
        minhash_shingles(minhash, scratch, text, sizeof text - 1, words, 7, set, &n, NULL),
        SLUICE_OK);
    assert_int_equal(n, 3);
    assert_true(set[0] < set[1] && set[1] < set[2]);
    assert_int_equal(
        minhash_shingles(minhash, scratch, text, sizeof text - 1, words, 1, set, &n, NULL),
        SLUICE_OK);
    assert_int_equal(n, 0);
    minhash_scratch_destroy(scratch);
    minhash_destroy(minhash);
}

struct roots {
    uint64_t root[8];
};

static int32_t note(void *user, uint64_t node, uint64_t root, struct sluice_error *err)
{
    (void)err;
    ((struct roots *)user)->root[node] = root;
    return SLUICE_OK;
}

/* The survivor is not the smallest one: union by size, the first argument's root at equal sizes. */
static void test_peer_forest(void **state)
{
    static const uint64_t edges[][2] = { { 2, 3 }, { 1, 2 }, { 4, 5 }, { 0, 4 }, { 5, 3 } };
    struct roots roots = { { 0, 1, 2, 3, 4, 5, 6, 7 } };
    struct peer_forest *forest = NULL;
    struct sluice_error err = { .size = sizeof err };
    int32_t status = SLUICE_OK;
    (void)state;
    assert_int_equal(peer_forest_create(1 << 20, &forest, NULL), SLUICE_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(peer_forest_add(forest, edges[i][0], edges[i][1], NULL), SLUICE_OK);
    }
    assert_int_equal(peer_forest_finish(forest, note, &roots, NULL), SLUICE_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(roots.root[i], 4);
    }
    assert_int_equal(roots.root[6], 6);
    for (uint64_t i = 0; status == SLUICE_OK && i < 1000000; i++) {
        status = peer_forest_add(forest, 100 + i, 101 + i, &err);
    }
    assert_int_equal(status, SLUICE_E_NOMEM);
    assert_non_null(strstr(err.message, "--memory"));
    peer_forest_destroy(forest);
}

static void test_sets_spill(void **state)
{
    struct minhash_sets *sets = NULL;
    struct minhash_set set[50];
    uint64_t numbers[100];
    (void)state;
    assert_int_equal(minhash_sets_create(4096, getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp",
                                         &sets, NULL),
                     SLUICE_OK);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 50; i++) {
            for (uint64_t k = 0; k < 100; k++) {
                numbers[k] = 1000 * i + k + (uint64_t)round;
            }
            assert_int_equal(minhash_sets_add(sets, numbers, 50 + i, &set[i], NULL), SLUICE_OK);
        }
        for (uint64_t i = 50; i-- > 0;) {
            const uint64_t *found;
            assert_int_equal(minhash_sets_get(sets, &set[i], &found, NULL), SLUICE_OK);
            assert_int_equal(set[i].n, 50 + i);
            assert_int_equal(found[0], 1000 * i + (uint64_t)round);
            assert_int_equal(found[49 + i], 1000 * i + 49 + i + (uint64_t)round);
        }
        assert_int_equal(minhash_sets_clear(sets, NULL), SLUICE_OK);
    }
    minhash_sets_destroy(sets);
}

#define DOCUMENTS 200

static struct sluice_bytes make_docs(void)
{
    struct sluice_bytes file = { 0 };
    struct sluice_bytes places = { 0 };
    uint64_t directory;
    uint64_t head;
    assert_true(minhash_head_add(&file, true, "ngram=5 bands=14"));
    head = minhash_hash(file.data, file.size);
    for (uint64_t i = 0; i < DOCUMENTS; i++) {
        uint64_t reference = (uint64_t)1 << 63 | (10 * i + 5);
        char id[32];
        int n = snprintf(id, sizeof id, "document %d", (int)i);
        if (i % MINHASH_EVERY == 0) {
            uint64_t place[2] = { reference, file.size };
            assert_true(sluice_bytes_add(&places, place, sizeof place));
        }
        assert_true(minhash_record_add(&file, reference, i, id, (size_t)n, "sig", i % 4));
    }
    directory = file.size;
    assert_true(sluice_bytes_add(&file, places.data, places.size));
    assert_true(minhash_foot_add(&file, DOCUMENTS, directory,
                                 minhash_hash(places.data, places.size), head));
    sluice_bytes_free(&places);
    return file;
}

static struct sluice_bytes make_keys(void)
{
    struct sluice_bytes file = { 0 };
    uint64_t begin;
    uint64_t head;
    assert_true(minhash_head_add(&file, false, "ngram=5 bands=14"));
    begin = file.size;
    head = minhash_hash(file.data, file.size);
    for (int i = 0; i < DOCUMENTS; i++) {
        unsigned char entry[MINHASH_ENTRY] = { 0 };
        entry[0] = (unsigned char)(i / 100);
        entry[15] = (unsigned char)(2 * (i % 100));
        entry[16] = (unsigned char)i;
        assert_true(sluice_bytes_add(&file, entry, sizeof entry));
    }
    assert_true(minhash_foot_add(&file, DOCUMENTS, begin,
                                 minhash_hash(file.data + begin, file.size - begin), head));
    return file;
}

static void test_documents_are_found(void **state)
{
    struct sluice_bytes bytes = make_docs();
    struct minhash_file file;
    struct minhash_document document;
    bool found;
    (void)state;
    assert_int_equal(minhash_file_parse(bytes.data, bytes.size, &file, NULL), SLUICE_OK);
    assert_int_equal(minhash_file_check(&file, NULL), SLUICE_OK);
    assert_true(file.docs && file.count == DOCUMENTS);
    for (uint64_t i = 0; i < 10 * DOCUMENTS + 10; i++) {
        char id[32];
        assert_int_equal(
            minhash_file_document(&file, (uint64_t)1 << 63 | i, &document, &found, NULL),
            SLUICE_OK);
        assert_int_equal(found, i % 10 == 5 && i / 10 < DOCUMENTS);
        if (found) {
            snprintf(id, sizeof id, "document %d", (int)(i / 10));
            assert_int_equal(document.id_size, strlen(id));
            assert_memory_equal(document.id, id, document.id_size);
            assert_int_equal(document.rank, i / 10);
            assert_int_equal(document.sig_size, i / 10 % 4);
        }
    }
    sluice_bytes_free(&bytes);
}

static void test_keys_are_found(void **state)
{
    struct sluice_bytes bytes = make_keys();
    struct minhash_file file;
    (void)state;
    assert_int_equal(minhash_file_parse(bytes.data, bytes.size, &file, NULL), SLUICE_OK);
    assert_int_equal(minhash_file_check(&file, NULL), SLUICE_OK);
    for (uint64_t from = 0; from <= DOCUMENTS; from += 7) {
        for (int i = 0; i < 600; i++) {
            unsigned char key[16] = { (unsigned char)(i / 200) };
            uint64_t at;
            uint64_t expected = from;
            key[15] = (unsigned char)(i % 200);
            at = minhash_entry_seek(&file, from, key);
            while (expected < DOCUMENTS && memcmp(minhash_entry(&file, expected), key, 16) < 0) {
                expected++;
            }
            assert_int_equal(at, expected);
        }
    }
    sluice_bytes_free(&bytes);
}

/* Every byte changed and every end cut off: refused, or the same answers. */
static void test_damage_is_found(void **state)
{
    (void)state;
    for (int docs = 0; docs < 2; docs++) {
        struct sluice_bytes bytes = docs ? make_docs() : make_keys();
        char *copy = malloc(bytes.size);
        struct minhash_file file;
        struct minhash_document document;
        assert_non_null(copy);
        for (uint64_t n = 0; n < bytes.size; n += n < 200 ? 1 : 37) {
            assert_int_equal(minhash_file_parse(bytes.data, n, &file, NULL), SLUICE_E_DATA);
        }
        for (uint64_t at = 0; at < bytes.size; at++) {
            bool refused;
            memcpy(copy, bytes.data, bytes.size);
            copy[at] = (char)(copy[at] ^ 0x41);
            refused = minhash_file_parse(copy, bytes.size, &file, NULL) != SLUICE_OK ||
                      minhash_file_check(&file, NULL) != SLUICE_OK;
            for (uint64_t i = 0; !refused && docs && i < DOCUMENTS; i++) {
                bool found = false;
                uint64_t reference = (uint64_t)1 << 63 | (10 * i + 5);
                refused =
                    minhash_file_document(&file, reference, &document, &found, NULL) != SLUICE_OK ||
                    !found;
            }
            /* Only the zeros behind a record are not covered. */
            if (!refused) {
                assert_true(docs && bytes.data[at] == 0);
            }
        }
        free(copy);
        sluice_bytes_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_jaccard),
        cmocka_unit_test(test_shingles),
        cmocka_unit_test(test_peer_forest),
        cmocka_unit_test(test_sets_spill),
        cmocka_unit_test(test_documents_are_found),
        cmocka_unit_test(test_keys_are_found),
        cmocka_unit_test(test_damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
