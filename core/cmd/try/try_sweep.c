/* A threshold varied over a range. The limit of a heuristic needs one run: what was measured is
 * compared with every threshold. Where the measure itself looks at the option, and for other
 * stages, the stage runs once for each threshold. See try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"

#define MOST_STEPS 1000u
#define DEFAULT_STEPS 9u
#define PROBES 200u /* rows on which it is tested whether the measure looks at the option */

static sluice_status bad_text(const char *text, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CONFIG,
                     "--sweep: found '%s', expected OPTION=FROM..TO or OPTION=FROM..TO:STEPS, such "
                     "as max=0.1..0.5:9",
                     text);
}

static sluice_status parse(const char *text, struct sweep *sweep, struct sluice_error *err)
{
    const char *equals = strchr(text, '=');
    const char *at;
    size_t used;

    sweep->n_steps = DEFAULT_STEPS;
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof sweep->option) {
        return bad_text(text, err);
    }
    memcpy(sweep->option, text, (size_t)(equals - text));
    sweep->option[equals - text] = '\0';
    at = equals + 1;
    used = strcspn(at, ".");
    /* "1..5": the first number must not take a dot of the range. */
    while (at[used] == '.' && at[used + 1] != '.') {
        used += 1 + strcspn(at + used + 1, ".");
    }
    if (at[used] != '.' || number_parse(at, used, &sweep->from) != used) {
        return bad_text(text, err);
    }
    at += used + 2;
    used = number_parse(at, strlen(at), &sweep->to);
    if (used == 0 || (at[used] != '\0' && at[used] != ':')) {
        return bad_text(text, err);
    }
    if (at[used] == ':') {
        uint64_t n;
        TRY(args_word_number(at + used + 1, "the steps of --sweep", MOST_STEPS, &n, err));
        sweep->n_steps = (uint32_t)n;
    }
    if (!(sweep->from < sweep->to) || sweep->n_steps < 2) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--sweep: found '%s', expected a range that goes up, and 2 to %u steps",
                         text, MOST_STEPS);
    }
    return SLUICE_OK;
}

/* Rounded, so that 0.1..0.5 gives 0.15 and not 0.15000000000000002. */
static double threshold_of(const struct sweep *sweep, uint32_t k, bool whole)
{
    double x = sweep->from + (sweep->to - sweep->from) * k / (sweep->n_steps - 1);
    double scale = pow(10, 9 - ceil(log10(fmax(fabs(sweep->from), fabs(sweep->to)) + 1e-300)));

    return whole ? round(x) : round(x * scale) / scale;
}

static void number_text(double value, bool whole, char text[NUMBER_TEXT_MAX])
{
    if (whole) {
        snprintf(text, NUMBER_TEXT_MAX, "%.0f", value);
    } else {
        number_print(value, text);
    }
}

struct sweeping {
    const struct sample *sample;
    const struct labels *labels;
    const struct groups *groups; /* NULL = none */
};

static void count(const struct sweeping *sweeping, struct sweep_step *step, uint64_t row,
                  int32_t reason)
{
    bool kept = reason == 0;

    if (reason == SLUICE_VERDICT_BAD) {
        step->quarantined++;
        return;
    }
    if (kept) {
        step->kept++;
        step->kept_bytes += sample_row_bytes(sweeping->sample, row);
        if (sweeping->groups != NULL) {
            step->by[sweeping->groups->of[row]]++;
        }
    }
    if (sweeping->labels != NULL) {
        confusion_add(&step->confusion, sweeping->labels->of[row], kept);
    }
}

/* ---- one run, many thresholds ---- */

static sluice_status judge_all(const struct trial *trial, const struct outcome *outcome,
                               const struct sweeping *sweeping, struct sweep *sweep,
                               struct sluice_error *err)
{
    bool is_above = trial->above != NULL && strcmp(sweep->option, trial->above) == 0;
    bool is_below = trial->below != NULL && strcmp(sweep->option, trial->below) == 0;
    double above = INFINITY;
    double below = -INFINITY;
    bool whole;

    if (trial->above != NULL) {
        TRY(trial_number(trial, trial->above, &above, &whole, err));
    }
    if (trial->below != NULL) {
        TRY(trial_number(trial, trial->below, &below, &whole, err));
    }
    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        struct sweep_step *step = &sweep->steps[k];
        double high = is_above ? step->threshold : above;
        double low = is_below ? step->threshold : below;
        for (uint64_t i = 0; i < outcome->n; i++) {
            const struct fate *fate = &outcome->fates[i];
            int32_t reason = fate->reason == SLUICE_VERDICT_BAD
                                 ? SLUICE_VERDICT_BAD
                                 : fate->value < low || fate->value > high;
            count(sweeping, step, i, reason);
        }
    }
    return SLUICE_OK;
}

/* ---- a run for each threshold ---- */

static sluice_status run_all_steps(struct trial *trial, struct sample *sample,
                                   const struct sweeping *sweeping, struct sweep *sweep, bool whole,
                                   struct sluice_error *err)
{
    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        struct outcome outcome;
        char text[NUMBER_TEXT_MAX];
        number_text(sweep->steps[k].threshold, whole, text);
        TRY(trial_set(trial, sweep->option, text, err));
        TRY(trial_run(trial, sample, &outcome, err));
        for (uint64_t i = 0; i < outcome.n; i++) {
            count(sweeping, &sweep->steps[k], i, outcome.fates[i].reason);
        }
        outcome_deinit(&outcome);
    }
    return SLUICE_OK;
}

