/* Rows of head: which ones, and those of JSON Lines. See headInt.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/excerpt.h"
#include "base/say.h"
#include "cmd/look/headInt.h"
#include "cmd/look/lines.h"

/* SplitMix64's finaliser (Steele, Lea, Flood 2014). */
static uint64_t head_priority(uint64_t seed, uint64_t row)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + row + 1;

    x = (x + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

struct choice {
    uint64_t priority, row;
    char *text;
    size_t size;
};

/* A max-heap by (priority, row) of the smallest seen. */
struct choices {
    struct choice *items;
    size_t n, most;
};

static bool larger(const struct choice *a, const struct choice *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->row > b->row;
}

static void sift_down(struct choices *heap, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        struct choice swap;
        if (child + 1 < heap->n && larger(&heap->items[child + 1], &heap->items[child])) {
            child++;
        }
        if (child >= heap->n || !larger(&heap->items[child], &heap->items[at])) {
            return;
        }
        swap = heap->items[at];
        heap->items[at] = heap->items[child];
        heap->items[child] = swap;
        at = child;
    }
}

/* Whether a row is among the smallest so far. */
static bool wanted(const struct choices *heap, const struct choice *choice)
{
    return heap->n < heap->most || larger(&heap->items[0], choice);
}

/* Takes the choice's text. */
static void add_choice(struct choices *heap, struct choice choice)
{
    size_t at;

    if (heap->n == heap->most) {
        free(heap->items[0].text);
        heap->items[0] = choice;
        sift_down(heap, 0);
        return;
    }
    for (at = heap->n++; at > 0 && larger(&choice, &heap->items[(at - 1) / 2]); at = (at - 1) / 2) {
        heap->items[at] = heap->items[(at - 1) / 2];
    }
    heap->items[at] = choice;
}

