/* Tests of Megatron's .idx and token types: bytes made by Megatron-LM's and datatrove's own
 * writers, the reader's checks one by one, and damaged files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <nettle/sha2.h>

#include "megatron_index.h"

struct file {
    uint8_t *bytes;
    size_t size;
    size_t largest; /* piece */
};

static int32_t file_take(void *user, const void *bytes, size_t size, struct sluice_error *err)
{
    (void)err;
    struct file *file = user;
    file->bytes = realloc(file->bytes, file->size + size);
    assert_non_null(file->bytes);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
    file->largest = size > file->largest ? size : file->largest;
    return SLUICE_OK;
}

static int32_t file_refuse(void *user, const void *bytes, size_t size, struct sluice_error *err)
{
    (void)bytes;
    (void)size;
    (void)err;
    return ++*(int *)user == 2 ? SLUICE_E_IO : SLUICE_OK;
}

static void sha256_hex(const void *bytes, size_t size, char hex[65])
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&sha);
    sha256_update(&sha, size, bytes);
    sha256_digest(&sha, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
}

static struct megatron_index *make(enum megatron_dtype dtype)
{
    struct megatron_index *index = NULL;
    assert_int_equal(megatron_index_create(dtype, &index, NULL), SLUICE_OK);
    return index;
}

/* lengths of the sequences; -1 ends a document. */
static void fill(struct megatron_index *index, const int *lengths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lengths[i] < 0) {
            assert_int_equal(megatron_index_end_document(index, NULL), SLUICE_OK);
        } else {
            assert_int_equal(megatron_index_append(index, (uint64_t)lengths[i], NULL), SLUICE_OK);
        }
    }
}

static struct file written(const struct megatron_index *index)
{
    struct file file = { 0 };
    assert_int_equal(megatron_index_write(index, file_take, &file, NULL), SLUICE_OK);
    assert_int_equal(file.size, megatron_index_size(index));
    assert_true(file.largest <= 65536);
    return file;
}

/* Megatron-LM 0.16.1: _IndexWriter(path, uint16).write([3, 0, 5], None, [0, 2, 2, 3]). */
static const uint8_t small_file[] = {
    'M', 'M', 'I', 'D', 'I', 'D', 'X', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0, 0, 0, 0, 0,
    4,   0,   0,   0,   0,   0,   0,   0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0,   0,   6,   0,   0,   0,   0,   0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    2,   0,   0,   0,   0,   0,   0,   0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
};

static void test_small_file_is_megatrons(void **state)
{
    (void)state;
    static const int content[] = { 3, 0, -1, -1, 5, -1 };
    struct megatron_index *index = make(MEGATRON_U16);
    fill(index, content, 6);
    struct file file = written(index);
    assert_int_equal(file.size, sizeof(small_file));
    assert_memory_equal(file.bytes, small_file, sizeof(small_file));
    assert_int_equal(megatron_index_sequences(index), 3);
    assert_int_equal(megatron_index_documents(index), 3);
    assert_int_equal(megatron_index_tokens(index), 8);
    assert_int_equal(megatron_index_bin_size(index), 16);
    struct megatron_view view;
    assert_int_equal(megatron_view_open(file.bytes, file.size, 16, &view, NULL), SLUICE_OK);
    assert_int_equal(view.sequences, 3);
    assert_int_equal(view.documents, 3);
    assert_int_equal(view.tokens, 8);
    assert_int_equal(view.dtype, MEGATRON_U16);
    assert_false(view.multimodal);
    uint32_t tokens;
    uint64_t offset;
    uint64_t begin;
    uint64_t end;
    megatron_view_sequence(&view, 2, &tokens, &offset);
    assert_int_equal(tokens, 5);
    assert_int_equal(offset, 6);
    megatron_view_document(&view, 0, &begin, &end);
    assert_true(begin == 0 && end == 2);
    megatron_view_document(&view, 1, &begin, &end);
    assert_true(begin == 2 && end == 2);
    free(file.bytes);

    megatron_index_reset(index);
    file = written(index);
    assert_int_equal(file.size, 42);
    assert_int_equal(megatron_view_open(file.bytes, file.size, 0, &view, NULL), SLUICE_OK);
    assert_int_equal(view.documents, 0);
    free(file.bytes);
    megatron_index_destroy(index);
    megatron_index_destroy(NULL);
}

