/* The rule of decon (allenai/decon, "SIMPLE"; Olmo 3): a text is contaminated by an item when
 * enough of the item's n-grams, weighted by how rare they are, stand close together in it: the
 * question's in a cluster, the answer's behind it, the passage's before it.
 *
 * Constants are decon's. What differs: its tokens are cl100k's, ours are the words of the cleaned
 * text; its hot n-grams are not skipped; weights are ln(1 + items / items with the n-gram), which
 * are above 0 for a reference of one item, too. */
#include <math.h>

#include "overlap.h"

/* Natural logarithm of x >= 1 by additions, multiplications and divisions alone: the same bits on
 * every machine. */
static double portable_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent) * 2; /* 1 <= m < 2 */
    double t = (m - 1) / (m + 1);
    double square = t * t;
    double power = t;
    double sum = 0;

    for (int k = 1; k < 41; k += 2) {
        sum += power / k;
        power *= square;
    }
    return 2 * sum + (exponent - 1) * 0.69314718055994530942;
}

static int is_punctuation(uint32_t c)
{
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126) || c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D ||
           c == 0x2014;
}

sluice_status overlap_words(struct decont_worker *worker, const char *text, size_t n,
                            struct joined *out, struct sluice_error *err)
{
    sluice_status status = text_lower(text, n, &worker->simple, err);
    char *data = worker->simple.data;

    out->text.len = 0;
    out->words.count = 0;
    for (size_t i = 0; status == SLUICE_OK && i < worker->simple.len;) {
        uint32_t c = (unsigned char)data[i];
        size_t size = c < 0x80 ? 1 : text_utf8_decode(data, worker->simple.len, i, &c);
        if (is_punctuation(c)) {
            memset(data + i, ' ', size);
        }
        i += size;
    }
    if (status == SLUICE_OK) {
        status = text_words(TEXT_WORDS_WHITESPACE, data, worker->simple.len, &worker->raw, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < worker->raw.count; i++) {
        struct text_span span = worker->raw.data[i];
        status = joined_add(out, data + span.begin, span.end - span.begin, err);
    }
    return status;
}

int overlap_by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

/* Sorts and removes what occurs twice; returns how many are left. */
static uint32_t sort_unique(uint32_t *numbers, size_t n)
{
    uint32_t kept = 0;

    if (n > 1) {
        qsort(numbers, n, sizeof *numbers, overlap_by_number);
    }
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || numbers[kept - 1] != numbers[i]) {
            numbers[kept++] = numbers[i];
        }
    }
    return kept;
}

static size_t ngram_of(const struct decont_index *index, int part)
{
    return part == PART_QUESTION ? index->ngram
           : part == PART_ANSWER ? ANSWER_NGRAM
                                 : PASSAGE_NGRAM;
}

/* Adds the n-grams of a part (a short answer's words) to ids. */
static sluice_status add_part(const struct decont_index *index, struct decont_overlap *overlap,
                              const struct joined *joined, int part, struct part *out,
                              struct sluice_error *err)
{
    bool whole = part == PART_ANSWER && joined->words.count <= SHORT_ANSWER;
    size_t size = whole ? 1 : ngram_of(index, part);
    struct grams *set = whole ? &overlap->words : &overlap->sets[part];
    uint32_t *ids;

    out->words = (uint32_t)joined->words.count;
    out->ids = overlap->ids.size / sizeof *ids;
    for (size_t i = 0; i + size <= joined->words.count; i++) {
        size_t n;
        int fresh;
        const char *gram = joined_gram(joined, i, size, &n);
        uint32_t number = grams_add(set, gram, n, 0, &fresh);
        if (number == UINT32_MAX || !sluice_bytes_add(&overlap->ids, &number, sizeof number)) {
            return sluice_nomem(err);
        }
    }
    if (whole) {
        out->n_ids = out->words;
    } else if (overlap->ids.size / sizeof *ids == out->ids) {
        out->n_ids = 0; /* not an n-gram long */
    } else {
        ids = (uint32_t *)(void *)overlap->ids.data + out->ids;
        out->n_ids = sort_unique(ids, overlap->ids.size / sizeof *ids - out->ids);
        overlap->ids.size = (out->ids + out->n_ids) * sizeof *ids;
        for (uint32_t i = 0; i < out->n_ids; i++) {
            set->items[ids[i]].item++; /* how many items hold it */
        }
    }
    return SLUICE_OK;
}

/* How many different words there are; -1 without memory. */
static int64_t unique_words(const struct joined *const *parts, int n_parts)
{
    struct grams seen = { 0 };
    int64_t n = 0;

    for (int p = 0; p < n_parts && n >= 0; p++) {
        for (size_t i = 0; i < parts[p]->words.count && n >= 0; i++) {
            size_t size;
            int fresh;
            const char *word = joined_gram(parts[p], i, 1, &size);
            n = grams_add(&seen, word, size, 0, &fresh) == UINT32_MAX ? -1 : n + fresh;
        }
    }
    grams_deinit(&seen);
    return n;
}

/* Whether an earlier item has the same words. */
static int seen_before(struct grams *seen, const struct joined parts[PARTS], struct joined *scratch,
                       int *before, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    int fresh;

    scratch->text.len = 0;
    scratch->words.count = 0;
    for (int p = 0; p < PARTS && status == SLUICE_OK; p++) {
        status = joined_add(scratch, parts[p].text.data, parts[p].text.len, err);
        if (status == SLUICE_OK) {
            status = joined_add(scratch, "\n", 1, err);
        }
    }
    if (status == SLUICE_OK &&
        grams_add(seen, scratch->text.data, scratch->text.len, 0, &fresh) == UINT32_MAX) {
        status = sluice_nomem(err);
    }
    *before = status == SLUICE_OK && !fresh;
    return status;
}