static int by_row(const void *a, const void *b)
{
    const struct choice *x = a;
    const struct choice *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

sluice_status head_rows(const struct head *head, uint64_t total, uint64_t **rows, size_t *n,
                        struct sluice_error *err)
{
    uint64_t most = head->n < total ? head->n : total;
    struct choices heap = { .most = (size_t)most };

    *n = 0;
    *rows = calloc((size_t)most + 1, sizeof **rows);
    heap.items = calloc((size_t)most + 1, sizeof *heap.items);
    if (*rows == NULL || heap.items == NULL) {
        free(heap.items);
        return error_nomem(err, "row numbers");
    }
    if (!head->random) {
        for (; *n < most; ++*n) {
            (*rows)[*n] = *n;
        }
    } else {
        for (uint64_t row = 0; most > 0 && row < total; row++) {
            struct choice choice = { .priority = head_priority(head->seed, row), .row = row };
            if (wanted(&heap, &choice)) {
                add_choice(&heap, choice);
            }
        }
        qsort(heap.items, heap.n, sizeof *heap.items, by_row);
        for (; *n < heap.n; ++*n) {
            (*rows)[*n] = heap.items[*n].row;
        }
    }
    free(heap.items);
    return SLUICE_OK;
}

/* ---- JSON Lines ---- */

struct lines {
    const struct head *head;
    const struct conditions *conditions;
    const uint64_t *rows; /* without conditions: those to show */
    size_t n_rows, at;
    uint64_t row; /* of the dataset */
    uint64_t shown;
    struct choices heap; /* random with conditions */
    const struct snapshot_shard *shard;
    uint64_t shard_first;
};

void head_print(const struct head *head, uint64_t row, const char *text, size_t n)
{
    struct buf line = BUF_INIT;
    char prefix[32];
    int width;

    if (head->json) {
        say_json(text, n);
        say("\n");
        return;
    }
    width = snprintf(prefix, sizeof prefix, "%6" PRIu64 "  ", row);
    buf_puts(&line, prefix);
    excerpt_put(&line, text, n,
                head->columns > (size_t)width + 4 ? head->columns - (size_t)width : 4);
    say("%s\n", buf_str(&line));
    buf_deinit(&line);
}

static sluice_status conditional(struct lines *lines, const char *text, size_t n, bool *stop,
                                 struct sluice_error *err)
{
    json_error_t place;
    json_t *row = json_loadb(text, n, JSON_DECODE_ANY, &place);
    bool match;

    if (row == NULL) {
        return error_set(err, SLUICE_E_DATA,
                         "%s, row %" PRIu64 " is no JSON: %s; see sluice verify",
                         lines->shard->name, lines->row - lines->shard_first, place.text);
    }
    match = conditions_hold(lines->conditions, row);
    json_decref(row);
    if (!match) {
        return SLUICE_OK;
    }
    if (lines->head->random) {
        struct choice choice = { .priority = head_priority(lines->head->seed, lines->row),
                                 .row = lines->row };
        if (wanted(&lines->heap, &choice)) {
            choice.text = str_copy(text, n);
            choice.size = n;
            if (choice.text == NULL) {
                return error_nomem(err, "a row");
            }
            add_choice(&lines->heap, choice);
        }
        return SLUICE_OK;
    }
    head_print(lines->head, lines->row, text, n);
    *stop = ++lines->shown == lines->head->n;
    return SLUICE_OK;
}

static sluice_status one_line(void *ctx, const char *text, size_t n, bool *stop,
                              struct sluice_error *err)
{
    struct lines *lines = ctx;
    sluice_status status = SLUICE_OK;

    if (lines->conditions->n > 0) {
        status = conditional(lines, text, n, stop, err);
    } else if (lines->at < lines->n_rows && lines->rows[lines->at] == lines->row) {
        head_print(lines->head, lines->row, text, n);
        lines->at++;
        *stop = lines->at == lines->n_rows;
    }
    lines->row++;
    return status;
}

static sluice_status show_lines(struct lines *lines, struct sluice_error *err)
{
    const struct snapshot *snapshot = lines->head->snapshot;
    bool stop = lines->conditions->n == 0 && lines->n_rows == 0;

    for (size_t i = 0; !stop && i < snapshot->n_shards; i++) {
        const struct snapshot_shard *shard = &snapshot->shards[i];
        bool needed = lines->conditions->n > 0 || lines->rows[lines->at] < lines->row + shard->rows;
        char *path;
        sluice_status status;
        lines->shard = shard;
        lines->shard_first = lines->row;
        if (!needed) {
            lines->row += shard->rows;
            continue;
        }
        path = snapshot_shard_path(lines->head->dir, shard);
        status = path == NULL ? error_nomem(err, "a path")
                              : lines_read(path, one_line, lines, &stop, err);
        free(path);
        TRY(status);
        if (!stop && lines->row != lines->shard_first + shard->rows) {
            return error_set(err, SLUICE_E_DATA,
                             "%s has %" PRIu64 " rows, the manifest says %" PRIu64
                             "; see sluice verify",
                             shard->name, lines->row - lines->shard_first, shard->rows);
        }
    }
    return SLUICE_OK;
}

sluice_status head_lines(const struct head *head, const struct conditions *conditions,
                         struct sluice_error *err)
{
    struct lines lines = { .head = head, .conditions = conditions };
    uint64_t *rows = NULL;
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; i < head->snapshot->n_shards; i++) {
        if (strstr(head->snapshot->shards[i].file, ".jsonl") == NULL) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s is neither JSON Lines nor token rows (.bin and .idx), which are "
                             "what head shows",
                             head->snapshot->shards[i].name);
        }
    }
    lines.heap.most = (size_t)head->n;
    if (conditions->n == 0) {
        status = head_rows(head, head->snapshot->rows, &rows, &lines.n_rows, err);
        lines.rows = rows;
    } else if (head->random) {
        lines.heap.items = calloc(lines.heap.most + 1, sizeof *lines.heap.items);
        status = lines.heap.items == NULL ? error_nomem(err, "rows") : SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = show_lines(&lines, err);
    }
    if (lines.heap.items != NULL) {
        qsort(lines.heap.items, lines.heap.n, sizeof *lines.heap.items, by_row);
    }
    for (size_t i = 0; i < lines.heap.n; i++) {
        if (status == SLUICE_OK) {
            head_print(head, lines.heap.items[i].row, lines.heap.items[i].text,
                       lines.heap.items[i].size);
        }
        free(lines.heap.items[i].text);
    }
    free(lines.heap.items);
    free(rows);
    return status;
}
