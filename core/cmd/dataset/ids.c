/* A list of ids: see ids.h. */
#include "cmd/dataset/ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/utf8.h"
#include "cmd/look/lines.h"
#include "store/store.h"

struct reading {
    struct ids *ids;
    const char *path;
    uint64_t line;
    uint32_t n, capacity;
};

static sluice_status take_id(void *ctx, const char *text, size_t n, bool *stop,
                             struct sluice_error *err)
{
    struct reading *reading = ctx;
    struct ids *ids = reading->ids;
    const char **items;
    const char *fault = n == 0                          ? "it is empty"
                        : text[n - 1] == '\r'           ? "it ends with a carriage return (CR)"
                        : memchr(text, '\0', n) != NULL ? "it has a NUL byte"
                        : !utf8_valid(text, n)          ? "it is no UTF-8"
                                                        : NULL;

    (void)stop;
    reading->line++;
    if (fault != NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s, line %llu: %s; expected ids, one a line, exactly as they are in the "
                         "rows",
                         reading->path, (unsigned long long)reading->line, fault);
    }
    items = arena_more(&ids->arena, ids->items, reading->n, &reading->capacity, sizeof *items);
    if (items == NULL) {
        return error_nomem(err, "ids");
    }
    ids->items = items;
    ids->items[reading->n++] = arena_copy(&ids->arena, text, n);
    return arena_status(&ids->arena, err, "ids");
}

sluice_status ids_read(const char *path, struct ids *ids, struct sluice_error *err)
{
    struct reading reading = { .ids = ids, .path = path };
    struct hash128 hash;
    bool stop = false;

    memset(ids, 0, sizeof *ids);
    TRY(store_hashes(path, ids->sha256, &hash, err));
    TRY(lines_read(path, take_id, &reading, &stop, err));
    if (reading.n == 0) {
        return error_set(err, SLUICE_E_CONFIG, "%s is empty; expected ids, one a line", path);
    }
    qsort(ids->items, reading.n, sizeof *ids->items, order_texts);
    for (uint32_t i = 0; i < reading.n; i++) {
        if (ids->n > 0 && strcmp(ids->items[ids->n - 1], ids->items[i]) == 0) {
            ids->repeated++;
        } else {
            ids->items[ids->n++] = ids->items[i];
        }
    }
    ids->found = ARENA_ARRAY(&ids->arena, uint64_t, ids->n);
    return arena_status(&ids->arena, err, "ids");
}

void ids_deinit(struct ids *ids)
{
    arena_deinit(&ids->arena);
    memset(ids, 0, sizeof *ids);
}

size_t ids_find(const struct ids *ids, const char *text, size_t n)
{
    size_t low = 0;
    size_t high = ids->n;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        size_t size = strlen(ids->items[at]);
        int order = memcmp(ids->items[at], text, size < n ? size : n);
        order = order != 0 ? order : (size > n) - (size < n);
        if (order == 0) {
            return at;
        }
        low = order < 0 ? at + 1 : low;
        high = order < 0 ? high : at;
    }
    return ids->n;
}
