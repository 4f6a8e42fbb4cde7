/* sluice_verdicts.h - stages that judge row by row, where sluice_simple.h does not suit.
 * Header-only C11/C++17; depends on sluice_arrays.h. Owns nothing, keeps no state. */
#ifndef SLUICE_VERDICTS_H
#define SLUICE_VERDICTS_H

#include "sluice_arrays.h"

/* Judges one row of the batch's arrays; the verdict comes zeroed, which is "keep". What it borrows
 * (dup_of) lives until the whole batch is judged. An error ends the batch, which the host then
 * takes apart to find the row. */
typedef sluice_status (*sluice_batch_judge)(void *worker, const struct sluice_batch *batch,
                                            int64_t row, struct sluice_verdict *verdict,
                                            struct sluice_error *err);

/* The same for one text of n bytes (a null is "" of 0). */
typedef sluice_status (*sluice_text_judge)(void *worker, const char *text, size_t n,
                                           struct sluice_verdict *verdict,
                                           struct sluice_error *err);

/* Judges every selected row in turn and emits the verdicts: a filter's whole process, and an
 * annotator's beside its columns. worker is handed to judge. SLUICE_E_NOMEM, or what judge or the
 * host answers. */
SLUICE_INLINE sluice_status sluice_judge_rows(const struct sluice_batch *batch,
                                              struct sluice_emit *emit, sluice_batch_judge judge,
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
        status = judge(worker, batch, sluice_row(batch, k), &verdicts[k], err);
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    return status;
}

/* Of sluice_judge_texts. */
struct sluice_judging_texts {
    sluice_text_judge judge;
    void *worker;
};

SLUICE_INLINE sluice_status sluice_judge_text_of(void *texts, const struct sluice_batch *batch,
                                                 int64_t row, struct sluice_verdict *verdict,
                                                 struct sluice_error *err)
{
    const struct sluice_judging_texts *judging = (const struct sluice_judging_texts *)texts;
    size_t n;
    const char *text = sluice_text(batch->array->children[0], row, &n);
    return judging->judge(judging->worker, text, n, verdict, err);
}

/* Judges the first column that the stage needed, a utf8, in the same way. */
SLUICE_INLINE sluice_status sluice_judge_texts(const struct sluice_batch *batch,
                                               struct sluice_emit *emit, sluice_text_judge judge,
                                               void *worker, struct sluice_error *err)
{
    struct sluice_judging_texts judging;
    judging.judge = judge;
    judging.worker = worker;
    return sluice_judge_rows(batch, emit, sluice_judge_text_of, &judging, err);
}

/* Sets the row aside: "word: what is wrong with it", borrowed as dup_of is. */
SLUICE_INLINE void sluice_judge_bad(struct sluice_verdict *verdict, const char *why)
{
    verdict->reason = SLUICE_VERDICT_BAD;
    verdict->dup_of = why;
    verdict->dup_of_length = (int32_t)strlen(why);
}

#endif
