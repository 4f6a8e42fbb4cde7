/* The rule of decon (allenai/decon, "SIMPLE"; Olmo 3): a text is contaminated by an item when enough of the item's n-grams, weighted by how
 * rare they are, stand close together in it: the question's in a cluster, the answer's behind it, the passage's before it.
 *
 * Constants are decon's. What differs: its tokens are cl100k's, ours are the words of the cleaned text; its hot n-grams are not skipped;
 * weights are ln(1 + items / items with the n-gram), which are above 0 for a reference of one item, too. */
#include <math.h>

#include "decont.h"

#define ANSWER_NGRAM 3
#define PASSAGE_NGRAM 4
#define SHORT_ANSWER 3         /* words of an answer that must stand there as it is */
#define SHORT_ANSWER_WINDOW 50 /* words behind the question */
#define LONG_ANSWER_WINDOW 100
#define PASSAGE_WINDOW 100
#define PASSAGE_MISSES 2
#define INFORMATIVE_NGRAMS 20
#define INFORMATIVE_ANSWER 4
#define MATCHES_MAX 10 /* in a report */

/* What is known of a part of an item. */
struct part {
    uint32_t words, unique_words;
    uint64_t
        ids; /* place in overlap.ids: its n-grams, ascending; of a short answer its words' numbers in order */
    uint32_t n_ids;
    double weight; /* sum of its n-grams' */
};

struct item {
    struct part parts[PARTS];
    bool indexed;
};

struct decont_overlap {
    struct grams sets[PARTS]; /* n-grams of questions, answers, passages */
    struct grams words;       /* of short answers */
    double *weights[PARTS];   /* of each n-gram */
    uint32_t *postings;       /* items of the questions' n-grams, ascending */
    uint64_t *posting_begin;  /* [n-grams + 1] */
    struct sluice_bytes ids;  /* uint32_t */
    struct item *items;
    size_t n_indexed;
};

struct candidate {
    uint32_t item, misses, first, last; /* n-grams of the text */
    bool active;
    uint32_t *matched; /* owned: unique n-grams */
    uint32_t n_matched, capacity;
};

struct match {
    uint32_t item, first, last;
    double score, threshold, overlap[PARTS];
};

/* Natural logarithm of x >= 1 by additions, multiplications and divisions alone: the same bits on every machine. */
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