static sluice_status looks_at_option(struct trial *trial, struct sample *sample,
                                     const struct outcome *outcome, const struct sweep *sweep,
                                     bool whole, bool *differs, struct sluice_error *err)
{
    *differs = false;
    trial->most_rows = PROBES;
    for (int end = 0; end < 2 && !*differs; end++) {
        struct outcome other;
        char text[NUMBER_TEXT_MAX];
        number_text(end == 0 ? sweep->from : sweep->to, whole, text);
        TRY(trial_set(trial, sweep->option, text, err));
        TRY(trial_run(trial, sample, &other, err));
        for (uint64_t i = 0; i < other.n; i++) {
            *differs = *differs || other.fates[i].valued != outcome->fates[i].valued ||
                       (other.fates[i].valued && other.fates[i].value != outcome->fates[i].value);
        }
        outcome_deinit(&other);
    }
    trial->most_rows = 0;
    return SLUICE_OK;
}

/* ---- the histogram ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* From the smallest value to the largest but for one in 200, which the last bin takes; the range of
 * the sweep is always in it. */
static sluice_status make_histogram(const struct outcome *outcome, struct sweep *sweep,
                                    struct sluice_error *err)
{
    double *values = malloc((outcome->n + 1) * sizeof *values);
    uint64_t n = 0;

    if (values == NULL) {
        return error_nomem(err, "the histogram");
    }
    for (uint64_t i = 0; i < outcome->n; i++) {
        if (outcome->fates[i].valued && isfinite(outcome->fates[i].value)) {
            values[n++] = outcome->fates[i].value;
        }
    }
    qsort(values, n, sizeof *values, compare_doubles);
    sweep->low = n > 0 ? fmin(values[0], sweep->from) : sweep->from;
    sweep->high = n > 0 ? fmax(values[n - 1 - n / 200], sweep->to) : sweep->to;
    if (!(sweep->high > sweep->low)) {
        sweep->high = sweep->low + 1;
    }
    for (uint64_t i = 0; i < n; i++) {
        double place = (values[i] - sweep->low) / (sweep->high - sweep->low) * SWEEP_BINS;
        sweep->bins[place >= SWEEP_BINS ? SWEEP_BINS - 1 : place < 0 ? 0 : (int)place]++;
    }
    free(values);
    return SLUICE_OK;
}

/* ---- the whole ---- */

static sluice_status make_steps(struct sweep *sweep, const struct groups *groups, bool whole,
                                struct sluice_error *err)
{
    sweep->steps = calloc(sweep->n_steps, sizeof *sweep->steps);
    for (uint32_t k = 0; sweep->steps != NULL && k < sweep->n_steps; k++) {
        sweep->steps[k].threshold = threshold_of(sweep, k, whole);
        sweep->steps[k].by =
            calloc((groups == NULL ? 0 : groups->n) + 1, sizeof *sweep->steps[k].by);
        if (sweep->steps[k].by == NULL) {
            return error_nomem(err, "the sweep");
        }
    }
    return sweep->steps == NULL ? error_nomem(err, "the sweep") : SLUICE_OK;
}

sluice_status sweep_make(struct trial *trial, struct sample *sample, const struct outcome *outcome,
                         const char *text, const struct groups *groups, const struct labels *labels,
                         struct sweep *sweep, struct sluice_error *err)
{
    struct sweeping sweeping = { .sample = sample, .labels = labels, .groups = groups };
    struct value given;
    bool whole = false;
    sluice_status status;

    memset(sweep, 0, sizeof *sweep);
    TRY(parse(text, sweep, err));
    TRY(trial_number(trial, sweep->option, &sweep->cut, &whole, err));
    if (!value_copy(&given, &trial->given)) {
        return error_nomem(err, "options");
    }
    status = make_steps(sweep, groups, whole, err);
    sweep->measured = (trial->above != NULL && strcmp(trial->above, sweep->option) == 0) ||
                      (trial->below != NULL && strcmp(trial->below, sweep->option) == 0);
    if (status == SLUICE_OK && sweep->measured) {
        status = looks_at_option(trial, sample, outcome, sweep, whole, &sweep->depends, err);
        sweep->measured = !sweep->depends;
        value_deinit(&trial->given);
        if (!value_copy(&trial->given, &given)) {
            status = error_nomem(err, "options");
        }
    }
    if (status == SLUICE_OK && sweep->measured) {
        status = judge_all(trial, outcome, &sweeping, sweep, err);
        if (status == SLUICE_OK) {
            status = make_histogram(outcome, sweep, err);
        }
    } else if (status == SLUICE_OK) {
        status = run_all_steps(trial, sample, &sweeping, sweep, whole, err);
    }
    value_deinit(&trial->given);
    trial->given = given;
    return status;
}

void sweep_deinit(struct sweep *sweep)
{
    for (uint32_t k = 0; sweep->steps != NULL && k < sweep->n_steps; k++) {
        free(sweep->steps[k].by);
    }
    free(sweep->steps);
    memset(sweep, 0, sizeof *sweep);
}
