/* Codecs and streaming input files. */
#include "inputfiles.h"

#include "store/codec.h"
#include "store/input.h"
#include "store/zstdwalk.h"

/* Decodes a whole file in reads of the given size (0 = random). Gives the bytes, or NULL with
 * *status. */
static char *input_all(const char *path, size_t read_size, size_t *n, sluice_status *status,
                       struct sluice_error *err)
{
    struct input *in;
    struct buf out = BUF_INIT;
    size_t got = 1;

    *n = 0;
    *status = input_open(path, &in, err);
    if (*status != SLUICE_OK) {
        return NULL;
    }
    while (got > 0 && *status == SLUICE_OK) {
        size_t want = read_size > 0 ? read_size : 1 + chance(5000);
        assert_true(buf_reserve(&out, want));
        *status = input_read(in, out.data + out.size, want, &got, err);
        out.size += *status == SLUICE_OK ? got : 0;
        if (*status == SLUICE_OK) {
            assert_int_equal(input_position(in), out.size);
        }
    }
    if (*status == SLUICE_OK) {
        assert_int_equal(input_read(in, out.data, 1, &got, err), SLUICE_OK);
        assert_int_equal(got, 0);
        assert_int_equal(input_position_raw(in), input_size(in));
    }
    input_close(in);
    if (*status != SLUICE_OK) {
        buf_deinit(&out);
        return NULL;
    }
    *n = out.size;
    return buf_take(&out);
}

static char *random_text(size_t n)
{
    char *text = malloc(n + 1);

    for (size_t i = 0; i < n; i++) {
        text[i] = chance(20) == 0 ? '\n' : (char)('a' + chance(1 + chance(26)));
    }
    text[n] = '\0';
    return text;
}

/* Six bits of each byte count: no compression makes less than three quarters of it. */
static char *random_letters(size_t n)
{
    char *text = malloc(n + 1);

    for (size_t i = 0; i < n; i++) {
        text[i] = (char)('0' + chance(64));
    }
    text[n] = '\0';
    return text;
}

static void expect_file(const char *folder, const struct buf *file, const char *text, size_t n)
{
    static const size_t reads[] = { 1, 7, 4096, 1 << 20, 0 };
    char *path = file_write(folder, "f", file->size > 0 ? file->data : "", file->size);

    for (size_t i = (n > 20000) + (n > 1 << 20); i < sizeof reads / sizeof reads[0]; i++) {
        struct sluice_error err = ERROR_INIT;
        sluice_status status;
        size_t got;
        char *all = input_all(path, reads[i], &got, &status, &err);
        assert_string_equal(err.message, "");
        assert_int_equal(status, SLUICE_OK);
        assert_int_equal(got, n);
        assert_memory_equal(all, text, n);
        free(all);
    }
    free(path);
}

static void test_roundtrip(void **state)
{
    /* The last is more than a mebibyte when compressed, which is what is read of a file at once. */
    static const size_t sizes[] = { 0, 1, 100, 65536, 300000, 1500000 };
    char *folder = temp_folder();

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t n = sizes[s];
        char *text = n > 1 << 20 ? random_letters(n) : random_text(n);
        for (int form = 0; form < 7; form++) {
            struct buf file = BUF_INIT;
            switch (form) {
            case 0:
                buf_append(&file, text, n);
                break;
            case 1:
            case 2:
                zstd_frame(&file, text, n, form == 2);
                break;
            case 3:
                zstd_skippable(&file, "before");
                for (size_t at = 0; at < n || at == 0;) {
                    size_t piece = 1 + chance(n / 3 + 1);
                    piece = piece < n - at ? piece : n - at;
                    zstd_frame(&file, text + at, piece, chance(2) == 0);
                    if (chance(2) == 0) {
                        zstd_skippable(&file, "");
                    }
                    at += piece > 0 ? piece : 1;
                }
                break;
            case 4:
                gzip_member(&file, text, n, true, 6);
                break;
            case 5:
                gzip_member(&file, text, n, false, 0);
                gzip_member(&file, "", 0, true, 9);
                break;
            default:
                for (size_t at = 0; at < n || at == 0;) {
                    size_t piece = 1 + chance(n / 3 + 1);
                    piece = piece < n - at ? piece : n - at;
                    gzip_member(&file, text + at, piece, chance(2) == 0, (int)chance(10));
                    at += piece > 0 ? piece : 1;
                }
                break;
            }
            assert_true(n <= 1 << 20 || file.size > 1 << 20);
            expect_file(folder, &file, text, n);
            buf_deinit(&file);
        }
        free(text);
    }
    folder_remove(folder);
    free(folder);
}

