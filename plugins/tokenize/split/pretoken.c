/* pretoken.c — see the header. */
#include "split/pretoken.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"

struct pretoken_worker {
    const struct pretoken *pretoken;
    struct regex_worker *regex[PRETOKEN_STEPS];
    pretoken_sink *sink;
    void *context;
};

int32_t pretoken_init(struct pretoken *pretoken, struct sluice_error *err)
{
    memset(pretoken, 0, sizeof(*pretoken));
    if (unicode_table_init(&pretoken->unicode) != 0) {
        return bpe_fail_memory(err, "the Unicode tables");
    }
    return SLUICE_OK;
}

void pretoken_deinit(struct pretoken *pretoken)
{
    size_t i;
    for (i = 0; i < pretoken->n_steps; i++) {
        regex_destroy(pretoken->steps[i].regex);
    }
    unicode_table_deinit(&pretoken->unicode);
    memset(pretoken, 0, sizeof(*pretoken));
}

/* Puts one step in the place of the last three where a scanner does all they do. */
static void join_steps(struct pretoken *pretoken)
{
    struct pretoken_step *last = pretoken->steps + pretoken->n_steps;
    if (pretoken->n_steps >= 3 && last[-3].fill && last[-2].fill && last[-1].fill) {
        pretoken_fill *const fills[3] = { last[-3].fill, last[-2].fill, last[-1].fill };
        pretoken_fill *fill = pretoken_scanner_three(fills);
        if (fill) {
            pretoken->n_steps -= 2;
            last[-3].fill = fill;
        }
    }
}

