/* report.c - statistics for programs and for people (report.h). */
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GIVE_ON (1u << 20)

/* ---- text ---- */

static void put(struct report_out *out, const char *text, size_t n)
{
    if (out->status == SLUICE_OK && !sluice_bytes_add(&out->data, text, n)) {
        out->status = SLUICE_E_NOMEM;
    }
    if (out->status == SLUICE_OK && out->data.size > GIVE_ON) {
        out->status = out->emit->write(out->emit, out->output, out->data.data, out->data.size);
        out->data.size = 0;
    }
}

__attribute__((format(printf, 2, 3))) static void print(struct report_out *out, const char *format,
                                                        ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(out, text, strlen(text));
}

sluice_status report_end(struct report_out *out, struct sluice_error *err)
{
    if (out->status == SLUICE_OK && out->data.size > 0) {
        out->status = out->emit->write(out->emit, out->output, out->data.data, out->data.size);
    }
    sluice_bytes_free(&out->data);
    if (out->status == SLUICE_OK) {
        return SLUICE_OK;
    }
    return out->status == SLUICE_E_NOMEM
               ? stats_nomem(err)
               : sluice_fail(err, out->status, "", "the host refused what was written");
}

static void put_string(struct report_out *out, const char *text, size_t n)
{
    put(out, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            print(out, "\\%c", c);
        } else if (c < 0x20) {
            print(out, "\\u%04x", c);
        } else {
            put(out, text + i, 1);
        }
    }
    put(out, "\"", 1);
}

static const char *number(double value, bool whole, char room[NUMBER_ROOM])
{
    if (whole) {
        number_int(value, room);
    } else {
        number_float(value, room);
    }
    return room;
}

static sluice_status moments_of(struct report_out *out, const struct table *table, uint64_t k,
                                int i, struct moments *moments)
{
    struct sluice_error err = { .size = sizeof err };

    if (out->status == SLUICE_OK) {
        out->status = table_moments(table_group(table, k), i, moments, &err);
    }
    return out->status;
}

/* ---- JSON ---- */

static void json_moments(struct report_out *out, const struct moments *m, bool whole)
{
    char total[NUMBER_ROOM];
    char mean[NUMBER_ROOM];
    char variance[NUMBER_ROOM];
    char deviation[NUMBER_ROOM];
    char least[NUMBER_ROOM];
    char greatest[NUMBER_ROOM];
    double v = moments_variance(m);

    print(out,
          "{\"total\": %s, \"n\": %llu, \"mean\": %s, \"variance\": %s, \"std_dev\": %s, \"min\": "
          "%s, "
          "\"max\": %s, \"unit\": \"doc\"}",
          number(moments_total(m), whole, total), (unsigned long long)m->n,
          number(moments_mean(m), false, mean), number(v, false, variance),
          number(sqrt(v), false, deviation), number(m->least, whole, least),
          number(m->greatest, whole, greatest));
}

/* "statistic": {"key": {...}, ...} over the entries [first, end), of the i-th moments of each;
 * nothing when no group has any. */
static void json_stat(struct report_out *out, const struct table *table, uint64_t first,
                      uint64_t end, const char *stat, const char *tail, int i, bool whole,
                      int *written)
{
    int keys = 0;

    for (uint64_t k = first; k < end; k++) {
        struct table_group group = table_group(table, k);
        struct moments moments = { 0 };
        if (moments_of(out, table, k, i, &moments) != SLUICE_OK) {
            return;
        }
        if (moments.n > 0) {
            if (keys == 0) {
                print(out, "%s\n  ", *written > 0 ? "," : "");
                char name[300];
                int n = snprintf(name, sizeof name, "%s%s", stat, tail);
                put_string(out, name, n < (int)sizeof name ? (size_t)n : sizeof name - 1);
                print(out, ": {");
            }
            print(out, "%s\n   ", keys++ > 0 ? "," : "");
            put_string(out, group.name, group.name_size);
            print(out, ": ");
            json_moments(out, &moments, whole);
        }
        moments_deinit(&moments);
    }
    if (keys > 0) {
        print(out, "}");
        (*written)++;
    }
}

void report_json(struct report_out *out, const struct table *table)
{
    static const char *const tails[] = { "", "__chars", "__tokens" };
    const struct stats_names *names = table->names;
    int kinds = 0;

    print(out, "{");
    for (int kind = 0; kind < table->n_kinds; kind++) {
        uint64_t first;
        uint64_t end;
        int written = 0;
        uint64_t any = 0;
        for (uint64_t k = 0; k < table->n; k++) {
            any += table->entries[k].kind == kind;
        }
        if (any == 0) {
            continue;
        }
        print(out, "%s\n ", kinds++ > 0 ? "," : "");
        put_string(out, table->kinds[kind], strlen(table->kinds[kind]));
        print(out, ": {");
        for (int i = 0; i < names->n; i++) {
            table_range(table, kind, kind == 1 ? i : 0, &first, &end);
            if (kind != 1) {
                json_stat(out, table, first, end, names->name[i], "", i, names->whole[i], &written);
            }
            for (int k = 0; kind == 1 && k < 3; k++) {
                json_stat(out, table, first, end, names->name[i], tails[k], k, true, &written);
            }
        }
        print(out, "}");
    }
    print(out, "\n}\n");
}

/* ---- for people ---- */

