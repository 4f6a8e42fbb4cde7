/* model_check.c - see model_check.h. The order of the file: magic, version, arguments, dictionary,
 * input matrix, output matrix; numbers are little-endian, as the machine's. */
#include "model_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sluice_arrays.h>

#define MAGIC 793712314
#define SUPERVISED 3
#define CENTROIDS 256
#define MOST 1000 /* of n-gram lengths: far beyond what models have, and no overflow */

struct input {
    const unsigned char *data;
    size_t n, at;
    struct sluice_error *err;
};

static sluice_status refuse(struct input *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static sluice_status refuse(struct input *in, const char *format, ...)
{
    char what[400];
    char message[600];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(message, sizeof message,
             "found no usable fastText model: %s (at byte %zu of %zu); expected a supervised model "
             "(.bin or .ftz) of fastText 0.9, whole",
             what, in->at, in->n);
    return sluice_fail(in->err, SLUICE_E_CONFIG, "model", message);
}

static sluice_status take(struct input *in, void *to, size_t n, const char *what)
{
    if (n > in->n - in->at) {
        return refuse(in, "it ends inside of %s", what);
    }
    memcpy(to, in->data + in->at, n);
    in->at += n;
    return SLUICE_OK;
}

static sluice_status skip(struct input *in, uint64_t n, const char *what)
{
    if (n > in->n - in->at) {
        return refuse(in, "it ends inside of %s", what);
    }
    in->at += (size_t)n;
    return SLUICE_OK;
}

/* n floats that are numbers. */
static sluice_status floats(struct input *in, uint64_t n, const char *what)
{
    if (n > (in->n - in->at) / sizeof(float)) {
        return refuse(in, "it ends inside of %s", what);
    }
    for (uint64_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, in->data + in->at, sizeof value);
        if (!isfinite(value)) {
            return refuse(in, "%s has a value that is no number", what);
        }
        in->at += sizeof value;
    }
    return SLUICE_OK;
}

/* ---- dictionary ---- */

struct dictionary {
    int32_t size, words, labels;
    int64_t pruned; /* pairs, or -1 */
};

