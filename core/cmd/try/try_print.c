/* The results of `sluice try` for people: as wide as the terminal, or 100 columns where there is
 * none. See try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/progress.h"
#include "cmd/try/try.h"

#define NARROW 90u /* below it, kept stands under dropped */
#define MOST_GROUPS 12u
#define MOST_ERRORS 5u
#define SWEEP_GROUPS 4u
#define BARS 20u

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static size_t width_of(const struct try_view *view)
{
    return view->columns < 40 ? (view->columns == 0 ? 100 : 40) : view->columns;
}

struct sums {
    uint64_t kept, kept_bytes, quarantined;
};

static struct sums sums_of(const struct try_view *view)
{
    struct sums sums = { 0 };

    for (uint64_t i = 0; i < view->outcome->n; i++) {
        int32_t reason = view->outcome->fates[i].reason;
        sums.kept += reason == 0;
        sums.quarantined += reason == SLUICE_VERDICT_BAD;
        sums.kept_bytes += reason == 0 ? sample_row_bytes(view->sample, i) : 0;
    }
    return sums;
}

static const char *role_name(const struct try_view *view)
{
    return view->trial->above != NULL || view->trial->below != NULL ? "heuristic"
           : view->outcome->transforms                              ? "transform"
           : view->outcome->annotates                               ? "annotator"
                                                                    : "filter";
}

/* Options that were given, and the limits of a heuristic. */
static void print_options(const struct try_view *view)
{
    struct sluice_error err = ERROR_INIT;
    struct options *options = NULL;
    struct option_value value;

    if (trial_options(view->trial, &options, &err) != SLUICE_OK) {
        return;
    }
    for (uint64_t k = 0; options_get(options, k, &value); k++) {
        bool limit =
            (view->trial->above != NULL && strcmp(view->trial->above, value.option.name) == 0) ||
            (view->trial->below != NULL && strcmp(view->trial->below, value.option.name) == 0);
        if ((limit || value.given) && value.text != NULL) {
            say(", %s = %s", value.option.name, value.text);
        }
    }
    options_destroy(options);
}

static void print_head(const struct try_view *view, const struct sums *sums)
{
    const struct outcome *out = view->outcome;
    uint64_t dropped = out->n - sums->kept - sums->quarantined;
    char a[24];
    char b[24];
    double seconds = out->seconds > 0 ? out->seconds : 1e-9;

    say("%s: %s", view->trial->name, role_name(view));
    print_options(view);
    say("\n  %llu document%s, %s: ", (unsigned long long)out->n, plural(out->n),
        human_bytes((double)out->bytes, a));
    if (out->transforms) {
        say("%llu row%s made", (unsigned long long)out->emitted, plural(out->emitted));
    } else {
        say("%llu kept (%.1f %%), %llu dropped (%.1f %%)", (unsigned long long)sums->kept,
            percent(sums->kept, out->n), (unsigned long long)dropped, percent(dropped, out->n));
        if (outcome_changed(out) > 0) {
            say(", %llu text%s changed", (unsigned long long)outcome_changed(out),
                plural(outcome_changed(out)));
        }
    }
    if (sums->quarantined > 0) {
        say(", %llu quarantined", (unsigned long long)sums->quarantined);
    }
    say("\n  %.3f s: %s documents/s, %s/s", out->seconds,
        human_count((uint64_t)((double)out->n / seconds), a),
        human_bytes((double)out->bytes / seconds, b));
    if (view->total > 0) {
        say("; %.3f s from save to result", view->total);
    }
    say("\n");
}

static void print_reasons(const struct try_view *view)
{
    const struct outcome *out = view->outcome;
    bool any = false;

    for (uint32_t k = 1; k <= out->n_reasons; k++) {
        uint64_t rows = 0;
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < out->n; i++) {
            if (out->fates[i].reason == (int32_t)k) {
                rows++;
                bytes += sample_row_bytes(view->sample, i);
            }
        }
        if (rows > 0) {
            char a[24];
            if (!any) {
                say("\n  %-28s %10s %8s %10s %8s\n", "dropped for", "documents", "share", "text",
                    "share");
            }
            any = true;
            say("  %-28.60s %10llu %6.2f %% %10s %6.2f %%\n", out->reasons[k - 1],
                (unsigned long long)rows, percent(rows, out->n), human_bytes((double)bytes, a),
                percent(bytes, out->bytes));
        }
    }
}

