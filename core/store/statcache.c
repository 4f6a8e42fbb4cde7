/* What is known of files: see statcache.h. A line is
 *   CHECKSUM VERSION WHAT PATH
 * with CHECKSUM = XXH3-128 of what follows it, VERSION as store_version_print has it, WHAT as the
 * caller gave it and PATH percent-encoded. Of a probed file WHAT is "s INFO", INFO as in
 * input_info_format; of one that was hashed it is "hashes SHA256,XXH3".
 * A later line replaces an earlier one of the same path. */
#include "store/statcache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FRESH_NS INT64_C(2000000000)
/* Lines are gathered, so that 20,000 small files cost no 20,000 writes; what took long to find out
 * is written at once. */
#define GATHER_BYTES ((size_t)64 << 10)
#define GATHER_FILE ((uint64_t)16 << 20)

struct entry {
    uint64_t hash;    /* of the encoded path; 0 = free */
    char *line;       /* "SIZE MTIME ... PATH", NUL-terminated; owned */
    const char *path; /* in line */
};

struct statcache {
    pthread_mutex_t mutex;
    int fd;
    char *path;
    uint64_t taken;        /* bytes of the file that were taken in */
    bool empty;            /* it had no line when it was opened */
    struct buf lines;      /* not written yet */
    struct entry *entries; /* open addressing; capacity is a power of two */
    size_t n, capacity;
};

static uint64_t path_hash(const char *path)
{
    uint64_t hash = hash_bytes(path, strlen(path)).lo;

    return hash == 0 ? 1 : hash;
}

static struct entry *cache_find(const struct statcache *cache, const char *path)
{
    uint64_t hash = path_hash(path);
    size_t at = (size_t)hash & (cache->capacity - 1);

    while (cache->entries[at].hash != 0 &&
           (cache->entries[at].hash != hash || strcmp(cache->entries[at].path, path) != 0)) {
        at = (at + 1) & (cache->capacity - 1);
    }
    return &cache->entries[at];
}

static bool cache_grow(struct statcache *cache)
{
    size_t capacity = cache->capacity == 0 ? 64 : cache->capacity * 2;
    struct entry *entries = calloc(capacity, sizeof *entries);

    if (entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < cache->capacity; i++) {
        if (cache->entries[i].hash != 0) {
            size_t at = (size_t)cache->entries[i].hash & (capacity - 1);
            while (entries[at].hash != 0) {
                at = (at + 1) & (capacity - 1);
            }
            entries[at] = cache->entries[i];
        }
    }
    free(cache->entries);
    cache->entries = entries;
    cache->capacity = capacity;
    return true;
}

/* Takes line. */
static bool cache_insert(struct statcache *cache, char *line)
{
    const char *space = strrchr(line, ' ');
    struct entry *entry;

    if (space == NULL || ((cache->n + 1) * 2 > cache->capacity && !cache_grow(cache))) {
        free(line);
        return space == NULL;
    }
    entry = cache_find(cache, space + 1);
    if (entry->hash == 0) {
        cache->n++;
    }
    free(entry->line);
    *entry = (struct entry){ path_hash(space + 1), line, space + 1 };
    return true;
}

/* Takes in the whole lines of the file; what is damaged is left out. */
static bool cache_load(struct statcache *cache, const char *text, size_t n)
{
    const char *end = text + n;
    const char *newline;

    for (; text < end && (newline = memchr(text, '\n', (size_t)(end - text))) != NULL;
         text = newline + 1) {
        size_t length = (size_t)(newline - text);
        struct hash128 checksum;
        char hex[33];
        if (length < 34 || text[32] != ' ' || memchr(text, '\0', length) != NULL) {
            continue;
        }
        memcpy(hex, text, 32);
        hex[32] = '\0';
        if (hash_parse(hex, &checksum) &&
            hash_equal(checksum, hash_bytes(text + 33, length - 33))) {
            char *line = strndup(text + 33, length - 33);
            if (line == NULL || !cache_insert(cache, line)) {
                return false;
            }
        }
    }
    return true;
}

/* Takes in the whole lines of the file behind what was taken before. *cut: it ends inside of
 * one. */
static sluice_status cache_read(struct statcache *cache, bool *cut, struct sluice_error *err)
{
    struct stat st;
    char *text;
    size_t want;
    size_t have = 0;
    bool good;

    *cut = false;
    if (fstat(cache->fd, &st) != 0) {
        return error_errno(err, errno, "%s can't be examined", cache->path);
    }
    if ((uint64_t)st.st_size <= cache->taken) {
        return SLUICE_OK;
    }
    want = (size_t)((uint64_t)st.st_size - cache->taken);
    text = malloc(want + 1);
    if (text == NULL) {
        return error_nomem(err, "the cache of examined files");
    }
    while (have < want) {
        ssize_t r = pread(cache->fd, text + have, want - have, (off_t)(cache->taken + have));
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r <= 0) {
            break;
        }
        have += (size_t)r;
    }
    *cut = have > 0 && text[have - 1] != '\n';
    while (have > 0 && text[have - 1] != '\n') {
        have--;
    }
    good = cache_load(cache, text, have);
    cache->taken += have;
    free(text);
    return good ? SLUICE_OK : error_nomem(err, "the cache of examined files");
}

