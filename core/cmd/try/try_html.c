/* A sweep as a page: the measure's histogram with the cut, and what each threshold keeps. One file,
 * nothing to load, legible in light and dark. See try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "cmd/progress.h"
#include "cmd/try/try.h"
#include "store/pending.h"

#define WIDTH 860.0
#define HEIGHT 240.0
#define LEFT 56.0
#define RIGHT 16.0
#define TOP 16.0
#define BOTTOM 36.0

static const char style[] =
    "<style>:root{color-scheme:light dark;--back:#fff;--ink:#1d2530;--soft:#5b6675;--line:#d5dae1;"
    "--bar:#4f81bd;--cut:#c0392b;--docs:#1f6feb;--text:#0f8a5f}"
    "@media(prefers-color-scheme:dark){:root{--back:#14181e;--ink:#e4e8ee;--soft:#9aa5b4;"
    "--line:#343c47;--bar:#6b9bd6;--cut:#ff7b6b;--docs:#79b0ff;--text:#4fd1a0}}"
    "body{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--back);color:var(--ink);"
    "font:15px/1.5 system-ui,sans-serif}h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}"
    "p,figcaption{color:var(--soft)}figure{margin:0}svg{width:100%;height:auto}"
    "svg text{fill:var(--soft);font:12px system-ui,sans-serif}"
    ".wide{overflow-x:auto;margin-top:1.5rem}table{border-collapse:collapse;font-variant-numeric:"
    "tabular-nums}"
    "th,td{white-space:nowrap;padding:.25rem .7rem;text-align:right;border-bottom:1px solid "
    "var(--line)}"
    "th{color:var(--soft);font-weight:600}tr.cut td{color:var(--cut);font-weight:600}</style>";

/* A name from data: on one line, valid UTF-8, cut. */
static void put_name(struct buf *out, const char *text)
{
    struct buf clean = BUF_INIT;

    excerpt_put(&clean, text, strlen(text), 40);
    buf_markup(out, buf_str(&clean), clean.size);
    buf_deinit(&clean);
}

struct axes {
    double low, high; /* across */
    double top;       /* upwards, from 0 */
};

static double x_of(const struct axes *axes, double value)
{
    double part = (value - axes->low) / (axes->high - axes->low);

    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *axes, double value)
{
    return HEIGHT - BOTTOM - value / axes->top * (HEIGHT - TOP - BOTTOM);
}

static void begin_figure(struct buf *out, const char *name)
{
    buf_printf(out,
               "<figure><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\" "
               "xmlns=\"http://www.w3.org/2000/svg\">\n",
               WIDTH, HEIGHT, name);
}

/* Lines and numbers below and to the left. */
static void put_axes(struct buf *out, const struct axes *axes, const char *unit)
{
    for (int k = 0; k <= 4; k++) {
        double value = axes->top * k / 4;
        buf_printf(out,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                   "stroke=\"var(--line)\"/><text x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"end\">%.4g%s</text>\n",
                   LEFT, WIDTH - RIGHT, y_of(axes, value), y_of(axes, value), LEFT - 6,
                   y_of(axes, value) + 4, value, unit);
    }
    for (int k = 0; k <= 8; k++) {
        double value = axes->low + (axes->high - axes->low) * k / 8;
        buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.3g</text>\n",
                   x_of(axes, value), HEIGHT - BOTTOM + 18,
                   k == 0   ? "start"
                   : k == 8 ? "end"
                            : "middle",
                   value);
    }
}

static void put_cut(struct buf *out, const struct axes *axes, const struct sweep *sweep,
                    double label)
{
    double x = x_of(axes, sweep->cut);
    bool right = x > WIDTH * 0.8;

    if (sweep->cut < axes->low || sweep->cut > axes->high) {
        return;
    }
    buf_printf(out,
               "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--cut)\" "
               "stroke-width=\"2\" stroke-dasharray=\"5 3\"/><text x=\"%.1f\" y=\"%.1f\" "
               "text-anchor=\"%s\" style=\"fill:var(--cut)\">",
               x, x, TOP, HEIGHT - BOTTOM, right ? x - 6 : x + 6, label, right ? "end" : "start");
    put_name(out, sweep->option);
    buf_printf(out, " = %.6g</text>\n", sweep->cut);
}

/* The next number that four steps of a scale divide well. */
static double round_up(double most)
{
    static const double steps[] = { 1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10 };
    double power = pow(10, floor(log10(most)));

    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        if (steps[k] * power >= most && steps[k] * power >= 4) {
            return steps[k] * power;
        }
    }
    return most < 4 ? 4 : most;
}

static void put_histogram(struct buf *out, const struct sweep *sweep)
{
    struct axes axes = { sweep->low, sweep->high, 1 };
    double step = (sweep->high - sweep->low) / SWEEP_BINS;

    for (uint32_t k = 0; k < SWEEP_BINS; k++) {
        axes.top = (double)sweep->bins[k] > axes.top ? (double)sweep->bins[k] : axes.top;
    }
    axes.top = round_up(axes.top);
    begin_figure(out, "Histogram of the measure");
    put_axes(out, &axes, "");
    for (uint32_t k = 0; k < SWEEP_BINS; k++) {
        double low = sweep->low + step * k;
        double x = x_of(&axes, low);
        double y = y_of(&axes, (double)sweep->bins[k]);
        buf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                   "fill=\"var(--bar)\"><title>%.6g to %.6g%s: %llu documents</title></rect>\n",
                   x + 0.5, y, x_of(&axes, low + step) - x - 1, HEIGHT - BOTTOM - y, low,
                   low + step, k + 1 == SWEEP_BINS ? " and above" : "",
                   (unsigned long long)sweep->bins[k]);
    }
    put_cut(out, &axes, sweep, TOP + 10);
    buf_puts(out, "</svg><figcaption>Documents by what was measured. The last bar also has what is "
                  "above it.</figcaption></figure>\n");
}

