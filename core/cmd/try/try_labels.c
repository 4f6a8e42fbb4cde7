/* What people said about documents of a sample: reading it, counting with it, and asking for more
 * at the terminal. See try.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/try/try.h"
#include "store/disk.h"

/* ---- reading ---- */

struct reading {
    const char *path;
    uint64_t line;
    json_t *rows; /* id -> row */
    struct labels *labels;
};

static sluice_status bad_label(const struct reading *reading, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CONFIG,
                     "%s:%llu: expected {\"id\": \"...\", \"label\": \"keep\"} or \"drop\", or a "
                     "line ID<TAB>keep",
                     reading->path, (unsigned long long)reading->line);
}

static sluice_status set_label(struct reading *reading, const char *id, const char *word,
                               struct sluice_error *err)
{
    json_t *row = json_object_get(reading->rows, id);
    int8_t label = strcmp(word, "keep") == 0 ? 1 : strcmp(word, "drop") == 0 ? -1 : 0;
    int8_t *of;

    if (label == 0) {
        return bad_label(reading, err);
    }
    if (row == NULL) {
        reading->labels->strange++;
        return SLUICE_OK;
    }
    of = &reading->labels->of[json_integer_value(row)];
    reading->labels->n += *of == 0;
    *of = label; /* the last word counts */
    return SLUICE_OK;
}

static sluice_status read_json(struct reading *reading, const char *line, size_t n,
                               struct sluice_error *err)
{
    json_t *json = json_loadb(line, n, 0, NULL);
    const json_t *id = json_object_get(json, "id");
    const char *word = json_string_value(json_object_get(json, "label"));
    char number[40];
    sluice_status status;

    if (json_is_integer(id)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(id));
    }
    status =
        word == NULL || !(json_is_string(id) || json_is_integer(id))
            ? bad_label(reading, err)
            : set_label(reading, json_is_string(id) ? json_string_value(id) : number, word, err);
    json_decref(json);
    return status;
}

static sluice_status read_line(struct reading *reading, const char *line, size_t n,
                               struct sluice_error *err)
{
    const char *tab;
    char *id;
    char *word;
    sluice_status status;

    if (n > 0 && line[n - 1] == '\r') {
        n--;
    }
    reading->line++;
    if (n == 0) {
        return SLUICE_OK;
    }
    if (line[0] == '{') {
        return read_json(reading, line, n, err);
    }
    tab = memchr(line, '\t', n);
    if (tab == NULL) {
        return bad_label(reading, err);
    }
    id = str_copy(line, (size_t)(tab - line));
    word = str_copy(tab + 1, n - (size_t)(tab + 1 - line));
    status =
        id == NULL || word == NULL ? error_nomem(err, "labels") : set_label(reading, id, word, err);
    free(id);
    free(word);
    return status;
}

static sluice_status index_rows(const struct sample *sample, json_t *rows, struct sluice_error *err)
{
    for (uint64_t i = 0; i < sample->n_rows; i++) {
        char buffer[64];
        size_t n;
        const char *id = sample_id(sample, i, &n, buffer);
        char *copy = str_copy(id, n);
        bool ok = copy != NULL &&
                  json_object_set_new_nocheck(rows, copy, json_integer((json_int_t)i)) == 0;
        free(copy);
        if (!ok) {
            return error_nomem(err, "labels");
        }
    }
    return SLUICE_OK;
}

sluice_status labels_read(const char *path, const struct sample *sample, bool missing,
                          struct labels *labels, struct sluice_error *err)
{
    struct reading reading = { .path = path, .rows = json_object(), .labels = labels };
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status;

    memset(labels, 0, sizeof *labels);
    labels->of = calloc(sample->n_rows + 1, sizeof *labels->of);
    status = reading.rows == NULL || labels->of == NULL ? error_nomem(err, "labels") : SLUICE_OK;
    if (status == SLUICE_OK) {
        status = disk_read_file(path, UINT64_C(1) << 30, &text, &found, err);
    }
    if (status == SLUICE_OK && !found && !missing) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "%s is not there; --labels takes a file of lines ID<TAB>keep or drop, "
                           "which --label adds to",
                           path);
    }
    if (status == SLUICE_OK) {
        status = index_rows(sample, reading.rows, err);
    }
    for (size_t at = 0; status == SLUICE_OK && at < text.size;) {
        const char *newline = memchr(text.data + at, '\n', text.size - at);
        size_t end = newline == NULL ? text.size : (size_t)(newline - text.data);
        status = read_line(&reading, text.data + at, end - at, err);
        at = end + 1;
    }
    buf_deinit(&text);
    json_decref(reading.rows);
    if (status != SLUICE_OK) {
        labels_deinit(labels);
    }
    return status;
}