/* A number with a precision that people read: whole, or six significant digits. */
static const char *plain(double value, bool whole, char room[NUMBER_ROOM])
{
    if (whole || fabs(value) >= 1e6) {
        number_int(rint(value), room);
    } else {
        (void)snprintf(room, NUMBER_ROOM, "%.6g", value);
    }
    return room;
}

/* The bin at or below which a share of the documents lies; the bins are sorted. */
static void quantile(struct report_out *out, const struct table *table, uint64_t first,
                     uint64_t end, uint64_t n, int per_cent)
{
    uint64_t wanted = (n * (uint64_t)per_cent + 99) / 100;
    uint64_t seen = 0;

    for (uint64_t k = first; k < end; k++) {
        seen += table->entries[k].n;
        if (seen >= wanted) {
            struct table_group group = table_group(table, k);
            print(out, " %.*s |", (int)(group.name_size < 40 ? group.name_size : 40), group.name);
            return;
        }
    }
    print(out, "  |");
}

static void markdown_summary(struct report_out *out, const struct table *table, uint64_t at)
{
    const struct stats_names *names = table->names;

    print(out,
          "| statistic | documents | total | mean | std dev | min | 5%% | median | 95%% | max |\n"
          "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (int i = 1; i < names->n; i++) { /* 0 is the documents */
        struct moments m = { 0 };
        char room[5][NUMBER_ROOM];
        uint64_t first;
        uint64_t end;
        if (moments_of(out, table, at, i, &m) != SLUICE_OK) {
            return;
        }
        table_range(table, 1, i, &first, &end);
        print(out, "| %.100s | %llu | %s | %s | %s | %s |", names->name[i], (unsigned long long)m.n,
              plain(moments_total(&m), names->whole[i], room[0]),
              plain(moments_mean(&m), false, room[1]),
              plain(sqrt(moments_variance(&m)), false, room[2]),
              plain(m.least, names->whole[i], room[3]));
        quantile(out, table, first, end, m.n, 5);
        quantile(out, table, first, end, m.n, 50);
        quantile(out, table, first, end, m.n, 95);
        print(out, " %s |\n", plain(m.greatest, names->whole[i], room[4]));
        moments_deinit(&m);
    }
}

static int index_of(const struct stats_names *names, const char *name)
{
    for (int i = 0; i < names->n; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* A name in a cell: no bars, no control characters, cut at 200 bytes at a code point's begin. */
static void put_cell(struct report_out *out, const char *text, size_t n)
{
    size_t cut = n < 200 ? n : 200;

    while (cut < n && cut > 0 && ((unsigned char)text[cut] & 0xC0) == 0x80) {
        cut--;
    }
    if (n == 0) {
        print(out, "(none)");
    }
    for (size_t i = 0; i < cut; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '|') {
            put(out, "\\|", 2);
        } else {
            put(out, c < 0x20 ? " " : text + i, 1);
        }
    }
}

static void markdown_kind(struct report_out *out, const struct table *table, int kind,
                          uint64_t documents, int64_t rows)
{
    static const char *const columns[][2] = { { "n_words", "words" },
                                              { "n_lines", "lines" },
                                              { "length", "characters" },
                                              { "token_count", "tokens" } };
    uint64_t first;
    uint64_t end;

    table_range(table, kind, 0, &first, &end);
    print(out, "\n## By %.100s\n\n%llu groups%s.\n\n| %.100s | documents | share |",
          table->kinds[kind], (unsigned long long)(end - first),
          end - first > (uint64_t)rows ? "; those with the most documents" : "",
          table->kinds[kind]);
    for (int c = 0; c < 4; c++) {
        if (index_of(table->names, columns[c][0]) >= 0) {
            print(out, " %s |", columns[c][1]);
        }
    }
    print(out, "\n|---|--:|--:|");
    for (int c = 0; c < 4; c++) {
        if (index_of(table->names, columns[c][0]) >= 0) {
            print(out, "--:|");
        }
    }
    print(out, "\n");
    for (uint64_t k = first; k < end && k < first + (uint64_t)rows; k++) {
        struct table_group group = table_group(table, k);
        uint64_t n = table->entries[k].n;
        print(out, "| ");
        put_cell(out, group.name, group.name_size);
        print(out, " | %llu |", (unsigned long long)n);
        if (documents > 0) {
            print(out, " %.2f%% |", 100.0 * (double)n / (double)documents);
        } else {
            print(out, " |");
        }
        for (int c = 0; c < 4; c++) {
            int i = index_of(table->names, columns[c][0]);
            struct moments m = { 0 };
            char room[NUMBER_ROOM];
            if (i >= 0 && moments_of(out, table, k, i, &m) == SLUICE_OK) {
                print(out, " %s |", plain(moments_total(&m), true, room));
            }
            moments_deinit(&m);
        }
        print(out, "\n");
    }
}

void report_markdown(struct report_out *out, const struct table *table, int64_t rows)
{
    uint64_t first;
    uint64_t end;
    uint64_t documents = 0;

    table_range(table, 0, 0, &first, &end);
    documents = first < end ? table->entries[first].n : 0;
    print(out, "# Statistics\n\n");
    if (first < end) {
        print(out, "%llu documents.\n\n", (unsigned long long)documents);
        markdown_summary(out, table, first);
    } else {
        print(out, "No summary was gathered.\n");
    }
    for (int kind = 2; kind < table->n_kinds; kind++) {
        markdown_kind(out, table, kind, documents, rows);
    }
}