/* Each message once, with how many rows it is about and one of them. */
static void print_errors(const struct try_view *view)
{
    const struct outcome *out = view->outcome;
    const char *shown[MOST_ERRORS];
    uint32_t n_shown = 0;
    bool more = false;

    for (uint64_t i = 0; i < out->n; i++) {
        const char *note = out->fates[i].note;
        uint64_t rows = 0;
        struct buf text = BUF_INIT;
        char buffer[64];
        const char *id;
        size_t n;
        bool known = false;
        if (out->fates[i].reason != SLUICE_VERDICT_BAD || note == NULL) {
            continue;
        }
        for (uint32_t k = 0; k < n_shown; k++) {
            known = known || strcmp(shown[k], note) == 0;
        }
        if (known) {
            continue;
        }
        if (n_shown == MOST_ERRORS) {
            more = true;
            break;
        }
        shown[n_shown++] = note;
        for (uint64_t k = i; k < out->n; k++) {
            rows += out->fates[k].reason == SLUICE_VERDICT_BAD && out->fates[k].note != NULL &&
                    strcmp(out->fates[k].note, note) == 0;
        }
        id = sample_id(view->sample, i, &n, buffer);
        buf_puts(&text, n_shown == 1 ? "\n  quarantined:\n    " : "    ");
        excerpt_put(&text, note, strlen(note), 0);
        buf_printf(&text, " (%llu document%s, ", (unsigned long long)rows, plural(rows));
        excerpt_put(&text, id, n, 60);
        buf_puts(&text, rows == 1 ? ")" : " is one)");
        say("%s\n", buf_str(&text));
        buf_deinit(&text);
    }
    if (more) {
        say("    and other messages\n");
    }
}

static void print_groups(const struct try_view *view)
{
    const struct groups *groups = view->groups;
    struct group rest = { 0 };

    if (groups == NULL) {
        return;
    }
    say("\n  %-28.28s %10s %10s %8s\n", view->by, "documents", "kept", "share");
    for (size_t i = 0; i < groups->n; i++) {
        const struct group *group = &groups->items[i];
        struct buf name = BUF_INIT;
        if (i >= MOST_GROUPS) {
            rest.rows += group->rows;
            rest.kept += group->kept;
            continue;
        }
        excerpt_put(&name, group->value, strlen(group->value), 28);
        say("  %s%*s %10llu %10llu %6.1f %%\n", buf_str(&name),
            (int)(28 - excerpt_width(buf_str(&name), name.size)), "",
            (unsigned long long)group->rows, (unsigned long long)group->kept,
            percent(group->kept, group->rows));
        buf_deinit(&name);
    }
    if (rest.rows > 0) {
        char name[40];
        snprintf(name, sizeof name, "(%zu more)", groups->n - MOST_GROUPS);
        say("  %-28s %10llu %10llu %6.1f %%\n", name, (unsigned long long)rest.rows,
            (unsigned long long)rest.kept, percent(rest.kept, rest.rows));
    }
}

static void print_share(const char *name, double share)
{
    if (isnan(share)) {
        say(", %s -", name);
    } else {
        say(", %s %.3f", name, share);
    }
}

static void print_labels(const struct try_view *view)
{
    struct confusion confusion = { 0 };

    if (view->labels == NULL) {
        return;
    }
    for (uint64_t i = 0; i < view->outcome->n; i++) {
        int32_t reason = view->outcome->fates[i].reason;
        if (reason != SLUICE_VERDICT_BAD) {
            confusion_add(&confusion, view->labels->of[i], reason == 0);
        }
    }
    say("\n  %llu label%s (what is to be dropped is what is looked for)",
        (unsigned long long)view->labels->n, plural(view->labels->n));
    print_share("precision", confusion_precision(&confusion));
    print_share("recall", confusion_recall(&confusion));
    print_share("F1", confusion_f1(&confusion));
    say("\n  %-28s %10s %10s\n  %-28s %10llu %10llu\n  %-28s %10llu %10llu\n", "", "dropped",
        "kept", "  labelled drop", (unsigned long long)confusion.dropped_right,
        (unsigned long long)confusion.kept_wrong, "  labelled keep",
        (unsigned long long)confusion.dropped_wrong, (unsigned long long)confusion.kept_right);
    if (view->labels->strange > 0) {
        say("  %llu label%s of documents that are not in the sample\n",
            (unsigned long long)view->labels->strange, plural(view->labels->strange));
    }
}

