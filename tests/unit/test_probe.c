/* Probing files and the cache of what was found. */
#include "inputfiles.h"

#include "store/input.h"
#include "store/probe.h"
#include "store/statcache.h"

/* As a listing has it, but with times old enough to be believed. */
static struct listing_file listed(const char *path)
{
    struct listing_file file = { .path = path, .name = "name" };
    struct timespec times[2] = { { 1000000, 123 }, { 1000000, 123 } };
    struct stat st;

    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_int_equal(stat(path, &st), 0);
    file.version.size = (uint64_t)st.st_size;
    file.version.mtime_ns = INT64_C(1000000) * 1000000000 + 123;
    file.version.ctime_ns = 7;
    file.inode = st.st_ino;
    file.dev = st.st_dev;
    return file;
}

/* Writes over the file's first bytes: the same file, as stat sees it. */
static void file_overwrite(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static char *long_text(size_t n)
{
    char *text = malloc(n);

    for (size_t i = 0; i < n; i++) {
        text[i] = (char)('a' + chance(3));
    }
    return text;
}

static struct input_info probe(const struct listing_file *file, struct statcache *cache)
{
    struct input_info info;
    struct sluice_error err = ERROR_INIT;

    assert_int_equal(probe_file(file, PROBE_DECODING, cache, &info, &err), SLUICE_OK);
    return info;
}

static void info_equal(const struct input_info *a, const struct input_info *b)
{
    assert_int_equal(a->codec, b->codec);
    assert_int_equal(a->size, b->size);
    assert_true(a->decoded_size == b->decoded_size);
    assert_int_equal(a->window, b->window);
    assert_true(hash_equal(a->hash, b->hash));
    assert_int_equal(a->n_frames, b->n_frames);
    for (size_t i = 0; i < a->n_frames; i++) {
        assert_int_equal(a->frames[i].raw, b->frames[i].raw);
        assert_int_equal(a->frames[i].decoded, b->frames[i].decoded);
    }
}

#define N ((size_t)7 << 20)

/* Six forms of one text: plain, zstd in one frame, in frames that state their size, in frames of
 * which one does not, gzip, empty. */
static void form_write(struct buf *out, int form, const char *text)
{
    switch (form) {
    case 0:
        buf_append(out, text, N);
        break;
    case 1:
        zstd_frame(out, text, N, false);
        break;
    case 2:
    case 3:
        zstd_skippable(out, "head");
        for (size_t at = 0; at < N; at += N / 28) {
            zstd_frame(out, text + at, N / 28, form == 3 && at / (N / 28) == 13);
            zstd_skippable(out, "tail");
        }
        break;
    case 4:
        gzip_member(out, text, N, false, 1);
        break;
    default:
        break;
    }
}

static void test_forms(void **state)
{
    char *folder = temp_folder();
    char *text = long_text(N);

    (void)state;
    for (int form = 0; form < 6; form++) {
        struct buf file = BUF_INIT;
        char *path;
        struct listing_file l;
        struct input_info info;
        struct input_info parsed;
        struct buf line = BUF_INIT;
        size_t n = form == 5 ? 0 : N;
        form_write(&file, form, text);
        path = file_write(folder, "f", file.size > 0 ? file.data : "", file.size);
        l = listed(path);
        info = probe(&l, NULL);
        assert_int_equal(info.codec, form == 0 || form == 5 ? CODEC_PLAIN
                                     : form == 4            ? CODEC_GZIP
                                                            : CODEC_ZSTD);
        assert_int_equal(info.size, file.size);
        assert_true(hash_equal(info.hash, hash_bytes(file.data, file.size)));
        assert_true(info.decoded_size == (form == 3 || form == 4 ? INPUT_UNKNOWN : n));
        assert_int_equal(info.n_frames, form == 2 ? 6 : 0);
        /* Decoding from each place gives the text. */
        for (size_t i = 0; i < info.n_frames; i++) {
            struct input *in;
            char got[64];
            size_t m;
            assert_int_equal(input_open(path, &in, NULL), SLUICE_OK);
            assert_int_equal(input_seek(in, info.frames[i].raw, info.frames[i].decoded, NULL),
                             SLUICE_OK);
            assert_int_equal(input_read(in, got, 64, &m, NULL), SLUICE_OK);
            assert_int_equal(m, 64);
            assert_memory_equal(got, text + info.frames[i].decoded, 64);
            assert_true(info.frames[i].decoded - (i > 0 ? info.frames[i - 1].decoded : 0) >=
                        1 << 20);
            input_close(in);
        }
        /* The text form is an inverse. */
        input_info_format(&info, &line);
        assert_null(strpbrk(buf_str(&line), " \n"));
        assert_int_equal(input_info_parse(line.data, line.size, &parsed, NULL), SLUICE_OK);
        info_equal(&parsed, &info);
        input_info_deinit(&parsed);
        for (size_t cut = 0; cut < line.size;
             cut++) { /* a part of it is refused or is not equal in size */
            if (input_info_parse(line.data, cut, &parsed, NULL) == SLUICE_OK) {
                assert_true(parsed.n_frames < info.n_frames ||
                            parsed.frames[parsed.n_frames - 1].decoded <
                                info.frames[info.n_frames - 1].decoded);
                input_info_deinit(&parsed);
            }
        }
        buf_deinit(&line);
        input_info_deinit(&info);
        buf_deinit(&file);
        free(path);
    }
    free(text);
    folder_remove(folder);
    free(folder);
}

/* The cache answers as a fresh probe would, also after a restart. */
static void test_cache_transparent(void **state)
{
    char *folder = temp_folder();
    char *text = long_text(N);
    char *cache_path = str_printf("%s/cache", folder);

    (void)state;
    for (int form = 0; form < 6; form++) {
        struct buf file = BUF_INIT;
        struct listing_file l;
        struct input_info fresh;
        struct statcache *cache;
        char *path;
        char name[16];
        form_write(&file, form, text);
        snprintf(name, sizeof name, "f %%%d", form);
        path = file_write(folder, name, file.size > 0 ? file.data : "", file.size);
        l = listed(path);
        fresh = probe(&l, NULL);
        unlink(cache_path);
        for (int round = 0; round < 3; round++) {
            assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
            for (int i = 0; i < 3; i++) {
                struct input_info got = probe(&l, cache);
                info_equal(&got, &fresh);
                input_info_deinit(&got);
                got = (struct input_info){ 0 };
                assert_true(statcache_get(cache, &l, &got));
                info_equal(&got, &fresh);
                input_info_deinit(&got);
            }
            statcache_close(cache);
        }
        input_info_deinit(&fresh);
        buf_deinit(&file);
        free(path);
    }
    free(cache_path);
    free(text);
    folder_remove(folder);
    free(folder);
}

/* A hit does not read the file (here it changed behind our back), and any difference in what
 * stat says is a miss. */
static void test_cache_key(void **state)
{
    char *folder = temp_folder();
    char *cache_path = str_printf("%s/cache", folder);
    char *path = file_write(folder, "f", "some text", 9);
    struct listing_file l = listed(path);
    struct listing_file other;
    struct input_info first;
    struct input_info got;
    struct statcache *cache;

    (void)state;
    assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
    first = probe(&l, cache);
    file_overwrite(path, "SOME TEXT", 9);
    l = listed(path);
    got = probe(&l, cache);
    assert_true(hash_equal(got.hash, first.hash));
    other = l;
    other.version.ctime_ns++;
    got = probe(&other, cache);
    assert_true(hash_equal(got.hash, hash_bytes("SOME TEXT", 9)));
    assert_false(statcache_get(cache, &l, &got)); /* replaced */
    assert_true(statcache_get(cache, &other, &got));
    for (int field = 0; field < 4; field++) {
        struct listing_file changed = other;
        changed.version.size += field == 0;
        changed.version.mtime_ns += field == 1;
        changed.version.ctime_ns += field == 2;
        changed.path = field == 3 ? "/other" : changed.path;
        assert_false(statcache_get(cache, &changed, &got));
        assert_int_equal(statcache_knows(cache, changed.path), field != 3);
    }
    /* Another host mounts the same files from another device. */
    other.inode++;
    other.dev++;
    assert_true(statcache_get(cache, &other, &got));
    statcache_close(cache);
    free(path);
    free(cache_path);
    folder_remove(folder);
    free(folder);
}

/* Two processes at one cache: each takes in what the other wrote. */
static void test_cache_shared(void **state)
{
    char *folder = temp_folder();
    char *cache_path = str_printf("%s/cache", folder);
    char *paths[2] = { file_write(folder, "f", "some text", 9),
                       file_write(folder, "g", "more text", 9) };
    struct statcache *cache[2];
    struct input_info got;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(statcache_open(cache_path, &cache[i], NULL), SLUICE_OK);
        assert_true(statcache_empty(cache[i]));
    }
    for (int i = 0; i < 2; i++) {
        struct listing_file l = listed(paths[i]);
        probe(&l, cache[i]);
        statcache_exchange(cache[i]);
        assert_false(statcache_get(cache[1 - i], &l, &got));
        statcache_exchange(cache[1 - i]);
        assert_true(statcache_get(cache[1 - i], &l, &got));
    }
    statcache_exchange(NULL);
    for (int i = 0; i < 2; i++) {
        statcache_close(cache[i]);
        free(paths[i]);
    }
    assert_int_equal(statcache_open(cache_path, &cache[0], NULL), SLUICE_OK);
    assert_false(statcache_empty(cache[0]));
    statcache_close(cache[0]);
    free(cache_path);
    folder_remove(folder);
    free(folder);
}