/* 30,000 sequences of 10,001 documents, empty ones among them, against files of Megatron-LM 0.16.1
 * made from the same numbers. */
static void test_big_files_are_megatrons(void **state)
{
    (void)state;
    static const struct {
        enum megatron_dtype dtype;
        const char *sha256;
    } want[] = {
        { MEGATRON_U16, "2183572975b14f9dd57c7840a20fc638a18450a2fe77a5054e1b4dc17e8e904a" },
        { MEGATRON_I32, "b611ae04469798aac3a6a3fd1640ea985af7e9c01645cf3924121827e2c467ea" }
    };
    static uint32_t number[40000];
    uint64_t random = 1;
    for (size_t i = 0; i < 40000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        number[i] = (uint32_t)(random >> 33);
    }
    for (size_t k = 0; k < 2; k++) {
        struct megatron_index *index = make(want[k].dtype);
        size_t sequence = 0;
        for (size_t document = 0; document < 10001; document++) {
            size_t many = document < 10000 ? number[30000 + document] % 7 : 30000;
            for (; many > 0 && sequence < 30000; many--) {
                assert_int_equal(megatron_index_append(index, number[sequence++] % 5000, NULL),
                                 SLUICE_OK);
            }
            assert_int_equal(megatron_index_end_document(index, NULL), SLUICE_OK);
        }
        assert_true(megatron_index_memory(index) < 30000 * 8 + 4 * 65536);
        struct file file = written(index);
        assert_int_equal(file.largest, 65536);
        char hex[65];
        sha256_hex(file.bytes, file.size, hex);
        assert_string_equal(hex, want[k].sha256);
        struct megatron_view view;
        assert_int_equal(
            megatron_view_open(file.bytes, file.size, megatron_index_bin_size(index), &view, NULL),
            SLUICE_OK);
        assert_int_equal(view.tokens, megatron_index_tokens(index));
        free(file.bytes);
        megatron_index_destroy(index);
    }
}

/* datatrove 0.10.1: MegatronTokenizedFile.write([(k * 1000 + j) % 50000 for j in range(k)]) for k
 * < 50. */
static void test_datatroves_files(void **state)
{
    (void)state;
    static const char *const want[2][2] = {
        { "3a82706c65876f20d2d5a1d2de19ad47d2dbdb66c487a16c80cb6f4f69b37a52",
          "5f98cf192a2d85a8308c78df25ab292275cdefd8b63da7bea06c124639054804" },
        { "d751c1173db6aa21e98dd7a727bf0c5f2764a78c362a1700404a18285ae3856b",
          "43746986129b4838ed0bdc4101665a7614084509b68fd85b994115dfb492e758" },
    };
    for (int wide = 0; wide < 2; wide++) {
        enum megatron_dtype dtype = wide ? MEGATRON_I32 : MEGATRON_U16;
        struct megatron_index *index = make(dtype);
        static uint8_t bin[49 * 50 / 2 * 4];
        size_t at = 0;
        for (uint32_t k = 0; k < 50; k++) {
            uint32_t ids[50];
            for (uint32_t j = 0; j < k; j++) {
                ids[j] = (k * 1000 + j) % 50000;
            }
            assert_int_equal(megatron_tokens_encode(ids, k, dtype, 50000, 0, bin + at, NULL),
                             SLUICE_OK);
            at += k * megatron_dtype_size(dtype);
            assert_int_equal(megatron_index_append(index, k, NULL), SLUICE_OK);
            assert_int_equal(megatron_index_end_document(index, NULL), SLUICE_OK);
        }
        assert_int_equal(at, megatron_index_bin_size(index));
        struct file file = written(index);
        assert_int_equal(file.size, 42 + 20 * 50);
        char hex[65];
        sha256_hex(file.bytes, file.size, hex);
        assert_string_equal(hex, want[wide][0]);
        sha256_hex(bin, at, hex);
        assert_string_equal(hex, want[wide][1]);
        free(file.bytes);
        megatron_index_destroy(index);
    }
}