static double part(uint64_t n, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)n / (double)whole;
}

static void put_curve(struct buf *out, const struct axes *axes, const struct try_view *view,
                      bool bytes, const char *colour)
{
    const struct sweep *sweep = view->sweep;

    buf_printf(out, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"var(--%s)\" points=\"",
               colour);
    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        const struct sweep_step *step = &sweep->steps[k];
        double share = bytes ? part(step->kept_bytes, view->outcome->bytes)
                             : part(step->kept, view->outcome->n);
        buf_printf(out, "%.1f,%.1f ", x_of(axes, step->threshold), y_of(axes, share));
    }
    buf_puts(out, "\"/>\n");
}

static void put_kept(struct buf *out, const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    struct axes axes = { sweep->from, sweep->to, 100 };

    buf_puts(out, "<h2>What each threshold keeps</h2>\n");
    begin_figure(out, "Kept documents and text by threshold");
    put_axes(out, &axes, " %");
    put_curve(out, &axes, view, false, "docs");
    put_curve(out, &axes, view, true, "text");
    put_cut(out, &axes, sweep, HEIGHT - BOTTOM - 10);
    buf_puts(out, "</svg><figcaption><span style=\"color:var(--docs)\">&#9644;</span> documents, "
                  "<span style=\"color:var(--text)\">&#9644;</span> text, in percent of the "
                  "sample.</figcaption></figure>\n");
}

static void put_share(struct buf *out, double share)
{
    if (isnan(share)) {
        buf_puts(out, "<td>&ndash;</td>");
    } else {
        buf_printf(out, "<td>%.3f</td>", share);
    }
}

static void put_table(struct buf *out, const struct try_view *view)
{
    const struct sweep *sweep = view->sweep;
    const struct groups *groups = view->groups;

    buf_puts(out, "<div class=\"wide\"><table><tr><th>");
    put_name(out, sweep->option);
    buf_puts(out, "</th><th>documents</th><th>share</th><th>text</th><th>share</th>");
    if (view->labels != NULL) {
        buf_puts(out, "<th>precision</th><th>recall</th><th>F1</th>");
    }
    for (size_t g = 0; groups != NULL && g < groups->n && g < 50; g++) {
        buf_puts(out, "<th>");
        put_name(out, groups->items[g].value);
        buf_puts(out, "</th>");
    }
    buf_puts(out, "</tr>\n");
    for (uint32_t k = 0; k < sweep->n_steps; k++) {
        const struct sweep_step *step = &sweep->steps[k];
        char bytes[24];
        buf_printf(out,
                   "<tr%s><td>%.6g</td><td>%llu</td><td>%.2f %%</td><td>%s</td><td>%.2f %%</td>",
                   step->threshold == sweep->cut ? " class=\"cut\"" : "", step->threshold,
                   (unsigned long long)step->kept, part(step->kept, view->outcome->n),
                   human_bytes((double)step->kept_bytes, bytes),
                   part(step->kept_bytes, view->outcome->bytes));
        if (view->labels != NULL) {
            put_share(out, confusion_precision(&step->confusion));
            put_share(out, confusion_recall(&step->confusion));
            put_share(out, confusion_f1(&step->confusion));
        }
        for (size_t g = 0; groups != NULL && g < groups->n && g < 50; g++) {
            buf_printf(out, "<td>%.1f %%</td>", part(step->by[g], groups->items[g].rows));
        }
        buf_puts(out, "</tr>\n");
    }
    buf_puts(out, "</table></div>\n");
}

sluice_status try_html(const struct try_view *view, const char *path, struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash == NULL ? str_copy(".", 1)
                              : str_copy(path, slash == path ? 1 : (size_t)(slash - path));
    struct buf out = BUF_INIT;
    struct published published;
    char bytes[24];
    sluice_status status;

    buf_puts(&out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta "
                   "name=\"viewport\" content=\"width=device-width\"><title>");
    put_name(&out, view->trial->name);
    buf_printf(&out, "</title>%s\n<h1>", style);
    put_name(&out, view->trial->name);
    buf_puts(&out, ": ");
    put_name(&out, view->sweep->option);
    buf_printf(&out, " from %.6g to %.6g</h1>\n<p>%llu documents, %s of text.%s</p>\n",
               view->sweep->from, view->sweep->to, (unsigned long long)view->outcome->n,
               human_bytes((double)view->outcome->bytes, bytes),
               view->sweep->measured ? "" : " The stage ran once for each threshold.");
    if (view->sweep->measured) {
        put_histogram(&out, view->sweep);
    }
    put_kept(&out, view);
    put_table(&out, view);
    buf_puts(&out, "</html>\n");
    status = dir == NULL ? error_nomem(err, "a path") : buf_status(&out, err);
    if (status == SLUICE_OK) {
        status = pending_put(dir, slash == NULL ? path : slash + 1, out.data, out.size, 0,
                             &published, err);
    }
    buf_deinit(&out);
    free(dir);
    return status;
}
