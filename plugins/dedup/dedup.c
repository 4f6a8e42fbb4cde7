/* dedup - deduplication of documents, sentences, lines and paragraphs, and the filter that drops the rows of a list. The composites of the
 * standard library put these stages together: only hashes, ids and positions move between splits, never text. */
#include "dedup.h"

sluice_status dedup_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}

sluice_status dedup_open(const void *config, size_t size, void **shared, struct sluice_error *err)
{
    void *copy = malloc(size);

    if (copy == NULL) {
        return dedup_nomem(err);
    }
    memcpy(copy, config, size);
    *shared = copy;
    return SLUICE_OK;
}

void dedup_close(void *shared)
{
    free(shared);
}

int dedup_rows_text(struct dedup_rows *rows, int column, const char *text, uint64_t n)
{
    return sluice_bytes_add_text(&rows->offsets[column], &rows->data[column], text, n);
}

int dedup_rows_fixed(struct dedup_rows *rows, int column, const void *value, uint64_t n)
{
    return sluice_bytes_add(&rows->data[column], value, n);
}

sluice_status dedup_rows_emit(struct dedup_rows *rows, int ok, int n_columns, unsigned texts,
                              struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray columns[DEDUP_COLUMNS] = { 0 };
    struct ArrowArray out;
    sluice_status status = SLUICE_OK;

    for (int i = 0; ok && rows->n > 0 && i < n_columns; i++) {
        status =
            (texts >> i & 1) != 0
                ? sluice_make_text(&columns[i], rows->n, &rows->offsets[i], &rows->data[i], NULL, 0)
                : sluice_make_fixed(&columns[i], rows->n, &rows->data[i], NULL, 0);
        ok = status == SLUICE_OK;
    }
    if (ok && rows->n > 0) {
        ok = sluice_make_struct(&out, rows->n, n_columns, columns) == SLUICE_OK;
        status = ok ? emit->batch(emit, &out) : SLUICE_OK;
    }
    for (int i = 0; i < DEDUP_COLUMNS; i++) {
        if (columns[i].release != NULL) {
            columns[i].release(&columns[i]);
        }
        sluice_bytes_free(&rows->offsets[i]);
        sluice_bytes_free(&rows->data[i]);
    }
    rows->n = 0;
    return ok ? status : dedup_nomem(err);
}

static const struct sluice_stage *const stages[] = { &exact_keys_stage,    &exact_index_keys_stage,
                                                     &exact_drops_stage,   &exact_index_rows_stage,
                                                     &drop_listed_stage,   &span_keys_stage,
                                                     &span_marks_stage,    &span_filter_stage,
                                                     &bloom_grams_stage,   &bloom_marks_stage,
                                                     &bloom_collect_stage, &bloom_filter_stage,
                                                     &write_bloom_stage,   NULL };

static const struct sluice_plugin plugin = {
    .size = sizeof plugin,
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor_built = SLUICE_ABI_MINOR,
    .name = "dedup",
    .version = "1.1",
    .license = "MIT",
    .stages = stages,
    .libraries = "xxhash 0.8, utf8proc 2",
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