void labels_deinit(struct labels *labels)
{
    free(labels->of);
    memset(labels, 0, sizeof *labels);
}

/* ---- counting ---- */

void confusion_add(struct confusion *confusion, int8_t label, bool kept)
{
    if (label != 0) {
        confusion->dropped_right += !kept && label < 0;
        confusion->dropped_wrong += !kept && label > 0;
        confusion->kept_right += kept && label > 0;
        confusion->kept_wrong += kept && label < 0;
    }
}

static double share(uint64_t part, uint64_t rest)
{
    return part + rest == 0 ? (double)NAN : (double)part / (double)(part + rest);
}

double confusion_precision(const struct confusion *confusion)
{
    return share(confusion->dropped_right, confusion->dropped_wrong);
}

double confusion_recall(const struct confusion *confusion)
{
    return share(confusion->dropped_right, confusion->kept_wrong);
}

double confusion_f1(const struct confusion *confusion)
{
    return share(2 * confusion->dropped_right, confusion->dropped_wrong + confusion->kept_wrong);
}

/* ---- asking ---- */

#define EXCERPT_LINES 12u

struct asking {
    const char *path;
    const struct sample *sample;
    const struct outcome *outcome;
    bool judged; /* by a stage: what it said is shown */
    struct labels *labels;
    int fd; /* of path, to append to */
    uint64_t row;
    uint64_t *said; /* rows in the order in which they were labelled */
    uint64_t n_said;
};

static void show_row(const struct asking *asking, uint64_t left)
{
    const struct fate *fate = &asking->outcome->fates[asking->row];
    size_t columns = look_columns();
    struct buf text = BUF_INIT;
    char buffer[64];
    size_t n;
    const char *id = sample_id(asking->sample, asking->row, &n, buffer);
    const char *body;
    size_t at = 0;

    columns = columns == 0 ? 80 : columns;
    buf_puts(&text, "\n");
    excerpt_put(&text, id, n, columns / 2);
    if (asking->judged) {
        buf_printf(&text, ": %s", outcome_reason(asking->outcome, fate->reason));
    }
    if (fate->valued) {
        buf_printf(&text, ", value %.6g, limit %.6g", fate->value, fate->limit);
    }
    buf_printf(&text, "  (%llu left)\n\n", (unsigned long long)left);
    body = sample_text(asking->sample, asking->row, &n);
    for (uint32_t line = 0; line < EXCERPT_LINES && at < n; line++) {
        const char *newline = memchr(body + at, '\n', n - at);
        size_t end = newline == NULL ? n : (size_t)(newline - body);
        buf_puts(&text, "    ");
        excerpt_put(&text, body + at, end - at, columns - 5);
        buf_putc(&text, '\n');
        at = end + 1;
    }
    buf_puts(&text, "\nk keep, d drop, s skip, u undo, q quit: ");
    say_text(stdout, buf_str(&text), text.size);
    fflush(stdout);
    buf_deinit(&text);
}

static sluice_status append_label(struct asking *asking, uint64_t row, const char *word,
                                  struct sluice_error *err)
{
    struct buf line = BUF_INIT;
    char buffer[64];
    size_t n;
    const char *id = sample_id(asking->sample, row, &n, buffer);
    sluice_status status;

    buf_puts(&line, "{\"id\":");
    buf_json_string(&line, id, n);
    buf_printf(&line, ",\"label\":\"%s\"}\n", word);
    status = buf_status(&line, err);
    if (status == SLUICE_OK) {
        status = disk_write_all(asking->fd, asking->path, line.data, line.size, err);
    }
    buf_deinit(&line);
    return status;
}

/* One key; 'q' at the end of the input or on a signal. */
static int read_key(void)
{
    char key;
    ssize_t n = read(STDIN_FILENO, &key, 1);

    return n == 1 && atomic_load(&session_drain) == 0 && key != 3 && key != 4 ? key : 'q';
}

static sluice_status take_key(struct asking *asking, int key, bool *next, bool *quit,
                              struct sluice_error *err)
{
    int8_t *of = asking->labels->of;
    uint64_t row = asking->row;

    *next = true;
    switch (key) {
    case 'k':
    case 'd':
        say("%s\n", key == 'k' ? "keep" : "drop");
        TRY(append_label(asking, row, key == 'k' ? "keep" : "drop", err));
        asking->labels->n += of[row] == 0;
        of[row] = key == 'k' ? 1 : -1;
        asking->said[asking->n_said++] = row;
        return SLUICE_OK;
    case 's':
        say("skipped\n");
        return SLUICE_OK;
    case 'q':
        say("quit\n");
        *quit = true;
        return SLUICE_OK;
    default:
        *next = false;
        return SLUICE_OK;
    }
}

