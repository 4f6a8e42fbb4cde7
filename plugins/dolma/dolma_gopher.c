#include "dolma_gopher.h"

#include <stdlib.h>
#include <string.h>

#include <sluice_arrays.h>
#include <xxhash.h>

#define DOLMA_ONCE UINT32_MAX
#define SHORT_WORD 256 /* lengths below are counted, the rest is sorted */

void dolma_gopher_deinit(struct dolma_gopher *gopher)
{
    free(gopher->length);
    free(gopher->ids);
    free(gopher->keys);
    free(gopher->counts);
    free(gopher->firsts);
    free(gopher->slot);
    free(gopher->hash);
    memset(gopher, 0, sizeof *gopher);
}

static bool grow(void *array, size_t n, size_t size)
{
    void *memory = realloc(*(void **)array, n * size);

    if (memory != NULL) {
        *(void **)array = memory;
    }
    return memory != NULL;
}

/* Room for n words or lines, and a table twice as large. */
static int32_t reserve(struct dolma_gopher *gopher, size_t n, struct sluice_error *err)
{
    size_t capacity = gopher->capacity < 1024 ? 1024 : gopher->capacity;
    size_t table = 1024;

    if (n <= gopher->capacity) {
        return SLUICE_OK;
    }
    while (capacity < n) {
        capacity += capacity / 2;
    }
    while (table < 2 * capacity) {
        table *= 2;
    }
    gopher->capacity = 0;
    if (!grow(&gopher->length, capacity, sizeof *gopher->length) ||
        !grow(&gopher->ids, capacity, sizeof *gopher->ids) ||
        !grow(&gopher->slot, capacity, sizeof *gopher->slot) ||
        !grow(&gopher->hash, capacity, sizeof *gopher->hash) ||
        !grow(&gopher->keys, table, sizeof *gopher->keys) ||
        !grow(&gopher->counts, table, sizeof *gopher->counts) ||
        !grow(&gopher->firsts, table, sizeof *gopher->firsts)) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for n-grams");
    }
    gopher->capacity = capacity;
    return SLUICE_OK;
}

/* Size of a table for n entries: a power of two, at most half full. */
static size_t table_for(struct dolma_gopher *gopher, size_t n)
{
    size_t table = 64;

    while (table < 2 * n) {
        table *= 2;
    }
    memset(gopher->counts, 0, table * sizeof *gopher->counts);
    return table;
}

static uint64_t mix(uint64_t key)
{
    key *= 0x9E3779B97F4A7C15u;
    return key ^ key >> 32;
}

/* Gives every span a slot of its own text: equal spans share one. keys are hashes, firsts the first
 * such span. */
static void group_spans(struct dolma_gopher *gopher, const char *text,
                        const struct text_span *spans, size_t n)
{
    size_t table = table_for(gopher, n);

    for (size_t k = 0; k < n; k++) {
        size_t len = spans[k].end - spans[k].begin;
        uint64_t hash = XXH3_64bits(text + spans[k].begin, len);
        size_t at = (size_t)hash & (table - 1);
        while (gopher->counts[at] > 0) {
            struct text_span other = spans[gopher->firsts[at]];
            if (gopher->keys[at] == hash && other.end - other.begin == len &&
                memcmp(text + other.begin, text + spans[k].begin, len) == 0) {
                break;
            }
            at = (at + 1) & (table - 1);
        }
        if (gopher->counts[at]++ == 0) {
            gopher->keys[at] = hash;
            gopher->firsts[at] = (uint32_t)k;
        }
        gopher->slot[k] = (uint32_t)at;
    }
}

/* Replaces ids of (n-1)-grams by those of n-grams. An n-gram whose parts occur once occurs once.
 * Gives the most frequent one (the first of those): its first word and count; no n-gram twice: the
 * first one. */
