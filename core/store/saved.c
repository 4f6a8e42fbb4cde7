/* Saved states: see saved.h. A file is "SLSV", u32 format, the 16 bytes of what it is of, then
 * blocks: u32 size, u32 kind, u64 checksum, bytes. The checksum covers the block's number and what
 * the file is of as well, so that no block stands for another; the last block is of its own kind,
 * so that no file is cut unseen. */
#include "store/saved.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "store/pending.h"
#include "store/store.h"

#define MAGIC "SLSV"
#define HEAD_BYTES 24u
#define BLOCK_HEAD 16u
#define BLOCK_BYTES ((size_t)256 << 10)
#define BLOCK_MOST (BLOCK_BYTES + 16) /* a number does not begin in one and end in another */

enum block_kind { BLOCK_MORE = 1, BLOCK_LAST = 2 };

struct block_head {
    uint32_t n, kind;
    uint64_t hash;
};

static uint64_t block_hash(struct hasher *hasher, struct hash128 of, uint64_t index,
                           const struct block_head *head, const void *data)
{
    hasher_reset(hasher);
    hasher_add_hash(hasher, of);
    hasher_add_u64(hasher, index);
    hasher_add_u64(hasher, (uint64_t)head->kind << 32 | head->n);
    hasher_add(hasher, data, head->n);
    return hasher_digest(hasher).lo;
}

static void file_head(struct hash128 of, char head[HEAD_BYTES])
{
    uint32_t format = SAVED_FORMAT;

    memcpy(head, MAGIC, 4);
    memcpy(head + 4, &format, 4);
    memcpy(head + 8, &of.hi, 8);
    memcpy(head + 16, &of.lo, 8);
}

/* ---- writing ---- */

struct saved {
    struct pending *pending;
    char *dir;
    struct hash128 of;
    struct hasher *hasher;
    const _Atomic int *cancelled;
    struct buf block;
    uint64_t index;
    sluice_status status;
    struct sluice_error err;
};

sluice_status saved_begin(const char *dir, struct hash128 of, const _Atomic int *cancelled,
                          struct saved **out, struct sluice_error *err)
{
    struct saved *saved = calloc(1, sizeof *saved);
    char head[HEAD_BYTES];
    sluice_status status;

    *out = NULL;
    if (saved == NULL) {
        return error_nomem(err, "a saved state");
    }
    saved->err.size = sizeof saved->err;
    saved->of = of;
    saved->cancelled = cancelled;
    saved->hasher = hasher_create();
    saved->dir = str_copy(dir, strlen(dir));
    status = saved->hasher == NULL || saved->dir == NULL ? error_nomem(err, "a saved state")
                                                         : pending_open(dir, &saved->pending, err);
    if (status == SLUICE_OK) {
        file_head(of, head);
        status = pending_write(saved->pending, head, sizeof head, err);
    }
    if (status != SLUICE_OK) {
        saved_abort(saved);
        return status;
    }
    *out = saved;
    return SLUICE_OK;
}

void saved_abort(struct saved *saved)
{
    if (saved != NULL) {
        pending_abort(saved->pending);
        hasher_destroy(saved->hasher);
        buf_deinit(&saved->block);
        free(saved->dir);
        free(saved);
    }
}

static sluice_status write_block(struct saved *saved, uint32_t kind, struct sluice_error *err)
{
    struct block_head head = { (uint32_t)saved->block.size, kind, 0 };

    TRY(buf_status(&saved->block, err));
    if (saved->cancelled != NULL && *saved->cancelled != 0) {
        return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
    }
    head.hash = block_hash(saved->hasher, saved->of, saved->index++, &head, saved->block.data);
    TRY(pending_write(saved->pending, &head, sizeof head, err));
    TRY(pending_write(saved->pending, saved->block.data, saved->block.size, err));
    buf_clear(&saved->block);
    return SLUICE_OK;
}

static void room(struct saved *saved)
{
    if (saved->status == SLUICE_OK && saved->block.size >= BLOCK_BYTES) {
        saved->status = write_block(saved, BLOCK_MORE, &saved->err);
    }
}