/* Takes the last answer back: its line is cut off the file. */
static sluice_status undo(struct asking *asking, off_t *sizes, struct sluice_error *err)
{
    if (ftruncate(asking->fd, sizes[asking->n_said - 1]) != 0) {
        return error_errno(err, errno, "can't take a label out of %s", asking->path);
    }
    asking->n_said--;
    asking->labels->n--;
    asking->labels->of[asking->said[asking->n_said]] = 0;
    say("undone\n");
    return SLUICE_OK;
}

static sluice_status ask_all(struct asking *asking, const uint64_t *rows, uint64_t n,
                             struct sluice_error *err)
{
    off_t *sizes = calloc(n + 1, sizeof *sizes); /* of the file, before each answer */
    uint64_t *places = calloc(n + 1, sizeof *places);
    bool quit = false;
    sluice_status status = SLUICE_OK;

    asking->said = calloc(n + 1, sizeof *asking->said);
    if (sizes == NULL || places == NULL || asking->said == NULL) {
        status = error_nomem(err, "labels");
    }
    for (uint64_t i = 0; status == SLUICE_OK && i < n && !quit;) {
        bool next = false;
        asking->row = rows[i];
        show_row(asking, n - i);
        while (status == SLUICE_OK && !next) {
            int key = read_key();
            if (key == 'u' && asking->n_said > 0) {
                status = undo(asking, sizes, err);
                i = places[asking->n_said];
                break;
            }
            sizes[asking->n_said] = lseek(asking->fd, 0, SEEK_END);
            places[asking->n_said] = i;
            status = take_key(asking, key, &next, &quit, err);
            i += next;
        }
    }
    free(sizes);
    free(places);
    free(asking->said);
    return status;
}

/* Rows without a label, those nearest to the limit first, kept and dropped in turn. */
static sluice_status rows_to_ask(const struct asking *asking, uint64_t **rows, uint64_t *n,
                                 struct sluice_error *err)
{
    uint64_t *lists[2] = { NULL, NULL };
    uint64_t counts[2] = { 0, 0 };
    sluice_status status = outcome_pick(asking->outcome, 1, UINT64_MAX, &lists[0], &counts[0], err);

    if (status == SLUICE_OK) {
        status = outcome_pick(asking->outcome, 0, UINT64_MAX, &lists[1], &counts[1], err);
    }
    *n = 0;
    *rows = status == SLUICE_OK ? malloc((counts[0] + counts[1] + 1) * sizeof **rows) : NULL;
    if (status == SLUICE_OK && *rows == NULL) {
        status = error_nomem(err, "labels");
    }
    for (uint64_t i = 0; status == SLUICE_OK && (i < counts[0] || i < counts[1]); i++) {
        for (int side = 0; side < 2; side++) {
            if (i < counts[side] && asking->labels->of[lists[side][i]] == 0) {
                (*rows)[(*n)++] = lists[side][i];
            }
        }
    }
    free(lists[0]);
    free(lists[1]);
    return status;
}

/* A file that an editor left without its last newline gets it, so that labels do not grow
 * together. */
static sluice_status end_line(int fd, const char *path, struct sluice_error *err)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last = '\n';

    if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n') {
        return disk_write_all(fd, path, "\n", 1, err);
    }
    return SLUICE_OK;
}

sluice_status labels_ask(const char *path, const struct sample *sample,
                         const struct outcome *outcome, struct labels *labels,
                         struct sluice_error *err)
{
    struct outcome none = { .n = sample->n_rows };
    struct asking asking = { .path = path,
                             .sample = sample,
                             .outcome = outcome == NULL ? &none : outcome,
                             .judged = outcome != NULL,
                             .labels = labels,
                             .fd = -1 };
    struct termios before;
    struct termios keys;
    uint64_t *rows = NULL;
    uint64_t n = 0;
    int failure;
    sluice_status status;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "labels are asked for at a terminal, and standard input or output is none; write "
            "labels into the file of --labels by other means, such as the page of "
            "sluice label --html");
    }
    none.fates = calloc(none.n + 1, sizeof *none.fates);
    if (none.fates == NULL) {
        return error_nomem(err, "labels");
    }
    failure = disk_open(path, O_RDWR | O_CREAT | O_APPEND, &asking.fd);
    if (failure != 0) {
        free(none.fates);
        return error_errno(err, failure, "can't open %s to add labels", path);
    }
    status = end_line(asking.fd, path, err);
    keys = before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    if (status == SLUICE_OK) {
        status = rows_to_ask(&asking, &rows, &n, err);
    }
    if (status == SLUICE_OK) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
        status = ask_all(&asking, rows, n, err);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    }
    free(rows);
    free(none.fates);
    close(asking.fd);
    return status;
}