static void next_ngrams(struct dolma_gopher *gopher, const uint32_t *word_ids, size_t words,
                        size_t n, size_t *first, uint32_t *most)
{
    size_t candidates = 0;
    size_t grams = words - n + 1;
    uint32_t *ids = gopher->ids;
    size_t table;

    *first = 0;
    *most = 1;
    for (size_t k = 0; k < grams; k++) {
        if (ids[k] != DOLMA_ONCE &&
            (ids[k + 1] == DOLMA_ONCE || word_ids[k + n - 1] == DOLMA_ONCE)) {
            ids[k] = DOLMA_ONCE;
        }
        candidates += ids[k] != DOLMA_ONCE;
    }
    for (size_t k = grams; k < words; k++) {
        ids[k] = DOLMA_ONCE;
    }
    if (candidates == 0) {
        return;
    }
    table = table_for(gopher, candidates);
    for (size_t k = 0; k < grams; k++) {
        uint64_t key;
        size_t at;
        if (ids[k] == DOLMA_ONCE) {
            continue;
        }
        key = (uint64_t)ids[k] << 32 | word_ids[k + n - 1];
        at = (size_t)mix(key) & (table - 1);
        while (gopher->counts[at] > 0 && gopher->keys[at] != key) {
            at = (at + 1) & (table - 1);
        }
        if (gopher->counts[at]++ == 0) {
            gopher->keys[at] = key;
            gopher->firsts[at] = (uint32_t)k;
        }
        gopher->slot[k] = (uint32_t)at;
    }
    for (size_t k = 0; k < grams; k++) {
        if (ids[k] != DOLMA_ONCE) {
            size_t at = gopher->slot[k];
            uint32_t count = gopher->counts[at];
            ids[k] = count > 1 ? gopher->firsts[at] : DOLMA_ONCE;
            if (count > *most) {
                *most = count;
                *first = k;
            }
        }
    }
}

static uint64_t chars_of(const struct dolma_gopher *gopher, size_t first, size_t n)
{
    uint64_t chars = 0;

    for (size_t k = 0; k < n; k++) {
        chars += gopher->length[first + k];
    }
    return chars;
}

static int32_t measure_ngrams(struct dolma_gopher *gopher, const struct dolma_doc *doc,
                              struct sluice_error *err)
{
    size_t words = doc->n_words;
    uint32_t *word_ids;

    if (words < DOLMA_NGRAM_MIN) {
        return SLUICE_OK;
    }
    word_ids = malloc(words * sizeof *word_ids);
    if (word_ids == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for n-grams");
    }
    group_spans(gopher, doc->text, doc->words, words);
    for (size_t k = 0; k < words; k++) {
        size_t at = gopher->slot[k];
        gopher->ids[k] = word_ids[k] = gopher->counts[at] > 1 ? gopher->firsts[at] : DOLMA_ONCE;
    }
    for (size_t n = DOLMA_NGRAM_MIN; n <= DOLMA_NGRAM_MAX && n <= words; n++) {
        size_t first;
        uint32_t most;
        next_ngrams(gopher, word_ids, words, n, &first, &most);
        if (n <= 4) {
            uint64_t chars = most * chars_of(gopher, first, n);
            gopher->ngram[n] = (double)chars / (double)gopher->word_chars;
        } else {
            uint64_t all = 0;
            uint64_t repeated = 0;
            uint64_t gram = chars_of(gopher, 0, n);
            for (size_t k = 0; k + n <= words; k++) {
                all += gram;
                repeated += gopher->ids[k] == DOLMA_ONCE ? 0 : gram;
                if (k + n < words) {
                    gram += gopher->length[k + n];
                }
                gram -= gopher->length[k];
            }
            gopher->ngram[n] = (double)repeated / (double)all;
        }
    }
    free(word_ids);
    return SLUICE_OK;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The k-th smallest length. short_counts: of lengths below SHORT_WORD; long_words: the others,
 * sorted. */
static uint32_t nth_length(const size_t *short_counts, const uint32_t *long_words, size_t k)
{
    for (uint32_t length = 0; length < SHORT_WORD; length++) {
        if (k < short_counts[length]) {
            return length;
        }
        k -= short_counts[length];
    }
    return long_words[k];
}

static double median_length(struct dolma_gopher *gopher, size_t n)
{
    size_t counts[SHORT_WORD] = { 0 };
    size_t n_long = 0;

    for (size_t k = 0; k < n; k++) {
        if (gopher->length[k] < SHORT_WORD) {
            counts[gopher->length[k]]++;
        } else {
            gopher->slot[n_long++] = gopher->length[k];
        }
    }
    if (n == 0) {
        return 0;
    }
    qsort(gopher->slot, n_long, sizeof *gopher->slot, compare_u32);
    if (n % 2 == 1) {
        return nth_length(counts, gopher->slot, n / 2);
    }
    return ((double)nth_length(counts, gopher->slot, n / 2 - 1) +
            (double)nth_length(counts, gopher->slot, n / 2)) /
           2;
}

/* One of: the be to of and that have with. */
static bool required_word(const char *word, size_t n)
{
    switch (n) {
    case 2:
        return memcmp(word, "be", 2) == 0 || memcmp(word, "to", 2) == 0 ||
               memcmp(word, "of", 2) == 0;
    case 3:
        return memcmp(word, "the", 3) == 0 || memcmp(word, "and", 3) == 0;
    case 4:
        return memcmp(word, "that", 4) == 0 || memcmp(word, "have", 4) == 0 ||
               memcmp(word, "with", 4) == 0;
    default:
        return false;
    }
}

/* Looks at a word: its characters; whether it holds # or an ellipsis, and a letter. */
static uint32_t scan_word(const char *word, size_t n, bool *symbol, bool *alpha)
{
    uint32_t chars = 0;

    for (size_t i = 0; i < n; chars++) {
        unsigned char c = (unsigned char)word[i];
        if (c < 0x80) {
            *symbol = *symbol || c == '#';
            *alpha = *alpha || (unsigned char)((c | 0x20) - 'a') < 26;
            i++;
        } else {
            uint32_t cp;
            i += text_utf8_decode(word, n, i, &cp);
            *symbol = *symbol || cp == 0x2026;
            *alpha = *alpha || (text_classes(cp) & TEXT_LETTER) != 0;
        }
    }
    return chars;
}

int32_t dolma_gopher_words(struct dolma_gopher *gopher, const struct dolma_doc *doc,
                           struct sluice_error *err)
{
    size_t symbols = 0;
    size_t alpha = 0;
    size_t required = 0;
    double n = doc->n_words > 0 ? (double)doc->n_words : 1;
    int32_t status = gopher->done ? SLUICE_OK : reserve(gopher, doc->n_words, err);