static void test_cache_damaged(void **state)
{
    char *folder = temp_folder();
    char *cache_path = str_printf("%s/cache", folder);
    struct listing_file l[20];
    char *paths[20];
    struct statcache *cache;
    size_t n;
    char *good;

    (void)state;
    assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        paths[i] = file_write(folder, name, name, strlen(name));
        l[i] = listed(paths[i]);
        probe(&l[i], cache);
    }
    statcache_close(cache);
    good = file_read_all(cache_path, &n);
    for (int round = 0; round < 400; round++) {
        char *bad = malloc(n);
        size_t m = n;
        int hits = 0;
        memcpy(bad, good, n);
        if (round % 2 == 0) {
            bad[chance(n)] = (char)chance(256);
        } else {
            m = chance(n);
        }
        free(file_write(folder, "cache", bad, m));
        assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
        for (int i = 0; i < 20; i++) {
            struct input_info got;
            if (statcache_get(cache, &l[i], &got)) {
                assert_true(hash_equal(got.hash, hash_bytes(strrchr(paths[i], '/') + 1,
                                                            strlen(strrchr(paths[i], '/') + 1))));
                hits++;
            }
        }
        assert_true(round % 2 == 1 || hits >= 18);
        /* What is added behind damage is read again. */
        probe(&l[3], cache);
        statcache_close(cache);
        assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
        {
            struct input_info got;
            assert_true(statcache_get(cache, &l[3], &got));
        }
        statcache_close(cache);
        free(bad);
    }
    free(good);
    for (int i = 0; i < 20; i++) {
        free(paths[i]);
    }
    free(cache_path);
    folder_remove(folder);
    free(folder);
}

