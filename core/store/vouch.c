/* Vouching for files: see vouch.h. The stat cache holds "h HASH BOOT" for a file, BOOT being "-"
 * for what survives a power cut, else eight digits that name the boot it was written in. */
#include "store/vouch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/statcache.h"
#include "store/store.h"

/* A later change might not show in the times of a file that was changed so short a time ago: those
 * of most file systems follow the kernel's clock ticks, others step by one or two seconds. */
#define FINE_NS INT64_C(20000000)
#define COARSE_NS INT64_C(2000000000)
/* Hashing so much again next time costs more than waiting for the clock's tick now. */
#define WAIT_BYTES ((uint64_t)64 << 20)

/* What this process knows of a file, and others will once it is not fresh any more. */
struct note {
    char *path;
    struct listing_file version; /* path and name are not set */
    char what[48];
};

struct vouch {
    struct statcache *cache;
    char boot[9];
    pthread_mutex_t mutex; /* of the notes */
    struct note *notes;    /* in the order of their coming */
    size_t n, capacity;
};

static void boot_read(char boot[9])
{
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);

    snprintf(boot, 9, "%08x", n <= 0 ? 0 : (unsigned)(uint32_t)hash_bytes(text, (size_t)n).lo);
    if (fd >= 0) {
        close(fd);
    }
}

sluice_status vouch_open(const char *path, struct vouch **out, struct sluice_error *err)
{
    struct vouch *vouch = calloc(1, sizeof *vouch);
    sluice_status status;

    *out = NULL;
    if (vouch == NULL) {
        return error_nomem(err, "the hashes of files");
    }
    pthread_mutex_init(&vouch->mutex, NULL);
    boot_read(vouch->boot);
    status = statcache_open(path, &vouch->cache, err);
    if (status != SLUICE_OK) {
        vouch_close(vouch);
        return status;
    }
    *out = vouch;
    return SLUICE_OK;
}

/* ---- what is remembered ---- */

static bool is_fresh(const struct listing_file *version)
{
    bool fine =
        version->version.mtime_ns % 1000000000 != 0 && version->version.ctime_ns % 1000000000 != 0;

    return statcache_fresh(version, fine ? FINE_NS : COARSE_NS);
}

/* Hands the notes that are old enough, from the first on, to the cache. The mutex is held. */
static void settle(struct vouch *vouch)
{
    size_t n = 0;

    while (n < vouch->n && !is_fresh(&vouch->notes[n].version)) {
        struct note *note = &vouch->notes[n++];
        sluice_status ignored;
        note->version.path = note->path;
        ignored = statcache_add(vouch->cache, &note->version, note->what, true, NULL);
        (void)ignored;
        free(note->path);
    }
    if (n > 0) {
        vouch->n -= n;
        memmove(vouch->notes, vouch->notes + n, vouch->n * sizeof *vouch->notes);
    }
}

static void remember(struct vouch *vouch, const char *path, const struct listing_file *version,
                     struct hash128 hash, const char *boot)
{
    struct note note = { str_copy(path, strlen(path)), *version, "" };
    sluice_status status;
    char hex[33];

    hash_hex(hash, hex);
    snprintf(note.what, sizeof note.what, "h %s %s", hex, boot);
    note.version.path = note.path;
    status = note.path == NULL ? SLUICE_E_NOMEM
                               : statcache_add(vouch->cache, &note.version, note.what, false, NULL);
    pthread_mutex_lock(&vouch->mutex);
    if (vouch->n == vouch->capacity) {
        size_t capacity = vouch->capacity == 0 ? 64 : vouch->capacity * 2;
        struct note *notes = realloc(vouch->notes, capacity * sizeof *notes);
        if (notes != NULL) {
            vouch->notes = notes;
            vouch->capacity = capacity;
        }
    }
    if (status == SLUICE_OK && vouch->n < vouch->capacity) {
        vouch->notes[vouch->n++] = note;
        note.path = NULL;
        settle(vouch);
    }
    pthread_mutex_unlock(&vouch->mutex);
    free(note.path);
}

