/* What is made of the requests of store.c: whole files read, hashed and compared, sizes, names. */
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "store/disk.h"
#include "store/store_ops.h"

#define PIECE ((size_t)1 << 20)

static sluice_status read_whole(struct store_file *file, uint64_t max, struct buf *out,
                                struct sluice_error *err)
{
    /* The size is only a hint: the file may be growing. */
    uint64_t size = file->version.size;
    size_t piece = size <= max ? (size_t)size + 1 : 1;

    for (uint64_t total = 0;;) {
        struct store_extent extent;
        if (!buf_reserve(out, piece)) {
            return error_nomem(err, file->name);
        }
        extent = (struct store_extent){ total, piece, out->data + out->size, 0 };
        TRY(store_read(file, &extent, 1, err));
        out->size += extent.got;
        total += extent.got;
        if (total > max || size > max) {
            return error_set(err, SLUICE_E_DATA,
                             "%s has more than %llu bytes, which no file of this kind should have",
                             file->name, (unsigned long long)max);
        }
        if (extent.got < piece) {
            return SLUICE_OK;
        }
        piece = PIECE;
    }
}

sluice_status store_read_all(const char *name, uint64_t max, struct buf *out, bool *found,
                             struct sluice_error *err)
{
    size_t before = out->size;

    for (unsigned tries = 1;; tries++) {
        struct store_file *file;
        sluice_status status;
        bool again;

        TRY(store_open(name, &file, found, err));
        if (file == NULL) {
            return SLUICE_OK;
        }
        status = read_whole(file, max, out, err);
        again = file->changed && tries < STORE_MEANWHILE_MOST; /* as beats are: what is there now */
        if (file->gone && found != NULL) {                     /* as leases are: it is not there */
            *found = false;
            status = SLUICE_OK;
        }
        if (file->gone || file->changed) {
            out->size = before;
        }
        store_close(file);
        if (!again) {
            return status;
        }
    }
}

sluice_status store_pieces(struct store_file *file, store_piece_fn *take, void *ctx,
                           struct sluice_error *err)
{
    char *piece = malloc(PIECE);
    struct store_extent extent = { 0, PIECE, piece, PIECE };
    sluice_status status = piece == NULL ? error_nomem(err, file->name) : SLUICE_OK;

    store_sequential(file);
    while (status == SLUICE_OK && extent.got == PIECE) {
        status = store_read(file, &extent, 1, err);
        if (status == SLUICE_OK && extent.got > 0) {
            status = take(ctx, piece, extent.got, err);
        }
        extent.offset += extent.got;
    }
    free(piece);
    return status;
}

struct hashing {
    struct hasher *hasher;
    struct sha256 *sha256; /* NULL: the other hash alone */
    uint64_t bytes;
};

static sluice_status hash_piece(void *ctx, const void *data, size_t n, struct sluice_error *err)
{
    struct hashing *hashing = ctx;

    (void)err;
    hasher_add(hashing->hasher, data, n);
    if (hashing->sha256 != NULL) {
        sha256_add(hashing->sha256, data, n);
    }
    hashing->bytes += n;
    return SLUICE_OK;
}

static sluice_status hash_file(struct store_file *file, uint64_t *bytes, struct sha256 *sha256,
                               struct hash128 *hash, struct sluice_error *err)
{
    struct hashing hashing = { .hasher = hasher_create(), .sha256 = sha256 };
    sluice_status status = hashing.hasher == NULL ? error_nomem(err, "hashing a file")
                                                  : store_pieces(file, hash_piece, &hashing, err);

    if (status == SLUICE_OK) {
        *hash = hasher_digest(hashing.hasher);
        *bytes = hashing.bytes;
    }
    hasher_destroy(hashing.hasher);
    return status;
}

sluice_status store_hash(const char *name, uint64_t *bytes, struct hash128 *hash, bool *found,
                         struct sluice_error *err)
{
    struct store_file *file;
    sluice_status status;

    *bytes = 0;
    memset(hash, 0, sizeof *hash);
    TRY(store_open(name, &file, found, err));
    if (file == NULL) {
        return SLUICE_OK;
    }
    status = hash_file(file, bytes, NULL, hash, err);
    store_close(file);
    return status;
}

sluice_status store_hashes(const char *name, char sha256[SHA256_HEX], struct hash128 *hash,
                           struct sluice_error *err)
{
    struct store_file *file;
    struct sha256 *state;
    uint64_t bytes = 0;
    sluice_status status;

    TRY(store_open(name, &file, NULL, err));
    state = sha256_create();
    status = state == NULL ? error_nomem(err, "hashing a file")
                           : hash_file(file, &bytes, state, hash, err);
    if (status == SLUICE_OK) {
        sha256_end(state, sha256);
    }
    sha256_destroy(state);
    store_close(file);
    return status;
}

sluice_status store_size(const char *name, uint64_t *bytes, bool *found, struct sluice_error *err)
{
    struct store_version version;
    sluice_status status = store_stat(name, &version, found, err);

    *bytes = version.size;
    return status;
}

sluice_status store_names(const char *folder, struct disk_names *out, struct sluice_error *err)
{
    struct store_list list;
    sluice_status status = SLUICE_OK;

    *out = (struct disk_names){ NULL, 0 };
    if (folder == NULL) {
        return error_nomem(err, "a path");
    }
    TRY(store_list(folder, 0, &list, err));
    out->names = calloc(list.n + 1, sizeof *out->names);
    if (out->names == NULL) {
        status = error_nomem(err, "a list of files");
    }
    for (size_t i = 0; i < list.n && status == SLUICE_OK; i++) {
        out->names[out->n++] = list.entries[i].name;
        list.entries[i].name = NULL;
    }
    store_list_deinit(&list);
    return status;
}
