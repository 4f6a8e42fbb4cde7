/* External merge sort: see sorter.h.
 *
 * In memory, one block holds the payloads (u32 size and bytes) from its low end and an entry for
 * each record from its high end. Entries are sorted in place (sorter_entries.c) by key, position
 * and place of the payload; the place grows with each record, so no two entries are equal and the
 * sort need not be stable.
 *
 * A run in scratch is a sequence of blocks of whole records: u32 size, key, u64 position,
 * payload. Runs are numbered in order of adding and only neighbours are merged, so that equal
 * records keep that order. */
#include "run/edge/sorter.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "run/edge/sorterInt.h"

#define PREFETCH 16u /* records ahead */
#define HUGE_PAGE ((size_t)2 << 20)
#define FIRST_BLOCK ((size_t)64 << 10) /* what many sorters don't even fill */
#define FAN_MAX 128u                   /* runs merged at once */
#define BLOCK_MIN ((size_t)4 << 10)
#define BLOCK_MAX ((size_t)256 << 10)

sluice_status sorter_create(const char *scratch_dir, uint64_t memory, struct sorter **out,
                            struct sluice_error *err)
{
    struct sorter *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL) {
        return error_nomem(err, "sorting");
    }
    s->memory = memory < SORTER_MEMORY_MIN ? SORTER_MEMORY_MIN : memory;
    s->block_bytes = (size_t)(s->memory / 16);
    s->block_bytes = s->block_bytes < BLOCK_MIN   ? BLOCK_MIN
                     : s->block_bytes > BLOCK_MAX ? BLOCK_MAX
                                                  : s->block_bytes;
    s->dir = str_copy(scratch_dir, strlen(scratch_dir));
    if (s->dir == NULL) {
        free(s);
        return error_nomem(err, "sorting");
    }
    *out = s;
    return SLUICE_OK;
}

static void drop_cursors(struct sorter *s)
{
    for (uint32_t k = 0; k < s->n_cursors; k++) {
        buf_deinit(&s->cursors[k].block);
    }
    free(s->cursors);
    free(s->heap);
    s->cursors = NULL;
    s->heap = NULL;
    s->n_cursors = 0;
    s->n_heap = 0;
}

void sorter_destroy(struct sorter *s)
{
    if (s != NULL) {
        drop_cursors(s);
        scratch_close(s->scratch);
        free(s->runs.items);
        buf_deinit(&s->out);
        free(s->block);
        free(s->dir);
        free(s);
    }
}

uint64_t sorter_runs(const struct sorter *s)
{
    return s->runs_written;
}

/* ---- writing runs ---- */

static sluice_status write_block(struct sorter *s, struct scratch *to, struct sluice_error *err)
{
    uint64_t offset;

    TRY(buf_status(&s->out, err));
    if (s->out.size > 0) {
        TRY(scratch_write(to, s->out.data, s->out.size, &offset, err));
        s->block_largest = s->out.size > s->block_largest ? s->out.size : s->block_largest;
        buf_clear(&s->out);
    }
    return SLUICE_OK;
}

/* Adds a record to the block being written. */
static sluice_status write_record(struct sorter *s, struct scratch *to, const struct entry *entry,
                                  const void *payload, uint32_t n, struct sluice_error *err)
{
    uint64_t words[2] = { htobe64(entry->words[0]), htobe64(entry->words[1]) };
    char *at;

    if (s->out.size > 0 && s->out.size + SORTER_RECORD_HEADER + n > s->block_bytes) {
        TRY(write_block(s, to, err));
    }
    if (!buf_reserve(&s->out, SORTER_RECORD_HEADER + (size_t)n)) {
        return buf_status(&s->out, err);
    }
    at = s->out.data + s->out.size;
    memcpy(at, &n, 4);
    memcpy(at + 4, words, 16);
    memcpy(at + 20, &entry->words[2], 8);
    if (n > 0) {
        memcpy(at + SORTER_RECORD_HEADER, payload, n);
    }
    s->out.size += SORTER_RECORD_HEADER + (size_t)n;
    return SLUICE_OK;
}