void saved_put(struct saved *saved, uint64_t value)
{
    room(saved);
    if (saved->status == SLUICE_OK) {
        varint_put(&saved->block, value);
    }
}

void saved_put_raw(struct saved *saved, const void *data, size_t n)
{
    const char *bytes = data;

    while (n > 0 && saved->status == SLUICE_OK) {
        size_t left;
        room(saved);
        left = saved->block.size < BLOCK_BYTES ? BLOCK_BYTES - saved->block.size : 0;
        left = left < n ? left : n;
        buf_append(&saved->block, bytes, left);
        bytes += left;
        n -= left;
    }
}

void saved_put_bytes(struct saved *saved, const void *data, size_t n)
{
    saved_put(saved, n);
    saved_put_raw(saved, data, n);
}

sluice_status saved_status(const struct saved *saved, struct sluice_error *err)
{
    if (saved->status != SLUICE_OK && err != NULL) {
        *err = saved->err;
    }
    return saved->status != SLUICE_OK ? saved->status : buf_status(&saved->block, err);
}

sluice_status saved_publish(struct saved *saved, const char *name, uint64_t *bytes,
                            struct sluice_error *err)
{
    struct published published;
    struct pending *pending = saved->pending;
    sluice_status status = saved_status(saved, err);

    if (status == SLUICE_OK) {
        status = write_block(saved, BLOCK_LAST, err);
    }
    if (status == SLUICE_OK) {
        saved->pending = NULL;
        status = pending_publish(pending, name, 0, &published, err);
        *bytes = published.bytes;
    }
    if (status == SLUICE_OK) {
        status = store_settle(saved->dir, err);
    }
    saved_abort(saved);
    return status;
}

/* ---- reading ---- */

struct restored {
    struct store_file *file;
    uint64_t n, at; /* of the file */
    struct hash128 of;
    struct hasher *hasher;
    struct buf block;
    size_t used; /* of the block */
    uint64_t index;
    bool last; /* that was the last block */
    sluice_status status;
    struct sluice_error err;
};

static sluice_status read_exactly(struct restored *in, void *data, size_t n,
                                  struct sluice_error *err)
{
    struct store_extent extent = { .offset = in->at, .n = n, .data = data };

    if (n > in->n - in->at) {
        return error_set(err, SLUICE_E_DATA, "a saved state is cut: it ends at byte %llu",
                         (unsigned long long)in->n);
    }
    if (n > 0) {
        TRY(store_read(in->file, &extent, 1, err));
        if (extent.got != n) {
            return error_set(err, SLUICE_E_DATA, "a saved state is cut while it is read");
        }
    }
    in->at += n;
    return SLUICE_OK;
}

static sluice_status read_head(struct restored *in, struct sluice_error *err)
{
    char wanted[HEAD_BYTES];
    char found[HEAD_BYTES];
    uint32_t format;

    TRY(read_exactly(in, found, sizeof found, err));
    file_head(in->of, wanted);
    memcpy(&format, found + 4, sizeof format);
    if (memcmp(found, wanted, 4) != 0) {
        return error_set(err, SLUICE_E_DATA, "it is no saved state");
    }
    if (format != SAVED_FORMAT) {
        return error_set(err, SLUICE_E_DATA,
                         "its format is %u, this program knows format %u of saved states", format,
                         SAVED_FORMAT);
    }
    return memcmp(found, wanted, sizeof found) == 0
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA, "it is the saved state of something else");
}

sluice_status restored_open(const char *path, struct hash128 of, struct restored **out, bool *found,
                            struct sluice_error *err)
{
    struct store_file *file;
    struct restored *in;
    sluice_status status;

    *out = NULL;
    TRY(store_open(path, &file, found, err));
    if (!*found) {
        return SLUICE_OK;
    }
    in = calloc(1, sizeof *in);
    if (in == NULL) {
        store_close(file);
        return error_nomem(err, "a saved state");
    }
    in->file = file;
    in->n = store_version(file)->size;
    in->of = of;
    in->err.size = sizeof in->err;
    in->hasher = hasher_create();
    store_sequential(file);
    status = in->hasher == NULL ? error_nomem(err, "a saved state") : read_head(in, err);
    if (status != SLUICE_OK) {
        restored_close(in);
        return status;
    }
    *out = in;
    return SLUICE_OK;
}