/* Every truncation of a compressed file is an error that names the file. Those at a boundary of
 * members are not truncations. The file is changed in place, here and below: a file system may take
 * long to make thousands of files of one name. */
static void test_truncated(void **state)
{
    char *folder = temp_folder();
    char *text = random_text(1500);

    (void)state;
    for (int form = 0; form < 4; form++) {
        struct buf file = BUF_INIT;
        size_t boundary;
        char *path;
        if (form == 0) {
            zstd_frame(&file, text, 1500, false);
            boundary = file.size;
            zstd_frame(&file, text, 500, true);
        } else if (form == 1) {
            zstd_frame(&file, text, 1500, true);
            boundary = file.size;
            zstd_skippable(&file, "some text");
        } else {
            gzip_member(&file, text, 1500, form == 3, 6);
            boundary = file.size;
            gzip_member(&file, text, 500, form == 3, form == 3 ? 0 : 9);
        }
        path = file_write(folder, "t", file.data, file.size);
        for (size_t n = file.size - 1; n >= 4; n--) {
            struct sluice_error err = ERROR_INIT;
            sluice_status status;
            size_t got;
            char *all;
            assert_int_equal(truncate(path, (off_t)n), 0);
            all = input_all(path, 0, &got, &status, &err);
            if (n == boundary) {
                assert_int_equal(status, SLUICE_OK);
                assert_int_equal(got, 1500);
            } else {
                assert_int_equal(status, SLUICE_E_DATA);
                assert_non_null(strstr(err.message, path));
            }
            free(all);
        }
        free(path);
        buf_deinit(&file);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

/* A changed byte is an error, or the text is the same (bytes that mean nothing, as a name in a
 * header). */
static void test_damaged(void **state)
{
    char *folder = temp_folder();
    char *text = random_text(800);
    size_t refused = 0;
    size_t tried = 0;

    (void)state;
    for (int form = 0; form < 2; form++) {
        struct buf file = BUF_INIT;
        char *path;
        int fd;
        if (form == 0) {
            zstd_frame(&file, text, 800, false);
        } else {
            gzip_member(&file, text, 800, true, 6);
        }
        path = file_write(folder, "d", file.data, file.size);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        for (size_t i = 0; i < file.size; i++) {
            for (int bit = 0; bit < 8; bit++) {
                struct sluice_error err = ERROR_INIT;
                sluice_status status;
                size_t got;
                char *all;
                const char changed = (char)(file.data[i] ^ 1 << bit);
                assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
                all = input_all(path, 4096, &got, &status, &err);
                if (status == SLUICE_OK && i >= 4) {
                    assert_int_equal(got, 800);
                    assert_memory_equal(all, text, 800);
                }
                tried++;
                refused += status == SLUICE_E_DATA;
                free(all);
            }
            assert_int_equal(pwrite(fd, &file.data[i], 1, (off_t)i), 1);
        }
        close(fd);
        free(path);
        buf_deinit(&file);
    }
    assert_true(refused > tried * 8 / 10);
    free(text);
    folder_remove(folder);
    free(folder);
}

static void expect_error(const char *folder, const void *data, size_t n, sluice_status expected,
                         const char *words)
{
    struct sluice_error err = ERROR_INIT;
    sluice_status status;
    size_t got;
    char *path = file_write(folder, "e", data, n);
    char *all = input_all(path, 4096, &got, &status, &err);

    assert_int_equal(status, expected);
    assert_int_equal(err.code, expected);
    assert_non_null(strstr(err.message, path));
    if (strstr(err.message, words) == NULL) {
        print_error("expected '%s' in: %s\n", words, err.message);
        fail();
    }
    free(all);
    free(path);
}

static void test_refused(void **state)
{
    char *folder = temp_folder();
    struct buf file = BUF_INIT;

    (void)state;
    gzip_member(&file, "text", 4, false, 6);
    buf_puts(&file, "rubbish");
    expect_error(folder, file.data, file.size, SLUICE_E_DATA, "no gzip member follows");
    file.data[file.size - 15] = (char)(file.data[file.size - 15] ^ 1); /* of the CRC */
    expect_error(folder, file.data, file.size, SLUICE_E_DATA, "CRC");
    buf_clear(&file);
    gzip_member(&file, "text", 4, false, 6);
    file.data[file.size - 1] = 1;
    expect_error(folder, file.data, file.size, SLUICE_E_DATA, "trailer states 16777220");
    buf_clear(&file);
    zstd_frame(&file, "text", 4, false);
    buf_puts(&file, "rubbish");
    expect_error(folder, file.data, file.size, SLUICE_E_DATA, "follows the last frame");
    buf_clear(&file);
    zstd_frame(&file, "text", 4, false);
    file.data[file.size - 1] = (char)(file.data[file.size - 1] ^ 1);
    expect_error(folder, file.data, file.size, SLUICE_E_DATA, "checksum");
    buf_clear(&file);
    expect_error(folder, "BZh91AY&SY....", 14, SLUICE_E_DATA, "bzip2");
    expect_error(folder,
                 "\xfd"
                 "7zXZ\0\0\4",
                 8, SLUICE_E_DATA, "xz");
    expect_error(folder, "\x04\x22\x4d\x18....", 8, SLUICE_E_DATA, "lz4");
    expect_error(folder, "PK\3\4....", 8, SLUICE_E_DATA, "ZIP");
    expect_error(folder, "PAR1\x15\x04....", 10, SLUICE_E_DATA, "Parquet");
    expect_error(folder, "ARROW1\0\0....", 12, SLUICE_E_DATA, "Arrow");
    expect_error(folder,
                 "\xff\xfe"
                 "a\0b\0",
                 6, SLUICE_E_DATA, "iconv");
    expect_error(folder, "\x37\xa4\x30\xec....", 8, SLUICE_E_DATA, "dictionary");
    expect_error(folder, "\x25\xb5\x2f\xfd....", 8, SLUICE_E_DATA, "before 2016");
    /* Text that only begins alike is text. */
    buf_puts(&file, "BZh is no archive");
    expect_file(folder, &file, file.data, file.size);
    buf_clear(&file);
    buf_puts(&file, "PAR1S");
    expect_file(folder, &file, file.data, file.size);
    buf_clear(&file);
    buf_puts(&file, "WARC/1.0\r\n");
    expect_file(folder, &file, file.data, file.size);
    buf_deinit(&file);
    folder_remove(folder);
    free(folder);
}

static void test_dictionary_and_window(void **state)
{
    static const unsigned char wide[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 22 << 3, 0x01, 0, 0
    }; /* window 4 GiB, one empty block */
    static const unsigned char most[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0, 0, 'x'
    }; /* window 2 GiB */
    static const char words[] =
        "one two three four five six seven eight nine ten eleven twelve thirteen";
    char *folder = temp_folder();
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CDict *dictionary;
    struct buf file = BUF_INIT;
    unsigned char raw[256] = { 0x37, 0xa4, 0x30, 0xec };
    char out[512];
    size_t n;

    (void)state;
    expect_error(folder, wide, sizeof wide, SLUICE_E_DATA, "window above 2 GiB");
    buf_append(&file, most, sizeof most);
    expect_file(folder, &file, "x", 1);
    buf_deinit(&file);
    /* A raw dictionary has no number; its text is then part of the frame's meaning and the
     * checksum fails. */
    memcpy(raw, words, sizeof words);
    dictionary = ZSTD_createCDict(words, sizeof words, 3);
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_refCDict(c, dictionary);
    n = ZSTD_compress2(c, out, sizeof out, words, sizeof words);
    assert_false(ZSTD_isError(n));
    expect_error(folder, out, n, SLUICE_E_DATA, "zstd");
    /* The same frame with a dictionary's number in its header. */
    {
        static const unsigned char numbered[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x21, 42,
                                                  1,    0x09, 0,    0,    'x' };
        expect_error(folder, numbered, sizeof numbered, SLUICE_E_DATA, "dictionar");
    }
    ZSTD_freeCDict(dictionary);
    ZSTD_freeCCtx(c);
    folder_remove(folder);
    free(folder);
}

static void test_skip_seek(void **state)
{
    char *folder = temp_folder();
    char *text = random_text(700000);
    struct buf files[3] = { BUF_INIT, BUF_INIT, BUF_INIT };
    size_t second = 0;

    (void)state;
    buf_append(&files[0], text, 700000);
    zstd_frame(&files[1], text, 400000, false);
    second = files[1].size;
    zstd_frame(&files[1], text + 400000, 300000, true);
    gzip_member(&files[2], text, 700000, false, 6);
    for (int i = 0; i < 3; i++) {
        struct sluice_error err = ERROR_INIT;
        char *path = file_write(folder, "s", files[i].data, files[i].size);
        struct input *in;
        char got[100];
        uint64_t skipped;
        size_t n;
        assert_int_equal(input_open(path, &in, &err), SLUICE_OK);
        for (int k = 0; k < 100; k++) {
            uint64_t at = input_position(in);
            assert_int_equal(input_skip(in, chance(5000), &skipped, &err), SLUICE_OK);
            at += skipped;
            assert_int_equal(input_position(in), at);
            assert_int_equal(input_read(in, got, 100, &n, &err), SLUICE_OK);
            assert_int_equal(n, 100);
            assert_memory_equal(got, text + at, 100);
        }
        assert_int_equal(input_seek(in, 0, 0, &err), SLUICE_OK);
        assert_int_equal(input_read(in, got, 100, &n, &err), SLUICE_OK);
        assert_memory_equal(got, text, 100);
        if (i == 1) {
            assert_int_equal(input_seek(in, second, 400000, &err), SLUICE_OK);
            assert_int_equal(input_read(in, got, 100, &n, &err), SLUICE_OK);
            assert_memory_equal(got, text + 400000, 100);
        }
        assert_int_equal(input_skip(in, UINT64_MAX, &skipped, &err), SLUICE_OK);
        assert_int_equal(input_position(in), 700000);
        assert_int_equal(input_seek(in, files[i].size + 1, files[i].size + 1, &err), SLUICE_E_DATA);
        input_close(in);
        free(path);
        buf_deinit(&files[i]);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

static void test_no_file(void **state)
{
    struct sluice_error err = ERROR_INIT;
    struct input *in;

    (void)state;
    assert_int_equal(input_open("/nonexistent/file", &in, &err), SLUICE_E_CONFIG);
    assert_null(in);
    assert_int_equal(input_open("/tmp", &in, &err), SLUICE_E_CONFIG);
    assert_non_null(strstr(err.message, "folder"));
    assert_int_equal(input_open("/dev/null", &in, &err), SLUICE_E_CONFIG);
}

/* The walk agrees with the decoder on where frames are, for pieces of any size. */
struct walked {
    uint64_t n, end, size;
};

static sluice_status walked_frame(void *ctx, uint64_t begin, uint64_t end, uint64_t size,
                                  struct sluice_error *err)
{
    struct walked *w = ctx;

    (void)err;
    assert_true(begin >= w->end);
    w->n++;
    w->end = end;
    w->size += size;
    return SLUICE_OK;
}

static void test_walk(void **state)
{
    char *text = random_text(400000);
    struct buf file = BUF_INIT;
    size_t skipped;

    (void)state;
    zstd_frame(&file, text, 400000, false);
    zstd_skippable(&file, "between");
    skipped = file.size;
    zstd_frame(&file, text, 0, false);
    zstd_frame(&file, text, 200, false);
    for (size_t step = 1; step < 5000; step = step * 3 + 1) {
        struct sluice_error err = ERROR_INIT;
        struct zstdwalk walk;
        struct walked w = { 0, 0, 0 };
        zstdwalk_init(&walk);
        for (size_t at = 0; at < file.size; at += step) {
            size_t n = file.size - at < step ? file.size - at : step;
            assert_int_equal(zstdwalk_feed(&walk, file.data + at, n, walked_frame, &w, &err),
                             SLUICE_OK);
            assert_int_equal(zstdwalk_end(&walk, &err),
                             w.end == at + n || at + n == skipped ? SLUICE_OK : SLUICE_E_DATA);
        }
        assert_int_equal(w.n, 3);
        assert_int_equal(w.end, file.size);
        assert_int_equal(w.size, 400200);
    }
    buf_deinit(&file);
    free(text);
}

/* What a decoder must hold of a frame, from its header alone; and the limit of its blocks. */
static void test_walk_window(void **state)
{
    static const struct {
        unsigned char bytes[16];
        size_t n;
        uint64_t window;
        const char *fault;
    } frames[] = {
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0, 0, 'x' }, 10, 1ull << 31, NULL },
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3 | 3, 1, 0, 0 }, 9, 11ull << 24, NULL },
        /* what is stated is less than the window, or is the window */
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x40, 17 << 3, 0, 0, 0x03, 8, 0, 'x' }, 12, 256, NULL },
        { { 0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 1, 0, 0 },
          12,
          1 << 28,
          "states 268435456" },
        /* a compressed block of no bytes that has two: libzstd takes it from a whole buffer only */
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 0x15, 0, 0, 0, 0 }, 11, 0, "at most 0" },
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0, 0x0b, 0x20, 0, 'x' }, 10, 1024, "at most 1024" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        struct sluice_error err = ERROR_INIT;
        struct zstdwalk walk;
        sluice_status status;
        zstdwalk_init(&walk);
        status = zstdwalk_feed(&walk, frames[i].bytes, frames[i].n, NULL, NULL, &err);
        assert_int_equal(walk.window, frames[i].window);
        assert_int_equal(status, frames[i].fault == NULL ? SLUICE_OK : SLUICE_E_DATA);
        assert_true(frames[i].fault == NULL || strstr(err.message, frames[i].fault) != NULL);
    }
}

