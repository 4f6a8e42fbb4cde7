/* The results of `sluice try` for programs: one JSON object a line. See try.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/facts/facts.h"
#include "run/facts/histogram.h"

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *text_of(const char *text)
{
    return facts_text(text, strlen(text));
}

static json_t *reasons_json(const struct try_view *view)
{
    json_t *list = json_array();

    for (uint32_t k = 1; k <= view->outcome->n_reasons; k++) {
        uint64_t rows = 0;
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < view->outcome->n; i++) {
            if (view->outcome->fates[i].reason == (int32_t)k) {
                rows++;
                bytes += sample_row_bytes(view->sample, i);
            }
        }
        if (rows > 0) {
            json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "reason",
                                                  view->outcome->reasons[k - 1], "documents",
                                                  count(rows), "bytes", count(bytes)));
        }
    }
    return list;
}

static json_t *groups_json(const struct groups *groups)
{
    json_t *list = json_array();

    for (size_t i = 0; groups != NULL && i < groups->n; i++) {
        const struct group *group = &groups->items[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "value", text_of(group->value),
                            "documents", count(group->rows), "kept", count(group->kept), "bytes",
                            count(group->bytes), "kept_bytes", count(group->kept_bytes)));
    }
    return list;
}

static json_t *confusion_json(const struct confusion *confusion)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dropped_right",
                     count(confusion->dropped_right), "dropped_wrong",
                     count(confusion->dropped_wrong), "kept_right", count(confusion->kept_right),
                     "kept_wrong", count(confusion->kept_wrong), "precision",
                     number(confusion_precision(confusion)), "recall",
                     number(confusion_recall(confusion)), "f1", number(confusion_f1(confusion)));
}

static json_t *options_json_of(const struct trial *trial)
{
    struct sluice_error err = ERROR_INIT;
    struct options *options = NULL;
    struct buf text = BUF_INIT;
    json_t *json = NULL;

    if (trial_options(trial, &options, &err) == SLUICE_OK) {
        options_json(options, &text);
        json = json_loads(buf_str(&text), 0, NULL);
    }
    buf_deinit(&text);
    options_destroy(options);
    return json == NULL ? json_object() : json;
}

static json_t *summary_json(const struct try_view *view)
{
    const struct outcome *out = view->outcome;
    uint64_t kept = 0;
    uint64_t kept_bytes = 0;
    uint64_t bad = 0;
    struct confusion confusion = { 0 };
    json_t *json;

    for (uint64_t i = 0; i < out->n; i++) {
        int32_t reason = out->fates[i].reason;
        kept += reason == 0;
        bad += reason == SLUICE_VERDICT_BAD;
        kept_bytes += reason == 0 ? sample_row_bytes(view->sample, i) : 0;
        if (view->labels != NULL && reason != SLUICE_VERDICT_BAD) {
            confusion_add(&confusion, view->labels->of[i], reason == 0);
        }
    }
    json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "stage",
                     view->trial->name, "options", options_json_of(view->trial), "documents",
                     count(out->n), "bytes", count(out->bytes), "kept", count(kept), "kept_bytes",
                     count(kept_bytes), "dropped", count(out->n - kept - bad), "quarantined",
                     count(bad), "seconds", number(out->seconds), "reasons", reasons_json(view));
    if (json != NULL && out->transforms) {
        json_object_set_new(json, "made", count(out->emitted));
    }
    if (json != NULL && out->annotates) {
        json_object_set_new(json, "changed", count(outcome_changed(out)));
    }
    if (json != NULL && view->total > 0) {
        json_object_set_new(json, "seconds_from_save", number(view->total));
    }
    if (json != NULL && view->groups != NULL) {
        json_object_set_new(json, "by", json_string(view->by));
        json_object_set_new(json, "groups", groups_json(view->groups));
    }
    if (json != NULL && view->labels != NULL) {
        json_object_set_new(json, "labels", count(view->labels->n));
        json_object_set_new(json, "labels_elsewhere", count(view->labels->strange));
        json_object_set_new(json, "confusion", confusion_json(&confusion));
    }
    return json;
}

static json_t *fate_json(const struct outcome *out, const struct fate *fate)
{
    json_t *json = json_object();

    json_object_set_new(json, "fate",
                        json_string(fate->reason == 0                    ? "kept"
                                    : fate->reason == SLUICE_VERDICT_BAD ? "quarantined"
                                                                         : "dropped"));
    if (fate->reason > 0) {
        json_object_set_new(json, "reason", json_string(outcome_reason(out, fate->reason)));
    }
    if (fate->valued) {
        json_object_set_new(json, "value", number(fate->value));
        json_object_set_new(json, "limit", number(fate->limit));
    }
    if (fate->note != NULL) {
        json_object_set_new(json, "note", text_of(fate->note));
    }
    return json;
}

#define MOST_PLACES 20

static void add_document(const struct try_view *view, json_t *json, uint64_t row)
{
    const struct fate *fate = &view->outcome->fates[row];
    char buffer[64];
    size_t n;
    const char *bytes = sample_id(view->sample, row, &n, buffer);

    json_object_set_new(json, "id", facts_text(bytes, n));
    json_object_set_new(json, "row", count(row));
    bytes = sample_text(view->sample, row, &n);
    json_object_set_new(json, "text", facts_text(bytes, n < 400 ? n : 400));
    if (fate->after != NULL) {
        json_object_set_new(json, "edits",
                            edits_json(bytes, n, fate->after, fate->n_after, MOST_PLACES));
    }
    if (view->labels != NULL && view->labels->of[row] != 0) {
        json_object_set_new(json, "label",
                            json_string(view->labels->of[row] > 0 ? "keep" : "drop"));
    }
}

/* Rows with a fate, as outcome_pick gives them; NULL = out of memory. */
static json_t *examples_json(const struct try_view *view, int fate, uint64_t most)
{
    struct sluice_error err = ERROR_INIT;
    json_t *list = json_array();
    uint64_t *rows = NULL;
    uint64_t n = 0;

    if (outcome_pick(view->outcome, fate, most, &rows, &n, &err) != SLUICE_OK) {
        json_decref(list);
        list = NULL;
    }
    for (uint64_t i = 0; i < n; i++) {
        json_t *json = fate_json(view->outcome, &view->outcome->fates[rows[i]]);
        add_document(view, json, rows[i]);
        json_array_append_new(list, json);
    }
    free(rows);
    return list;
}