static bool is_remembered(const struct vouch *vouch, const char *path,
                          const struct listing_file *version, struct hash128 hash)
{
    struct listing_file file = *version;
    struct buf what = BUF_INIT;
    char hex[33];
    const char *text;
    bool good;

    file.path = path;
    hash_hex(hash, hex);
    good = statcache_find(vouch->cache, &file, &what);
    text = buf_str(&what);
    good = good && what.size >= 36 && memcmp(text, "h ", 2) == 0 &&
           memcmp(text + 2, hex, 32) == 0 &&
           (strcmp(text + 34, " -") == 0 || strcmp(text + 35, vouch->boot) == 0);
    buf_deinit(&what);
    return good;
}

void vouch_close(struct vouch *vouch)
{
    uint64_t bytes = 0;

    if (vouch == NULL) {
        return;
    }
    for (size_t i = 0; i < vouch->n; i++) {
        bytes += vouch->notes[i].version.version.size;
    }
    if (bytes > WAIT_BYTES) {
        struct timespec pause = { 0, (long)FINE_NS };
        nanosleep(&pause, NULL);
    }
    if (vouch->cache != NULL) {
        settle(vouch);
    }
    for (size_t i = 0; i < vouch->n; i++) {
        free(vouch->notes[i].path);
    }
    free(vouch->notes);
    statcache_close(vouch->cache);
    pthread_mutex_destroy(&vouch->mutex);
    free(vouch);
}

void vouch_note(struct vouch *vouch, const char *path, struct hash128 hash, bool durable)
{
    struct listing_file version = { .path = path };
    bool found;

    if (vouch != NULL && store_stat(path, &version.version, &found, NULL) == SLUICE_OK && found) {
        remember(vouch, path, &version, hash, durable ? "-" : vouch->boot);
    }
}

/* ---- checking ---- */

/* Reads the file. */
static sluice_status check_bytes(struct vouch *vouch, const char *path,
                                 const struct listing_file *version, struct hash128 hash,
                                 const char *said, bool *good, struct sluice_error *err)
{
    uint64_t bytes;
    struct hash128 found;
    bool there;
    char is[33];
    char was[33];

    TRY(store_hash(path, &bytes, &found, &there, err));
    *good = there && bytes == version->version.size && hash_equal(found, hash);
    if (*good && !is_fresh(version)) {
        remember(vouch, path, version, hash, vouch->boot);
    }
    if (*good) {
        return SLUICE_OK;
    }
    hash_hex(found, is);
    hash_hex(hash, was);
    error_set(err, SLUICE_E_DATA, "%s has hash %s, %s says %s", path, is, said, was);
    return SLUICE_OK;
}

sluice_status vouch_check(struct vouch *vouch, const char *path, uint64_t bytes,
                          struct hash128 hash, const char *said, bool *good,
                          struct sluice_error *err)
{
    struct listing_file version = { .path = path };
    bool found;

    *good = false;
    TRY(store_stat(path, &version.version, &found, err));
    if (!found) {
        error_set(err, SLUICE_E_DATA, "%s is missing", path);
        return SLUICE_OK;
    }
    if (version.version.size != bytes) {
        error_set(err, SLUICE_E_DATA, "%s has %llu bytes, %s says %llu", path,
                  (unsigned long long)version.version.size, said, (unsigned long long)bytes);
        return SLUICE_OK;
    }
    *good = vouch == NULL || is_remembered(vouch, path, &version, hash);
    return *good ? SLUICE_OK : check_bytes(vouch, path, &version, hash, said, good, err);
}

sluice_status vouch_check_since(struct vouch *vouch, const char *path, uint64_t bytes,
                                struct hash128 hash, const char *said, int64_t since_ns, bool *good,
                                struct sluice_error *err)
{
    struct stat st;

    *good = path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            (uint64_t)st.st_size == bytes && stat_ns(st.st_ctim) <= since_ns;
    return *good ? SLUICE_OK : vouch_check(vouch, path, bytes, hash, said, good, err);
}