static sluice_status add_item(const struct decont_index *index, struct decont_overlap *overlap,
                              size_t i, struct decont_worker *worker, struct joined parts[PARTS],
                              struct grams *seen, struct sluice_error *err)
{
    const struct decont_options *options = index->options;
    const struct joined *const all[] = { &parts[0], &parts[1], &parts[2] };
    const struct joined *const answer[] = { &parts[PART_ANSWER] };
    struct item *item = &overlap->items[i];
    sluice_status status = SLUICE_OK;
    int before = 0;
    size_t words = 0;
    int64_t unique;
    int64_t unique_answer;

    for (int p = 0; status == SLUICE_OK && p < PARTS; p++) {
        const struct text_buffer *text = &index->reference.items[i].parts[p];
        status = overlap_words(worker, text->data, text->len, &parts[p], err);
        words += parts[p].words.count;
    }
    if (status == SLUICE_OK) {
        status = seen_before(seen, parts, &worker->joined, &before, err);
    }
    unique = unique_words(all, PARTS);
    unique_answer = unique_words(answer, 1);
    if (status == SLUICE_OK && (unique < 0 || unique_answer < 0)) {
        status = sluice_nomem(err);
    }
    if (status != SLUICE_OK || before || parts[PART_QUESTION].words.count == 0 ||
        words < (size_t)options->min_tokens || unique < options->min_unique) {
        return status;
    }
    item->indexed = true;
    overlap->n_indexed++;
    for (int p = 0; status == SLUICE_OK && p < PARTS; p++) {
        status = add_part(index, overlap, &parts[p], p, &item->parts[p], err);
    }
    item->parts[PART_ANSWER].unique_words = (uint32_t)unique_answer;
    return status;
}

const uint32_t *overlap_ids(const struct decont_overlap *overlap, const struct part *part)
{
    return overlap->ids.data == NULL
               ? NULL
               : (const uint32_t *)(const void *)overlap->ids.data + part->ids;
}

/* Weights of n-grams and parts, and the lists of items of the questions' n-grams. */
static sluice_status weigh(struct decont_overlap *overlap, size_t n_items, struct sluice_error *err)
{
    const struct grams *questions = &overlap->sets[PART_QUESTION];
    uint64_t total = 0;

    for (int p = 0; p < PARTS; p++) {
        const struct grams *set = &overlap->sets[p];
        overlap->weights[p] = calloc(set->n + 1, sizeof(double));
        if (overlap->weights[p] == NULL) {
            return sluice_nomem(err);
        }
        for (size_t i = 0; i < set->n; i++) {
            overlap->weights[p][i] =
                portable_log(1 + (double)overlap->n_indexed / (double)set->items[i].item);
        }
    }
    overlap->posting_begin = calloc(questions->n + 2, sizeof *overlap->posting_begin);
    if (overlap->posting_begin == NULL) {
        return sluice_nomem(err);
    }
    for (size_t i = 0; i < questions->n; i++) {
        overlap->posting_begin[i] = total; /* moves to its end as items are added */
        total += questions->items[i].item;
    }
    overlap->postings = calloc(total + 1, sizeof *overlap->postings);
    if (overlap->postings == NULL) {
        return sluice_nomem(err);
    }
    for (size_t i = 0; i < n_items; i++) {
        struct item *item = &overlap->items[i];
        for (int p = 0; item->indexed && p < PARTS; p++) {
            const uint32_t *ids = overlap_ids(overlap, &item->parts[p]);
            bool whole = p == PART_ANSWER && item->parts[p].words <= SHORT_ANSWER;
            for (uint32_t k = 0; !whole && k < item->parts[p].n_ids; k++) {
                item->parts[p].weight += overlap->weights[p][ids[k]];
                if (p == PART_QUESTION) {
                    overlap->postings[overlap->posting_begin[ids[k]]++] = (uint32_t)i;
                }
            }
        }
    }
    for (size_t i = questions->n; i > 0; i--) {
        overlap->posting_begin[i] = overlap->posting_begin[i - 1];
    }
    overlap->posting_begin[0] = 0;
    return SLUICE_OK;
}

sluice_status decont_index_overlap(struct decont_index *index, struct sluice_error *err)
{
    struct decont_overlap *overlap = calloc(1, sizeof *overlap);
    struct decont_worker worker = { 0 };
    struct joined parts[PARTS] = { 0 };
    struct grams seen = { 0 };
    sluice_status status = SLUICE_OK;

    index->overlap = overlap;
    if (overlap != NULL) {
        overlap->items = calloc(index->reference.n, sizeof *overlap->items);
    }
    if (overlap == NULL || overlap->items == NULL) {
        return sluice_nomem(err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < index->reference.n; i++) {
        status = add_item(index, overlap, i, &worker, parts, &seen, err);
    }
    if (status == SLUICE_OK) {
        status = weigh(overlap, index->reference.n, err);
    }
    if (status == SLUICE_OK && overlap->n_indexed == 0) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "reference",
                             "no item of the reference is long enough for this rule; lower "
                             "min_tokens and min_unique, or check the names of the fields");
    }
    decont_worker_deinit(&worker);
    for (int p = 0; p < PARTS; p++) {
        joined_deinit(&parts[p]);
    }
    grams_deinit(&seen);
    return status;
}

void decont_overlap_destroy(struct decont_overlap *overlap)
{
    if (overlap == NULL) {
        return;
    }
    for (int p = 0; p < PARTS; p++) {
        grams_deinit(&overlap->sets[p]);
        free(overlap->weights[p]);
    }
    grams_deinit(&overlap->words);
    free(overlap->postings);
    free(overlap->posting_begin);
    sluice_bytes_free(&overlap->ids);
    free(overlap->items);
    free(overlap);
}
