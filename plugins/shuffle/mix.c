/* What the stages of `mix` share: see mix.h. */
#include "mix.h"

#include <sluice_state.h>

const struct mix_column mix_size_columns[MIX_SIZE_COLUMNS] = {
    { SLUICE_KEY, "fixed[16]", false }, /* hash of the source, hash of the id: big-endian */
    { "source", "utf8", true },
    { "size", "uint64", false },
    { SLUICE_ROW, "uint64", false },
};

const struct mix_column mix_count_columns[MIX_COUNT_COLUMNS] = {
    { "source_key", "uint64", false },
    { "source", "utf8", true },
    { "documents", "uint64", false },
    { "size", "uint64", false },
};

const struct mix_column mix_target_columns[MIX_TARGET_COLUMNS] = {
    { "source_key", "uint64", false }, { "source", "utf8", true },
    { "documents", "uint64", false },  { "size", "uint64", false },
    { "target", "uint64", false },     { "whole", "uint64", false },
    { "rest", "uint64", false },
};

const struct mix_column mix_cut_columns[MIX_CUT_COLUMNS] = {
    { "source_key", "uint64", false },
    { "whole", "uint64", false },
    { "cut", "uint64", false },
    { "any", "uint64", false },
    { "source", "utf8", true },
    { "documents", "uint64", false },
    { "size", "uint64", false },
    { "target", "uint64", false },
    { "taken_documents", "uint64", false },
    { "taken", "uint64", false },
    { "epochs", "float64", false },
};

sluice_status mix_declare(struct sluice_plan *plan, const struct mix_column *columns, int n,
                          struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < n; i++) {
        status = plan->add(plan, columns[i].name, columns[i].type, NULL, err);
    }
    return status;
}

int mix_rows_text(struct mix_rows *rows, int column, const char *text, uint64_t n)
{
    return sluice_bytes_add_text(&rows->offsets[column], &rows->data[column], text, n);
}

int mix_rows_fixed(struct mix_rows *rows, int column, const void *value, uint64_t n)
{
    return sluice_bytes_add(&rows->data[column], value, n);
}

sluice_status mix_rows_emit(struct mix_rows *rows, int ok, const struct mix_column *columns, int n,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct ArrowArray arrays[MIX_COLUMNS_MAX];
    struct ArrowArray out;
    sluice_status status = SLUICE_OK;

    memset(arrays, 0, sizeof arrays);
    for (int i = 0; ok && rows->n > 0 && i < n; i++) {
        status = columns[i].text ? sluice_make_text(&arrays[i], rows->n, &rows->offsets[i],
                                                    &rows->data[i], NULL, 0)
                                 : sluice_make_fixed(&arrays[i], rows->n, &rows->data[i], NULL, 0);
        ok = status == SLUICE_OK;
        if (!ok) {
            arrays[i].release = NULL;
        }
    }
    if (ok && rows->n > 0) {
        ok = sluice_make_struct(&out, rows->n, n, arrays) == SLUICE_OK;
        status = ok ? emit->batch(emit, &out) : SLUICE_OK;
    }
    for (int i = 0; i < MIX_COLUMNS_MAX; i++) {
        if (arrays[i].release != NULL) {
            arrays[i].release(&arrays[i]);
        }
        sluice_bytes_free(&rows->offsets[i]);
        sluice_bytes_free(&rows->data[i]);
    }
    rows->n = 0;
    return ok ? status : shuffle_nomem(err);
}

/* ---- sources ---- */

sluice_status mix_sources_find(struct mix_sources *sources, uint64_t key, const char *name,
                               size_t n, struct mixture_source **out, struct sluice_error *err)
{
    struct mixture_source *source;

    if (sources->last < sources->n && sources->items[sources->last].key == key) {
        *out = &sources->items[sources->last];
        return SLUICE_OK;
    }
    for (size_t k = 0; k < sources->n; k++) {
        if (sources->items[k].key == key) {
            sources->last = k;
            *out = &sources->items[k];
            return SLUICE_OK;
        }
    }
    if (sources->n == MIX_SOURCES_MAX) {
        return shuffle_fail(err, SLUICE_E_CONFIG, "by",
                            "found more than %d different sources; name a column with few values",
                            MIX_SOURCES_MAX);
    }
    if (sources->n == sources->capacity) {
        size_t capacity = sources->capacity == 0 ? 16 : 2 * sources->capacity;
        struct mixture_source *more = realloc(sources->items, capacity * sizeof *more);
        if (more == NULL) {
            return shuffle_nomem(err);
        }
        sources->items = more;
        sources->capacity = capacity;
    }
    source = &sources->items[sources->n];
    memset(source, 0, sizeof *source);
    source->key = key;
    source->name = malloc(n + 1);
    if (source->name == NULL) {
        return shuffle_nomem(err);
    }
    memcpy(source->name, name, n);
    source->name[n] = '\0';
    sources->last = sources->n++;
    *out = source;
    return SLUICE_OK;
}

void mix_sources_deinit(struct mix_sources *sources)
{
    for (size_t k = 0; k < sources->n; k++) {
        free(sources->items[k].name);
    }
    free(sources->items);
    memset(sources, 0, sizeof *sources);
}

/* ---- saved states ---- */

sluice_status mix_name_load(struct sluice_io *io, char **name)
{
    struct sluice_bytes bytes = { 0 };
    sluice_status status = sluice_state_get(io, 1, &bytes);

    *name = NULL;
    if (status == SLUICE_OK && !sluice_bytes_add(&bytes, "", 1)) {
        status = SLUICE_E_NOMEM;
    }
    if (status != SLUICE_OK) {
        sluice_bytes_free(&bytes);
        return status;
    }
    *name = bytes.data;
    return SLUICE_OK;
}

sluice_status mix_sources_save(const struct mix_sources *sources, struct sluice_io *io)
{
    const uint64_t n = sources->n;
    sluice_status status = io->write(io, &n, sizeof n);

    for (size_t k = 0; status == SLUICE_OK && k < sources->n; k++) {
        const struct mixture_source *source = &sources->items[k];
        const uint64_t words[3] = { source->key, source->documents, source->size };
        status = io->write(io, words, sizeof words);
        if (status == SLUICE_OK) {
            status = sluice_state_put(io, source->name, strlen(source->name));
        }
    }
    return status;
}

sluice_status mix_sources_load(struct mix_sources *sources, struct sluice_io *io,
                               struct sluice_error *err)
{
    uint64_t n = 0;
    sluice_status status = io->read(io, &n, sizeof n);

    for (uint64_t k = 0; status == SLUICE_OK && k < n; k++) {
        uint64_t words[3] = { 0, 0, 0 };
        struct mixture_source *source = NULL;
        char *name = NULL;
        status = io->read(io, words, sizeof words);
        if (status == SLUICE_OK) {
            status = mix_name_load(io, &name);
        }
        if (status == SLUICE_OK) {
            status = mix_sources_find(sources, words[0], name, strlen(name), &source, err);
        }
        free(name);
        if (status == SLUICE_OK && sources->n != k + 1) {
            return SLUICE_E_DATA;
        }
        if (status == SLUICE_OK) {
            source->documents = words[1];
            source->size = words[2];
        }
    }
    return status;
}
