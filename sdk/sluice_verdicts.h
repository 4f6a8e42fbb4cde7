/* sluice_verdicts.h - filters that judge a text at a time, where sluice_simple.h does not suit. Header-only C11/C++17; depends on
 * sluice_arrays.h. Owns nothing, keeps no state. */
#ifndef SLUICE_VERDICTS_H
#define SLUICE_VERDICTS_H

#include "sluice_arrays.h"

/* Judges one text of n bytes (a null is "" of 0); the verdict comes zeroed, which is "keep". What it borrows (dup_of) lives until the whole
 * batch is judged. An error ends the batch, which the host then takes apart to find the row. */
typedef sluice_status (*sluice_text_judge)(void *worker, const char *text, size_t n,
                                           struct sluice_verdict *verdict,
                                           struct sluice_error *err);

/* Judges the first column that the stage needed, a utf8, row by row, and emits the verdicts: a filter's whole process. worker is handed to
 * judge. SLUICE_E_NOMEM, or what judge or the host answers. */
SLUICE_INLINE sluice_status sluice_judge_texts(const struct sluice_batch *batch,
                                               struct sluice_emit *emit, sluice_text_judge judge,
                                               void *worker, struct sluice_error *err)
{
    struct sluice_verdict *verdicts =
        (struct sluice_verdict *)calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status = SLUICE_OK;
    int64_t k;
    if (verdicts == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "",
                           "out of memory for verdicts; give a larger --memory or fewer --workers");
    }
    for (k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        status = judge(worker, text, n, &verdicts[k], err);
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return status;
}

#endif
