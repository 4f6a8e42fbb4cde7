/* table.c - records in a file and an index of them (table.h). */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WAITING (1u << 20)

static sluice_status scratch_failed(struct sluice_error *err)
{
    char message[200];

    (void)snprintf(message, sizeof message,
                   "can't keep statistics in a scratch file: %s; give --scratch a folder with room",
                   strerror(errno));
    return sluice_fail(err, SLUICE_E_IO, "", message);
}

sluice_status table_open(struct table *table, const struct stats_names *names, const char *dir,
                         struct sluice_error *err)
{
    char path[4096];

    *table = (struct table){ .names = names, .file = -1 };
    if (dir == NULL || snprintf(path, sizeof path, "%s/stats-XXXXXX", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return scratch_failed(err);
    }
    table->file = mkostemp(path, O_CLOEXEC);
    if (table->file < 0) {
        return scratch_failed(err);
    }
    unlink(path);
    table->kinds[0] = strdup("summary");
    table->kinds[1] = strdup("histogram");
    table->n_kinds = 2;
    if (table->kinds[0] == NULL || table->kinds[1] == NULL) {
        table_close(table);
        return stats_nomem(err);
    }
    return SLUICE_OK;
}

void table_close(struct table *table)
{
    if (table->map != NULL) {
        munmap((void *)(uintptr_t)table->map, table->size);
    }
    if (table->file >= 0) {
        close(table->file);
    }
    for (uint16_t i = 0; i < table->n_kinds; i++) {
        free(table->kinds[i]);
    }
    free(table->entries);
    sluice_bytes_free(&table->waiting);
    *table = (struct table){ .file = -1 };
}

static sluice_status write_waiting(struct table *table, struct sluice_error *err)
{
    uint64_t done = 0;

    while (done < table->waiting.size) {
        ssize_t n = write(table->file, table->waiting.data + done, table->waiting.size - done);
        if (n < 0 && errno != EINTR) {
            return scratch_failed(err);
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    table->waiting.size = 0;
    return SLUICE_OK;
}

/* The number of a kind; TABLE_KINDS: there are too many, or no memory. */
static uint16_t kind_number(struct table *table, const char *name, size_t n)
{
    uint16_t k = 0;

    while (k < table->n_kinds &&
           (strlen(table->kinds[k]) != n || memcmp(table->kinds[k], name, n) != 0)) {
        k++;
    }
    if (k == table->n_kinds && k < TABLE_KINDS) {
        table->kinds[k] = strndup(name, n);
        if (table->kinds[k] == NULL) {
            return TABLE_KINDS;
        }
        table->n_kinds++;
    }
    return k;
}

static int stat_number(const struct stats_names *names, const char *name, size_t n)
{
    for (int i = 0; i < names->n; i++) {
        if (strlen(names->name[i]) == n && memcmp(names->name[i], name, n) == 0) {
            return i;
        }
    }
    return -1;
}

/* How many documents a record has: the most that any of its moments has. */
static sluice_status count(struct table_group group, int n_moments, uint64_t *n,
                           struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *n = 0;
    for (int i = 0; status == SLUICE_OK && i < n_moments; i++) {
        struct moments moments = { 0 };
        status = table_moments(group, i, &moments, err);
        *n = moments.n > *n ? moments.n : *n;
        moments_deinit(&moments);
    }
    return status;
}

sluice_status table_add(struct table *table, const char *const text[4], const size_t n[4],
                        bool *bad, struct sluice_error *err)
{
    struct table_entry entry = { .at = table->size,
                                 .name_size = (uint32_t)n[2],
                                 .moments_size = (uint32_t)n[3] };
    struct table_group group = { text[2], n[2], text[3], n[3] };
    bool bin = n[0] == 9 && memcmp(text[0], "histogram", 9) == 0;
    int stat = bin ? stat_number(table->names, text[1], n[1]) : 0;
    sluice_status status;

    *bad = stat < 0 || moments_count(text[3], n[3]) != (bin ? 3 : table->names->n);
    if (*bad) {
        return SLUICE_OK;
    }
    entry.kind = kind_number(table, text[0], n[0]);
    if (entry.kind == TABLE_KINDS) {
        *bad = table->n_kinds == TABLE_KINDS;
        return *bad ? SLUICE_OK : stats_nomem(err);
    }
    entry.stat = (uint16_t)stat;
    status = count(group, bin ? 1 : table->names->n, &entry.n, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (table->n == table->capacity) {
        uint64_t capacity = table->capacity * 2 + 256;
        struct table_entry *grown = realloc(table->entries, capacity * sizeof *grown);
        if (grown == NULL) {
            return stats_nomem(err);
        }
        table->entries = grown;
        table->capacity = capacity;
    }
    if (!sluice_bytes_add(&table->waiting, text[2], n[2]) ||
        !sluice_bytes_add(&table->waiting, text[3], n[3])) {
        return stats_nomem(err);
    }
    table->entries[table->n++] = entry;
    table->size += n[2] + n[3];
    return table->waiting.size > WAITING ? write_waiting(table, err) : SLUICE_OK;
}

/* ---- order ---- */

static int compare_names(const struct table *table, const struct table_entry *a,
                         const struct table_entry *b)
{
    uint32_t n = a->name_size < b->name_size ? a->name_size : b->name_size;
    int order = memcmp(table->map + a->at, table->map + b->at, n);

    return order != 0 ? order : (a->name_size > b->name_size) - (a->name_size < b->name_size);
}

static double bin_value(const struct table *table, const struct table_entry *entry)
{
    char text[NUMBER_ROOM] = { 0 };

    memcpy(text, table->map + entry->at,
           entry->name_size < sizeof text ? entry->name_size : sizeof text - 1);
    return strtod(text, NULL);
}

static int compare_entries(const void *left, const void *right, void *user)
{
    const struct table *table = user;
    const struct table_entry *a = left;
    const struct table_entry *b = right;

    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->stat != b->stat) {
        return a->stat < b->stat ? -1 : 1;
    }
    if (a->kind == 1) {
        double x = bin_value(table, a);
        double y = bin_value(table, b);
        return x != y ? (x < y ? -1 : 1) : compare_names(table, a, b);
    }
    return a->n != b->n ? (a->n > b->n ? -1 : 1) : compare_names(table, a, b);
}

/* Numbers kinds behind the first two by their names. */
static void sort_kinds(struct table *table)
{
    uint16_t place[TABLE_KINDS];
    char *sorted[TABLE_KINDS];

    for (uint16_t i = 0; i < table->n_kinds; i++) {
        place[i] = i < 2 ? i : 2;
        for (uint16_t k = 2; i >= 2 && k < table->n_kinds; k++) {
            place[i] = (uint16_t)(place[i] + (strcmp(table->kinds[k], table->kinds[i]) < 0));
        }
        sorted[place[i]] = table->kinds[i];
    }
    memcpy(table->kinds, sorted, table->n_kinds * sizeof sorted[0]);
    for (uint64_t i = 0; i < table->n; i++) {
        table->entries[i].kind = place[table->entries[i].kind];
    }
}

sluice_status table_finish(struct table *table, uint64_t top_k, struct sluice_error *err)
{
    uint64_t kept = 0;
    uint64_t in_kind = 0;
    sluice_status status = write_waiting(table, err);

    if (status != SLUICE_OK || table->n == 0) {
        return status;
    }
    if (table->size > 0) {
        void *map = mmap(NULL, table->size, PROT_READ, MAP_PRIVATE, table->file, 0);
        if (map == MAP_FAILED) {
            return scratch_failed(err);
        }
        table->map = map;
    }
    sort_kinds(table);
    qsort_r(table->entries, table->n, sizeof *table->entries, compare_entries, table);
    for (uint64_t i = 0; i < table->n; i++) {
        in_kind = i > 0 && table->entries[i].kind == table->entries[i - 1].kind ? in_kind + 1 : 0;
        if (table->entries[i].kind < 2 || in_kind < top_k) {
            table->entries[kept++] = table->entries[i];
        }
    }
    table->n = kept;
    return SLUICE_OK;
}

/* ---- reading ---- */

void table_range(const struct table *table, int kind, int stat, uint64_t *first, uint64_t *end)
{
    uint64_t i = 0;

    while (i < table->n && (table->entries[i].kind < kind ||
                            (table->entries[i].kind == kind && table->entries[i].stat < stat))) {
        i++;
    }
    *first = i;
    while (i < table->n && table->entries[i].kind == kind && table->entries[i].stat == stat) {
        i++;
    }
    *end = i;
}

struct table_group table_group(const struct table *table, uint64_t k)
{
    const struct table_entry *entry = &table->entries[k];
    const char *at = table->map == NULL ? "" : table->map + entry->at;

    return (struct table_group){ at, entry->name_size, at + entry->name_size, entry->moments_size };
}

sluice_status table_moments(struct table_group group, int i, struct moments *out,
                            struct sluice_error *err)
{
    size_t at = 0;

    for (int k = 0; k <= i; k++) {
        enum moments_read read;
        moments_deinit(out);
        read = moments_read(out, group.moments, group.moments_size, &at);
        if (read != MOMENTS_READ) {
            return read == MOMENTS_NOMEM
                       ? stats_nomem(err)
                       : sluice_fail(err, SLUICE_E_DATA, "moments",
                                     "the bytes are not moments; expected what stats_merge gives");
        }
    }
    return SLUICE_OK;
}
