/* store/outcodec: the stored bytes depend on the stream only, and decode to it. */
#include "store_kit.h"

#include <zlib.h>
#include <zstd.h>

#include "store/outcodec.h"

#define TEXT_BYTES ((size_t)900000)

/* Compresses text[0, n) in pieces (0 = of changing sizes); the stored bytes. */
static struct buf compress_pieces(struct outcodec *codec, const char *dir, const char *text,
                                  size_t n, size_t piece)
{
    struct pending *p;
    struct published published;
    struct buf stored;
    uint64_t seed = 9;

    KIT_OK(pending_open(dir, &p, err));
    KIT_OK(outcodec_begin(codec, p, err));
    for (size_t at = 0; at < n;) {
        size_t take = piece;
        if (take == 0) {
            seed = seed * 6364136223846793005u + 1;
            take = seed >> 60 == 0 ? 300000 : 1 + (seed >> 33) % 5000;
        }
        take = n - at < take ? n - at : take;
        KIT_OK(outcodec_write(codec, text + at, take, err));
        at += take;
    }
    KIT_OK(outcodec_finish(codec, err));
    assert_int_equal(outcodec_bytes(codec), n);
    KIT_OK(pending_publish(p, "out", 0, &published, err));
    stored = kit_read(kit_path(dir, "out"));
    assert_int_equal(stored.size, published.bytes);
    assert_int_equal(unlink(kit_path(dir, "out")), 0);
    return stored;
}

static void check_decodes(enum outcodec_kind kind, const struct buf *stored, const char *text,
                          size_t n)
{
    char *back = malloc(n + 1);

    assert_non_null(back);
    if (kind == OUTCODEC_ZSTD) {
        size_t got = ZSTD_decompress(back, n + 1, stored->data, stored->size);
        assert_false(ZSTD_isError(got));
        assert_int_equal(got, n);
        /* One frame, with a checksum: the descriptor's bit 2. */
        assert_int_equal(ZSTD_findFrameCompressedSize(stored->data, stored->size), stored->size);
        assert_true((stored->data[4] & 4) != 0);
    } else if (kind == OUTCODEC_GZIP) {
        static const unsigned char head[8] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0 };
        z_stream z;
        memset(&z, 0, sizeof z);
        assert_memory_equal(stored->data, head, sizeof head); /* no name, time zero */
        assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
        z.next_in = (unsigned char *)stored->data;
        z.avail_in = (uInt)stored->size;
        z.next_out = (unsigned char *)back;
        z.avail_out = (uInt)n + 1;
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.avail_in, 0);
        assert_int_equal(z.total_out, n);
        inflateEnd(&z);
    } else {
        assert_int_equal(stored->size, n);
        memcpy(back, stored->data, n);
    }
    assert_true(n == 0 || memcmp(back, text, n) == 0);
    free(back);
}

static void check_kind(enum outcodec_kind kind, int32_t level)
{
    static const size_t sizes[] = { 0, 1, 131071, 131072, 131073, 262144, 500000, TEXT_BYTES };
    static const size_t pieces[] = { 0, 1 << 30, 131072, 131071, 131073, 777, 262144 };
    char *dir = kit_folder();
    char *text = kit_text(TEXT_BYTES, 5);
    struct outcodec *reused;

    KIT_OK(outcodec_create(kind, level, &reused, err));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buf first = BUF_INIT;
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
            struct outcodec *fresh;
            struct buf a;
            struct buf b;
            KIT_OK(outcodec_create(kind, level, &fresh, err));
            a = compress_pieces(fresh, dir, text, sizes[i], pieces[k]);
            b = compress_pieces(reused, dir, text, sizes[i], pieces[k]);
            if (k == 0) {
                buf_append(&first, a.data, a.size);
                check_decodes(kind, &a, text, sizes[i]);
            }
            assert_int_equal(a.size, first.size);
            assert_int_equal(b.size, first.size);
            assert_true(a.size == 0 || (memcmp(a.data, first.data, a.size) == 0 &&
                                        memcmp(b.data, first.data, a.size) == 0));
            buf_deinit(&a);
            buf_deinit(&b);
            outcodec_destroy(fresh);
        }
        buf_deinit(&first);
    }
    outcodec_destroy(reused);
    free(text);
    kit_remove(dir);
}

static void test_none(void **state)
{
    (void)state;
    check_kind(OUTCODEC_NONE, 0);
}

