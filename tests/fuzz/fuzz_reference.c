/* fuzz_reference.c — libFuzzer target over references of benchmark items and the texts that are
 * judged by them.
 *
 * The first byte chooses the rule, the rest up to a NUL is a reference (JSON lines), what follows a
 * text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decontaminate/decont.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct decont_options options = { .reference = "r.jsonl",
                                      .question = "q",
                                      .answer = "a",
                                      .passage = "p",
                                      .id = "id",
                                      .task = "t",
                                      .join = "|",
                                      .overlap_ngrams = 1,
                                      .query_ngrams = 1,
                                      .window = 5,
                                      .min_piece = 3,
                                      .max_hits = 4,
                                      .sample = 1,
                                      .misses = 3,
                                      .threshold = 0.5,
                                      .decay_begin = 1,
                                      .decay_end = 9 };
    struct sluice_error err = { .size = sizeof err };
    struct decont_index index = { .options = &options, .ngram = 2 };
    struct decont_worker worker = { 0 };
    struct finding finding = { 0 };
    const uint8_t *nul;
    int32_t status;
    if (size < 2 || (nul = memchr(data + 1, 0, size - 1)) == NULL) {
        return 0;
    }
    options.rule = data[0] % 3;
    status = decont_reference_read(&options, (const char *)data + 1, (size_t)(nul - data) - 1,
                                   &index.reference, &err);
    if (status == SLUICE_OK) {
        status = options.rule == RULE_DATATROVE ? decont_index_datatrove(&index, &err)
                 : options.rule == RULE_JANITOR ? decont_index_janitor(&index, &err)
                                                : decont_index_overlap(&index, &err);
    } else if (err.message[0] == '\0') {
        abort();
    }
    if (status == SLUICE_OK) {
        const char *text = (const char *)nul + 1;
        size_t n = size - (size_t)(nul - data) - 1;
        status = options.rule == RULE_DATATROVE
                     ? decont_judge_datatrove(&index, &worker, text, n, &finding, &err)
                 : options.rule == RULE_JANITOR
                     ? decont_judge_janitor(&index, &worker, text, n, &finding, &err)
                     : decont_judge_overlap(&index, &worker, text, n, &finding, &err);
        if (status == SLUICE_OK && finding.found && finding.item >= index.reference.n) {
            (void)fprintf(stderr, "broken promise: a finding names an item\n");
            abort();
        }
        json_decref(finding.report);
    }
    decont_worker_deinit(&worker);
    decont_reference_deinit(&index.reference);
    grams_deinit(&index.grams);
    decont_overlap_destroy(index.overlap);
    return 0;
}