/* Frames that libzstd takes when its input is cut in one way and not in another: never taken. */
static void test_damaged_by_cut(void **state)
{
    static const struct {
        unsigned char bytes[16];
        size_t n;
    } frames[] = {
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 0x15, 0, 0, 0, 0 },
          11 },                                                    /* a block above its window */
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 0x05, 0, 0 }, 9 },    /* compressed, of no bytes */
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 0xa8, 0x01, 0, 0 }, 9 }, /* states 168, holds 0 */
        { { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 8, 0, 0, 'x', 1, 0, 0 }, 13 }, /* states 2, holds 1 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        for (size_t step = 1; step <= frames[i].n; step++) {
            struct sluice_error err = ERROR_INIT;
            struct decoder *decoder;
            sluice_status status = SLUICE_OK;
            assert_int_equal(decoder_create(CODEC_ZSTD, &decoder, &err), SLUICE_OK);
            for (size_t at = 0; at < frames[i].n && status == SLUICE_OK; at += step) {
                size_t n = frames[i].n - at < step ? frames[i].n - at : step;
                unsigned char out[1000];
                struct decoder_step piece = { frames[i].bytes + at, n, out, sizeof out };
                while (status == SLUICE_OK && piece.in_n > 0) {
                    status = decoder_run(decoder, &piece, &err);
                }
            }
            assert_int_equal(status, SLUICE_E_DATA);
            decoder_destroy(decoder);
        }
    }
}

/* The golden frames of zstd's own tests. Which of them a version of libzstd takes differs (1.5.4
 * takes two of the bad ones and not all good ones), so the truth is what `zstd -dc` of the same
 * version says. */