/* Prints a line for each item; drops the reference. */
static bool print_list(const char *event, json_t *list)
{
    bool ok = list != NULL;
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        ok = ok && look_print(event, json_incref(item));
    }
    json_decref(list);
    return ok;
}

/* Programs get every change, not only examples. */
static bool print_changes(const struct try_view *view)
{
    const struct changes *changes = view->changes;
    bool ok = look_print("changes",
                         json_pack("{s:s, s:o, s:o, s:o}", "against", view->before_name,
                                   "now_dropped", count(changes->dropped), "now_kept",
                                   count(changes->kept), "other_reason", count(changes->other)));

    for (uint64_t i = 0; ok && i < changes->n; i++) {
        const struct change *change = &changes->items[i];
        json_t *json = json_pack("{s:o, s:o}", "before", fate_json(view->before, change->before),
                                 "after", fate_json(view->outcome, change->after));
        add_document(view, json, change->row);
        ok = look_print("change", json);
    }
    return ok;
}

static json_t *measure_json(const struct sweep *sweep)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "option", sweep->option, "cut",
                     number(sweep->cut), "low", number(sweep->low), "high", number(sweep->high),
                     "bins", histogram_counts(sweep->bins));
}

static json_t *thresholds_json(const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    json_t *list = json_array();

    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        const struct sweep_step *step = &sweep->steps[k];
        json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "option", sweep->option, "threshold",
                                 number(step->threshold), "kept", count(step->kept), "kept_bytes",
                                 count(step->kept_bytes), "quarantined", count(step->quarantined));
        if (json != NULL && view->labels != NULL) {
            json_object_set_new(json, "confusion", confusion_json(&step->confusion));
        }
        if (json != NULL && view->groups != NULL) {
            json_t *groups = json_object();
            for (size_t g = 0; g < view->groups->n; g++) {
                const char *value = view->groups->items[g].value;
                json_t *name = facts_text(value, strlen(value));
                if (name != NULL) {
                    json_object_set_new(groups, json_string_value(name), count(step->by[g]));
                }
                json_decref(name);
            }
            json_object_set_new(json, "kept_by", groups);
        }
        json_array_append_new(list, json);
    }
    return list;
}