static bool runs_push(struct runs_list *runs, uint64_t begin, uint64_t end)
{
    if (runs->n == runs->capacity) {
        size_t capacity = runs->capacity < 16 ? 16 : runs->capacity * 2;
        struct run_extent *items = realloc(runs->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        runs->items = items;
        runs->capacity = capacity;
    }
    runs->items[runs->n++] = (struct run_extent){ begin, end };
    return true;
}

/* Sorts and writes what is in memory. */
static sluice_status spill(struct sorter *s, struct sluice_error *err)
{
    struct entry *e = sorter_entries(s);
    uint64_t begin;

    if (s->n == 0) {
        return SLUICE_OK;
    }
    if (s->scratch == NULL) {
        TRY(scratch_open(s->dir, &s->scratch, err));
    }
    begin = scratch_end(s->scratch);
    sorter_sort_entries(e, s->n);
    for (size_t i = 0; i < s->n; i++) {
        const char *payload = s->block + e[i].words[3];
        uint32_t n;
        if (i + PREFETCH < s->n) {
            __builtin_prefetch(s->block + e[i + PREFETCH].words[3]);
        }
        memcpy(&n, payload, sizeof n);
        TRY(write_record(s, s->scratch, &e[i], payload + sizeof n, n, err));
    }
    TRY(write_block(s, s->scratch, err));
    s->n = 0;
    s->used = 0;
    s->runs_written++;
    return runs_push(&s->runs, begin, scratch_end(s->scratch)) ? SLUICE_OK
                                                               : error_nomem(err, "sorting");
}

/* A record that does not fit in memory is a run. */
static sluice_status spill_one(struct sorter *s, const struct entry *entry, const void *payload,
                               uint32_t n, struct sluice_error *err)
{
    uint64_t begin;

    TRY(spill(s, err));
    if (s->scratch == NULL) {
        TRY(scratch_open(s->dir, &s->scratch, err));
    }
    begin = scratch_end(s->scratch);
    TRY(write_record(s, s->scratch, entry, payload, n, err));
    TRY(write_block(s, s->scratch, err));
    buf_deinit(&s->out);
    s->runs_written++;
    return runs_push(&s->runs, begin, scratch_end(s->scratch)) ? SLUICE_OK
                                                               : error_nomem(err, "sorting");
}

/* Lets the sorter have this block; what the one before holds moves over. Takes it. */
static void use_block(struct sorter *s, char *block, size_t size)
{
    size_t bytes = s->n * sizeof(struct entry);

    if (s->block != NULL) {
        memcpy(block, s->block, s->used);
        memcpy(block + size - bytes, s->block + s->block_size - bytes, bytes);
        free(s->block);
    }
    s->block = block;
    s->block_size = size;
}

/* A record of `need` bytes finds no room. The first block is small: large pages are zeroed as they
 * are touched, which costs a sorter of a few rows more than its sorting. The next one is taken
 * whole: pages of it that are not used cost nothing. */
static sluice_status take_block(struct sorter *s, size_t need, struct sluice_error *err)
{
    size_t size = (size_t)(s->memory & ~(uint64_t)(sizeof(struct entry) - 1));
    char *block = NULL;

    if (s->block == NULL && need <= FIRST_BLOCK && size > FIRST_BLOCK &&
        (block = malloc(FIRST_BLOCK)) != NULL) {
        use_block(s, block, FIRST_BLOCK);
        return SLUICE_OK;
    }
    if (size >= 2 * HUGE_PAGE) {
        /* Large pages: fewer faults while it fills, fewer misses while it is sorted. */
        size &= ~(HUGE_PAGE - 1);
        block = aligned_alloc(HUGE_PAGE, size);
        if (block != NULL) {
            (void)!madvise(block, size, MADV_HUGEPAGE);
        }
    }
    while (block == NULL && (block = malloc(size)) == NULL) {
        size = size / 2 & ~(sizeof(struct entry) - 1);
        if (size < SORTER_MEMORY_MIN || size < s->block_size) {
            return error_nomem(err, "sorting");
        }
    }
    use_block(s, block, size);
    s->whole = true;
    return SLUICE_OK;
}

sluice_status sorter_add(struct sorter *s, const void *key, uint64_t position, const void *payload,
                         size_t n, struct sluice_error *err)
{
    size_t need = sizeof(struct entry) + sizeof(uint32_t) + n;
    uint32_t size = (uint32_t)n;
    struct entry entry;
    char *at;

    assert(!s->merging && s->cursors == NULL);
    memcpy(entry.words, key, 16);
    entry.words[0] = be64toh(entry.words[0]);
    entry.words[1] = be64toh(entry.words[1]);
    entry.words[2] = position;
    if (__builtin_expect(s->block_size - s->used - s->n * sizeof entry < need, 0)) {
        if (n > INT32_MAX) {
            return error_set(
                err, SLUICE_E_DATA,
                "found a row of %zu bytes to sort, expected at most %d: cut such rows before", n,
                INT32_MAX);
        }
        while (!s->whole && s->block_size - s->used - s->n * sizeof entry < need) {
            TRY(take_block(s, need, err));
        }
        if (need > s->block_size) {
            entry.words[3] = 0;
            return spill_one(s, &entry, payload, size, err);
        }
        if (s->block_size - s->used - s->n * sizeof entry < need) {
            TRY(spill(s, err));
        }
    }
    /* Records fill the block from its start, their entries from its end: it is full where they
     * meet. */
    entry.words[3] = s->used;
    at = s->block + s->used;
    memcpy(at, &size, sizeof size);
    if (n > 0) {
        memcpy(at + sizeof size, payload, n);
    }
    s->used += sizeof size + n;
    s->n++;
    *sorter_entries(s) = entry;
    return SLUICE_OK;
}

/* ---- merging ---- */

/* Reads the cursor's next record; *end when there is none. */
static sluice_status cursor_next(struct sorter *s, struct run_cursor *c, bool *end,
                                 struct sluice_error *err)
{
    const char *at;

    *end = false;
    c->used = c->next;
    if (c->used == c->block.size) {
        uint64_t begin = c->at;
        if (c->at == c->end) {
            *end = true;
            return SLUICE_OK;
        }
        TRY(scratch_read(s->scratch, c->at, &c->block, &c->at, err));
        scratch_drop(s->scratch, begin, c->at);
        c->used = 0;
    }
    at = c->block.data + c->used;
    memcpy(&c->n, at, 4);
    /* The block's checksum was right, so this is as it was written. */
    assert(c->block.size - c->used >= SORTER_RECORD_HEADER &&
           c->block.size - c->used - SORTER_RECORD_HEADER >= c->n);
    memcpy(c->head.words, at + 4, 16);
    c->head.words[0] = be64toh(c->head.words[0]);
    c->head.words[1] = be64toh(c->head.words[1]);
    memcpy(&c->head.words[2], at + 20, 8);
    c->next = c->used + SORTER_RECORD_HEADER + c->n;
    return SLUICE_OK;
}

static bool heap_less(const struct sorter *s, uint32_t a, uint32_t b)
{
    return entry_less(&s->cursors[s->heap[a]].head, &s->cursors[s->heap[b]].head);
}

static void heap_sink(struct sorter *s, uint32_t at)
{
    for (;;) {
        uint32_t child = 2 * at + 1;
        uint32_t moved = s->heap[at];
        if (child >= s->n_heap) {
            return;
        }
        child += child + 1 < s->n_heap && heap_less(s, child + 1, child) ? 1 : 0;
        if (!heap_less(s, child, at)) {
            return;
        }
        s->heap[at] = s->heap[child];
        s->heap[child] = moved;
        at = child;
    }
}

/* Opens n runs for merging. */
static sluice_status merge_begin(struct sorter *s, const struct run_extent *runs, uint32_t n,
                                 struct sluice_error *err)
{
    drop_cursors(s);
    s->cursors = calloc((size_t)n + 1, sizeof *s->cursors);
    s->heap = calloc((size_t)n + 1, sizeof *s->heap);
    if (s->cursors == NULL || s->heap == NULL) {
        return error_nomem(err, "sorting");
    }
    s->n_cursors = n;
    for (uint32_t k = 0; k < n; k++) {
        struct run_cursor *c = &s->cursors[k];
        bool end;
        c->at = runs[k].begin;
        c->end = runs[k].end;
        c->head.words[3] = k;
        TRY(cursor_next(s, c, &end, err));
        if (!end) {
            s->heap[s->n_heap++] = k;
        }
    }
    for (uint32_t k = s->n_heap / 2; k-- > 0;) {
        heap_sink(s, k);
    }
    s->advance = false;
    return SLUICE_OK;
}

/* The cursor with the next record, or NULL. */
static sluice_status merge_next(struct sorter *s, struct run_cursor **out, struct sluice_error *err)
{
    *out = NULL;
    if (s->advance) {
        bool end;
        TRY(cursor_next(s, &s->cursors[s->heap[0]], &end, err));
        if (end) {
            buf_deinit(&s->cursors[s->heap[0]].block);
            s->heap[0] = s->heap[--s->n_heap];
        }
        heap_sink(s, 0);
    }
    s->advance = s->n_heap > 0;
    if (s->advance) {
        *out = &s->cursors[s->heap[0]];
    }
    return SLUICE_OK;
}

/* Merges neighbouring groups of fan runs into new ones. */
static sluice_status merge_pass(struct sorter *s, struct scratch *to, uint32_t fan,
                                struct runs_list *made, struct sluice_error *err)
{
    for (size_t first = 0; first < s->runs.n; first += fan) {
        uint32_t n = s->runs.n - first < fan ? (uint32_t)(s->runs.n - first) : fan;
        uint64_t begin = scratch_end(to);
        struct run_cursor *c;
        TRY(merge_begin(s, s->runs.items + first, n, err));
        for (;;) {
            TRY(merge_next(s, &c, err));
            if (c == NULL) {
                break;
            }
            TRY(write_record(s, to, &c->head, c->block.data + c->used + SORTER_RECORD_HEADER, c->n,
                             err));
        }
        TRY(write_block(s, to, err));
        s->runs_written++;
        if (!runs_push(made, begin, scratch_end(to))) {
            return error_nomem(err, "sorting");
        }
    }
    return SLUICE_OK;
}

static uint32_t fan_of(const struct sorter *s)
{
    uint64_t fan = s->memory / (s->block_largest + sizeof(struct run_cursor));

    return fan < 2 ? 2 : fan > FAN_MAX ? FAN_MAX : (uint32_t)fan;
}

sluice_status sorter_sort(struct sorter *s, struct sluice_error *err)
{
    if (s->runs.n == 0) {
        if (s->n > 0) {
            sorter_sort_entries(sorter_entries(s), s->n);
        }
        return SLUICE_OK;
    }
    TRY(spill(s, err));
    free(s->block);
    s->block = NULL;
    s->block_size = 0;
    s->merging = true;
    while (s->runs.n > fan_of(s)) {
        struct runs_list made = { 0 };
        struct scratch *to = NULL;
        sluice_status status = scratch_open(s->dir, &to, err);
        if (status == SLUICE_OK) {
            status = merge_pass(s, to, fan_of(s), &made, err);
        }
        if (status != SLUICE_OK) {
            scratch_close(to);
            free(made.items);
            return status;
        }
        scratch_close(s->scratch);
        s->scratch = to;
        free(s->runs.items);
        s->runs = made;
    }
    buf_deinit(&s->out);
    return merge_begin(s, s->runs.items, (uint32_t)s->runs.n, err);
}

static void give_record(struct sorter *s, const struct entry *entry, const void *payload,
                        uint32_t n)
{
    uint64_t words[2] = { htobe64(entry->words[0]), htobe64(entry->words[1]) };

    memcpy(s->record.key, words, sizeof words);
    s->record.position = entry->words[2];
    s->record.payload = payload;
    s->record.n = n;
}

sluice_status sorter_next(struct sorter *s, const struct sorter_record **out,
                          struct sluice_error *err)
{
    struct run_cursor *c;

    *out = NULL;
    if (!s->merging) {
        const struct entry *entry;
        const char *payload;
        uint32_t n;
        if (s->at == s->n) {
            return SLUICE_OK;
        }
        entry = sorter_entries(s) + s->at++;
        if (s->at + PREFETCH < s->n) {
            __builtin_prefetch(s->block + entry[PREFETCH].words[3]);
        }
        payload = s->block + entry->words[3];
        memcpy(&n, payload, sizeof n);
        give_record(s, entry, payload + sizeof n, n);
        *out = &s->record;
        return SLUICE_OK;
    }
    TRY(merge_next(s, &c, err));
    if (c != NULL) {
        give_record(s, &c->head, c->block.data + c->used + SORTER_RECORD_HEADER, c->n);
        *out = &s->record;
    }
    return SLUICE_OK;
}
