/* The results of `sluice try` for programs: one JSON object a line. See try.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/try/try.h"
#include "run/facts/facts.h"

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

static bool print_summary(const struct try_view *view)
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
    return look_print("try", json);
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

static void add_document(const struct try_view *view, json_t *json, uint64_t row)
{
    char buffer[64];
    size_t n;
    const char *bytes = sample_id(view->sample, row, &n, buffer);

    json_object_set_new(json, "id", facts_text(bytes, n));
    json_object_set_new(json, "row", count(row));
    bytes = sample_text(view->sample, row, &n);
    json_object_set_new(json, "text", facts_text(bytes, n < 400 ? n : 400));
    if (view->labels != NULL && view->labels->of[row] != 0) {
        json_object_set_new(json, "label",
                            json_string(view->labels->of[row] > 0 ? "keep" : "drop"));
    }
}

static bool print_examples(const struct try_view *view, int fate)
{
    struct sluice_error err = ERROR_INIT;
    uint64_t *rows = NULL;
    uint64_t n = 0;
    bool ok = outcome_pick(view->outcome, fate, view->examples, &rows, &n, &err) == SLUICE_OK;

    for (uint64_t i = 0; ok && i < n; i++) {
        json_t *json = fate_json(view->outcome, &view->outcome->fates[rows[i]]);
        add_document(view, json, rows[i]);
        ok = look_print("example", json);
    }
    free(rows);
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

static bool print_sweep(const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    bool ok = true;

    if (sweep->measured) {
        json_t *bins = json_array();
        for (uint32_t k = 0; k < SWEEP_BINS; k++) {
            json_array_append_new(bins, count(sweep->bins[k]));
        }
        ok = look_print("histogram", json_pack("{s:s, s:o, s:o, s:o, s:o}", "option", sweep->option,
                                               "cut", number(sweep->cut), "low", number(sweep->low),
                                               "high", number(sweep->high), "bins", bins));
    }
    for (uint32_t k = 0; ok && k < sweep->n_steps; k++) {
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
        ok = look_print("threshold", json);
    }
    return ok;
}

bool try_print_json(const struct try_view *view)
{
    bool ok = print_summary(view);

    if (view->sweep != NULL) {
        ok = ok && print_sweep(view);
    }
    if (view->changes != NULL) {
        ok = ok && print_changes(view);
    } else if (view->sweep == NULL) {
        ok = ok && print_examples(view, 1) && print_examples(view, 0);
    }
    ok = ok && print_examples(view, -1);
    fflush(stdout);
    return ok;
}