sluice_status statcache_open(const char *path, struct statcache **out, struct sluice_error *err)
{
    struct statcache *cache = calloc(1, sizeof *cache);
    sluice_status status;

    *out = NULL;
    if (cache == NULL) {
        return error_nomem(err, "the cache of examined files");
    }
    pthread_mutex_init(&cache->mutex, NULL);
    cache->path = strdup(path);
    cache->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (cache->path == NULL || !cache_grow(cache)) {
        status = error_nomem(err, "the cache of examined files");
    } else if (cache->fd < 0) {
        status = error_errno(err, errno, "%s can't be opened", path);
    } else {
        bool cut;
        status = cache_read(cache, &cut, err);
        cache->empty = cache->n == 0;
        /* A line cut short by a crash must not swallow the next one. */
        if (status == SLUICE_OK && cut && write(cache->fd, "\n", 1) != 1) {
            status = error_errno(err, errno, "%s can't be written", path);
        }
    }
    if (status != SLUICE_OK) {
        statcache_close(cache);
        return status;
    }
    *out = cache;
    return SLUICE_OK;
}

/* One write: lines of several processes do not mix. A short one is a damaged line, which the next
 * start leaves out. */
static bool cache_flush(struct statcache *cache)
{
    bool good =
        cache->lines.size == 0 || write(cache->fd, cache->lines.data, cache->lines.size) >= 0;

    buf_clear(&cache->lines);
    return good;
}

