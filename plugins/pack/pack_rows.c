/* Rows of packed tokens: see pack_rows.h. */
#include "pack_rows.h"

#define COLUMNS_MOST 9

sluice_status pack_rows_declare(uint32_t columns, const char *metadata, const char *origin,
                                struct sluice_plan *plan, struct sluice_error *err)
{
    const struct {
        const char *name, *type, *metadata;
        int wanted;
    } all[COLUMNS_MOST] = {
        { "tokens", "list<uint32>", metadata, 1 },
        { "segments", "list<int32>", NULL, 1 },
        { "padding", "int32", NULL, 1 },
        { "loss_mask", "list<uint8>", NULL, (columns & PACK_LOSS_MASK) != 0 },
        { "cu_seqlens", "list<int32>", NULL, (columns & PACK_CU_SEQLENS) != 0 },
        { "position_ids", "list<int32>", NULL, (columns & PACK_POSITION_IDS) != 0 },
        { "document_ids", "list<int32>", NULL, (columns & PACK_DOCUMENT_IDS) != 0 },
        { SLUICE_ORIGIN, "list<uint64>", origin, 1 },
        { SLUICE_SPAN, "list<uint64>", NULL, 1 },
    };
    sluice_status status = SLUICE_OK;

    for (size_t k = 0; status == SLUICE_OK && k < COLUMNS_MOST; k++) {
        if (all[k].wanted) {
            status = plan->add(plan, all[k].name, all[k].type, all[k].metadata, err);
        }
    }
    return status;
}

void pack_rows_deinit(struct pack_rows *rows)
{
    uint32_t columns = rows->columns;

    sluice_bytes_free(&rows->tokens);
    sluice_bytes_free(&rows->token_ends);
    sluice_bytes_free(&rows->mask);
    sluice_bytes_free(&rows->segments);
    sluice_bytes_free(&rows->segment_ends);
    sluice_bytes_free(&rows->padding);
    sluice_bytes_free(&rows->origins);
    sluice_bytes_free(&rows->spans);
    sluice_bytes_free(&rows->origin_ends);
    sluice_bytes_free(&rows->piece_ends);
    memset(rows, 0, sizeof *rows);
    rows->columns = columns;
}

/* Offsets begin with 0. */
static int begin(struct pack_rows *rows)
{
    static const int32_t zero = 0;

    return rows->token_ends.size > 0 ||
           (sluice_bytes_add(&rows->token_ends, &zero, sizeof zero) &&
            sluice_bytes_add(&rows->segment_ends, &zero, sizeof zero) &&
            sluice_bytes_add(&rows->origin_ends, &zero, sizeof zero));
}

/* What the piece is of. */
static int add_source(struct pack_rows *rows, const struct pack_source *source, uint32_t n)
{
    uint64_t span = source->n == 1 && source->begin <= UINT32_MAX ? source->begin << 32 | n : 0;
    int ok = sluice_bytes_add(&rows->origins, source->origins, source->n * sizeof *source->origins);
    int32_t end = (int32_t)(rows->origins.size / sizeof span);

    for (uint32_t k = 0; ok && k < source->n; k++) {
        ok = sluice_bytes_add(&rows->spans, &span, sizeof span);
    }
    return ok && sluice_bytes_add(&rows->piece_ends, &end, sizeof end);
}

int pack_rows_piece(struct pack_rows *rows, const uint32_t *tokens, const uint8_t *mask, uint32_t n,
                    const struct pack_source *source)
{
    int32_t length = (int32_t)n;

    rows->filled += n;
    rows->n_segments++;
    return begin(rows) && sluice_bytes_add(&rows->tokens, tokens, (uint64_t)n * sizeof *tokens) &&
           (mask == NULL || sluice_bytes_add(&rows->mask, mask, n)) &&
           sluice_bytes_add(&rows->segments, &length, sizeof length) && add_source(rows, source, n);
}