/* Files that were just written are not believed. */
static void test_cache_fresh(void **state)
{
    char *folder = temp_folder();
    char *cache_path = str_printf("%s/cache", folder);
    char *path = file_write(folder, "f", "some text", 9);
    struct listing_file l = listed(path);
    struct statcache *cache;
    struct input_info got;
    struct timespec now;

    (void)state;
    assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
    clock_gettime(CLOCK_REALTIME, &now);
    l.version.ctime_ns = (int64_t)now.tv_sec * 1000000000 - 500000000;
    got = probe(&l, cache);
    assert_false(statcache_get(cache, &l, &got));
    l.version.ctime_ns -= INT64_C(10000000000);
    got = probe(&l, cache);
    assert_true(statcache_get(cache, &l, &got));
    statcache_close(cache);
    assert_int_equal(statcache_open("/nonexistent/cache", &cache, NULL), SLUICE_E_IO);
    free(path);
    free(cache_path);
    folder_remove(folder);
    free(folder);
}

/* The file as stat has it, for what asks stat itself. */
static struct listing_file as_is(const char *path)
{
    struct listing_file file = { .path = path };
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    file.version.size = (uint64_t)st.st_size;
    file.version.mtime_ns = stat_ns(st.st_mtim);
    file.version.ctime_ns = stat_ns(st.st_ctim);
    file.inode = st.st_ino;
    file.dev = st.st_dev;
    return file;
}