void statcache_exchange(struct statcache *cache)
{
    bool cut;

    if (cache == NULL) {
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    (void)cache_flush(cache);
    (void)!cache_read(cache, &cut, NULL);
    pthread_mutex_unlock(&cache->mutex);
}

void statcache_close(struct statcache *cache)
{
    if (cache == NULL) {
        return;
    }
    if (cache->fd >= 0) {
        (void)cache_flush(cache); /* what is lost costs time only */
        close(cache->fd);
    }
    for (size_t i = 0; i < cache->capacity; i++) {
        free(cache->entries[i].line);
    }
    free(cache->entries);
    free(cache->path);
    buf_deinit(&cache->lines);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

static void path_encode(const char *path, struct buf *out)
{
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0'; p++) {
        if (*p <= ' ' || *p == '%' || *p == 0x7f) {
            buf_printf(out, "%%%02x", *p);
        } else {
            buf_putc(out, (char)*p);
        }
    }
}

/* What a line about this file begins with. */
static void state_format(const struct listing_file *file, struct buf *out)
{
    char text[STORE_VERSION_TEXT];

    buf_printf(out, "%s ", store_version_print(&file->version, text));
}

bool statcache_find(struct statcache *cache, const struct listing_file *file, struct buf *what)
{
    struct buf path = BUF_INIT;
    struct buf state = BUF_INIT;
    bool found = false;

    path_encode(file->path, &path);
    state_format(file, &state);
    buf_str(&path);
    buf_str(&state);
    if (!path.failed && !state.failed) {
        struct entry *entry;
        pthread_mutex_lock(&cache->mutex);
        entry = cache_find(cache, path.data);
        if (entry->hash != 0 && strncmp(entry->line, state.data, state.size) == 0) {
            const char *text = entry->line + state.size;
            if (entry->path > text) {
                buf_append(what, text, (size_t)(entry->path - text) - 1);
                found = !what->failed;
            }
        }
        pthread_mutex_unlock(&cache->mutex);
    }
    buf_deinit(&path);
    buf_deinit(&state);
    return found;
}

bool statcache_knows(struct statcache *cache, const char *path)
{
    struct buf encoded = BUF_INIT;
    bool known = false;

    path_encode(path, &encoded);
    buf_str(&encoded);
    if (!encoded.failed) {
        pthread_mutex_lock(&cache->mutex);
        known = cache_find(cache, encoded.data)->hash != 0;
        pthread_mutex_unlock(&cache->mutex);
    }
    buf_deinit(&encoded);
    return known;
}

const char *statcache_path(const struct statcache *cache)
{
    return cache->path;
}

bool statcache_empty(const struct statcache *cache)
{
    return cache->empty;
}

bool statcache_fresh(const struct listing_file *file, int64_t ns)
{
    struct timespec now;
    int64_t since;

    if (store_version_vague(&file->version)) {
        return true; /* what is said of it holds for other bytes of its size as well */
    }
    clock_gettime(CLOCK_REALTIME, &now);
    since = stat_ns(now) - ns;
    return file->version.mtime_ns > since || file->version.ctime_ns > since;
}

sluice_status statcache_add(struct statcache *cache, const struct listing_file *file,
                            const char *what, bool keep, struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    char hex[33];
    char *kept;
    sluice_status status = SLUICE_OK;

    state_format(file, &line);
    buf_printf(&line, "%s ", what);
    path_encode(file->path, &line);
    hash_hex(hash_bytes(line.data, line.size), hex);
    kept = buf_take(&line);
    if (kept == NULL) {
        return error_nomem(err, "the cache of examined files");
    }
    pthread_mutex_lock(&cache->mutex);
    if (keep) {
        buf_printf(&cache->lines, "%s %s\n", hex, kept);
    }
    if (!cache_insert(cache, kept) || cache->lines.failed) {
        status = error_nomem(err, "the cache of examined files");
    } else if ((cache->lines.size >= GATHER_BYTES || file->version.size >= GATHER_FILE) &&
               !cache_flush(cache)) {
        status = error_errno(err, errno, "%s can't be written", cache->path);
    }
    pthread_mutex_unlock(&cache->mutex);
    return status;
}

/* ---- of probed files ---- */

#define PROBED_WHAT "s "

bool statcache_young(const struct listing_file *file)
{
    return statcache_fresh(file, FRESH_NS);
}

bool statcache_get(struct statcache *cache, const struct listing_file *file, struct input_info *out)
{
    struct buf what = BUF_INIT;
    bool found = statcache_find(cache, file, &what) && what.size > 2 &&
                 memcmp(what.data, PROBED_WHAT, 2) == 0 &&
                 input_info_parse(what.data + 2, what.size - 2, out, NULL) == SLUICE_OK;

    if (found && out->size != file->version.size) {
        input_info_deinit(out);
        found = false;
    }
    buf_deinit(&what);
    return found;
}

sluice_status statcache_put(struct statcache *cache, const struct listing_file *file,
                            const struct input_info *info, struct sluice_error *err)
{
    struct buf what = BUF_INIT;
    sluice_status status;

    if (statcache_young(file)) {
        return SLUICE_OK;
    }
    buf_puts(&what, PROBED_WHAT);
    input_info_format(info, &what);
    buf_str(&what);
    status = what.failed ? error_nomem(err, "the cache of examined files")
                         : statcache_add(cache, file, what.data, true, err);
    buf_deinit(&what);
    return status;
}

/* ---- of hashed files ---- */

#define HASHES_WHAT "hashes "
#define HASHES_SIZE (sizeof HASHES_WHAT - 1 + SHA256_HEX - 1 + 1 + 32) /* "hashes SHA256,XXH3" */

static bool state_of(const char *path, struct listing_file *file)
{
    bool found = false;

    *file = (struct listing_file){ .path = path };
    return store_stat(path, &file->version, &found, NULL) == SLUICE_OK && found;
}

static sluice_status hashes_add(struct statcache *cache, const struct listing_file *file,
                                const char *hex, struct hash128 hash, struct sluice_error *err)
{
    char what[HASHES_SIZE + 1];
    char mine[33];

    hash_hex(hash, mine);
    snprintf(what, sizeof what, HASHES_WHAT "%s,%s", hex, mine);
    return statcache_add(cache, file, what, true, err);
}

static bool hashes_find(struct statcache *cache, const struct listing_file *file,
                        char hex[SHA256_HEX], struct hash128 *hash)
{
    struct buf what = BUF_INIT;
    const size_t head = sizeof HASHES_WHAT - 1;
    bool found = statcache_find(cache, file, &what) && what.size == HASHES_SIZE &&
                 memcmp(what.data, HASHES_WHAT, head) == 0 &&
                 what.data[head + SHA256_HEX - 1] == ',' &&
                 hash_parse(buf_str(&what) + head + SHA256_HEX, hash);

    if (found) {
        memcpy(hex, what.data + head, SHA256_HEX - 1);
        hex[SHA256_HEX - 1] = '\0';
    }
    buf_deinit(&what);
    return found;
}

sluice_status statcache_hashes(struct statcache *cache, const char *path, char hex[SHA256_HEX],
                               struct hash128 *hash, struct sluice_error *err)
{
    struct listing_file file;

    if (cache == NULL || !state_of(path, &file)) {
        return store_hashes(path, hex, hash, err);
    }
    if (hashes_find(cache, &file, hex, hash)) {
        return SLUICE_OK;
    }
    TRY(store_hashes(path, hex, hash, err));
    return statcache_young(&file) ? SLUICE_OK : hashes_add(cache, &file, hex, *hash, err);
}

sluice_status statcache_sha256(struct statcache *cache, const char *path, char hex[SHA256_HEX],
                               struct sluice_error *err)
{
    struct hash128 hash;

    return statcache_hashes(cache, path, hex, &hash, err);
}

void statcache_renamed(struct statcache *cache, const char *path, const char hex[SHA256_HEX],
                       struct hash128 hash)
{
    struct listing_file file;
    struct listing_file old;

    if (cache == NULL || !state_of(path, &file)) {
        return;
    }
    old = file;
    old.version.ctime_ns = old.version.mtime_ns; /* a write from now on shows in mtime */
    if (!statcache_young(&old)) {
        (void)!hashes_add(cache, &file, hex, hash, NULL); /* costs a reading */
    }
}