    if (status != SLUICE_OK || gopher->done) {
        return status;
    }
    gopher->word_chars = 0;
    for (size_t k = 0; k < doc->n_words; k++) {
        const char *word = doc->text + doc->words[k].begin;
        size_t len = doc->words[k].end - doc->words[k].begin;
        bool is_symbol = false;
        bool is_alpha = false;
        gopher->length[k] = scan_word(word, len, &is_symbol, &is_alpha);
        gopher->word_chars += gopher->length[k];
        symbols += is_symbol;
        alpha += is_alpha;
        required += required_word(word, len);
    }
    gopher->median = median_length(gopher, doc->n_words);
    gopher->symbols = (double)symbols / n;
    gopher->alpha = (double)alpha / n;
    gopher->required = (double)required;
    status = measure_ngrams(gopher, doc, err);
    gopher->done = status == SLUICE_OK;
    return status;
}

int32_t dolma_gopher_lines(struct dolma_gopher *gopher, const struct dolma_doc *doc,
                           const struct text_spans *lines, struct dolma_lines *out,
                           struct sluice_error *err)
{
    size_t bullets = 0;
    size_t ellipsis = 0;
    size_t copies = 0;
    uint64_t copied = 0;
    double n = lines->count > 0 ? (double)lines->count : 1;
    int32_t status = reserve(gopher, lines->count, err);

    if (status != SLUICE_OK) {
        return status;
    }
    group_spans(gopher, doc->text, lines->data, lines->count);
    for (size_t k = 0; k < lines->count; k++) {
        struct text_span line = lines->data[k];
        size_t len = line.end - line.begin;
        const char *end = doc->text + line.end;
        if (len > 0 && (end[-(ptrdiff_t)len] == '*' || end[-(ptrdiff_t)len] == '-')) {
            bullets++;
        }
        if (len >= 3 && memcmp(end - 3, "\xE2\x80\xA6", 3) == 0) {
            ellipsis++;
        }
        if (gopher->counts[gopher->slot[k]] > 1) {
            copies++;
            copied += dolma_chars(doc, line.end) - dolma_chars(doc, line.begin);
        }
    }
    out->bullets = (double)bullets / n;
    out->ellipsis = (double)ellipsis / n;
    out->duplicates = (double)copies / n;
    out->duplicate_chars =
        (double)copied / (double)(gopher->word_chars > 0 ? gopher->word_chars : 1);
    return SLUICE_OK;
}