static void test_golden(void **state)
{
    static const char *const frames[] = {
        "golden-decompression/block-128k.zst",
        "golden-decompression/empty-block.zst",
        "golden-decompression/rle-first-block.zst",
        "golden-decompression/zeroSeq_2B.zst",
        "golden-decompression-errors/off0.bin.zst",
        "golden-decompression-errors/truncated_huff_state.zst",
        "golden-decompression-errors/zeroSeq_extraneous.zst",
    };
    char *folder;
    char *command;
    char *out;
    int good = 0;

    (void)state;
    if (test_data() == NULL) {
        print_message("skipped: no test data (SLUICE_TEST_DATA)\n");
        skip();
    }
    folder = temp_folder();
    out = str_printf("%s/out", folder);
    command = str_printf("zstd -dcq '%s/zstd.tar.zst' | tar -xf - -C '%s'", test_data(), folder);
    assert_int_equal(system(command), 0);
    free(command);
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        struct sluice_error err = ERROR_INIT;
        sluice_status status;
        char *path = str_printf("%s/zstd/facebook-zstd/tests/%s", folder, frames[i]);
        size_t n;
        size_t m;
        char *all = input_all(path, 0, &n, &status, &err);
        char *expected;
        command = str_printf("zstd -dcq '%s' >'%s' 2>'%s/log'", path, out, folder);
        assert_int_equal(status, system(command) == 0 ? SLUICE_OK : SLUICE_E_DATA);
        if (status == SLUICE_OK) {
            expected = file_read_all(out, &m);
            assert_int_equal(n, m);
            assert_memory_equal(all, expected, n);
            free(expected);
            good++;
        } else {
            assert_non_null(strstr(err.message, path));
        }
        free(command);
        free(all);
        free(path);
    }
    assert_in_range(good, 3, 6);
    folder_remove(folder);
    free(out);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roundtrip),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_dictionary_and_window),
        cmocka_unit_test(test_skip_seek),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_walk_window),
        cmocka_unit_test(test_damaged_by_cut),
        cmocka_unit_test(test_golden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
