/* The rule of datatrove 0.10's NGramsDecontFilter: a text that holds one n-gram (12 words) of an
 * answer, or one that straddles question and answer, or, if asked, of a question, is contaminated.
 * Words are spaCy's English ones of the simplified text. */
#include "decont.h"

/* The words of the simplified text, joined. */
static sluice_status words_of(struct decont_worker *worker, const char *text, size_t n,
                              struct joined *out, struct sluice_error *err)
{
    sluice_status status = text_simplify(text, n, TEXT_SIMPLIFY_ALL, &worker->simple, err);

    out->text.len = 0;
    out->words.count = 0;
    if (status == SLUICE_OK && worker->simple.len > 0) {
        status = text_words_cached(TEXT_WORDS_SPACY_EN, worker->simple.data, worker->simple.len,
                                   &worker->cache, &worker->raw, err);
        for (size_t i = 0; status == SLUICE_OK && i < worker->raw.count; i++) {
            struct text_span span = worker->raw.data[i];
            status = joined_add(out, worker->simple.data + span.begin, span.end - span.begin, err);
        }
    }
    return status;
}

/* Of several items with one n-gram the one of the last task in the order of names names it, as the
 * peer loads its files; then the first. */
static sluice_status add_gram(struct decont_index *index, const char *text, size_t n, uint32_t item,
                              struct sluice_error *err)
{
    int fresh;
    uint32_t number = grams_add(&index->grams, text, n, item, &fresh);
    struct gram *gram;

    if (number == UINT32_MAX) {
        return sluice_nomem(err);
    }
    gram = &index->grams.items[number];
    if (!fresh &&
        strcmp(index->reference.items[item].task, index->reference.items[gram->item].task) > 0) {
        gram->item = item;
    }
    return SLUICE_OK;
}

static sluice_status add_grams(struct decont_index *index, const struct joined *joined,
                               uint32_t item, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i + index->ngram <= joined->words.count; i++) {
        size_t n;
        const char *text = joined_gram(joined, i, index->ngram, &n);
        status = add_gram(index, text, n, item, err);
    }
    return status;
}

/* The last n - 1 - i words of the question and the first i + 1 of the answer, where both have as
 * many. */
static sluice_status add_straddling(struct decont_index *index, const struct joined *question,
                                    const struct joined *answer, uint32_t item,
                                    struct joined *scratch, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i + 1 < index->ngram; i++) {
        size_t head = index->ngram - 1 - i;
        size_t n;
        const char *text;
        if (question->words.count < head || answer->words.count < i + 1) {
            continue;
        }
        scratch->text.len = 0;
        scratch->words.count = 0;
        text = joined_gram(question, question->words.count - head, head, &n);
        status = joined_add(scratch, text, n, err);
        if (status == SLUICE_OK) {
            text = joined_gram(answer, 0, i + 1, &n);
            status = joined_add(scratch, text, n, err);
        }
        if (status == SLUICE_OK) {
            status = add_gram(index, scratch->text.data, scratch->text.len, item, err);
        }
    }
    return status;
}

sluice_status decont_index_datatrove(struct decont_index *index, struct sluice_error *err)
{
    struct decont_worker worker = { 0 };
    struct joined question = { 0 };
    struct joined answer = { 0 };
    struct joined scratch = { 0 };
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < index->reference.n; i++) {
        const struct decont_item *item = &index->reference.items[i];
        const struct text_buffer *parts = item->parts;
        status = words_of(&worker, parts[PART_ANSWER].data, parts[PART_ANSWER].len, &answer, err);
        if (status == SLUICE_OK) {
            status = words_of(&worker, parts[PART_QUESTION].data, parts[PART_QUESTION].len,
                              &question, err);
        }
        if (status == SLUICE_OK) {
            status = add_grams(index, &answer, (uint32_t)i, err);
        }
        if (status == SLUICE_OK && index->options->query_ngrams) {
            status = add_grams(index, &question, (uint32_t)i, err);
        }
        if (status == SLUICE_OK && index->options->overlap_ngrams) {
            status = add_straddling(index, &question, &answer, (uint32_t)i, &scratch, err);
        }
    }
    decont_worker_deinit(&worker);
    joined_deinit(&question);
    joined_deinit(&answer);
    joined_deinit(&scratch);
    return status;
}

sluice_status decont_judge_datatrove(const struct decont_index *index, struct decont_worker *worker,
                                     const char *text, size_t n, struct finding *finding,
                                     struct sluice_error *err)
{
    sluice_status status = words_of(worker, text, n, &worker->joined, err);

    for (size_t i = 0; status == SLUICE_OK && i + index->ngram <= worker->joined.words.count; i++) {
        size_t size;
        const char *gram = joined_gram(&worker->joined, i, index->ngram, &size);
        uint32_t number = grams_find(&index->grams, gram, size);
        const struct decont_item *item;
        if (number == UINT32_MAX) {
            continue;
        }
        finding->found = true;
        finding->drop = true;
        finding->item = index->grams.items[number].item;
        finding->value = 1;
        finding->limit = 1;
        item = &index->reference.items[finding->item];
        finding->report =
            json_pack("{s:s, s:s, s:s, s:s%, s:I}", "rule", "datatrove", "item", item->id, "task",
                      item->task, "ngram", gram, size, "word", (json_int_t)i);
        return finding->report == NULL ? sluice_nomem(err) : SLUICE_OK;
    }
    return status;
}
