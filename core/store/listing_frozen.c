/* Listings as bytes: see listing_frozen.h. */
#include "store/listing_frozen.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"

#define MAGIC "SLUICE-L"
#define MAGIC_SIZE (sizeof MAGIC - 1)
#define HASH_SIZE 16u
#define PARTS_MAX 256u /* of a pattern; far above what one has */
#define TEXT_MAX 4096u /* a longer path can't be opened; and what is shared adds up */

/* ---- writing ---- */

static void put_hash(struct buf *out, struct hash128 hash)
{
    unsigned char bytes[HASH_SIZE];

    for (unsigned i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(hash.lo >> (8 * i));
        bytes[8 + i] = (unsigned char)(hash.hi >> (8 * i));
    }
    buf_append(out, bytes, sizeof bytes);
}

static void put_text(struct buf *out, const char *text)
{
    size_t n = strlen(text);

    varint_put(out, n);
    buf_append(out, text, n);
}

static size_t shared_bytes(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] != '\0' && a[n] == b[n]) {
        n++;
    }
    return n;
}

/* From one time to another, in either direction, around the end of the numbers if need be. */
static int64_t step(int64_t to, int64_t from)
{
    return (int64_t)((uint64_t)to - (uint64_t)from);
}

static void put_file(struct buf *out, const struct listing_file *file,
                     const struct listing_file *before, size_t n_parts)
{
    size_t shared = shared_bytes(before->path, file->path);
    size_t n = strlen(file->path);
    size_t name_n = strlen(file->name);
    bool inside = name_n > 0 && name_n <= n && strcmp(file->path + n - name_n, file->name) == 0;

    varint_put(out, shared);
    put_text(out, file->path + shared);
    varint_put(out, inside ? name_n : 0);
    if (!inside) {
        put_text(out, file->name);
    }
    varint_put(out, file->version.size);
    varint_put(out, varint_fold(step(file->version.mtime_ns, before->version.mtime_ns)));
    varint_put(out, varint_fold(step(file->version.ctime_ns, before->version.ctime_ns)));
    put_text(out, file->version.tag);
    for (size_t i = 0; i < n_parts; i++) {
        const char *value = file->values == NULL ? NULL : file->values[i];
        varint_put(out, value != NULL);
        if (value != NULL) {
            put_text(out, value);
        }
    }
}

void listing_freeze(const struct listing *listing, struct hash128 key, const struct hash128 *hashes,
                    struct buf *out)
{
    static const struct listing_file none = { .path = "" };
    const struct listing_file *before = &none;
    size_t begin = out->size;

    buf_append(out, MAGIC, MAGIC_SIZE);
    varint_put(out, LISTING_FORMAT);
    put_hash(out, key);
    varint_put(out, listing->n_parts);
    for (size_t i = 0; i < listing->n_parts; i++) {
        put_text(out, listing->parts[i]);
    }
    varint_put(out, listing->n);
    varint_put(out, hashes != NULL);
    for (size_t i = 0; i < listing->n; i++) {
        put_file(out, &listing->files[i], before, listing->n_parts);
        if (hashes != NULL) {
            put_hash(out, hashes[i]);
        }
        before = &listing->files[i];
    }
    if (!out->failed) {
        put_hash(out, hash_bytes(out->data + begin, out->size - begin));
    }
}

/* ---- reading ---- */

/* What is left to read; the first fault stays. */
struct thaw {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t get_number(struct thaw *thaw, uint64_t most)
{
    uint64_t value = 0;

    if (!thaw->failed && (!varint_get(&thaw->at, thaw->end, &value) || value > most)) {
        thaw->failed = true;
    }
    return thaw->failed ? 0 : value;
}

static const uint8_t *get_bytes(struct thaw *thaw, size_t n)
{
    const uint8_t *at = thaw->at;

    if (thaw->failed || (size_t)(thaw->end - at) < n) {
        thaw->failed = true;
        return NULL;
    }
    thaw->at += n;
    return at;
}

static struct hash128 get_hash(struct thaw *thaw)
{
    const uint8_t *bytes = get_bytes(thaw, HASH_SIZE);
    struct hash128 hash = { 0, 0 };

    for (unsigned i = 0; bytes != NULL && i < 8; i++) {
        hash.lo |= (uint64_t)bytes[i] << (8 * i);
        hash.hi |= (uint64_t)bytes[8 + i] << (8 * i);
    }
    return hash;
}

static size_t left(const struct thaw *thaw)
{
    return (size_t)(thaw->end - thaw->at);
}

/* shared bytes of before and the bytes that follow, which must be a text without NUL. */
static const char *get_text(struct thaw *thaw, struct arena *arena, const char *before,
                            size_t shared, size_t *size)
{
    size_t rest = (size_t)get_number(thaw, TEXT_MAX);
    const uint8_t *bytes = get_bytes(thaw, rest);
    char *text;

    if (bytes == NULL || shared + rest > TEXT_MAX || memchr(bytes, '\0', rest) != NULL) {
        thaw->failed = true;
        return NULL;
    }
    text = arena_alloc(arena, shared + rest + 1, 1);
    if (text != NULL) {
        if (shared > 0) {
            memcpy(text, before, shared);
        }
        memcpy(text + shared, bytes, rest);
    }
    *size = shared + rest;
    return text;
}

static const char *const *get_values(struct thaw *thaw, struct arena *arena, size_t n)
{
    const char **values = ARENA_ARRAY(arena, const char *, n);
    size_t size;

    for (size_t i = 0; i < n && values != NULL; i++) {
        values[i] = get_number(thaw, 1) == 1 ? get_text(thaw, arena, NULL, 0, &size) : NULL;
    }
    return values;
}

static void get_version(struct thaw *thaw, const struct store_version *before,
                        struct store_version *version)
{
    size_t n;
    const uint8_t *tag;