static void test_token_types(void **state)
{
    (void)state;
    assert_int_equal(megatron_dtype_for(0), MEGATRON_U16);
    assert_int_equal(megatron_dtype_for(65499), MEGATRON_U16);
    assert_int_equal(megatron_dtype_for(65500), MEGATRON_I32);
    static const uint32_t sizes[] = { 0, 1, 1, 2, 4, 8, 8, 4, 2, 0 };
    for (int code = 0; code < 10; code++) {
        assert_int_equal(megatron_dtype_size((enum megatron_dtype)code), sizes[code]);
    }
    uint32_t ids[100];
    uint8_t out[401];
    struct sluice_error err = { .size = sizeof(err) };
    for (uint32_t i = 0; i < 100; i++) {
        ids[i] = i * 661;
    }
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_U16, 65440, 0, out + 1, &err),
                     SLUICE_OK);
    assert_true(out[1 + 2 * 99] == (99 * 661 & 0xff) && out[2 + 2 * 99] == 99 * 661 >> 8);
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_U16, 65439, 1000, out, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "token 1099 has id 65439"));
    assert_non_null(strstr(err.message, "the vocabulary"));
    ids[40] = 65536;
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_U16, 0, 7, out, &err),
                     SLUICE_E_DATA);
    assert_non_null(
        strstr(err.message, "token 47 has id 65536, expected less than 65536 (dtype u16)"));
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_I32, 0, 0, out + 1, &err),
                     SLUICE_OK);
    assert_true(out[161] == 0 && out[162] == 0 && out[163] == 1 && out[164] == 0);
    ids[99] = (uint32_t)INT32_MAX + 1;
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_I32, 0, 0, out, &err),
                     SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "token 99 has id 2147483648"));
    ids[99]--;
    assert_int_equal(megatron_tokens_encode(ids, 100, MEGATRON_I32, 0, 0, out, &err), SLUICE_OK);
    assert_true(out[399] == 0x7f && out[396] == 0xff);
    assert_int_equal(megatron_tokens_encode(ids, 1, MEGATRON_I64, 0, 0, out, &err),
                     SLUICE_E_CONFIG);
    assert_int_equal(megatron_tokens_encode(NULL, 0, MEGATRON_U16, 0, 0, out, &err), SLUICE_OK);
}

static void test_writer_errors(void **state)
{
    (void)state;
    struct sluice_error err = { .size = sizeof(err) };
    struct megatron_index *index = NULL;
    assert_int_equal(megatron_index_create(MEGATRON_F32, &index, &err), SLUICE_E_CONFIG);
    assert_null(index);
    index = make(MEGATRON_I32);
    assert_int_equal(megatron_index_append(index, (uint64_t)INT32_MAX + 1, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "2147483648"));
    assert_int_equal(megatron_index_append(index, INT32_MAX, &err), SLUICE_OK);
    int calls = 0;
    assert_int_equal(megatron_index_write(index, file_refuse, &calls, &err), SLUICE_E_INTERNAL);
    assert_int_equal(calls, 0);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(megatron_index_append(index, 1, &err), SLUICE_OK);
    }
    assert_int_equal(megatron_index_end_document(index, &err), SLUICE_OK);
    assert_int_equal(megatron_index_write(index, file_refuse, &calls, &err), SLUICE_E_IO);
    assert_int_equal(calls, 2);
    assert_int_equal(megatron_index_bin_size(index), 4 * ((uint64_t)INT32_MAX + 20000));
    megatron_index_destroy(index);
}

static void refuse(const uint8_t *bytes, size_t size, uint64_t bin_size, const char *part)
{
    struct megatron_view view;
    struct sluice_error err = { .size = sizeof(err) };
    uint8_t *copy = malloc(size == 0 ? 1 : size); /* exact size, for the address sanitizer */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    assert_int_equal(megatron_view_open(copy, size, bin_size, &view, &err), SLUICE_E_DATA);
    if (strstr(err.message, part) == NULL) {
        fail_msg("message \"%s\" lacks \"%s\"", err.message, part);
    }
    free(copy);
}

