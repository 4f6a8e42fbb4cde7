/* What the tests of the input side share: temporary folders, files and compressed texts. */
#ifndef TESTS_UNIT_INPUTFILES_H
#define TESTS_UNIT_INPUTFILES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- reproducible chance (xorshift64*) ---- */

static uint64_t chance_state = 88172645463325252u;

static inline uint64_t chance(uint64_t below)
{
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return (chance_state * 2685821657736338717u >> 16) % below;
}

/* ---- files ---- */

static inline char *temp_folder(void)
{
    char *path = strdup("/tmp/sluice-test-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

static inline void folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char *inside;
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        inside = str_printf("%s/%s", path, entry->d_name);
        if (lstat(inside, &st) == 0 && S_ISDIR(st.st_mode)) {
            chmod(inside, 0700);
            folder_remove(inside);
        } else {
            unlink(inside);
        }
        free(inside);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

/* Writes folder/name, making folders on the way; gives the path. */
static inline char *file_write(const char *folder, const char *name, const void *data, size_t n)
{
    char *path = str_printf("%s/%s", folder, name);
    FILE *file;

    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    /* A new file, not one emptied: ext4 flushes a file that replaces its own bytes at each
     * close. */
    unlink(path);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline void file_put(const char *folder, const char *name, const char *text)
{
    free(file_write(folder, name, text, strlen(text)));
}

static inline char *file_read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    struct buf out = BUF_INIT;
    char block[65536];
    size_t got;

    if (file == NULL) {
        return NULL;
    }
    while ((got = fread(block, 1, sizeof block, file)) > 0) {
        buf_append(&out, block, got);
    }
    fclose(file);
    *n = out.size;
    return buf_take(&out);
}

/* Sets the modification time back by so many seconds, so that caches believe it. */
static inline void file_age(const char *path, long seconds)
{
    struct timespec times[2];

    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* ---- compressed texts ---- */

/* One zstd frame; streamed = without the decoded size in its header. */
static inline void zstd_frame(struct buf *out, const void *data, size_t n, bool streamed)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t capacity = ZSTD_compressBound(n) + 64;
    ZSTD_inBuffer in = { data, n, 0 };
    ZSTD_outBuffer to;

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    assert_true(buf_reserve(out, capacity));
    to = (ZSTD_outBuffer){ out->data + out->size, capacity, 0 };
    if (streamed) {
        ZSTD_inBuffer none = { data, 0, 0 };
        assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_continue), 0);
        while (ZSTD_compressStream2(c, &to, &none, ZSTD_e_end) != 0) {
        }
    } else {
        assert_int_equal(ZSTD_compressStream2(c, &to, &in, ZSTD_e_end), 0);
    }
    out->size += to.pos;
    ZSTD_freeCCtx(c);
}

static inline void zstd_skippable(struct buf *out, const char *text)
{
    uint32_t n = (uint32_t)strlen(text);
    unsigned char head[8] = { 0x53, 0x2a, 0x4d, 0x18, (unsigned char)n, (unsigned char)(n >> 8),
                              0,    0 };

    buf_append(out, head, 8);
    buf_append(out, text, n);
}

/* One gzip member with every optional header field if decorated. */
static inline void gzip_member(struct buf *out, const void *data, size_t n, bool decorated,
                               int level)
{
    z_stream z = { 0 };
    gz_header header = { 0 };
    Bytef extra[300];

    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (decorated) {
        memset(extra, 0x1f, sizeof extra);
        header.extra = extra;
        header.extra_len = sizeof extra;
        header.name = (Bytef *)(uintptr_t) "a name";
        header.comment = (Bytef *)(uintptr_t) "a comment";
        header.hcrc = 1;
        header.text = 1;
        assert_int_equal(deflateSetHeader(&z, &header), Z_OK);
    }
    assert_true(buf_reserve(out, deflateBound(&z, n) + 1000));
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out->data + out->size;
    z.avail_out = (uInt)(out->capacity - out->size);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->size += z.total_out;
    deflateEnd(&z);
}

/* Where the shared real text lies, or NULL. */
static inline const char *test_data(void)
{
    const char *folder = getenv("SLUICE_TEST_DATA");

    folder = folder != NULL ? folder : "../shared/data";
    return access(folder, R_OK) == 0 ? folder : NULL;
}

#endif
