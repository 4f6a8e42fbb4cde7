/* A report as text or Markdown: see report.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/look/look.h"
#include "cmd/progress.h"
#include "cmd/look/report.h"

#define COLUMNS 8
#define NAME_MAX_WIDTH 40
#define REASONS 5 /* shown of a stage unless all are asked for */

static uint64_t number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static double real(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value == NULL ? "" : value;
}

/* "6,954,802" */
static const char *grouped(uint64_t n, char buffer[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *out = buffer;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

/* ---- tables ---- */

/* A cell is ASCII but for names, whose bytes are counted. */
struct table_text {
    char (*cells)[COLUMNS][64];
    size_t n, capacity;
    bool failed;
};

static void table_add(struct table_text *table, const char *const cells[COLUMNS])
{
    if (table->n == table->capacity) {
        size_t capacity = table->capacity == 0 ? 32 : 2 * table->capacity;
        void *grown = realloc(table->cells, capacity * sizeof *table->cells);
        if (grown == NULL) {
            table->failed = true;
            return;
        }
        table->cells = grown;
        table->capacity = capacity;
    }
    for (int c = 0; c < COLUMNS; c++) {
        snprintf(table->cells[table->n][c], sizeof table->cells[0][0], "%.*s",
                 c == 0 ? NAME_MAX_WIDTH : 24, cells[c] == NULL ? "" : cells[c]);
    }
    table->n++;
}

/* The first row is the heading. The first column is left-aligned, the others right. */
static void table_print(const struct table_text *table, bool markdown)
{
    size_t widths[COLUMNS] = { 0 };

    for (size_t r = 0; r < table->n; r++) {
        for (int c = 0; c < COLUMNS; c++) {
            size_t width = strlen(table->cells[r][c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t r = 0; r < table->n; r++) {
        if (markdown) {
            for (int c = 0; c < COLUMNS; c++) {
                const char *cell = table->cells[r][c];
                size_t indent = c == 0 ? strspn(cell, " ") : 0;
                say(indent > 0 ? "| &emsp;%s " : "| %s ", cell + indent);
            }
            say("|\n");
            for (int c = 0; r == 0 && c < COLUMNS; c++) {
                say(c == 0 ? "|:---" : "|---:");
            }
            say(r == 0 ? "|\n" : "");
        } else {
            size_t last = COLUMNS;
            while (last > 1 && table->cells[r][last - 1][0] == '\0') {
                last--;
            }
            say("  %-*s", last == 1 ? 0 : (int)widths[0], table->cells[r][0]);
            for (size_t c = 1; c < last; c++) {
                say("  %*s", (int)widths[c], table->cells[r][c]);
            }
            say("\n");
        }
    }
    if (table->failed) {
        say("  (not all of the table: out of memory)\n");
    }
}

/* ---- the funnel ---- */

struct reason {
    const char *name;
    uint64_t n;
};

static int compare_reasons(const void *a, const void *b)
{
    const struct reason *x = a;
    const struct reason *y = b;

    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->name, y->name);
}

static const char *share(double part, double whole, char buffer[24])
{
    double percent = whole > 0 ? 100 * part / whole : 0;

    snprintf(buffer, 24, percent > 0 && percent < 0.05 ? "<0.1 %%" : "%.1f %%", percent);
    return buffer;
}

/* Waits too short to speak of are left out. */
static const char *wait_share(double waited, double time, char buffer[24])
{
    return waited < 0.0005 * time ? "" : share(waited, time, buffer);
}

static void add_reasons(struct table_text *table, const json_t *dropped, uint64_t in, bool all)
{
    size_t n = json_object_size(dropped);
    struct reason *reasons = calloc(n + 1, sizeof *reasons);
    uint64_t rest = 0;
    size_t k = 0;
    const char *name;
    json_t *count;
    char left[64];
    char counted[24];
    char percent[24];

    if (reasons == NULL) {
        table->failed = true;
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)dropped, name, count)
    {
        reasons[k++] = (struct reason){ name, (uint64_t)json_integer_value(count) };
    }
    qsort(reasons, n, sizeof *reasons, compare_reasons);
    for (k = 0; k < n; k++) {
        if (!all && n > REASONS + 1 && k >= REASONS) {
            rest += reasons[k].n;
            continue;
        }
        snprintf(left, sizeof left, "    %.50s", reasons[k].name);
        table_add(table,
                  (const char *const[COLUMNS]){ left, "", "", human_count(reasons[k].n, counted),
                                                share((double)reasons[k].n, (double)in, percent) });
    }
    if (rest > 0) {
        snprintf(left, sizeof left, "    %zu other reasons", n - REASONS);
        table_add(table, (const char *const[COLUMNS]){ left, "", "", human_count(rest, counted),
                                                       share((double)rest, (double)in, percent) });
    }
    free(reasons);
}

static uint64_t sum_of(const json_t *counts)
{
    const char *name;
    json_t *count;
    uint64_t sum = 0;

    json_object_foreach((json_t *)(uintptr_t)counts, name, count)
    {
        sum += (uint64_t)json_integer_value(count);
    }
    return sum;
}

static void add_stage(struct table_text *table, const json_t *stage, double time, bool all)
{
    const json_t *dropped = json_object_get(stage, "dropped");
    const json_t *measures = json_object_get(stage, "measures");
    uint64_t in = number(stage, "in");
    uint64_t out = sum_of(dropped);
    double seconds = real(stage, "seconds");
    double waited = real(stage, "wait_seconds");
    double bytes = real(stage, "text_bytes");
    double tokens = real(measures, "tokens");
    const char *name = text(stage, "name");
    char counts[3][24];
    char left[64];
    char percent[24] = "";
    char speed[32] = "";
    char work[24] = "";
    char wait[24] = "";

    /* A provider's name says from what and how; that is for --all. */
    snprintf(left, sizeof left,
             strcmp(text(stage, "role"), "provider") == 0 && !all ? "%.40s (shared)" : "%.60s",
             strcmp(text(stage, "role"), "provider") == 0 && !all ? text(stage, "kind") : name);
    if (seconds > 0.005 && bytes > 0) {
        snprintf(speed, sizeof speed, "%.0f MB/s", bytes / seconds / 1e6);
    } else if (seconds > 0.005 && tokens > 0) {
        snprintf(speed, sizeof speed, "%.0f Mtok/s", tokens / seconds / 1e6);
    }
    if (out > 0) {
        share((double)out, (double)in, percent);
    }
    if (seconds > 0) {
        share(seconds, time, work);
    }
    table_add(table,
              (const char *const[COLUMNS]){ left, human_count(in, counts[0]),
                                            human_count(number(stage, "out"), counts[1]),
                                            out > 0 ? human_count(out, counts[2]) : "", percent,
                                            speed, work, wait_share(waited, time, wait) });
    add_reasons(table, dropped, in, all);
    if (number(stage, "quarantined") > 0) {
        table_add(table, (const char *const[COLUMNS]){
                             "    quarantined", "", "",
                             human_count(number(stage, "quarantined"), counts[0]),
                             share((double)number(stage, "quarantined"), (double)in, percent) });
    }
}

/* What took most time, working or waiting. */
struct bound {
    const char *name;
    double work, wait;
};

static void bound_by(struct bound *bound, const char *name, double work, double wait)
{
    if (work + wait > bound->work + bound->wait) {
        *bound = (struct bound){ name, work, wait };
    }
}

static void print_bound(const json_t *report, const struct bound *bound, double time)
{
    double idle = real(report, "idle_seconds");
    char percent[24];
    char seconds[24];

    say("Speed is of one core at work. Bound by %s: %s of the time", bound->name,
        share(bound->work + bound->wait, time, percent));
    if (bound->wait > 0.1 * (bound->work + bound->wait)) {
        say(", %s of that waiting", share(bound->wait, bound->work + bound->wait, percent));
    }
    say(".");
    if (idle > 0.05 && idle > 0.05 * (idle + time)) {
        say(" Workers had no task for %s.", human_time(idle, seconds));
    }
    say("\n");
}

static void print_funnel(const json_t *report, const struct report_style *style)
{
    static const char *const upkeep[][2] = { { "reading", "reading and unpacking files" },
                                             { "carrying", "keeping rows between phases" },
                                             { "committing", "committing results" } };
    struct table_text table = { 0 };
    double time = real(report, "work_seconds") + real(report, "wait_seconds");
    struct bound bound = { "", 0, 0 };
    size_t i;
    json_t *stage;
    char work[24];
    char wait[24];

    table_add(&table, (const char *const[COLUMNS]){ "stage", "in", "out", "dropped", "", "speed",
                                                    "work", "wait" });
    json_array_foreach(json_object_get(report, "funnel"), i, stage)
    {
        add_stage(&table, stage, time, style->all);
        bound_by(&bound, text(stage, "name"), real(stage, "seconds"), real(stage, "wait_seconds"));
    }
    for (size_t k = 0; time > 0 && k < sizeof upkeep / sizeof upkeep[0]; k++) {
        double seconds = real(json_object_get(report, "upkeep"), upkeep[k][0]);
        double waited = real(json_object_get(report, "waits"), upkeep[k][0]);
        table_add(&table, (const char *const[COLUMNS]){ upkeep[k][1], "", "", "", "", "",
                                                        share(seconds, time, work),
                                                        wait_share(waited, time, wait) });
        bound_by(&bound, upkeep[k][1], seconds, waited);
    }
    table_print(&table, style->markdown);
    free(table.cells);
    if (time == 0 || bound.work + bound.wait > 0) {
        say("\n%s", style->markdown ? "" : "  ");
    }
    if (time == 0) {
        say("Nothing ran: every task was done before.\n");
    } else if (bound.work + bound.wait > 0) {
        print_bound(report, &bound, time);
    }
}

/* ---- the rest ---- */

static void print_phases(const json_t *report, bool markdown)
{
    size_t i;
    size_t k;
    json_t *phase;
    json_t *stage;

    say("\n");
    json_array_foreach(json_object_get(report, "phases"), i, phase)
    {
        double work = real(phase, "reading_seconds") + real(phase, "commit_seconds");
        double wait = real(phase, "reading_wait_seconds") + real(phase, "commit_wait_seconds");
        char time[2][24];
        json_array_foreach(json_object_get(phase, "stages"), k, stage)
        {
            work += real(stage, "seconds");
            wait += real(stage, "wait_seconds");
        }
        say("%sphase %s: %llu tasks, %llu reused, %s of work, %s of waiting\n",
            markdown ? "- " : "  ", text(phase, "name"), (unsigned long long)number(phase, "tasks"),
            (unsigned long long)number(phase, "reused"), human_time(work, time[0]),
            human_time(wait, time[1]));
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "6,160 documents, 30,926 padding (0.4 %)" */
static void print_counts(const json_t *measures)
{
    const char *names[32];
    const char *name;
    json_t *value;
    size_t n = 0;
    char counted[32];
    char percent[24];

    json_object_foreach((json_t *)(uintptr_t)measures, name, value)
    {
        if (n < sizeof names / sizeof names[0]) {
            names[n++] = name;
        }
    }
    qsort(names, n, sizeof names[0], compare_names);
    for (size_t k = 0; k < n; k++) {
        char words[64];
        snprintf(words, sizeof words, "%.60s", names[k]);
        for (char *c = words; *c != '\0'; c++) {
            *c = *c == '_' ? ' ' : *c;
        }
        if (number(measures, names[k]) == 1 && words[0] != '\0' &&
            words[strlen(words) - 1] == 's') {
            words[strlen(words) - 1] = '\0';
        }
        say("%s %s %s", k > 0 ? "," : "", grouped(number(measures, names[k]), counted), words);
        if (strcmp(names[k], "padding") == 0) {
            say(" (%s)", share(real(measures, "padding"),
                               real(measures, "padding") + real(measures, "tokens"), percent));
        }
    }
}

/* What writers count is what the stages before them counted; that is for --all. */
static void print_measures(const json_t *report, const struct report_style *style)
{
    size_t i;
    json_t *stage;

    json_array_foreach(json_object_get(report, "funnel"), i, stage)
    {
        const json_t *measures = json_object_get(stage, "measures");
        if (json_object_size(measures) == 0 ||
            (strcmp(text(stage, "role"), "writer") == 0 && !style->all)) {
            continue;
        }
        say("%s%s:", style->markdown ? "- " : "  ", text(stage, "name"));
        print_counts(measures);
        say("\n");
    }
}

static void print_document(const char *fate, const json_t *document, bool markdown)
{
    const char *words = text(document, "text");
    struct buf line = BUF_INIT;

    look_excerpt(&line, words, strlen(words), 72);
    say(markdown ? "  - %s `%s`: %s\n" : "    %-8s %s\n             %s\n", fate,
        text(document, "id")[0] != '\0' ? text(document, "id") : text(document, "file"),
        buf_str(&line));
    buf_deinit(&line);
}

static void print_example(const json_t *report, bool markdown)
{
    const json_t *pair = json_object_get(report, "duplicate_example");

    if (pair == NULL) {
        return;
    }
    say("%s%s: an example, similarity %.2f\n", markdown ? "- " : "  ", text(pair, "stage"),
        real(pair, "similarity"));
    print_document("dropped", json_object_get(pair, "dropped"), markdown);
    print_document("kept", json_object_get(pair, "kept"), markdown);
}

static uint64_t tokens_of(const json_t *report)
{
    size_t i;
    json_t *stage;

    json_array_foreach(json_object_get(report, "funnel"), i, stage)
    {
        uint64_t tokens = number(json_object_get(stage, "measures"), "tokens");
        if (tokens > 0) {
            return tokens;
        }
    }
    return 0;
}

static void print_cost(const json_t *report, const struct report_style *style)
{
    double seconds = real(report, "seconds") * real(report, "workers");
    double dollars = seconds / 3600 * style->price;
    uint64_t tokens = tokens_of(report);

    if (style->price <= 0) {
        return;
    }
    say("%scost: %.1f core-seconds (%llu worker%s for %.1f s) at $%g a core-hour: $%.6f",
        style->markdown ? "- " : "  ", seconds, (unsigned long long)number(report, "workers"),
        plural(number(report, "workers")), real(report, "seconds"), style->price, dollars);
    if (tokens > 0) {
        double million = dollars / (double)tokens * 1e6;
        say(", $%.8f per million tokens", million);
    }
    say("\n");
}

static void print_head(const json_t *report, bool markdown)
{
    const json_t *input = json_object_get(report, "input");
    double seconds = real(report, "seconds");
    double work = real(report, "work_seconds");
    double possible = seconds * real(report, "workers");
    uint64_t tasks = 0;
    uint64_t reused = 0;
    uint64_t others = 0;
    size_t i;
    json_t *phase;
    char a[24];
    char b[24];

    json_array_foreach(json_object_get(report, "phases"), i, phase)
    {
        tasks += number(phase, "tasks");
        reused += number(phase, "reused");
        others += number(phase, "others");
    }
    say(markdown ? "# %s: %s\n\n" : "%s: %s", text(report, "name"), text(report, "state"));
    say(markdown ? "- %s, %llu worker%s" : ", %s, %llu worker%s", human_time(seconds, a),
        (unsigned long long)number(report, "workers"), plural(number(report, "workers")));
    if (work > 0 && possible > 0) {
        say(", busy %.0f %% of the time", 100 * (work < possible ? work : possible) / possible);
    }
    say(markdown ? "\n- " : "\n  ");
    say("%s in %llu file%s", human_bytes(real(input, "bytes"), a),
        (unsigned long long)number(input, "files"), plural(number(input, "files")));
    if (number(input, "decoded_bytes") > 0) {
        say(", %s unpacked", human_bytes(real(input, "decoded_bytes"), b));
    }
    if (number(input, "decoded_bytes") > 0 && reused + others == 0 && seconds > 0) {
        say(": %s/s", human_bytes(real(input, "decoded_bytes") / seconds, b));
    }
    say("; %llu of %llu tasks reused", (unsigned long long)reused, (unsigned long long)tasks);
    say(others > 0 ? ", %llu done by other processes\n" : "\n", (unsigned long long)others);
    if (json_object_get(report, "error") != NULL) {
        say("%s%s\n", markdown ? "- " : "  ", text(report, "error"));
    }
    say("\n");
}

void report_print(const json_t *report, const struct report_style *style)
{
    bool markdown = style->markdown;
    size_t i;
    json_t *dataset;
    char bytes[24];

    print_head(report, markdown);
    print_funnel(report, style);
    if (style->all) {
        print_phases(report, markdown);
    }
    say("\n");
    print_measures(report, style);
    print_example(report, markdown);
    print_cost(report, style);
    if (number(report, "quarantined") > 0) {
        say("%s%llu record%s quarantined: sluice why %s --quarantine\n", markdown ? "- " : "  ",
            (unsigned long long)number(report, "quarantined"),
            number(report, "quarantined") == 1 ? " is" : "s are", text(report, "run_dir"));
    }
    json_array_foreach(json_object_get(report, "datasets"), i, dataset)
    {
        char mended[64] = "";
        if (number(dataset, "mended") > 0) {
            snprintf(mended, sizeof mended, ", %llu file%s mended",
                     (unsigned long long)number(dataset, "mended"),
                     plural(number(dataset, "mended")));
        }
        say("%s%s: %s@%llu (%s%s), %llu row%s in %llu file%s, %s\n", markdown ? "- " : "  ",
            text(dataset, "writer"), text(dataset, "path"),
            (unsigned long long)number(dataset, "snapshot"),
            json_is_true(json_object_get(dataset, "new")) ? "new" : "unchanged", mended,
            (unsigned long long)number(dataset, "rows"), plural(number(dataset, "rows")),
            (unsigned long long)number(dataset, "shards"), plural(number(dataset, "shards")),
            human_bytes(real(dataset, "bytes"), bytes));
    }
}