/* ---- examples ---- */

/* The beginning of a document's text on one line, runs of white space as one blank. */
static void put_excerpt(struct buf *out, const struct try_view *view, uint64_t row, size_t width)
{
    struct buf plain = BUF_INIT;
    bool blank = true;
    size_t n;
    const char *text = sample_text(view->sample, row, &n);

    for (size_t i = 0; i < n && plain.size < 4096; i++) {
        bool white = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
        if (!white || !blank) {
            buf_putc(&plain, white ? ' ' : text[i]);
        }
        blank = white;
    }
    excerpt_put(out, plain.data == NULL ? "" : plain.data, plain.size, width);
    buf_deinit(&plain);
}

static const char *member(const json_t *edit, const char *name)
{
    const char *text = json_string_value(json_object_get(edit, name));
    return text == NULL ? "" : text;
}

/* What changed in a document's text, on one line: "call [-555 1234-]{+PHONE+} now". */
static void put_edits(struct buf *out, const struct try_view *view, uint64_t row, size_t width)
{
    const struct fate *fate = &view->outcome->fates[row];
    struct buf line = BUF_INIT;
    size_t n;
    const char *text = sample_text(view->sample, row, &n);
    json_t *edits = edits_json(text, n, fate->after, fate->n_after, 4);
    json_t *edit;
    size_t i;

    json_array_foreach(edits, i, edit)
    {
        buf_printf(&line, "%s%s", i > 0 ? " … " : "", member(edit, "before"));
        if (*member(edit, "removed") != '\0') {
            buf_printf(&line, "[-%s-]", member(edit, "removed"));
        }
        if (*member(edit, "added") != '\0') {
            buf_printf(&line, "{+%s+}", member(edit, "added"));
        }
        buf_puts(&line, member(edit, "after"));
    }
    excerpt_put(out, buf_str(&line), line.size, width);
    buf_deinit(&line);
    json_decref(edits);
}

/* Two lines of a cell: what decided, and the beginning of the text, or what changed in it. */
static void make_cell(const struct try_view *view, uint64_t row, size_t width, struct buf *first,
                      struct buf *second)
{
    const struct fate *fate = &view->outcome->fates[row];
    struct buf line = BUF_INIT;
    char buffer[64];
    size_t n;
    const char *id;

    if (fate->valued) {
        buf_printf(&line, "%.6g", fate->value);
        if (fate->limit != 0 || fate->reason > 0 || view->trial->above != NULL) {
            buf_printf(&line, " (limit %.6g)", fate->limit);
        }
        buf_puts(&line, "  ");
    }
    if (fate->reason > 0 && (view->outcome->n_reasons > 1 || !fate->valued)) {
        buf_printf(&line, "%s  ", outcome_reason(view->outcome, fate->reason));
    }
    id = sample_id(view->sample, row, &n, buffer);
    buf_append(&line, id, n);
    if (view->labels != NULL && view->labels->of[row] != 0) {
        buf_puts(&line, view->labels->of[row] > 0 ? "  [keep]" : "  [drop]");
    }
    if (fate->note != NULL && fate->reason == 0) {
        buf_puts(&line, "  ");
        buf_puts(&line, fate->note);
    }
    excerpt_put(first, line.data, line.size, width);
    buf_deinit(&line);
    buf_puts(second, "  ");
    if (fate->after != NULL) {
        put_edits(second, view, row, width - 2);
    } else {
        put_excerpt(second, view, row, width - 2);
    }
}

static void pad(struct buf *line, size_t width)
{
    size_t used = excerpt_width(line->data == NULL ? "" : line->data, line->size);

    for (; used < width; used++) {
        buf_putc(line, ' ');
    }
}

struct examples {
    uint64_t *rows, n;
    const char *title;
};

static void print_list(const struct try_view *view, const struct examples *list)
{
    if (list->n == 0) {
        return;
    }
    say("\n  %s\n", list->title);
    for (uint64_t i = 0; i < list->n; i++) {
        struct buf first = BUF_INIT;
        struct buf second = BUF_INIT;
        make_cell(view, list->rows[i], width_of(view) - 4, &first, &second);
        say("    %s\n", buf_str(&first));
        say("    %s\n", buf_str(&second));
        buf_deinit(&first);
        buf_deinit(&second);
    }
}