bool try_print_json(const struct try_view *view)
{
    bool ok = look_print("try", summary_json(view));

    if (view->sweep != NULL) {
        if (view->sweep->measured) {
            ok = ok && look_print("histogram", measure_json(view->sweep));
        }
        ok = ok && print_list("threshold", thresholds_json(view));
    }
    if (view->changes != NULL) {
        ok = ok && print_changes(view);
    } else if (view->sweep == NULL) {
        ok = ok && print_list("example", examples_json(view, 1, view->examples)) &&
             print_list("example", examples_json(view, 0, view->examples));
    }
    ok = ok && print_list("example", examples_json(view, -1, view->examples));
    fflush(stdout);
    return ok;
}

/* ---- the page ---- */

/* Was this row measured, and is it one of those that reason (0 = all) stands for? */
static bool is_measured(const struct fate *fate, uint32_t reason)
{
    return fate->valued && isfinite(fate->value) && fate->reason >= 0 &&
           (reason == 0 || fate->reason == (int32_t)reason);
}

/* What was measured of kept and dropped rows, beside each other; NULL = of none. */
static json_t *spread_json(const struct outcome *out, uint32_t reason)
{
    struct histogram histogram = { 0 };
    uint64_t kept[HISTOGRAM_BINS] = { 0 };
    uint64_t dropped[HISTOGRAM_BINS] = { 0 };
    json_t *json;

    for (uint64_t i = 0; i < out->n; i++) {
        if (is_measured(&out->fates[i], reason)) {
            histogram_see(&histogram, out->fates[i].value, out->fates[i].limit);
        }
    }
    if (histogram.n == 0) {
        return NULL;
    }
    histogram_scale(&histogram);
    for (uint64_t i = 0; i < out->n; i++) {
        const struct fate *fate = &out->fates[i];
        if (is_measured(fate, reason)) {
            (fate->reason == 0 ? kept : dropped)[histogram_bin(&histogram, fate->value)]++;
        }
    }
    json = json_object();
    histogram_json(&histogram, json);
    json_object_set_new(json, "kept", histogram_counts(kept));
    json_object_set_new(json, "dropped", histogram_counts(dropped));
    if (reason > 0) {
        json_object_set_new(json, "reason", text_of(out->reasons[reason - 1]));
    }
    return json;
}

/* A stage that measures one thing says it of all its rows; else the value of a kept row may be that
 * of any limit, and each reason stands for itself. */
static json_t *spreads_json(const struct try_view *view)
{
    bool one = view->trial->above != NULL || view->trial->below != NULL;
    json_t *list = json_array();

    for (uint32_t k = one ? 0 : 1; k <= (one ? 0 : view->outcome->n_reasons); k++) {
        json_t *json = spread_json(view->outcome, k);
        if (json != NULL) {
            json_array_append_new(list, json);
        }
    }
    return list;
}

#define PAGE_EXAMPLES 12

json_t *try_facts(const struct try_view *view)
{
    uint64_t most = view->examples > PAGE_EXAMPLES ? view->examples : PAGE_EXAMPLES;
    json_t *facts =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "try", summary_json(view), "values",
                  spreads_json(view), "kept", examples_json(view, 0, most), "dropped",
                  examples_json(view, 1, most), "quarantined", examples_json(view, -1, most));

    if (facts != NULL && view->sweep != NULL) {
        json_object_set_new(facts, "option", text_of(view->sweep->option));
        json_object_set_new(facts, "cut", number(view->sweep->cut));
        json_object_set_new(facts, "from", number(view->sweep->from));
        json_object_set_new(facts, "to", number(view->sweep->to));
        json_object_set_new(facts, "thresholds", thresholds_json(view));
        if (view->sweep->measured) {
            json_object_set_new(facts, "histogram", measure_json(view->sweep));
        }
    }
    return facts;
}
