/* Lists of input files as bytes: they come back as they were, and nothing else is believed. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/listing_frozen.h"

static const struct hash128 key = { 7, 11 };

static const char *const values[3][2] = { { "en", NULL }, { "", "x" }, { NULL, NULL } };

static struct listing_file some_files[3] = {
    { .path = "/in/a/part-00000.jsonl",
      .name = "a/part-00000.jsonl",
      .version = { .size = 10000000, .mtime_ns = 1700000000123456789, .ctime_ns = 5 },
      .values = values[0] },
    { .path = "/in/a/part-00001.jsonl",
      .name = "a/part-00001.jsonl",
      .version = { .size = 0, .mtime_ns = -3, .ctime_ns = INT64_MAX },
      .values = values[1] },
    { .path = "s3://b/another",
      .name = "z",
      .version = { .size = UINT64_MAX, .mtime_ns = INT64_MIN, .tag = "\"etag\"" },
      .values = values[2] },
};

static struct listing some_listing(void)
{
    static const char *const parts[] = { "language", "more" };

    return (struct listing){ .files = some_files, .n = 3, .parts = parts, .n_parts = 2 };
}

static void check_text(const char *is, const char *was)
{
    if (was == NULL) {
        assert_null(is);
    } else {
        assert_string_equal(is, was);
    }
}

static void test_round(void **state)
{
    const struct hash128 held[3] = { { 1, 2 }, { 3, 4 }, { UINT64_MAX, 0 } };
    struct listing listing = some_listing();

    (void)state;
    for (int with = 0; with < 2; with++) {
        struct buf bytes = BUF_INIT;
        struct buf again = BUF_INIT;
        struct listing out;
        const struct hash128 *hashes;
        listing_freeze(&listing, key, with ? held : NULL, &bytes);
        assert_int_equal(listing_thaw(bytes.data, bytes.size, key, &out, &hashes, NULL), SLUICE_OK);
        assert_int_equal(out.n, 3);
        assert_int_equal(out.n_parts, 2);
        assert_string_equal(out.parts[0], "language");
        assert_int_equal(hashes != NULL, with);
        for (size_t i = 0; i < 3; i++) {
            assert_string_equal(out.files[i].path, some_files[i].path);
            assert_string_equal(out.files[i].name, some_files[i].name);
            assert_true(store_version_equal(&out.files[i].version, &some_files[i].version));
            check_text(out.files[i].values[0], values[i][0]);
            check_text(out.files[i].values[1], values[i][1]);
            assert_true(!with || hash_equal(hashes[i], held[i]));
        }
        listing_freeze(&out, key, hashes, &again);
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        listing_deinit(&out);
        buf_deinit(&bytes);
        buf_deinit(&again);
    }
}

static void test_empty(void **state)
{
    struct listing listing = { 0 };
    struct listing out;
    const struct hash128 *hashes;
    struct buf bytes = BUF_INIT;

    (void)state;
    listing_freeze(&listing, key, NULL, &bytes);
    assert_int_equal(listing_thaw(bytes.data, bytes.size, key, &out, &hashes, NULL), SLUICE_OK);
    assert_int_equal(out.n, 0);
    listing_deinit(&out);
    buf_deinit(&bytes);
}

static void refuse(const void *data, size_t n, struct hash128 of, const char *words)
{
    struct listing out;
    const struct hash128 *hashes;
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(listing_thaw(data, n, of, &out, &hashes, &err), SLUICE_E_DATA);
    assert_null(hashes);
    if (words != NULL && strstr(err.message, words) == NULL) {
        fail_msg("expected '%s' in: %s", words, err.message);
    }
}

/* Every cut and every byte changed; another plan's key; another format. */
static void test_damaged(void **state)
{
    struct listing listing = some_listing();
    const struct hash128 other = { 7, 12 };
    struct buf bytes = BUF_INIT;

    (void)state;
    listing_freeze(&listing, key, NULL, &bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, bytes.data, n);
        refuse(cut, n, key, NULL);
        free(cut);
    }
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
        refuse(bytes.data, bytes.size, key, NULL);
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
    }
    refuse(bytes.data, bytes.size, other, "another plan");
    bytes.data[0] = 'X';
    refuse(bytes.data, bytes.size, key, "no list of input files");
    bytes.data[0] = 'S';
    bytes.data[8] = 9;
    refuse(bytes.data, bytes.size, key, "format 9");
    bytes.data[8] = LISTING_FORMAT;
    buf_putc(&bytes, '\0');
    refuse(bytes.data, bytes.size, key, "not those that were written");
    buf_deinit(&bytes);
}

/* What is whole, but not as a listing is. */
static void test_refused(void **state)
{
    struct listing listing = some_listing();
    struct listing_file swapped[3] = { some_files[1], some_files[0], some_files[2] };
    struct listing_file twice[3] = { some_files[0], some_files[0], some_files[2] };
    struct listing_file *lists[] = { swapped, twice };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct buf bytes = BUF_INIT;
        listing.files = lists[k];
        listing_freeze(&listing, key, NULL, &bytes);
        refuse(bytes.data, bytes.size, key, "does not follow the format");
        buf_deinit(&bytes);
    }
}

/* Names take what they do not share: that is what the format is for. */
static void test_small(void **state)
{
    enum { N = 1000 };
    struct listing_file *files = calloc(N, sizeof *files);
    char(*paths)[64] = calloc(N, sizeof *paths);
    struct listing listing = { .files = files, .n = N };
    struct buf bytes = BUF_INIT;

    (void)state;
    for (int i = 0; i < N; i++) {
        sprintf(paths[i], "/data/crawl/2024-10/shard-%03d/part-%05d.jsonl", i / 100, i);
        files[i] = (struct listing_file){ .path = paths[i],
                                          .name = paths[i] + 12,
                                          .version = { .size = 10000000,
                                                       .mtime_ns = 1700000000000000000 + i } };
    }
    listing_freeze(&listing, key, NULL, &bytes);
    assert_in_range(bytes.size, N, 32 * N);
    buf_deinit(&bytes);
    free(files);
    free(paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round),   cmocka_unit_test(test_empty),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