static void print_beside(const struct try_view *view, const struct examples lists[2])
{
    size_t width = (width_of(view) - 5) / 2;
    struct buf title = BUF_INIT;

    buf_puts(&title, lists[0].title);
    pad(&title, width);
    say("\n  %s | %s\n", buf_str(&title), lists[1].title);
    buf_deinit(&title);
    for (uint64_t i = 0; i < lists[0].n || i < lists[1].n; i++) {
        struct buf lines[2][2] = { { BUF_INIT, BUF_INIT }, { BUF_INIT, BUF_INIT } };
        for (int side = 0; side < 2; side++) {
            if (i < lists[side].n) {
                make_cell(view, lists[side].rows[i], width, &lines[side][0], &lines[side][1]);
            }
        }
        for (int line = 0; line < 2; line++) {
            pad(&lines[0][line], width);
            say("  %s |%s%s\n", buf_str(&lines[0][line]), lines[1][line].size > 0 ? " " : "",
                buf_str(&lines[1][line]));
        }
        for (int k = 0; k < 4; k++) {
            buf_deinit(&lines[k / 2][k % 2]);
        }
    }
}

static void print_examples(const struct try_view *view)
{
    struct sluice_error err = ERROR_INIT;
    struct examples lists[2] = { { NULL, 0, "dropped" }, { NULL, 0, "kept" } };

    if (view->examples == 0 ||
        outcome_pick(view->outcome, 1, view->examples, &lists[0].rows, &lists[0].n, &err) !=
            SLUICE_OK ||
        outcome_pick(view->outcome, 0, view->examples, &lists[1].rows, &lists[1].n, &err) !=
            SLUICE_OK) {
        free(lists[0].rows);
        return;
    }
    if (lists[0].n > 0 && view->outcome->fates[lists[0].rows[0]].valued) {
        lists[0].title = "dropped, nearest to the limit first";
    }
    if (lists[1].n > 0 && view->outcome->fates[lists[1].rows[0]].valued) {
        lists[1].title = "kept, nearest to the limit first";
    }
    if (lists[0].n > 0 && lists[1].n > 0 && width_of(view) >= NARROW) {
        print_beside(view, lists);
    } else {
        print_list(view, &lists[0]);
        print_list(view, &lists[1]);
    }
    free(lists[0].rows);
    free(lists[1].rows);
}

/* ---- changes ---- */

static void print_fate(struct buf *out, const struct outcome *outcome, const struct fate *fate)
{
    buf_puts(out, outcome_reason(outcome, fate->reason));
    if (fate->valued) {
        buf_printf(out, " %.6g", fate->value);
        if (fate->limit != 0 || fate->reason > 0) {
            buf_printf(out, " (limit %.6g)", fate->limit);
        }
    }
}

static void print_changes(const struct try_view *view)
{
    const struct changes *changes = view->changes;
    uint64_t shown[3] = { 0 };

    if (changes == NULL) {
        return;
    }
    if (changes->n == 0) {
        say("\n  against %s: the fate of no document changed\n", view->before_name);
        return;
    }
    say("\n  against %s: %llu now dropped, %llu now kept", view->before_name,
        (unsigned long long)changes->dropped, (unsigned long long)changes->kept);
    if (changes->other > 0) {
        say(", %llu dropped for another reason", (unsigned long long)changes->other);
    }
    say("\n");
    for (uint64_t i = 0; i < changes->n; i++) {
        const struct change *change = &changes->items[i];
        int kind = change->before->reason == 0 ? 0 : change->after->reason == 0 ? 1 : 2;
        struct buf line = BUF_INIT;
        struct buf text = BUF_INIT;
        char buffer[64];
        size_t n;
        const char *bytes;
        if (shown[kind]++ >= view->examples) {
            continue;
        }
        bytes = sample_id(view->sample, change->row, &n, buffer);
        excerpt_put(&line, bytes, n, width_of(view) / 3);
        buf_puts(&line, "  ");
        print_fate(&line, view->before, change->before);
        buf_puts(&line, " -> ");
        print_fate(&line, view->outcome, change->after);
        put_excerpt(&text, view, change->row, width_of(view) - 6);
        say("    %s\n      %s\n", buf_str(&line), buf_str(&text));
        buf_deinit(&line);
        buf_deinit(&text);
    }
    for (int kind = 0; kind < 3; kind++) {
        static const char *const names[] = { "now dropped", "now kept", "for another reason" };
        if (shown[kind] > view->examples) {
            say("    and %llu more %s (--examples N shows more)\n",
                (unsigned long long)(shown[kind] - view->examples), names[kind]);
        }
    }
}