int pack_rows_end(struct pack_rows *rows, uint32_t padding, uint32_t pad_id)
{
    int32_t stored = (int32_t)padding;
    int32_t token_end;
    int32_t segment_end = (int32_t)rows->n_segments;
    int32_t origin_end = (int32_t)(rows->origins.size / sizeof(uint64_t));

    if (!sluice_bytes_reserve(&rows->tokens, (uint64_t)padding * sizeof pad_id) ||
        !sluice_bytes_reserve(&rows->mask, padding)) {
        return 0;
    }
    for (uint32_t i = 0; i < padding; i++) {
        memcpy(rows->tokens.data + rows->tokens.size, &pad_id, sizeof pad_id);
        rows->tokens.size += sizeof pad_id;
    }
    if ((rows->columns & PACK_LOSS_MASK) != 0) {
        memset(rows->mask.data + rows->mask.size, 0, padding);
        rows->mask.size += padding;
    }
    token_end = (int32_t)(rows->tokens.size / sizeof pad_id);
    if (!sluice_bytes_add(&rows->token_ends, &token_end, sizeof token_end) ||
        !sluice_bytes_add(&rows->segment_ends, &segment_end, sizeof segment_end) ||
        !sluice_bytes_add(&rows->origin_ends, &origin_end, sizeof origin_end) ||
        !sluice_bytes_add(&rows->padding, &stored, sizeof stored)) {
        return 0;
    }
    rows->filled = 0;
    rows->n++;
    return 1;
}

int pack_rows_end_parts(struct pack_rows *rows)
{
    static const int32_t incomplete = PACK_INCOMPLETE;
    const char *ends = rows->segment_ends.data;
    int32_t first;
    int32_t token_end;

    if (rows->filled == 0) {
        return 1;
    }
    memcpy(&first, ends + rows->segment_ends.size - sizeof first, sizeof first);
    memcpy(&token_end, rows->token_ends.data + rows->token_ends.size - sizeof token_end,
           sizeof token_end);
    for (int32_t k = first; k < (int32_t)rows->n_segments; k++) {
        int32_t segment_end = k + 1;
        int32_t origin_end;
        int32_t length;
        memcpy(&length, rows->segments.data + (size_t)k * sizeof length, sizeof length);
        memcpy(&origin_end, rows->piece_ends.data + (size_t)k * sizeof length, sizeof length);
        token_end += length;
        if (!sluice_bytes_add(&rows->token_ends, &token_end, sizeof token_end) ||
            !sluice_bytes_add(&rows->segment_ends, &segment_end, sizeof segment_end) ||
            !sluice_bytes_add(&rows->origin_ends, &origin_end, sizeof origin_end) ||
            !sluice_bytes_add(&rows->padding, &incomplete, sizeof incomplete)) {
            return 0;
        }
        rows->n++;
    }
    rows->filled = 0;
    return 1;
}

/* ---- columns that follow from the pieces ---- */

/* n times 0, 1, … (step 1) or `value` (step 0). */
static int add_run(struct sluice_bytes *out, int32_t value, int32_t step, int32_t n)
{
    if (!sluice_bytes_reserve(out, (uint64_t)n * sizeof value)) {
        return 0;
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t item = value + i * step;
        memcpy(out->data + out->size, &item, sizeof item);
        out->size += sizeof item;
    }
    return 1;
}

/* Builds one of cu_seqlens, position_ids, document_ids for all rows. ends: its offsets. */
static int derive(const struct pack_rows *rows, uint32_t column, struct sluice_bytes *items,
                  struct sluice_bytes *ends)
{
    const int32_t *lengths = (const int32_t *)(const void *)rows->segments.data;
    const int32_t *begins = (const int32_t *)(const void *)rows->segment_ends.data;
    const int32_t *padding = (const int32_t *)(const void *)rows->padding.data;
    int32_t end = 0;
    int ok = sluice_bytes_add(ends, &end, sizeof end);