/* The words of the text in lower case with spaces for punctuation. */
static sluice_status words_of(struct decont_worker *worker, const char *text, size_t n,
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

static int by_number(const void *left, const void *right)
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
        qsort(numbers, n, sizeof *numbers, by_number);
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
            return decont_nomem(err);
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
        status = decont_nomem(err);
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
        status = words_of(worker, text->data, text->len, &parts[p], err);
        words += parts[p].words.count;
    }
    if (status == SLUICE_OK) {
        status = seen_before(seen, parts, &worker->joined, &before, err);
    }
    unique = unique_words(all, PARTS);
    unique_answer = unique_words(answer, 1);
    if (status == SLUICE_OK && (unique < 0 || unique_answer < 0)) {
        status = decont_nomem(err);
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

/* NULL while no part has any. */
static const uint32_t *ids_of(const struct decont_overlap *overlap, const struct part *part)
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
            return decont_nomem(err);
        }
        for (size_t i = 0; i < set->n; i++) {
            overlap->weights[p][i] =
                portable_log(1 + (double)overlap->n_indexed / (double)set->items[i].item);
        }
    }
    overlap->posting_begin = calloc(questions->n + 2, sizeof *overlap->posting_begin);
    if (overlap->posting_begin == NULL) {
        return decont_nomem(err);
    }
    for (size_t i = 0; i < questions->n; i++) {
        overlap->posting_begin[i] = total; /* moves to its end as items are added */
        total += questions->items[i].item;
    }
    overlap->postings = calloc(total + 1, sizeof *overlap->postings);
    if (overlap->postings == NULL) {
        return decont_nomem(err);
    }
    for (size_t i = 0; i < n_items; i++) {
        struct item *item = &overlap->items[i];
        for (int p = 0; item->indexed && p < PARTS; p++) {
            const uint32_t *ids = ids_of(overlap, &item->parts[p]);
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
        return decont_nomem(err);
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

/* ---- judging ---- */

/* What a judgement works with. */
struct search {
    const struct decont_index *index;
    const struct decont_overlap *overlap;
    struct decont_worker *worker;
    const uint32_t *at; /* the question n-gram at each place, UINT32_MAX: none */
    size_t n_at;
    struct candidate *candidates;
    size_t n_candidates;
    struct match matches[MATCHES_MAX];
    size_t n_matches;
};

static double threshold_of(const struct decont_options *options, size_t words, double base)
{
    double begin = (double)options->decay_begin;
    double end = (double)options->decay_end;

    if ((double)words <= begin) {
        return 1;
    }
    return (double)words >= end ? base : 1 - (1 - base) * (((double)words - begin) / (end - begin));
}

static int add_matched(struct candidate *candidate, uint32_t gram)
{
    for (uint32_t i = 0; i < candidate->n_matched; i++) {
        if (candidate->matched[i] == gram) {
            return 0;
        }
    }
    if (candidate->n_matched == candidate->capacity) {
        uint32_t capacity = candidate->capacity * 2 + 8;
        uint32_t *grown = realloc(candidate->matched, capacity * sizeof *grown);
        if (grown == NULL) {
            return -1;
        }
        candidate->matched = grown;
        candidate->capacity = capacity;
    }
    candidate->matched[candidate->n_matched++] = gram;
    return 1;
}

/* The n-gram at `place` hits some candidates (those of its items) and misses the others. Returns how many are still active, -1 without
 * memory. */
static int64_t meet(struct search *search, size_t place)
{
    const struct decont_overlap *overlap = search->overlap;
    uint32_t gram = search->at[place];
    const uint32_t *items = NULL;
    uint64_t n = 0;
    uint64_t k = 0;
    int64_t active = 0;

    if (gram != UINT32_MAX) {
        items = overlap->postings + overlap->posting_begin[gram];
        n = overlap->posting_begin[gram + 1] - overlap->posting_begin[gram];
    }
    for (size_t i = 0; i < search->n_candidates; i++) {
        struct candidate *candidate = &search->candidates[i];
        int fresh;
        if (!candidate->active) {
            continue;
        }
        while (k < n && items[k] < candidate->item) {
            k++;
        }
        if (k < n && items[k] == candidate->item) {
            fresh = add_matched(candidate, gram);
            if (fresh < 0) {
                return -1;
            }
            candidate->misses = fresh ? 0 : candidate->misses;
            candidate->first = place < candidate->first ? (uint32_t)place : candidate->first;
            candidate->last = place > candidate->last ? (uint32_t)place : candidate->last;
        } else if (++candidate->misses >= (uint64_t)search->index->options->misses) {
            candidate->active = false;
        }
        active += candidate->active;
    }
    return active;
}

/* The candidates of a hit, followed to the left and to the right; *end: where the search goes on. */
static sluice_status expand(struct search *search, size_t hit, size_t *end,
                            struct sluice_error *err)
{
    const struct decont_overlap *overlap = search->overlap;
    struct decont_worker *worker = search->worker;
    uint32_t gram = search->at[hit];
    uint64_t begin = overlap->posting_begin[gram];
    size_t n = (size_t)(overlap->posting_begin[gram + 1] - begin);
    int64_t active = (int64_t)n;
    size_t place = hit;

    if (n > worker->candidates_capacity) {
        struct candidate *grown = realloc(worker->candidates, n * sizeof *grown);
        if (grown == NULL) {
            return decont_nomem(err);
        }
        worker->candidates = grown;
        worker->candidates_capacity = n;
    }
    search->candidates = worker->candidates;
    search->n_candidates = 0;
    for (size_t i = 0; i < n; i++) {
        struct candidate *candidate = &search->candidates[search->n_candidates++];
        *candidate = (struct candidate){ .item = overlap->postings[begin + i],
                                         .first = (uint32_t)hit,
                                         .last = (uint32_t)hit,
                                         .active = true };
        if (add_matched(candidate, gram) < 0) {
            return decont_nomem(err);
        }
    }
    while (place > 0 && active > 0) {
        active = meet(search, --place);
    }
    for (size_t i = 0; i < n; i++) {
        search->candidates[i].active = true;
        search->candidates[i].misses = 0;
    }
    active = active < 0 ? active : (int64_t)n;
    place = hit;
    while (place + 1 < search->n_at && active > 0) {
        active = meet(search, ++place);
    }
    *end = place;
    return active < 0 ? decont_nomem(err) : SLUICE_OK;
}

/* The share of a part's weight whose n-grams are among numbers. */
static double share_of(const struct decont_overlap *overlap, int part, const struct part *of,
                       const uint32_t *numbers, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += overlap->weights[part][numbers[i]];
    }
    return of->weight > 0 ? sum / of->weight : 0;
}

static bool has_id(const struct decont_overlap *overlap, const struct part *part, uint32_t number)
{
    return part->n_ids > 0 &&
           bsearch(&number, ids_of(overlap, part), part->n_ids, sizeof number, by_number) != NULL;
}

/* How much of an answer stands in the words from `begin` on; of a passage before `end`. */
static sluice_status answer_share(struct search *search, const struct part *part, size_t begin,
                                  double *share, struct sluice_error *err)
{
    const struct joined *words = &search->worker->joined;
    const struct decont_overlap *overlap = search->overlap;
    bool whole = part->words <= SHORT_ANSWER;
    size_t window = whole                                  ? SHORT_ANSWER_WINDOW
                    : 2 * part->words > LONG_ANSWER_WINDOW ? 2 * (size_t)part->words
                                                           : LONG_ANSWER_WINDOW;
    size_t end = begin + window < words->words.count ? begin + window : words->words.count;
    size_t n = whole ? part->words : ANSWER_NGRAM;
    struct candidate found = { 0 };
    sluice_status status = SLUICE_OK;

    *share = 0;
    for (size_t i = begin; n > 0 && i + n <= end && status == SLUICE_OK; i++) {
        size_t size;
        if (whole) {
            size_t k = 0;
            for (; k < n; k++) {
                const char *word = joined_gram(words, i + k, 1, &size);
                if (grams_find(&overlap->words, word, size) != ids_of(overlap, part)[k]) {
                    break;
                }
            }
            if (k == n) {
                *share = 1;
                return SLUICE_OK;
            }
        } else {
            const char *gram = joined_gram(words, i, n, &size);
            uint32_t number = grams_find(&overlap->sets[PART_ANSWER], gram, size);
            if (number != UINT32_MAX && has_id(overlap, part, number) &&
                add_matched(&found, number) < 0) {
                status = decont_nomem(err);
            }
        }
    }
    *share = whole ? 0 : share_of(overlap, PART_ANSWER, part, found.matched, found.n_matched);
    free(found.matched);
    return status;
}

static sluice_status passage_share(struct search *search, const struct part *part, size_t end,
                                   double *share, struct sluice_error *err)
{
    const struct decont_overlap *overlap = search->overlap;
    size_t window = 2 * part->words > PASSAGE_WINDOW ? 2 * (size_t)part->words : PASSAGE_WINDOW;
    size_t begin = end > window ? end - window : 0;
    struct candidate found = { 0 };
    int misses = 0;
    sluice_status status = SLUICE_OK;

    for (size_t i = end; i >= begin + PASSAGE_NGRAM && misses <= PASSAGE_MISSES; i--) {
        size_t size;
        const char *gram =
            joined_gram(&search->worker->joined, i - PASSAGE_NGRAM, PASSAGE_NGRAM, &size);
        uint32_t number = grams_find(&overlap->sets[PART_PASSAGE], gram, size);
        if (number != UINT32_MAX && has_id(overlap, part, number)) {
            misses = 0;
            if (add_matched(&found, number) < 0) {
                status = decont_nomem(err);
                break;
            }
        } else {
            misses += found.n_matched > 0;
        }
    }
    *share = share_of(overlap, PART_PASSAGE, part, found.matched, found.n_matched);
    free(found.matched);
    return status;
}

/* The weights of the parts: a question of few n-grams, and an answer of few words, say less, and leave their weight to the others. */
static void weigh_parts(const struct item *item, double weights[PARTS])
{
    bool answer = item->parts[PART_ANSWER].words > 0;
    bool passage = item->parts[PART_PASSAGE].words > 0;
    double n = (double)item->parts[PART_QUESTION].n_ids;
    double sure = n < INFORMATIVE_NGRAMS ? 0.5 + n / INFORMATIVE_NGRAMS * 0.5 : 1;
    double lost;

    weights[PART_QUESTION] = answer && passage ? 0.7 : answer ? 0.75 : passage ? 0.85 : 1;
    weights[PART_ANSWER] = !answer ? 0 : passage ? 0.2 : 0.25;
    weights[PART_PASSAGE] = !passage ? 0 : answer ? 0.1 : 0.15;
    if (!answer && !passage) {
        return;
    }
    lost = weights[PART_QUESTION] * (1 - sure);
    weights[PART_QUESTION] *= sure;
    if (answer) {
        weights[PART_ANSWER] += passage ? lost * 0.5 : lost;
    }
    if (passage) {
        weights[PART_PASSAGE] += answer ? lost * 0.5 : lost;
    }
    n = (double)item->parts[PART_ANSWER].unique_words;
    if (answer && passage && n < INFORMATIVE_ANSWER) {
        sure = 0.5 + n / INFORMATIVE_ANSWER * 0.5;
        weights[PART_PASSAGE] += weights[PART_ANSWER] * (1 - sure);
        weights[PART_ANSWER] *= sure;
    }
}

static void keep_match(struct search *search, const struct match *match)
{
    size_t at = search->n_matches;

    for (size_t i = 0; i < search->n_matches; i++) {
        if (search->matches[i].item == match->item) {
            if (search->matches[i].score >= match->score) {
                return;
            }
            /* a better place of the same item */
            memmove(&search->matches[i], &search->matches[i + 1],
                    (search->n_matches - i - 1) * sizeof *match);
            search->n_matches--;
            at = search->n_matches;
            break;
        }
    }
    while (at > 0 && (search->matches[at - 1].score < match->score ||
                      (search->matches[at - 1].score == match->score &&
                       search->matches[at - 1].item > match->item))) {
        at--;
    }
    if (at == MATCHES_MAX) {
        return;
    }
    if (search->n_matches == MATCHES_MAX) {
        search->n_matches--;
    }
    memmove(&search->matches[at + 1], &search->matches[at],
            (search->n_matches - at) * sizeof *match);
    search->matches[at] = *match;
    search->n_matches++;
}

static sluice_status score(struct search *search, const struct candidate *candidate,
                           struct sluice_error *err)
{
    const struct decont_options *options = search->index->options;
    const struct item *item = &search->overlap->items[candidate->item];
    const struct part *parts = item->parts;
    double least = options->threshold > 0.3 ? (options->threshold - 0.3) / 0.7 : 0;
    size_t last = candidate->last + search->index->ngram - 1; /* of the question's words */
    size_t length = last - candidate->first + 1;
    struct match match = { .item = candidate->item, .first = candidate->first };
    double weights[PARTS];
    sluice_status status = SLUICE_OK;

    match.overlap[PART_QUESTION] = share_of(search->overlap, PART_QUESTION, &parts[PART_QUESTION],
                                            candidate->matched, candidate->n_matched);
    if (match.overlap[PART_QUESTION] < threshold_of(options, parts[PART_QUESTION].words, least)) {
        return SLUICE_OK;
    }
    if (length > parts[PART_QUESTION].words) {
        last -= length - parts[PART_QUESTION].words;
    }
    match.last = (uint32_t)last;
    if (parts[PART_ANSWER].words > 0) {
        status =
            answer_share(search, &parts[PART_ANSWER], last + 1, &match.overlap[PART_ANSWER], err);
    }
    if (status == SLUICE_OK && parts[PART_PASSAGE].words > 0) {
        status = passage_share(search, &parts[PART_PASSAGE], candidate->first,
                               &match.overlap[PART_PASSAGE], err);
    }
    weigh_parts(item, weights);
    for (int p = 0; p < PARTS; p++) {
        match.score += weights[p] * match.overlap[p];
    }
    /* Sums of rounded weights: what is whole up to that counts as whole. */
    match.score = match.score > 1 - 1e-9 ? 1 : match.score;
    match.threshold = threshold_of(options,
                                   (size_t)parts[PART_QUESTION].words + parts[PART_ANSWER].words +
                                       parts[PART_PASSAGE].words,
                                   options->threshold);
    if (status == SLUICE_OK && match.score >= match.threshold) {
        keep_match(search, &match);
    }
    return status;
}

static sluice_status report(const struct search *search, struct finding *finding,
                            struct sluice_error *err)
{
    const struct match *best = &search->matches[0];
    const struct decont_item *items = search->index->reference.items;
    json_t *list;

    finding->found = true;
    finding->drop = true;
    finding->item = best->item;
    finding->value = best->score;
    finding->limit = best->threshold;
    finding->report =
        json_pack("{s:s, s:s, s:s, s:f, s:[]}", "rule", "decon", "item", items[best->item].id,
                  "task", items[best->item].task, "overlap", best->score, "matches");
    list = json_object_get(finding->report, "matches");
    for (size_t i = 0; list != NULL && i < search->n_matches; i++) {
        const struct match *match = &search->matches[i];
        size_t n;
        const char *words =
            joined_gram(&search->worker->joined, match->first, match->last - match->first + 1, &n);
        json_t *one = json_pack(
            "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:s%}", "item", items[match->item].id, "task",
            items[match->item].task, "overlap", match->score, "threshold", match->threshold,
            "question", match->overlap[PART_QUESTION], "answer", match->overlap[PART_ANSWER],
            "passage", match->overlap[PART_PASSAGE], "word", (json_int_t)match->first, "words",
            words, n);
        if (one == NULL || json_array_append_new(list, one) != 0) {
            return decont_nomem(err);
        }
    }
    return list == NULL ? decont_nomem(err) : SLUICE_OK;
}

sluice_status decont_judge_overlap(const struct decont_index *index, struct decont_worker *worker,
                                   const char *text, size_t n, struct finding *finding,
                                   struct sluice_error *err)
{
    struct search search = { .index = index, .overlap = index->overlap, .worker = worker };
    const struct grams *questions = &index->overlap->sets[PART_QUESTION];
    sluice_status status = words_of(worker, text, n, &worker->joined, err);
    uint32_t *at;

    if (status != SLUICE_OK || worker->joined.words.count < index->ngram) {
        return status;
    }
    search.n_at = worker->joined.words.count - index->ngram + 1;
    worker->numbers.size = 0;
    if (!sluice_bytes_reserve(&worker->numbers, search.n_at * sizeof *at)) {
        return decont_nomem(err);
    }
    at = (uint32_t *)(void *)worker->numbers.data;
    search.at = at;
    for (size_t i = 0; i < search.n_at; i++) {
        size_t size;
        const char *gram = joined_gram(&worker->joined, i, index->ngram, &size);
        at[i] = grams_find(questions, gram, size);
    }
    for (size_t i = 0; status == SLUICE_OK && i < search.n_at;) {
        size_t end = i;
        if (at[i] == UINT32_MAX) {
            i += (size_t)index->options->sample;
            continue;
        }
        status = expand(&search, i, &end, err);
        for (size_t k = 0; k < search.n_candidates; k++) {
            if (status == SLUICE_OK) {
                status = score(&search, &search.candidates[k], err);
            }
            free(search.candidates[k].matched);
            search.candidates[k].matched = NULL;
        }
        search.n_candidates = 0;
        i = end + 1 > i ? end + 1 : i + 1;
    }
    return status == SLUICE_OK && search.n_matches > 0 ? report(&search, finding, err) : status;
}