/* What is remembered of a file's SHA-256 is taken until stat tells a change, and only that. */
static void test_cache_sha256(void **state)
{
    static const char invented[] =
        "hashes 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff,"
        "0123456789abcdef0123456789abcdef";
    char *folder = temp_folder();
    char *cache_path = str_printf("%s/cache", folder);
    char *path = file_write(folder, "f", "some text", 9);
    struct listing_file l = as_is(path);
    struct statcache *cache;
    struct buf what = BUF_INIT;
    char right[SHA256_HEX];
    char hex[SHA256_HEX];
    char mine[33];
    struct hash128 hash;

    (void)state;
    sha256_bytes("some text", 9, right);
    assert_int_equal(statcache_open(cache_path, &cache, NULL), SLUICE_OK);
    assert_int_equal(statcache_sha256(NULL, path, hex, NULL), SLUICE_OK);
    assert_string_equal(hex, right);
    assert_int_equal(statcache_add(cache, &l, "s something else", false, NULL), SLUICE_OK);
    assert_int_equal(statcache_sha256(cache, path, hex, NULL), SLUICE_OK);
    assert_string_equal(hex, right);
    assert_int_equal(statcache_add(cache, &l, invented, false, NULL), SLUICE_OK);
    assert_int_equal(statcache_sha256(cache, path, hex, NULL), SLUICE_OK);
    assert_memory_equal(hex, invented + 7, SHA256_HEX - 1);
    assert_int_equal(statcache_hashes(cache, path, hex, &hash, NULL), SLUICE_OK);
    hash_hex(hash, mine);
    assert_string_equal(mine, "0123456789abcdef0123456789abcdef");
    free(file_write(folder, "f", "more of it", 10));
    sha256_bytes("more of it", 10, right);
    assert_int_equal(statcache_sha256(cache, path, hex, NULL), SLUICE_OK);
    assert_string_equal(hex, right);
    /* A file of the system, which nobody writes to while we look. */
    l = as_is("/bin/sh");
    assert_int_equal(statcache_sha256(cache, "/bin/sh", hex, NULL), SLUICE_OK);
    assert_true(statcache_find(cache, &l, &what));
    assert_memory_equal(buf_str(&what) + 7, hex, SHA256_HEX - 1);
    assert_int_equal(statcache_sha256(cache, "/nonexistent/file", hex, NULL), SLUICE_E_CONFIG);
    statcache_close(cache);
    buf_deinit(&what);
    free(path);
    free(cache_path);
    folder_remove(folder);
    free(folder);
}

static void expect_error(const char *folder, const void *data, size_t n, const char *words)
{
    char *path = file_write(folder, "bad", data, n);
    struct listing_file l = listed(path);
    struct sluice_error err = ERROR_INIT;
    struct input_info got;

    assert_int_equal(probe_file(&l, PROBE_DECODING, NULL, &got, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, path));
    if (strstr(err.message, words) == NULL) {
        print_error("expected '%s' in: %s\n", words, err.message);
        fail();
    }
    free(path);
}