static void test_reader_refuses(void **state)
{
    (void)state;
    uint8_t bad[sizeof(small_file) + 8];
    for (size_t size = 0; size < sizeof(small_file); size++) {
        refuse(small_file, size, UINT64_MAX, "it is cut short");
    }
    refuse(small_file, sizeof(small_file), 14, "the .bin has 14 bytes, expected 16");
    static const struct {
        size_t at;
        uint8_t byte;
        const char *part;
    } damage[] = {
        { 0, 'T', "does not begin with MMIDIDX" },
        { 8, 1, "does not begin with MMIDIDX" },
        { 9, 2, "version 2" },
        { 17, 0, "token type 0" },
        { 17, 9, "token type 9" },
        { 18, 4, "cut short or damaged" },
        { 25, 0x80, "cut short or damaged" },
        { 26, 0, "no document boundary" },
        { 26, 3, "8 bytes after its arrays" },
        { 33, 0x80, "cut short or damaged" },
        { 18, 2, "12 bytes after its arrays" },
        { 34, 4, "begins at byte 6 of the .bin, expected 8" },
        { 37, 0xff, "sequence 0 has a negative" },
        { 45, 0x80, "sequence 2 has a negative" },
        { 46, 1, "sequence 0 begins at byte 1" },
        { 54, 8, "sequence 1 begins at byte 8" },
        { 69, 0x80, "sequence 2 begins at" },
        { 70, 1, "boundary 0 is 1, expected 0" },
        { 86, 1, "boundary 2 is 1, expected at least 2" },
        { 85, 0x80, "expected at most 3" },
        { 94, 2, "ends at sequence 2, expected 3" },
        { 94, 4, "boundary 3 is 4, expected at most 3" },
    };
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        memcpy(bad, small_file, sizeof(small_file));
        bad[damage[i].at] = damage[i].byte;
        refuse(bad, sizeof(small_file), UINT64_MAX, damage[i].part);
    }
    memcpy(bad, small_file, sizeof(small_file));
    memset(bad + sizeof(small_file), 0, 8);
    refuse(bad, sizeof(small_file) + 1, UINT64_MAX, "1 bytes after its arrays");
    /* Three more bytes are the modes of three sequences. */
    struct megatron_view view;
    assert_int_equal(megatron_view_open(bad, sizeof(small_file) + 3, UINT64_MAX, &view, NULL),
                     SLUICE_OK);
    assert_true(view.multimodal);
}

/* Random damage: every answer is a status, and what passes is consistent. */
static void test_reader_survives_damage(void **state)
{
    (void)state;
    uint64_t random = 3;
    size_t passed = 0;
    for (int round = 0; round < 200000; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t size = sizeof(small_file) - (round % 3 == 0 ? (random >> 40) % 20 : 0);
        uint8_t *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, small_file, size);
        for (unsigned k = 0; k < 1 + (random >> 60) % 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            copy[(random >> 33) % size] = (uint8_t)(random >> 20) & (round % 2 == 0 ? 0xff : 0x83);
        }
        struct megatron_view view;
        if (megatron_view_open(copy, size, UINT64_MAX, &view, NULL) == SLUICE_OK) {
            passed++;
            uint64_t next = 0;
            for (uint64_t i = 0; i < view.documents; i++) {
                uint64_t begin;
                uint64_t end;
                megatron_view_document(&view, i, &begin, &end);
                assert_true(begin == next && end >= begin && end <= view.sequences);
                next = end;
            }
            for (uint64_t i = 0; i < view.sequences; i++) {
                uint32_t tokens;
                uint64_t offset;
                megatron_view_sequence(&view, i, &tokens, &offset);
                assert_true(offset + (uint64_t)tokens * megatron_dtype_size(view.dtype) <=
                            view.bin_size);
            }
        }
        free(copy);
    }
    assert_true(passed > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_file_is_megatrons),
        cmocka_unit_test(test_big_files_are_megatrons),
        cmocka_unit_test(test_datatroves_files),
        cmocka_unit_test(test_token_types),
        cmocka_unit_test(test_writer_errors),
        cmocka_unit_test(test_reader_refuses),
        cmocka_unit_test(test_reader_survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