void restored_close(struct restored *in)
{
    if (in != NULL) {
        store_close(in->file);
        hasher_destroy(in->hasher);
        buf_deinit(&in->block);
        free(in);
    }
}

static sluice_status read_block(struct restored *in, struct sluice_error *err)
{
    struct block_head head;

    if (in->last) {
        return error_set(err, SLUICE_E_DATA, "a saved state has less in it than it says");
    }
    TRY(read_exactly(in, &head, sizeof head, err));
    if (head.n > BLOCK_MOST || (head.kind != BLOCK_MORE && head.kind != BLOCK_LAST)) {
        return error_set(err, SLUICE_E_DATA, "block %llu of a saved state is impossible",
                         (unsigned long long)in->index);
    }
    buf_clear(&in->block);
    in->used = 0;
    if (!buf_reserve(&in->block, (size_t)head.n + 1)) {
        return error_nomem(err, "a saved state");
    }
    TRY(read_exactly(in, in->block.data, head.n, err));
    if (block_hash(in->hasher, in->of, in->index, &head, in->block.data) != head.hash) {
        return error_set(err, SLUICE_E_DATA,
                         "block %llu of a saved state is damaged: its checksum is wrong",
                         (unsigned long long)in->index);
    }
    in->block.size = head.n;
    in->index++;
    in->last = head.kind == BLOCK_LAST;
    return SLUICE_OK;
}

/* Whether there are bytes to take. */
static bool fill(struct restored *in)
{
    while (in->status == SLUICE_OK && in->used == in->block.size) {
        in->status = read_block(in, &in->err);
        if (in->status != SLUICE_OK) {
            buf_clear(&in->block);
            in->used = 0;
        }
    }
    return in->status == SLUICE_OK;
}

void restored_refuse(struct restored *in, const char *what)
{
    if (in->status == SLUICE_OK) {
        in->status = error_set(&in->err, SLUICE_E_DATA, "a saved state is nonsense: %s", what);
    }
}

uint64_t restored_get(struct restored *in, uint64_t most)
{
    const uint8_t *at;
    uint64_t value = 0;

    if (!fill(in)) {
        return 0;
    }
    at = (const uint8_t *)in->block.data + in->used;
    if (!varint_get(&at, (const uint8_t *)in->block.data + in->block.size, &value) ||
        value > most) {
        restored_refuse(in, "a number is out of its range");
        return 0;
    }
    in->used = (size_t)(at - (const uint8_t *)in->block.data);
    return value;
}

sluice_status restored_pieces(struct restored *in, uint64_t n, restored_fn *take, void *ctx,
                              struct sluice_error *err)
{
    while (n > 0 && fill(in)) {
        size_t part = in->block.size - in->used;
        part = part < n ? part : (size_t)n;
        TRY(take(ctx, in->block.data + in->used, part, err));
        in->used += part;
        n -= part;
    }
    return restored_status(in, err);
}

static sluice_status append(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    buf_append(ctx, data, n);
    return buf_status(ctx, err);
}

void restored_get_bytes(struct restored *in, uint64_t most, struct buf *out)
{
    uint64_t n = restored_get(in, most);

    buf_clear(out);
    if (in->status == SLUICE_OK) {
        in->status = restored_pieces(in, n, append, out, &in->err);
    }
}

bool restored_ok(const struct restored *in)
{
    return in->status == SLUICE_OK;
}

sluice_status restored_status(const struct restored *in, struct sluice_error *err)
{
    if (in->status != SLUICE_OK && err != NULL && err != &in->err) {
        *err = in->err;
    }
    return in->status;
}

sluice_status restored_end(struct restored *in, struct sluice_error *err)
{
    while (in->status == SLUICE_OK && !in->last && in->used == in->block.size) {
        in->status = read_block(in, &in->err);
    }
    if (in->status == SLUICE_OK && (in->used < in->block.size || in->at != in->n)) {
        restored_refuse(in, "there is more in it than it says");
    }
    return restored_status(in, err);
}
