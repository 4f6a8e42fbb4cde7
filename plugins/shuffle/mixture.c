/* How much of each source a mixture takes: see mixture.h. */
#include "mixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shuffle.h"

static const char *word(enum mixture_mode mode)
{
    return mode == MIXTURE_WEIGHTS ? "weights" : "epochs";
}

/* The place of a name among the values, or -1. */
static int64_t find(const struct sluice_map *values, const char *name)
{
    for (uint64_t i = 0; i < values->n; i++) {
        if (strcmp(values->keys[i], name) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

static sluice_status parse(const struct mixture_goal *goal, uint64_t i, double *value,
                           struct sluice_error *err)
{
    const char *text = goal->values.values[i];
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*value) || *value < 0 ||
        (goal->mode == MIXTURE_EPOCHS && *value > MIXTURE_EPOCHS_MAX)) {
        return shuffle_fail(
            err, SLUICE_E_CONFIG, word(goal->mode),
            "found %.100s for the source '%.100s', expected a number of 0 or more%s", text,
            goal->values.keys[i], goal->mode == MIXTURE_EPOCHS ? ", at most 64" : "");
    }
    return SLUICE_OK;
}

sluice_status mixture_check(const struct mixture_goal *goal, struct sluice_error *err)
{
    double sum = 0;

    for (uint64_t i = 0; i < goal->values.n; i++) {
        double value;
        sluice_status status = parse(goal, i, &value, err);
        if (status != SLUICE_OK) {
            return status;
        }
        sum += value;
    }
    if (goal->values.n > 0 && goal->mode == MIXTURE_WEIGHTS && !(sum > 0 && isfinite(sum))) {
        return shuffle_fail(err, SLUICE_E_CONFIG, "weights", "%s",
                            sum > 0 ? "the sum of all weights is too large for a number"
                                    : "all weights are 0: there is nothing to take");
    }
    return SLUICE_OK;
}

/* "books, code, web" */
static void name_all(const struct mixture_source *sources, size_t n, char *text, size_t size)
{
    size_t at = 0;

    (void)snprintf(text, size, "none");
    for (size_t k = 0; k < n && at < size; k++) {
        int more = snprintf(text + at, size - at, "%s%.60s", k > 0 ? ", " : "", sources[k].name);
        at += more > 0 ? (size_t)more : 0;
    }
}

/* Every source is named, and every name is a source; *of[k] is the value of source k. */
static sluice_status match(const struct mixture_goal *goal, const struct mixture_source *sources,
                           size_t n, double *of, struct sluice_error *err)
{
    for (uint64_t i = 0; i < goal->values.n; i++) {
        double value;
        size_t k = 0;
        sluice_status status = parse(goal, i, &value, err);
        if (status != SLUICE_OK) {
            return status;
        }
        while (k < n && strcmp(sources[k].name, goal->values.keys[i]) != 0) {
            k++;
        }
        if (k == n) {
            char there[300];
            name_all(sources, n, there, sizeof there);
            return shuffle_fail(err, SLUICE_E_CONFIG, word(goal->mode),
                                "no document is of the source '%.100s', which %s names; there are "
                                "%s: correct the name or leave it out",
                                goal->values.keys[i], word(goal->mode), there);
        }
        if (value > 0 && sources[k].size == 0) {
            return shuffle_fail(
                err, SLUICE_E_CONFIG, word(goal->mode),
                "the documents of the source '%.100s' have no size at all: there is "
                "nothing to repeat; leave the source out",
                sources[k].name);
        }
    }
    for (size_t k = 0; k < n; k++) {
        int64_t i = find(&goal->values, sources[k].name);
        if (i < 0) {
            return shuffle_fail(err, SLUICE_E_CONFIG, word(goal->mode),
                                "%llu documents are of the source '%.100s', which %s does not "
                                "name; give it a number, 0 to leave the source out",
                                (unsigned long long)sources[k].documents, sources[k].name,
                                word(goal->mode));
        }
        sluice_status status = parse(goal, (uint64_t)i, &of[k], err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static sluice_status by_weight(const struct mixture_goal *goal, struct mixture_source *sources,
                               size_t n, const double *weights, struct sluice_error *err)
{
    double sum = 0;
    double most = INFINITY; /* of the output */
    double total = (double)goal->total;
    size_t scarce = 0;

    for (size_t k = 0; k < n; k++) {
        sum += weights[k];
    }
    for (size_t k = 0; k < n; k++) {
        double enough = weights[k] > 0
                            ? goal->max_epochs * (double)sources[k].size * (sum / weights[k])
                            : INFINITY;
        if (enough < most) {
            most = enough;
            scarce = k;
        }
    }
    if (goal->total == 0) {
        total = floor(most);
    } else if (total > most) {
        return shuffle_fail(
            err, SLUICE_E_CONFIG, "total",
            "total = %llu takes %.2f epochs of the source '%.100s', which has %llu; with "
            "max_epochs = %g at most %.0f are possible: lower total, or raise max_epochs",
            (unsigned long long)goal->total,
            total * (weights[scarce] / sum) / (double)sources[scarce].size, sources[scarce].name,
            (unsigned long long)sources[scarce].size, goal->max_epochs, floor(most));
    }
    if (!(total < (double)MIXTURE_SIZE_MAX)) {
        return sluice_fail(err, SLUICE_E_CONFIG, "total", "the mixture is larger than 2^53");
    }
    for (size_t k = 0; k < n; k++) {
        sources[k].target = (uint64_t)floor(total * (weights[k] / sum) + 0.5);
    }
    return SLUICE_OK;
}

sluice_status mixture_targets(const struct mixture_goal *goal, struct mixture_source *sources,
                              size_t n, struct sluice_error *err)
{
    double *values = calloc(n + 1, sizeof *values);
    sluice_status status = values == NULL ? shuffle_nomem(err) : mixture_check(goal, err);

    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        if (sources[k].size >= MIXTURE_SOURCE_MAX) {
            status = shuffle_fail(err, SLUICE_E_CONFIG, "",
                                  "the source '%.100s' is larger than a mixture can count (2^47)",
                                  sources[k].name);
        }
    }
    if (status == SLUICE_OK && goal->mode != MIXTURE_EACH && goal->values.n > 0) {
        status = match(goal, sources, n, values, err);
    }
    if (status == SLUICE_OK && goal->mode == MIXTURE_WEIGHTS && goal->values.n > 0) {
        status = by_weight(goal, sources, n, values, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        struct mixture_source *source = &sources[k];
        if (goal->mode != MIXTURE_EACH && goal->values.n == 0) {
            source->target = source->size;
        } else if (goal->mode == MIXTURE_EPOCHS) {
            source->target = (uint64_t)floor(values[k] * (double)source->size + 0.5);
        } else if (goal->mode == MIXTURE_EACH) {
            source->target = goal->each < source->size ? goal->each : source->size;
        }
        source->whole = source->size > 0 ? source->target / source->size : 0;
        source->rest = source->size > 0 ? source->target % source->size : 0;
    }
    free(values);
    return status;
}

/* ---- the cut ---- */

/* Takes the group when that brings the sum nearer to what is wanted. */
static void decide(struct mixture_cut *cut)
{
    if (cut->group_documents == 0) {
        return;
    }
    if (!cut->closed && cut->taken < cut->rest && (cut->rest - cut->taken) * 2 > cut->group_size) {
        cut->taken += cut->group_size;
        cut->documents += cut->group_documents;
        cut->hash = cut->group_hash;
        cut->any = true;
    } else {
        cut->closed = true;
    }
    cut->group_size = cut->group_documents = 0;
}

void mixture_cut_add(struct mixture_cut *cut, uint64_t hash, uint64_t size)
{
    if (cut->group_documents > 0 && hash != cut->group_hash) {
        decide(cut);
    }
    cut->group_hash = hash;
    cut->group_size += size;
    cut->group_documents++;
}

void mixture_cut_end(struct mixture_cut *cut)
{
    decide(cut);
}

uint32_t mixture_copies(uint64_t whole, bool any, uint64_t cut, uint64_t hash)
{
    return (uint32_t)whole + (any && hash <= cut ? 1u : 0u);
}
