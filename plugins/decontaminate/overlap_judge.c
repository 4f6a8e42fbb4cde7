/* Judging a text by the index of decon's rule: the n-grams of a question in a cluster, its answer
 * behind and its passage before it, and the score of them all. Constants are decon's; see
 * index_overlap.c for what differs. */
#include "overlap.h"

#define SHORT_ANSWER_WINDOW 50 /* words behind the question */
#define LONG_ANSWER_WINDOW 100
#define PASSAGE_WINDOW 100
#define PASSAGE_MISSES 2
#define INFORMATIVE_NGRAMS 20
#define INFORMATIVE_ANSWER 4
#define MATCHES_MAX 10 /* in a report */
/* Sums of weights in another order differ by less: what is whole, or at a threshold, up to that is
 * so. */
#define ROUNDING 1e-9

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

/* The n-gram at `place` hits some candidates (those of its items) and misses the others. Returns
 * how many are still active, -1 without memory. */
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

/* The candidates of a hit, followed to the left and to the right; *end: where the search goes
 * on. */
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
            return sluice_nomem(err);
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
            return sluice_nomem(err);
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
    return active < 0 ? sluice_nomem(err) : SLUICE_OK;
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
    return part->n_ids > 0 && bsearch(&number, overlap_ids(overlap, part), part->n_ids,
                                      sizeof number, overlap_by_number) != NULL;
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
                if (grams_find(&overlap->words, word, size) != overlap_ids(overlap, part)[k]) {
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
                status = sluice_nomem(err);
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
                status = sluice_nomem(err);
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

/* The weights of the parts: a question of few n-grams, and an answer of few words, say less, and
 * leave their weight to the others. */
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
    if (match.overlap[PART_QUESTION] <
        threshold_of(options, parts[PART_QUESTION].words, least) - ROUNDING) {
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
    match.score = match.score > 1 - ROUNDING ? 1 : match.score;
    match.threshold = threshold_of(options,
                                   (size_t)parts[PART_QUESTION].words + parts[PART_ANSWER].words +
                                       parts[PART_PASSAGE].words,
                                   options->threshold);
    if (status == SLUICE_OK && match.score >= match.threshold - ROUNDING) {
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
            return sluice_nomem(err);
        }
    }
    return list == NULL ? sluice_nomem(err) : SLUICE_OK;
}

sluice_status decont_judge_overlap(const struct decont_index *index, struct decont_worker *worker,
                                   const char *text, size_t n, struct finding *finding,
                                   struct sluice_error *err)
{
    struct search search = { .index = index, .overlap = index->overlap, .worker = worker };
    const struct grams *questions = &index->overlap->sets[PART_QUESTION];
    sluice_status status = overlap_words(worker, text, n, &worker->joined, err);
    uint32_t *at;

    if (status != SLUICE_OK || worker->joined.words.count < index->ngram) {
        return status;
    }
    search.n_at = worker->joined.words.count - index->ngram + 1;
    worker->numbers.size = 0;
    if (!sluice_bytes_reserve(&worker->numbers, search.n_at * sizeof *at)) {
        return sluice_nomem(err);
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
