/* See skew.h. */
#include "run/skew.h"

#include <stdlib.h>
#include <string.h>

#include "store/jsontext.h"

#define LARGEST 5

struct sum {
    const char *name; /* of a shard; its first n bytes are the folder's */
    size_t n;
    uint64_t rows, bytes;
};

static int compare_folders(const void *a, const void *b)
{
    const struct sum *x = a;
    const struct sum *y = b;
    const int order = memcmp(x->name, y->name, x->n < y->n ? x->n : y->n);

    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

/* The largest first. */
static int compare_bytes(const void *a, const void *b)
{
    const struct sum *x = a;
    const struct sum *y = b;

    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : compare_folders(a, b);
}

/* One sum a folder, in `sums`, which has room for all shards. Gives how many. */
static size_t sum_folders(const struct snapshot *s, struct sum *sums)
{
    size_t n = 0;
    size_t folders = 0;

    for (uint32_t i = 0; i < s->n_shards; i++) {
        const struct snapshot_shard *shard = &s->shards[i];
        const char *slash = strrchr(shard->name, '/');
        if (slash != NULL) {
            sums[n++] = (struct sum){ shard->name, (size_t)(slash - shard->name), shard->rows,
                                      shard->bytes };
        }
    }
    if (n > 1) {
        qsort(sums, n, sizeof *sums, compare_folders);
    }
    for (size_t i = 0; i < n; i++) {
        if (folders > 0 && compare_folders(&sums[folders - 1], &sums[i]) == 0) {
            sums[folders - 1].rows += sums[i].rows;
            sums[folders - 1].bytes += sums[i].bytes;
        } else {
            sums[folders++] = sums[i];
        }
    }
    return folders;
}

json_t *skew_json(const struct snapshot *s)
{
    struct sum *sums = calloc(s->n_shards + (size_t)1, sizeof *sums);
    const size_t n = sums == NULL ? 0 : sum_folders(s, sums);
    json_t *largest = n == 0 ? NULL : json_array();
    json_t *out = NULL;

    if (n > 0) {
        qsort(sums, n, sizeof *sums, compare_bytes);
        for (size_t i = 0; i < n && i < LARGEST; i++) {
            char folder[1001];
            snprintf(folder, sizeof folder, "%.*s", (int)sums[i].n, sums[i].name);
            json_array_append_new(
                largest, json_pack("{s:o, s:I, s:I}", "folder", jsontext_string(folder), "rows",
                                   (json_int_t)sums[i].rows, "bytes", (json_int_t)sums[i].bytes));
        }
        out = json_pack("{s:I, s:I, s:I, s:o}", "n", (json_int_t)n, "median",
                        (json_int_t)sums[n / 2].bytes, "most", (json_int_t)sums[0].bytes, "largest",
                        largest);
    }
    free(sums);
    return out;
}