int32_t pretoken_add(struct pretoken *pretoken, const char *pattern, enum regex_dialect dialect,
                     enum pretoken_behavior behavior, int invert, int force_regex,
                     struct sluice_error *err)
{
    struct pretoken_step *step = &pretoken->steps[pretoken->n_steps];
    pretoken_fill *fill = NULL;
    int total = 0;
    int32_t status;
    if (pretoken->n_steps == PRETOKEN_STEPS) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "pre_tokenizer has more than %u splits, the most this engine runs",
                        PRETOKEN_STEPS);
    }
    if (dialect != REGEX_LITERAL && !force_regex) {
        fill = pretoken_scanner(pattern, &total);
    }
    memset(step, 0, sizeof(*step));
    step->behavior = behavior;
    step->invert = invert;
    if (fill &&
        (behavior == PRETOKEN_ISOLATED ||
         (total && (behavior == PRETOKEN_NO_GAPS || (behavior == PRETOKEN_REMOVED && invert))))) {
        step->fill = fill; /* a pattern without gaps cuts the same under all three */
    } else {
        status =
            regex_compile(&pretoken->unicode, pattern, strlen(pattern), dialect, &step->regex, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    pretoken->n_steps++;
    join_steps(pretoken);
    return SLUICE_OK;
}

int32_t pretoken_worker_create(const struct pretoken *pretoken, struct pretoken_worker **out,
                               struct sluice_error *err)
{
    size_t i;
    struct pretoken_worker *w = calloc(1, sizeof(*w));
    if (!w) {
        return bpe_fail_memory(err, "a pre-tokenizer's scratch");
    }
    w->pretoken = pretoken;
    for (i = 0; i < pretoken->n_steps; i++) {
        if (pretoken->steps[i].regex) {
            int32_t status = regex_worker_create(pretoken->steps[i].regex, &w->regex[i], err);
            if (status != SLUICE_OK) {
                pretoken_worker_destroy(w);
                return status;
            }
        }
    }
    *out = w;
    return SLUICE_OK;
}

void pretoken_worker_destroy(struct pretoken_worker *w)
{
    size_t i;
    if (w) {
        for (i = 0; i < PRETOKEN_STEPS; i++) {
            regex_worker_destroy(w->regex[i]);
        }
        free(w);
    }
}

static int32_t run_step(struct pretoken_worker *w, size_t k, const uint8_t *text, size_t len,
                        struct sluice_error *err);

/* Hands a batch of adjacent pieces on: to the next step, or behind the last to the sink. */
static int32_t deliver(struct pretoken_worker *w, size_t k, const uint8_t *text, size_t start,
                       const size_t *ends, size_t n, struct sluice_error *err)
{
    size_t i;
    if (k + 1 >= w->pretoken->n_steps) {
        return w->sink(w->context, text, start, ends, n, err);
    }
    for (i = 0; i < n; i++) {
        int32_t status = run_step(w, k + 1, text + start, ends[i] - start, err);
        if (status != SLUICE_OK) {
            return status;
        }
        start = ends[i];
    }
    return SLUICE_OK;
}

/* tokenizers/src/tokenizer/normalizer.rs, NormalizedString::split, as a stream with one item of
 * lookahead. */
static int32_t run_regex(struct pretoken_worker *w, size_t k, const uint8_t *text, size_t len,
                         struct sluice_error *err)
{
    const struct pretoken_step *step = &w->pretoken->steps[k];
    struct regex_worker *regex = w->regex[k];
    size_t ends[PRETOKEN_BATCH], n = 0, start = 0, end, next_end;
    int match, next_match;
    int32_t status = regex_begin(regex, text, len, err);
    if (status == SLUICE_OK) {
        status = regex_next(regex, &end, &match, err);
    }
    while (status == SLUICE_OK && match >= 0) {
        int kind = match != step->invert, drop = 0, last = kind;
        for (;;) {
            int next_kind, join;
            status = regex_next(regex, &next_end, &next_match, err);
            if (status != SLUICE_OK) {
                return status;
            }
            if (next_match < 0) {
                break;
            }
            next_kind = next_match != step->invert;
            join = (step->behavior == PRETOKEN_CONTIGUOUS && next_kind == last) ||
                   (step->behavior == PRETOKEN_MERGED_WITH_PREVIOUS && next_kind && !last) ||
                   (step->behavior == PRETOKEN_MERGED_WITH_NEXT && !next_kind && last);
            if (!join) {
                break;
            }
            last = next_kind;
            end = next_end;
        }
        if (step->behavior == PRETOKEN_NO_GAPS && !kind) {
            return bpe_fail(err, SLUICE_E_DATA,
                            "the pre-tokenization pattern matches nothing at %zu bytes of the text "
                            "(tiktoken would drop them); "
                            "add an alternative for every character, such as |\\s+|\\S",
                            end - (n ? ends[n - 1] : start));
        }
        drop = step->behavior == PRETOKEN_REMOVED && kind;
        if (!drop) {
            ends[n++] = end;
        }
        if (n == PRETOKEN_BATCH || (drop && n > 0)) {
            status = deliver(w, k, text, start, ends, n, err);
            n = 0;
            start = end;
        }
        if (drop) {
            start = end;
        }
        end = next_end;
        match = next_match;
    }
    return status == SLUICE_OK && n > 0 ? deliver(w, k, text, start, ends, n, err) : status;
}

static int32_t run_step(struct pretoken_worker *w, size_t k, const uint8_t *text, size_t len,
                        struct sluice_error *err)
{
    const struct pretoken_step *step = &w->pretoken->steps[k];
    size_t ends[PRETOKEN_BATCH], pos = 0;
    if (step->regex) {
        return run_regex(w, k, text, len, err);
    }
    while (pos < len) {
        size_t start = pos,
               n = step->fill(&w->pretoken->unicode, text, len, &pos, ends, PRETOKEN_BATCH);
        int32_t status = deliver(w, k, text, start, ends, n, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

int32_t pretoken_run(struct pretoken_worker *w, const uint8_t *text, size_t len,
                     pretoken_sink *sink, void *context, struct sluice_error *err)
{
    w->sink = sink;
    w->context = context;
    if (len == 0) {
        return SLUICE_OK;
    }
    if (w->pretoken->n_steps == 0) {
        return sink(context, text, 0, &len, 1, err);
    }
    return run_step(w, 0, text, len, err);
}
