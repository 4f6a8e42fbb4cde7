/* clean - stages that edit texts and drop nothing: personal data, lines of symbols. This file is
 * what they share. */
#include "clean.h"

sluice_status clean_prepare(const char *over, struct sluice_plan *plan, struct sluice_error *err)
{
    int32_t index;
    sluice_status status = plan->need(plan, 0, over, "utf8?", 0, &index, err);

    return status == SLUICE_OK ? plan->add(plan, over, "utf8", NULL, err) : status;
}

sluice_status clean_process(void *worker, clean_edit_fn edit, const struct sluice_batch *batch,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    int32_t end = 0;
    sluice_status status = sluice_bytes_add(&offsets, &end, sizeof end)
                               ? SLUICE_OK
                               : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        status = edit(worker, text, n, &data, err);
        if (status == SLUICE_OK && data.size > INT32_MAX) {
            status = sluice_fail(err, SLUICE_E_DATA, "", "a batch of texts grew over 2 GiB");
        }
        end = (int32_t)data.size;
        if (status == SLUICE_OK && !sluice_bytes_add(&offsets, &end, sizeof end)) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
        }
    }
    if (status == SLUICE_OK) {
        status = sluice_make_text(&column, batch->n, &offsets, &data, NULL, 0);
        if (status == SLUICE_OK) {
            status = sluice_make_struct(&out, batch->n, 1, &column);
        }
        status = status == SLUICE_OK ? emit->batch(emit, &out)
                                     : sluice_fail(err, status, "", "out of memory for the text");
    }
    sluice_bytes_free(&offsets);
    sluice_bytes_free(&data);
    return status;
}