    version->size = get_number(thaw, UINT64_MAX);
    /* Sums as unsigned: bytes of others may say anything. */
    version->mtime_ns = (int64_t)((uint64_t)(before == NULL ? 0 : before->mtime_ns) +
                                  (uint64_t)varint_unfold(get_number(thaw, UINT64_MAX)));
    version->ctime_ns = (int64_t)((uint64_t)(before == NULL ? 0 : before->ctime_ns) +
                                  (uint64_t)varint_unfold(get_number(thaw, UINT64_MAX)));
    n = (size_t)get_number(thaw, STORE_TAG - 1);
    tag = get_bytes(thaw, n);
    if (tag != NULL && memchr(tag, '\0', n) == NULL) {
        memcpy(version->tag, tag, n);
    } else {
        thaw->failed = true;
    }
}

/* Each file is a path of its own, in order of names, as splits need them. */
static void get_file(struct thaw *thaw, struct listing *out, size_t i, size_t *before_n)
{
    struct listing_file *file = &out->files[i];
    const struct listing_file *before = i > 0 ? file - 1 : NULL;
    size_t shared = (size_t)get_number(thaw, *before_n);
    size_t n = 0;
    size_t name_n;

    file->path = get_text(thaw, &out->arena, before == NULL ? "" : before->path, shared, &n);
    name_n = (size_t)get_number(thaw, n);
    if (file->path == NULL) {
        return;
    }
    file->name = name_n > 0 ? file->path + n - name_n : get_text(thaw, &out->arena, "", 0, &name_n);
    get_version(thaw, before == NULL ? NULL : &before->version, &file->version);
    if (out->n_parts > 0) {
        file->values = get_values(thaw, &out->arena, out->n_parts);
    }
    if (file->name != NULL &&
        (file->path[0] == '\0' || file->name[0] == '\0' || !utf8_valid(file->name, name_n) ||
         (before != NULL && strcmp(before->name, file->name) >= 0))) {
        thaw->failed = true;
    }
    *before_n = n;
}

static sluice_status get_files(struct thaw *thaw, struct listing *out, struct hash128 **hashes)
{
    const char **parts;
    size_t size;
    size_t before = 0;
    uint64_t n;

    out->n_parts = (size_t)get_number(thaw, PARTS_MAX);
    parts = ARENA_ARRAY(&out->arena, const char *, out->n_parts);
    for (size_t i = 0; i < out->n_parts && parts != NULL; i++) {
        parts[i] = get_text(thaw, &out->arena, "", 0, &size);
    }
    out->parts = parts;
    n = get_number(thaw, left(thaw)); /* each file takes a byte at least */
    *hashes = get_number(thaw, 1) == 1 ? ARENA_ARRAY(&out->arena, struct hash128, n) : NULL;
    if (thaw->failed) {
        return SLUICE_E_DATA;
    }
    out->files = calloc((size_t)n + 1, sizeof *out->files);
    if (out->files == NULL || out->arena.failed) {
        return SLUICE_E_NOMEM;
    }
    for (out->n = 0; out->n < n && !thaw->failed && !out->arena.failed; out->n++) {
        get_file(thaw, out, out->n, &before);
        if (*hashes != NULL) {
            (*hashes)[out->n] = get_hash(thaw);
        }
    }
    return out->arena.failed                       ? SLUICE_E_NOMEM
           : thaw->failed || thaw->at != thaw->end ? SLUICE_E_DATA
                                                   : SLUICE_OK;
}

/* What stands in front: magic, format, plan. */
static sluice_status check_head(struct thaw *thaw, struct hash128 key, struct sluice_error *err)
{
    const uint8_t *magic = get_bytes(thaw, MAGIC_SIZE);
    uint64_t format = get_number(thaw, UINT64_MAX);
    struct hash128 of;

    if (magic == NULL || memcmp(magic, MAGIC, MAGIC_SIZE) != 0) {
        return error_set(err, SLUICE_E_DATA, "it is no list of input files");
    }
    if (thaw->failed || format != LISTING_FORMAT) {
        return error_set(err, SLUICE_E_DATA,
                         "it is a list of input files of format %" PRIu64
                         ", this program reads format %u",
                         format, LISTING_FORMAT);
    }
    of = get_hash(thaw);
    return thaw->failed || hash_equal(of, key)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA, "it belongs to another plan");
}

sluice_status listing_thaw(const void *data, size_t n, struct hash128 key, struct listing *out,
                           const struct hash128 **hashes, struct sluice_error *err)
{
    struct thaw thaw = { .at = data, .end = (const uint8_t *)data + n };
    struct thaw tail;
    struct hash128 *held = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    *hashes = NULL;
    TRY(check_head(&thaw, key, err));
    tail = (struct thaw){ .at = thaw.end - (left(&thaw) < HASH_SIZE ? 0 : HASH_SIZE),
                          .end = thaw.end,
                          .failed = left(&thaw) < HASH_SIZE };
    thaw.end = tail.at;
    if (thaw.failed || tail.failed ||
        !hash_equal(hash_bytes(data, n - HASH_SIZE), get_hash(&tail))) {
        return error_set(err, SLUICE_E_DATA, "its bytes are not those that were written");
    }
    status = get_files(&thaw, out, &held);
    if (status != SLUICE_OK) {
        listing_deinit(out);
        return status == SLUICE_E_NOMEM
                   ? error_nomem(err, "the list of input files")
                   : error_set(err, SLUICE_E_DATA, "it does not follow the format");
    }
    *hashes = held;
    return SLUICE_OK;
}
