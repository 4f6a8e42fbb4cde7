/* Parts of stored files: see extents.h. */
#include "run/source/extents.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/store.h"

struct extents {
    const struct source_file *file;
    struct store_file *store;
    uint64_t bytes;
    struct store_extent *extents; /* scratch */
    size_t capacity;
};

sluice_status extents_unchanged(const struct extents *extents, struct sluice_error *err)
{
    struct store_version now;

    TRY(store_look(extents->store, &now, err));
    return source_file_same(extents->file, &now, err);
}

sluice_status extents_open(const struct source_file *file, struct extents **out,
                           struct sluice_error *err)
{
    struct extents *extents = calloc(1, sizeof *extents);
    sluice_status status = SLUICE_OK;

    *out = extents;
    if (extents == NULL) {
        return error_nomem(err, "an input file");
    }
    extents->file = file;
    if (file->hash != NULL) {
        status = source_file_compare(file, PROBE_STORED, err);
    }
    if (status == SLUICE_OK) {
        status = store_open(file->file->path, &extents->store, NULL, err);
    }
    if (status != SLUICE_OK) {
        status = source_file_gone(file, status, err);
    } else {
        status = source_file_same(file, store_version(extents->store), err);
    }
    if (status != SLUICE_OK) {
        extents_close(extents);
        *out = NULL;
    }
    return status;
}

void extents_close(struct extents *extents)
{
    if (extents != NULL) {
        store_close(extents->store);
        free(extents->extents);
        free(extents);
    }
}

static bool make_room(struct extents *extents, size_t n)
{
    struct store_extent *larger;

    if (n <= extents->capacity) {
        return true;
    }
    larger = realloc(extents->extents, n * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    extents->extents = larger;
    extents->capacity = n;
    return true;
}

sluice_status extents_read(struct extents *extents, const struct extent *wanted, size_t n,
                           struct sluice_error *err)
{
    if (!make_room(extents, n)) {
        return error_nomem(err, "parts of a file");
    }
    for (size_t k = 0; k < n; k++) {
        extents->extents[k] = (struct store_extent){ .offset = wanted[k].offset,
                                                     .n = (size_t)wanted[k].n,
                                                     .data = wanted[k].to };
    }
    TRY(store_read(extents->store, extents->extents, n, err));
    for (size_t k = 0; k < n; k++) {
        const struct store_extent *got = &extents->extents[k];
        extents->bytes += got->got;
        if (got->got < got->n) {
            return error_set(err, SLUICE_E_DATA,
                             "%s ends at byte %" PRIu64 ", %" PRIu64
                             " bytes were there when the run was planned; run again to plan with "
                             "what is there now",
                             extents->file->file->path, got->offset + got->got,
                             extents->file->file->version.size);
        }
    }
    return SLUICE_OK;
}

uint64_t extents_bytes(const struct extents *extents)
{
    return extents->bytes;
}
