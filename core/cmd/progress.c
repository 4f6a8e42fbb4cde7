/* Progress of a run: see progress.h. */
#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "run/facts/facts.h"

const char *human_count(uint64_t n, char buffer[24])
{
    if (n < 100000) {
        snprintf(buffer, 24, "%llu", (unsigned long long)n);
    } else if (n < 10000000) {
        snprintf(buffer, 24, "%.1fk", (double)n / 1e3);
    } else if (n < UINT64_C(10000000000)) {
        snprintf(buffer, 24, "%.1fM", (double)n / 1e6);
    } else {
        snprintf(buffer, 24, "%.1fG", (double)n / 1e9);
    }
    return buffer;
}

const char *human_bytes(double n, char buffer[24])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    int unit = 0;

    while (n >= 1000 && unit < 4) {
        n /= 1000;
        unit++;
    }
    snprintf(buffer, 24, n < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return buffer;
}

const char *human_time(double seconds, char buffer[24])
{
    if (seconds < 60) {
        snprintf(buffer, 24, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
    } else if (seconds < 3600) {
        snprintf(buffer, 24, "%d:%02d min", (int)(seconds / 60), (int)seconds % 60);
    } else {
        snprintf(buffer, 24, "%d:%02d h", (int)(seconds / 3600), (int)(seconds / 60) % 60);
    }
    return buffer;
}

enum progress_mode progress_mode_for(bool json)
{
    return json ? PROGRESS_JSON : isatty(STDERR_FILENO) ? PROGRESS_LIVE : PROGRESS_LINES;
}

void progress_end(struct progress *progress)
{
    if (progress->mode == PROGRESS_LIVE && progress->lines > 0) {
        say_up(progress->lines);
        fflush(stderr);
    }
    progress->lines = 0;
}

void progress_warn(void *ctx, const char *message)
{
    struct progress *progress = ctx;

    progress_end(progress);
    if (progress->mode == PROGRESS_JSON) {
        struct buf text = BUF_INIT;
        buf_puts(&text, "{\"event\":\"warning\",\"message\":");
        buf_json_string(&text, message, strlen(message));
        buf_puts(&text, "}\n");
        say_json(buf_str(&text), text.size);
        fflush(stdout);
        buf_deinit(&text);
    } else {
        say_to(stderr, "sluice: warning: %s\n", message);
    }
}

static unsigned long long number(const json_t *facts, const char *name)
{
    return (unsigned long long)json_integer_value(json_object_get(facts, name));
}

static double real(const json_t *facts, const char *name)
{
    return json_number_value(json_object_get(facts, name));
}

static const char *text_of(const json_t *facts, const char *name)
{
    const char *text = json_string_value(json_object_get(facts, name));
    return text == NULL ? "" : text;
}

static void put_text(struct buf *out, const char *before, const char *text)
{
    buf_puts(out, before);
    buf_json_string(out, text, strlen(text));
}

static void print_json(const json_t *facts, bool done, double seconds)
{
    struct buf text = BUF_INIT;
    size_t i;
    const json_t *stage;

    put_text(&text, "{\"event\":\"progress\",\"phase\":", text_of(facts, "phase"));
    buf_printf(&text,
               ",\"tasks\":%llu,\"done\":%llu,\"reused\":%llu,\"others\":%llu,\"running\":%llu,"
               "\"complete\":%s,\"seconds\":%.3f,\"text_bytes\":%llu,\"raw_bytes\":%llu",
               number(facts, "tasks"), number(facts, "done"), number(facts, "reused"),
               number(facts, "others"), number(facts, "running"), done ? "true" : "false", seconds,
               number(facts, "text_bytes"), number(facts, "raw_bytes"));
    put_text(&text, ",\"bottleneck\":", text_of(facts, "bottleneck"));
    buf_puts(&text, ",\"stages\":[");
    json_array_foreach(json_object_get(facts, "stages"), i, stage)
    {
        put_text(&text, i > 0 ? ",{\"name\":" : "{\"name\":", text_of(stage, "name"));
        buf_printf(&text,
                   ",\"rows_in\":%llu,\"rows_out\":%llu,\"seconds\":%.3f,\"wait_seconds\":%.3f}",
                   number(stage, "rows_in"), number(stage, "rows_out"), real(stage, "seconds"),
                   real(stage, "wait_seconds"));
    }
    buf_puts(&text, "]}\n");
    say_json(buf_str(&text), text.size);
    fflush(stdout);
    buf_deinit(&text);
}

static void print_line(const json_t *facts, bool done, double seconds)
{
    unsigned long long tasks = number(facts, "tasks");
    unsigned long long finished = number(facts, "done");
    unsigned long long reused = number(facts, "reused");
    unsigned long long fresh = finished > reused ? finished - reused : 0;
    char rate[24];
    char time[24];
    char left[64] = "";

    if (!done && fresh > 0) {
        snprintf(left, sizeof left, ", about %s left",
                 human_time(seconds / (double)fresh * (double)(tasks - finished), time));
    }
    say_to(stderr, "[%llu/%llu] %s: %llu of %llu tasks", number(facts, "number"),
           number(facts, "phases"), text_of(facts, "phase"), finished, tasks);
    if (reused > 0) {
        say_to(stderr, " (%llu reused)", reused);
    }
    if (number(facts, "others") > 0) {
        say_to(stderr, " (%llu by other processes)", number(facts, "others"));
    }
    if (number(facts, "text_bytes") > 0 && seconds > 0) {
        say_to(stderr, ", %s/s", human_bytes((double)number(facts, "text_bytes") / seconds, rate));
    }
    say_to(stderr, ", %s%s", human_time(seconds, time), left);
    if (real(facts, "share") > 0) {
        say_to(stderr, ", mostly %s (%.0f %%)", text_of(facts, "bottleneck"),
               real(facts, "share") * 100);
    }
    say_to(stderr, "\n");
}

static void print_live(struct progress *progress, const json_t *facts, double seconds)
{
    size_t i;
    const json_t *stage;

    progress_end(progress);
    print_line(facts, false, seconds);
    progress->lines = 1;
    json_array_foreach(json_object_get(facts, "stages"), i, stage)
    {
        unsigned long long in_rows = number(stage, "rows_in");
        char in[24];
        char out[24];
        char rate[24];
        if (json_is_true(json_object_get(stage, "inner"))) {
            continue;
        }
        say_to(stderr, "    %-28.28s %8s in  %8s out  %8s rows/s  %5.1f s\n",
               text_of(stage, "name"), human_count(in_rows, in),
               human_count(number(stage, "rows_out"), out),
               human_count(seconds > 0 ? (uint64_t)((double)in_rows / seconds) : 0, rate),
               real(stage, "seconds"));
        progress->lines++;
    }
    fflush(stderr);
}

void progress_tick(void *ctx, const struct run *run, uint32_t phase, bool done)
{
    struct progress *progress = ctx;
    uint64_t now = clock_ns();
    uint64_t pause = progress->mode == PROGRESS_LIVE   ? UINT64_C(200000000)
                     : progress->mode == PROGRESS_JSON ? UINT64_C(1000000000)
                                                       : UINT64_C(5000000000);
    double seconds;
    json_t *facts;

    if (progress->mode == PROGRESS_QUIET) {
        return;
    }
    if (!progress->begun || progress->phase != phase) {
        progress->begun = true;
        progress->phase = phase;
        progress->phase_start_ns = now;
        progress->last_ns = now;
    }
    seconds = (double)(now - progress->phase_start_ns) / 1e9;
    if (!done && now - progress->last_ns < pause) {
        return;
    }
    progress->last_ns = now;
    facts = facts_progress(run, phase);
    if (progress->mode == PROGRESS_JSON) {
        print_json(facts, done, seconds);
    } else if (done) {
        progress_end(progress);
        print_line(facts, true, seconds);
    } else if (progress->mode == PROGRESS_LIVE) {
        print_live(progress, facts, seconds);
    } else {
        print_line(facts, false, seconds);
    }
    json_decref(facts);
}