static void test_gzip(void **state)
{
    (void)state;
    check_kind(OUTCODEC_GZIP, 0);
    check_kind(OUTCODEC_GZIP, 1);
}

static void test_zstd(void **state)
{
    (void)state;
    check_kind(OUTCODEC_ZSTD, 0);
    check_kind(OUTCODEC_ZSTD, 9);
}

/* The default levels are 6 and 3, and levels do something. */
static void test_levels(void **state)
{
    char *dir = kit_folder();
    char *text = kit_text(500000, 8);
    static const struct {
        enum outcodec_kind kind;
        int32_t same, fast, small;
    } cases[] = { { OUTCODEC_GZIP, 6, 1, 9 }, { OUTCODEC_ZSTD, 3, 1, 19 } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        int32_t levels[4] = { 0, cases[i].same, cases[i].fast, cases[i].small };
        struct buf out[4];
        for (int k = 0; k < 4; k++) {
            struct outcodec *codec;
            KIT_OK(outcodec_create(cases[i].kind, levels[k], &codec, err));
            out[k] = compress_pieces(codec, dir, text, 500000, 0);
            outcodec_destroy(codec);
        }
        assert_int_equal(out[0].size, out[1].size);
        assert_memory_equal(out[0].data, out[1].data, out[0].size);
        assert_true(out[2].size > out[0].size);
        assert_true(out[3].size < out[0].size);
        for (int k = 0; k < 4; k++) {
            buf_deinit(&out[k]);
        }
    }
    free(text);
    kit_remove(dir);
}

/* A stream that was given up does not shape the next one. */
static void test_begin_again(void **state)
{
    char *dir = kit_folder();
    char *text = kit_text(400000, 8);

    (void)state;
    for (int kind = OUTCODEC_NONE; kind <= OUTCODEC_ZSTD; kind++) {
        struct outcodec *codec;
        struct pending *p;
        struct buf a;
        struct buf b;
        KIT_OK(outcodec_create((enum outcodec_kind)kind, 0, &codec, err));
        a = compress_pieces(codec, dir, text, 400000, 0);
        KIT_OK(pending_open(dir, &p, err));
        KIT_OK(outcodec_begin(codec, p, err));
        KIT_OK(outcodec_write(codec, text, 333333, err));
        pending_abort(p);
        b = compress_pieces(codec, dir, text, 400000, 0);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        buf_deinit(&a);
        buf_deinit(&b);
        outcodec_destroy(codec);
    }
    free(text);
    kit_remove(dir);
}

static void test_names(void **state)
{
    enum outcodec_kind kind;
    struct outcodec *codec;
    struct sluice_error e = ERROR_INIT;
    char text[32];

    (void)state;
    KIT_OK(outcodec_parse("gzip", &kind, err));
    assert_int_equal(kind, OUTCODEC_GZIP);
    KIT_OK(outcodec_parse("zstd", &kind, err));
    assert_int_equal(kind, OUTCODEC_ZSTD);
    KIT_OK(outcodec_parse(NULL, &kind, err));
    assert_int_equal(kind, OUTCODEC_NONE);
    assert_int_equal(outcodec_parse("zsdt", &kind, &e), SLUICE_E_CONFIG);
    assert_non_null(strstr(e.message, "did you mean 'zstd'"));
    assert_int_equal(outcodec_create(OUTCODEC_ZSTD, 23, &codec, &e), SLUICE_E_CONFIG);
    assert_int_equal(outcodec_create(OUTCODEC_GZIP, 10, &codec, &e), SLUICE_E_CONFIG);
    assert_int_equal(outcodec_create(OUTCODEC_GZIP, -1, &codec, &e), SLUICE_E_CONFIG);
    assert_int_equal(outcodec_create(OUTCODEC_NONE, 1, &codec, &e), SLUICE_E_CONFIG);
    assert_string_equal(outcodec_suffix(OUTCODEC_ZSTD), ".zst");
    assert_string_equal(outcodec_suffix(OUTCODEC_GZIP), ".gz");
    assert_string_equal(outcodec_suffix(OUTCODEC_NONE), "");
    assert_true(strncmp(outcodec_version(OUTCODEC_ZSTD, text), "zstd 1.", 7) == 0);
    assert_true(strncmp(outcodec_version(OUTCODEC_GZIP, text), "zlib 1.", 7) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_begin_again), cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests_name("outcodec", tests, NULL, NULL);
}