static sluice_status check_entries(struct input *in, const struct dictionary *dictionary,
                                   int32_t loss)
{
    int64_t total = 0;

    for (int32_t i = 0; i < dictionary->size; i++) {
        const unsigned char *end = memchr(in->data + in->at, 0, in->n - in->at);
        int64_t count = 0;
        uint8_t type = 0;
        sluice_status status;
        if (end == NULL || (size_t)(end - in->data) - in->at > 65536) {
            return refuse(in, "entry %d of the dictionary does not end", (int)i);
        }
        in->at = (size_t)(end - in->data) + 1;
        status = take(in, &count, sizeof count, "the dictionary");
        if (status == SLUICE_OK) {
            status = take(in, &type, sizeof type, "the dictionary");
        }
        if (status != SLUICE_OK) {
            return status;
        }
        if (type != (i >= dictionary->words)) {
            return refuse(in, "entry %d of the dictionary is of another kind", (int)i);
        }
        /* The tree of the hierarchical softmax takes 1e15 as more than all counts together. */
        if (count < 0 ||
            (type == 1 && loss == 1 && (total += count) >= INT64_C(1000000000000000)) ||
            total < 0) {
            return refuse(in, "entry %d of the dictionary has an impossible count", (int)i);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_dictionary(struct input *in, struct dictionary *dictionary, int32_t loss)
{
    int64_t tokens;
    sluice_status status = take(in, &dictionary->size, 4, "the dictionary");

    if (status == SLUICE_OK) {
        status = take(in, &dictionary->words, 4, "the dictionary");
    }
    if (status == SLUICE_OK) {
        status = take(in, &dictionary->labels, 4, "the dictionary");
    }
    if (status == SLUICE_OK) {
        status = take(in, &tokens, 8, "the dictionary");
    }
    if (status == SLUICE_OK) {
        status = take(in, &dictionary->pruned, 8, "the dictionary");
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (dictionary->words < 0 || dictionary->labels < 1 || dictionary->size < 1 ||
        (int64_t)dictionary->words + dictionary->labels != dictionary->size ||
        (size_t)dictionary->size > (in->n - in->at) / 10) {
        return refuse(in, "a dictionary of %d entries, %d words, %d labels", (int)dictionary->size,
                      (int)dictionary->words, (int)dictionary->labels);
    }
    if (dictionary->pruned < -1 ||
        (dictionary->pruned > 0 && (uint64_t)dictionary->pruned > in->n / 8)) {
        return refuse(in, "%lld kept n-grams", (long long)dictionary->pruned);
    }
    return check_entries(in, dictionary, loss);
}

/* The places of kept n-grams behind the words of the input matrix; the largest goes to *last. */
static sluice_status check_pruned(struct input *in, const struct dictionary *dictionary,
                                  int64_t *last)
{
    *last = -1;
    for (int64_t i = 0; i < dictionary->pruned; i++) {
        int32_t pair[2];
        sluice_status status = take(in, pair, sizeof pair, "the kept n-grams");
        if (status != SLUICE_OK) {
            return status;
        }
        if (pair[0] < 0 || pair[1] < 0) {
            return refuse(in, "n-gram %d is kept at place %d", (int)pair[0], (int)pair[1]);
        }
        *last = pair[1] > *last ? pair[1] : *last;
    }
    return SLUICE_OK;
}

/* ---- matrices ---- */

static sluice_status check_dense(struct input *in, int64_t *rows, int64_t *columns,
                                 const char *what)
{
    sluice_status status = take(in, rows, 8, what);

    if (status == SLUICE_OK) {
        status = take(in, columns, 8, what);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (*rows < 1 || *columns < 1 || *rows > INT32_MAX || *columns > INT32_MAX) {
        return refuse(in, "%s of %lld x %lld", what, (long long)*rows, (long long)*columns);
    }
    return floats(in, (uint64_t)*rows * (uint64_t)*columns, what);
}

/* A product quantiser of vectors of `dim`; *parts is how many codes a vector has. */
static sluice_status check_quantiser(struct input *in, int64_t dim, int32_t *parts,
                                     const char *what)
{
    int32_t head[4]; /* dim, parts, size of a part, size of the last */
    sluice_status status = take(in, head, sizeof head, what);

    if (status != SLUICE_OK) {
        return status;
    }
    if (head[0] != dim || head[2] < 1 || head[2] > head[0] || head[3] < 1 ||
        head[1] != (head[0] + head[2] - 1) / head[2] ||
        head[3] != (head[0] % head[2] == 0 ? head[2] : head[0] % head[2])) {
        return refuse(in, "%s has codes of %d numbers in %d parts of %d", what, (int)head[0],
                      (int)head[1], (int)head[2]);
    }
    *parts = head[1];
    return floats(in, (uint64_t)head[0] * CENTROIDS, what);
}

static sluice_status check_quantised(struct input *in, int64_t *rows, int64_t *columns,
                                     const char *what)
{
    uint8_t norms = 0;
    int32_t codes = 0;
    int32_t parts = 0;
    int32_t one;
    sluice_status status = take(in, &norms, 1, what);

    if (status == SLUICE_OK) {
        status = take(in, rows, 8, what);
    }
    if (status == SLUICE_OK) {
        status = take(in, columns, 8, what);
    }
    if (status == SLUICE_OK) {
        status = take(in, &codes, 4, what);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (norms > 1 || *rows < 1 || *columns < 1 || *rows > INT32_MAX || *columns > INT32_MAX / 2 ||
        codes < 1) {
        return refuse(in, "%s of %lld x %lld, %d codes", what, (long long)*rows,
                      (long long)*columns, (int)codes);
    }
    status = skip(in, (uint64_t)codes, what);
    if (status == SLUICE_OK) {
        status = check_quantiser(in, *columns, &parts, what);
    }
    if (status == SLUICE_OK && (int64_t)parts * *rows != codes) {
        return refuse(in, "%s has %d codes for %lld rows of %d", what, (int)codes, (long long)*rows,
                      (int)parts);
    }
    if (status == SLUICE_OK && norms == 1) {
        status = skip(in, (uint64_t)*rows, what);
        if (status == SLUICE_OK) {
            status = check_quantiser(in, 1, &one, what);
        }
    }
    return status;
}

/* ---- the whole ---- */

enum {
    DIM,
    WINDOW,
    EPOCHS,
    MIN_COUNT,
    NEGATIVES,
    WORD_NGRAMS,
    LOSS,
    KIND,
    BUCKETS,
    MIN_N,
    MAX_N,
    RATE,
    NUMBERS
};

static sluice_status check_arguments(struct input *in, struct model_facts *facts)
{
    int32_t head[2];
    int32_t numbers[NUMBERS];
    double threshold;
    sluice_status status = take(in, head, sizeof head, "the magic number");

    if (status == SLUICE_OK && (head[0] != MAGIC || head[1] < 11 || head[1] > 12)) {
        in->at = 0;
        return refuse(in, head[0] != MAGIC ? "the magic number is missing"
                                           : "it is of another version than 11 and 12");
    }
    if (status == SLUICE_OK) {
        status = take(in, numbers, sizeof numbers, "the arguments");
    }
    if (status == SLUICE_OK) {
        status = take(in, &threshold, sizeof threshold, "the arguments");
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (numbers[KIND] != SUPERVISED) {
        return refuse(in, "it is no classifier but word vectors");
    }
    /* Version 11 has no subwords, whatever it says. */
    numbers[MAX_N] = head[1] == 11 ? 0 : numbers[MAX_N];
    if (numbers[DIM] < 1 || numbers[DIM] > 1 << 20 || numbers[LOSS] < 1 || numbers[LOSS] > 4 ||
        numbers[WORD_NGRAMS] > MOST || numbers[MAX_N] > MOST || numbers[MAX_N] < 0 ||
        numbers[MIN_N] < 0 || numbers[BUCKETS] < 0 ||
        ((numbers[MAX_N] > 0 || numbers[WORD_NGRAMS] > 1) && numbers[BUCKETS] == 0)) {
        return refuse(in,
                      "impossible arguments (dim %d, loss %d, wordNgrams %d, maxn %d, bucket %d)",
                      (int)numbers[DIM], (int)numbers[LOSS], (int)numbers[WORD_NGRAMS],
                      (int)numbers[MAX_N], (int)numbers[BUCKETS]);
    }
    *facts = (struct model_facts){ .dim = numbers[DIM],
                                   .loss = numbers[LOSS],
                                   .min_n = numbers[MIN_N],
                                   .max_n = numbers[MAX_N],
                                   .word_ngrams = numbers[WORD_NGRAMS],
                                   .buckets = numbers[BUCKETS] };
    return SLUICE_OK;
}

sluice_status model_check(const void *data, size_t n, struct model_facts *facts,
                          struct sluice_error *err)
{
    struct input in = { data, n, 0, err };
    struct dictionary dictionary = { 0 };
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t last = -1;
    uint8_t flag = 0;
    sluice_status status = check_arguments(&in, facts);

    if (status == SLUICE_OK) {
        status = check_dictionary(&in, &dictionary, facts->loss);
    }
    if (status == SLUICE_OK) {
        facts->pruned = dictionary.pruned;
        facts->pruned_at = in.at;
        status = check_pruned(&in, &dictionary, &last);
    }
    if (status == SLUICE_OK) {
        status = take(&in, &flag, 1, "the input matrix");
    }
    if (status != SLUICE_OK) {
        return status;
    }
    facts->words = dictionary.words;
    facts->labels = dictionary.labels;
    facts->is_quantised = flag != 0;
    if (flag > 1 || (flag == 0 && dictionary.pruned >= 0)) {
        return refuse(&in, "the input matrix is of an unknown kind");
    }
    status = flag != 0 ? check_quantised(&in, &rows, &columns, "the input matrix")
                       : check_dense(&in, &rows, &columns, "the input matrix");
    if (status != SLUICE_OK) {
        return status;
    }
    /* Every word, and every n-gram behind them, has a row. */
    int64_t need = dictionary.pruned >= 0                       ? last + 1
                   : facts->max_n > 0 || facts->word_ngrams > 1 ? facts->buckets
                                                                : 0;
    if (columns != facts->dim || rows < dictionary.words + need) {
        return refuse(&in, "an input matrix of %lld x %lld for %d words, %lld n-grams, dim %d",
                      (long long)rows, (long long)columns, (int)dictionary.words, (long long)need,
                      (int)facts->dim);
    }
    status = take(&in, &flag, 1, "the output matrix");
    if (status != SLUICE_OK) {
        return status;
    }
    if (flag > 1) {
        return refuse(&in, "the output matrix is of an unknown kind");
    }
    status = flag != 0 && facts->is_quantised
                 ? check_quantised(&in, &rows, &columns, "the output matrix")
                 : check_dense(&in, &rows, &columns, "the output matrix");
    if (status == SLUICE_OK && (columns != facts->dim || rows != dictionary.labels)) {
        return refuse(&in, "an output matrix of %lld x %lld for %d labels, dim %d", (long long)rows,
                      (long long)columns, (int)dictionary.labels, (int)facts->dim);
    }
    if (status == SLUICE_OK && in.at != n) {
        return refuse(&in, "%zu bytes behind its end", n - in.at);
    }
    return status;
}
