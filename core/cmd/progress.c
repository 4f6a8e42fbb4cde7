/* Progress of a run: see progress.h. */
#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"

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

static uint64_t time_all(const struct time_spent *time)
{
    return METRIC_GET(time->work_ns) + METRIC_GET(time->wait_ns);
}

/* The op that took most time, with its share; -1 = reading, -2 = committing. */
static int busiest(const struct run *run, uint32_t p, double *share)
{
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    uint64_t most = time_all(&metrics->source);
    uint64_t total = most + time_all(&metrics->commit);
    int which = -1;

    if (time_all(&metrics->commit) > most) {
        most = time_all(&metrics->commit);
        which = -2;
    }
    for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
        uint64_t ns = time_all(&metrics->ops[i].time);
        total += ns;
        if (ns > most) {
            most = ns;
            which = (int)i;
        }
    }
    *share = total == 0 ? 0 : (double)most / (double)total;
    return which;
}

static const char *busiest_name(const struct run *run, uint32_t p, double *share)
{
    int which = busiest(run, p, share);
    return which == -1   ? "reading"
           : which == -2 ? "committing"
                         : run->plan->phases[p]->ops[which]->name;
}

static void print_json(const struct progress *progress, const struct run *run, uint32_t p,
                       bool done, double seconds)
{
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    struct buf text = BUF_INIT;
    double share;
    const char *bottleneck = busiest_name(run, p, &share);

    (void)progress;
    buf_puts(&text, "{\"event\":\"progress\",\"phase\":");
    buf_json_string(&text, run->plan->phases[p]->name, strlen(run->plan->phases[p]->name));
    buf_printf(&text,
               ",\"tasks\":%u,\"done\":%llu,\"reused\":%llu,\"others\":%llu,\"running\":%llu,"
               "\"complete\":%s,"
               "\"seconds\":%.3f,\"text_bytes\":%llu,\"raw_bytes\":%llu,\"bottleneck\":",
               run->plan->phases[p]->n_tasks,
               (unsigned long long)(METRIC_GET(metrics->done) + METRIC_GET(metrics->ahead)),
               (unsigned long long)METRIC_GET(metrics->reused),
               (unsigned long long)(METRIC_GET(metrics->others) + METRIC_GET(metrics->ahead)),
               (unsigned long long)METRIC_GET(metrics->running), done ? "true" : "false", seconds,
               (unsigned long long)METRIC_GET(metrics->text_bytes),
               (unsigned long long)METRIC_GET(metrics->raw_bytes));
    buf_json_string(&text, bottleneck, strlen(bottleneck));
    buf_puts(&text, ",\"stages\":[");
    for (uint32_t i = 0; i < run->plan->phases[p]->n_ops; i++) {
        const struct op_metrics *op = &metrics->ops[i];
        const char *name = run->plan->phases[p]->ops[i]->name;
        buf_puts(&text, i > 0 ? ",{\"name\":" : "{\"name\":");
        buf_json_string(&text, name, strlen(name));
        buf_printf(
            &text, ",\"rows_in\":%llu,\"rows_out\":%llu,\"seconds\":%.3f,\"wait_seconds\":%.3f}",
            (unsigned long long)METRIC_GET(op->rows_in),
            (unsigned long long)METRIC_GET(op->rows_out),
            (double)METRIC_GET(op->time.work_ns) / 1e9, (double)METRIC_GET(op->time.wait_ns) / 1e9);
    }
    buf_puts(&text, "]}\n");
    say_json(buf_str(&text), text.size);
    fflush(stdout);
    buf_deinit(&text);
}

static void print_line(const struct run *run, uint32_t p, bool done, double seconds)
{
    const struct phase_metrics *metrics = &run->metrics.phases[p];
    const struct phase *phase = run->plan->phases[p];
    uint64_t others = METRIC_GET(metrics->others) + METRIC_GET(metrics->ahead);
    uint64_t finished = METRIC_GET(metrics->done) + METRIC_GET(metrics->ahead);
    uint64_t reused = METRIC_GET(metrics->reused);
    double share;
    char rate[24];
    char time[24];
    char left[64] = "";
    const char *bottleneck = busiest_name(run, p, &share);
    uint64_t fresh = finished > reused ? finished - reused : 0;

    if (!done && fresh > 0) {
        snprintf(left, sizeof left, ", about %s left",
                 human_time(seconds / (double)fresh * (double)(phase->n_tasks - finished), time));
    }
    say_to(stderr, "[%u/%u] %s: %llu of %u tasks", p + 1, run->plan->n_phases, phase->name,
           (unsigned long long)finished, phase->n_tasks);
    if (reused > 0) {
        say_to(stderr, " (%llu reused)", (unsigned long long)reused);
    }
    if (others > 0) {
        say_to(stderr, " (%llu by other processes)", (unsigned long long)others);
    }
    if (METRIC_GET(metrics->text_bytes) > 0 && seconds > 0) {
        say_to(stderr, ", %s/s",
               human_bytes((double)METRIC_GET(metrics->text_bytes) / seconds, rate));
    }
    say_to(stderr, ", %s%s", human_time(seconds, time), left);
    if (share > 0) {
        say_to(stderr, ", mostly %s (%.0f %%)", bottleneck, share * 100);
    }
    say_to(stderr, "\n");
}

static void print_live(struct progress *progress, const struct run *run, uint32_t p, double seconds)
{
    const struct phase *phase = run->plan->phases[p];
    const struct phase_metrics *metrics = &run->metrics.phases[p];

    progress_end(progress);
    print_line(run, p, false, seconds);
    progress->lines = 1;
    for (uint32_t i = 0; i < phase->n_ops; i++) {
        const struct op_metrics *op = &metrics->ops[i];
        char in[24];
        char out[24];
        char rate[24];
        uint64_t ns = METRIC_GET(op->time.work_ns);
        if (phase->ops[i]->kind != OP_STAGE && phase->ops[i]->kind != OP_READ) {
            continue;
        }
        say_to(stderr, "    %-28.28s %8s in  %8s out  %8s rows/s  %5.1f s\n", phase->ops[i]->name,
               human_count(METRIC_GET(op->rows_in), in), human_count(METRIC_GET(op->rows_out), out),
               human_count(seconds > 0 ? (uint64_t)((double)METRIC_GET(op->rows_in) / seconds) : 0,
                           rate),
               (double)ns / 1e9);
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
    if (progress->mode == PROGRESS_JSON) {
        print_json(progress, run, phase, done, seconds);
    } else if (done) {
        progress_end(progress);
        print_line(run, phase, true, seconds);
    } else if (progress->mode == PROGRESS_LIVE) {
        print_live(progress, run, phase, seconds);
    } else {
        print_line(run, phase, false, seconds);
    }
}