/* ---- sweeps ---- */

static void print_histogram(const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    uint64_t bars[BARS] = { 0 };
    uint64_t most = 1;
    size_t room = width_of(view) > 70 ? width_of(view) - 40 : 30;
    double step = (sweep->high - sweep->low) / BARS;
    bool cut = false;

    for (uint32_t k = 0; k < SWEEP_BINS; k++) {
        bars[k * BARS / SWEEP_BINS] += sweep->bins[k];
    }
    for (uint32_t k = 0; k < BARS; k++) {
        most = bars[k] > most ? bars[k] : most;
    }
    say("\n  what was measured, and the cut\n");
    for (uint32_t k = 0; k < BARS; k++) {
        size_t n = (size_t)((double)bars[k] / (double)most * (double)room + 0.5);
        double low = sweep->low + step * k;
        if (!cut && sweep->cut < low + step * 0.5) {
            say("  %10s --- %s = %.6g\n", "", sweep->option, sweep->cut);
            cut = true;
        }
        say("  %10.4g |", low);
        for (size_t i = 0; i < (n == 0 && bars[k] > 0 ? 1 : n); i++) {
            say("#");
        }
        say(" %llu%s\n", (unsigned long long)bars[k], k + 1 == BARS ? " and above" : "");
    }
    if (!cut) {
        say("  %10s --- %s = %.6g\n", "", sweep->option, sweep->cut);
    }
}

static void print_number(double share)
{
    if (isnan(share)) {
        say(" %9s", "-");
    } else {
        say(" %9.3f", share);
    }
}

static void print_sweep(const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    const struct groups *groups = view->groups;
    size_t n_groups = groups == NULL ? 0 : groups->n < SWEEP_GROUPS ? groups->n : SWEEP_GROUPS;

    if (sweep == NULL) {
        return;
    }
    if (sweep->measured) {
        print_histogram(view);
    } else {
        say("\n  %s '%s', so the stage ran once for each threshold\n",
            sweep->depends ? "what is measured depends on" : "the stage itself compares with",
            sweep->option);
    }
    say("\n  %12.12s %10s %8s %10s %8s", sweep->option, "kept", "share", "text", "share");
    if (view->labels != NULL) {
        say(" %9s %9s %9s", "precision", "recall", "F1");
    }
    for (size_t g = 0; g < n_groups; g++) {
        struct buf name = BUF_INIT;
        excerpt_put(&name, groups->items[g].value, strlen(groups->items[g].value), 10);
        say(" %*s%s", (int)(10 - excerpt_width(buf_str(&name), name.size)), "", buf_str(&name));
        buf_deinit(&name);
    }
    say("\n");
    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        const struct sweep_step *step = &sweep->steps[k];
        char a[24];
        say("  %12.6g %10llu %6.2f %% %10s %6.2f %%", step->threshold,
            (unsigned long long)step->kept, percent(step->kept, view->outcome->n),
            human_bytes((double)step->kept_bytes, a),
            percent(step->kept_bytes, view->outcome->bytes));
        if (view->labels != NULL) {
            print_number(confusion_precision(&step->confusion));
            print_number(confusion_recall(&step->confusion));
            print_number(confusion_f1(&step->confusion));
        }
        for (size_t g = 0; g < n_groups; g++) {
            say(" %8.1f %%", percent(step->by[g], groups->items[g].rows));
        }
        say("\n");
    }
    if (groups != NULL && groups->n > n_groups) {
        say("  (the columns are the %zu most frequent values of %s; --json and --html have "
            "all)\n",
            n_groups, view->by);
    }
}

void try_print(const struct try_view *view)
{
    struct sums sums = sums_of(view);

    print_head(view, &sums);
    print_errors(view);
    if (view->quiet) {
        print_changes(view);
        fflush(stdout);
        return;
    }
    print_reasons(view);
    print_groups(view);
    print_labels(view);
    print_sweep(view);
    if (view->changes != NULL) {
        print_changes(view);
    } else if (view->sweep == NULL) {
        print_examples(view);
    }
    fflush(stdout);
}