    for (int64_t row = 0; ok && row < rows->n; row++) {
        int32_t at = 0;
        int32_t n = begins[row + 1] - begins[row];
        ok = column != PACK_CU_SEQLENS || sluice_bytes_add(items, &at, sizeof at);
        for (int32_t k = 0; ok && k <= n; k++) {
            int32_t length = k < n ? lengths[begins[row] + k] : padding[row];
            if (k == n && length <= 0) {
                break;
            }
            at += length;
            switch (column) {
            case PACK_CU_SEQLENS:
                ok = sluice_bytes_add(items, &at, sizeof at);
                break;
            case PACK_POSITION_IDS:
                ok = add_run(items, 0, 1, length);
                break;
            default:
                ok = add_run(items, k < n ? k : -1, 0, length);
            }
        }
        end = (int32_t)(items->size / sizeof end);
        ok = ok && sluice_bytes_add(ends, &end, sizeof end);
    }
    return ok;
}

/* ---- emitting ---- */

static int copied(const struct sluice_bytes *from, struct sluice_bytes *to)
{
    *to = (struct sluice_bytes){ 0 };
    return sluice_bytes_add(to, from->data, from->size);
}

/* A list column: takes items; copies the offsets, which columns share. */
static sluice_status make_list(const struct pack_rows *rows, const struct sluice_bytes *offsets,
                               struct sluice_bytes *items, uint64_t item_size,
                               struct ArrowArray *out)
{
    int64_t n_items = (int64_t)(items->size / item_size);
    struct sluice_bytes ends;

    if (!copied(offsets, &ends)) {
        sluice_bytes_free(&ends);
        return SLUICE_E_NOMEM;
    }
    return sluice_make_list(out, rows->n, &ends, items, n_items);
}

/* The columns in the order of pack_rows_declare; *n of them are made, also when it fails. Derived
 * ones are made first, for the others take what they are derived from. */
static sluice_status make_columns(struct pack_rows *rows, struct ArrowArray *columns, int *n)
{
    struct ArrowArray derived[3];
    int n_derived = 0;
    sluice_status status = SLUICE_OK;

    for (uint32_t column = PACK_CU_SEQLENS; column <= PACK_DOCUMENT_IDS; column *= 2) {
        struct sluice_bytes items = { 0 };
        struct sluice_bytes ends = { 0 };
        if (status != SLUICE_OK || (rows->columns & column) == 0) {
            continue;
        }
        if (derive(rows, column, &items, &ends)) {
            int64_t n_items = (int64_t)(items.size / 4);
            status = sluice_make_list(&derived[n_derived], rows->n, &ends, &items, n_items);
        } else {
            status = SLUICE_E_NOMEM;
        }
        sluice_bytes_free(&items);
        sluice_bytes_free(&ends);
        n_derived += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = make_list(rows, &rows->token_ends, &rows->tokens, 4, &columns[*n]);
        *n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = make_list(rows, &rows->segment_ends, &rows->segments, 4, &columns[*n]);
        *n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&columns[*n], rows->n, &rows->padding, NULL, 0);
        *n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK && (rows->columns & PACK_LOSS_MASK) != 0) {
        status = make_list(rows, &rows->token_ends, &rows->mask, 1, &columns[*n]);
        *n += status == SLUICE_OK;
    }
    for (int k = 0; k < n_derived; k++) { /* owned by columns now */
        columns[(*n)++] = derived[k];
    }
    if (status == SLUICE_OK) {
        status = make_list(rows, &rows->origin_ends, &rows->origins, 8, &columns[*n]);
        *n += status == SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = make_list(rows, &rows->origin_ends, &rows->spans, 8, &columns[*n]);
        *n += status == SLUICE_OK;
    }
    return status;
}

sluice_status pack_rows_emit(struct pack_rows *rows, struct sluice_emit *emit,
                             struct sluice_error *err)
{
    struct ArrowArray columns[COLUMNS_MOST] = { 0 };
    struct ArrowArray out;
    int64_t n_rows = rows->n;
    int n = 0;
    sluice_status status;

    if (n_rows == 0) {
        return SLUICE_OK;
    }
    status = make_columns(rows, columns, &n);
    pack_rows_deinit(rows);
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, n_rows, n, columns);
    } else {
        for (int k = 0; k < n; k++) {
            columns[k].release(&columns[k]);
        }
    }
    if (status != SLUICE_OK) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for packed rows");
    }
    status = emit->batch(emit, &out);
    return status == SLUICE_OK ? SLUICE_OK
                               : sluice_fail(err, status, "", "the host refused packed rows");
}