static void test_faults(void **state)
{
    static const unsigned char liar[] = { 0x28, 0xb5, 0x2f, 0xfd, 0xc0 | 0x20, 0,    0, 0,
                                          0,    0,    0,    0,    0x40,        0x01, 0, 0 };
    static const unsigned char dictionary[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0x21, 42, 1, 0x09, 0, 0, 'x'
    };
    static const unsigned char reserved[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 0x0f, 0, 0, 'x' };
    char *folder = temp_folder();
    struct buf file = BUF_INIT;
    char *path;
    struct listing_file l;
    struct input_info info;
    struct sluice_error err = ERROR_INIT;

    (void)state;
    expect_error(folder, liar, sizeof liar, "states 4611686018427387904 bytes");
    expect_error(folder, dictionary, sizeof dictionary, "dictionary 42");
    expect_error(folder, reserved, sizeof reserved, "reserved type");
    zstd_frame(&file, "some text that is long enough, long enough, long enough", 55, false);
    for (size_t n = 4; n < file.size; n++) {
        expect_error(folder, file.data, n, "truncated");
    }
    buf_puts(&file, "junk");
    expect_error(folder, file.data, file.size, "expected a zstd frame");
    expect_error(folder, "BZh91AY&SY....", 14, "bzip2");
    /* Who reads it as it is stored knows what it is. */
    path = file_write(folder, "bad", "BZh91AY&SY....", 14);
    l = listed(path);
    assert_int_equal(probe_file(&l, PROBE_STORED, NULL, &info, &err), SLUICE_OK);
    assert_true(hash_equal(info.hash, hash_bytes("BZh91AY&SY....", 14)));
    input_info_deinit(&info);
    free(path);
    /* Changed since it was listed. */
    path = file_write(folder, "f", "some text", 9);
    l = listed(path);
    l.version.size = 8;
    assert_int_equal(probe_file(&l, PROBE_DECODING, NULL, &info, &err), SLUICE_E_DATA);
    assert_non_null(strstr(err.message, "changed"));
    l = listed(path);
    unlink(path);
    assert_int_equal(probe_file(&l, PROBE_DECODING, NULL, &info, &err), SLUICE_E_IO);
    free(path);
    buf_deinit(&file);
    folder_remove(folder);
    free(folder);
}

static void test_parse_hostile(void **state)
{
    static const char *const bad[] = {
        "",
        ",",
        "none",
        "none,5",
        "none,5,5",
        "none,5,5,",
        "none,5,6,00000000000000000000000000000000",
        "none,5,-,0,00000000000000000000000000000000",
        "zip,5,5,0,00000000000000000000000000000000",
        "none,5,5,0,0000000000000000000000000000000",
        "none,5,5,0,00000000000000000000000000000000x",
        "none,5,5,0,00000000000000000000000000000000,1+1",
        "zstd,5,5,0,00000000000000000000000000000000,1",
        "zstd,5,5,0,00000000000000000000000000000000,5+1",
        "zstd,5,5,0,00000000000000000000000000000000,1+6",
        "zstd,5,5,0,00000000000000000000000000000000,2+2,1+3",
        "zstd,5,5,0,00000000000000000000000000000000,1+2,2+2",
        "zstd,18446744073709551616,5,0,00000000000000000000000000000000",
        "gzip,-1,5,0,00000000000000000000000000000000",
        "zstd,5,5,0,00000000000000000000000000000000,,1+1",
        "zstd,5,5,0,0000000000000000000000000000000G",
        "zstd,5,5,00000000000000000000000000000000",
        "zstd,5,5,-,00000000000000000000000000000000",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct input_info info;
        assert_int_equal(input_info_parse(bad[i], strlen(bad[i]), &info, NULL), SLUICE_E_DATA);
        assert_null(info.frames);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),         cmocka_unit_test(test_cache_transparent),
        cmocka_unit_test(test_cache_key),     cmocka_unit_test(test_cache_shared),
        cmocka_unit_test(test_cache_damaged), cmocka_unit_test(test_cache_fresh),
        cmocka_unit_test(test_cache_sha256),  cmocka_unit_test(test_faults),
        cmocka_unit_test(test_parse_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
