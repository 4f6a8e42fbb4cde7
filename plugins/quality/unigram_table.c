/* unigram_table.c - see unigram_table.h. Words stand one behind the other; slots hold the hash's
 * upper half and an index. */
#include "unigram_table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <sluice_arrays.h>

#include "text/text.h"

struct word {
    uint32_t begin, length;
    uint64_t count;
    double log;
};

struct unigram_table {
    struct text_buffer bytes;
    struct word *words;
    size_t n, capacity;
    uint64_t *slots;
    size_t n_slots; /* a power of two */
    uint64_t total;
    double absent;
};

/* ---- CSV ---- */

struct csv {
    const char *data;
    size_t n, at;
    size_t line;              /* of the row last read, from 1 */
    struct text_buffer bytes; /* the fields of a row, one behind the other */
    struct text_spans fields;
};

/* Reads a field up to its comma or line end; *more says whether another one of the row follows. */
static sluice_status read_field(struct csv *csv, int *more, struct sluice_error *err)
{
    uint32_t begin = (uint32_t)csv->bytes.len;
    int quoted = csv->at < csv->n && csv->data[csv->at] == '"';
    sluice_status status = SLUICE_OK;

    csv->at += (size_t)quoted;
    *more = 0;
    while (csv->at < csv->n && status == SLUICE_OK) {
        char c = csv->data[csv->at];
        if (quoted && c == '"') {
            csv->at++;
            if (csv->at < csv->n && csv->data[csv->at] == '"') {
                status = text_buffer_append(&csv->bytes, "\"", 1, err);
                csv->at++;
            } else {
                quoted = 0;
            }
            continue;
        }
        if (!quoted && c == ',') {
            csv->at++;
            *more = 1;
            break;
        }
        if (!quoted && (c == '\n' || c == '\r')) {
            csv->at += c == '\r' && csv->at + 1 < csv->n && csv->data[csv->at + 1] == '\n' ? 2 : 1;
            break;
        }
        csv->line += c == '\n';
        status = text_buffer_append(&csv->bytes, &c, 1, err);
        csv->at++;
    }
    return status == SLUICE_OK ? text_spans_push(&csv->fields, begin, (uint32_t)csv->bytes.len, err)
                               : status;
}

/* The next row that is not blank; *found is 0 at the end. */
static sluice_status read_row(struct csv *csv, int *found, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;
    int more = 1;

    *found = 0;
    while (csv->at < csv->n && !*found && status == SLUICE_OK) {
        csv->bytes.len = 0;
        csv->fields.count = 0;
        csv->line++;
        *found = csv->data[csv->at] != '\n' && csv->data[csv->at] != '\r';
        for (more = 1; more && status == SLUICE_OK;) {
            status = read_field(csv, &more, err);
        }
    }
    return status;
}

static sluice_status refuse(const struct csv *csv, const char *what, struct sluice_error *err)
{
    char message[300];

    snprintf(message, sizeof message,
             "line %zu: %s; expected a CSV file whose first row names the columns word and count",
             csv->line, what);
    return sluice_fail(err, SLUICE_E_CONFIG, "frequencies", message);
}

/* The number of a column, or SIZE_MAX. */
static size_t column_find(const struct csv *csv, const char *name)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < csv->fields.count; i++) {
        struct text_span field = csv->fields.data[i];
        if (field.end - field.begin == strlen(name) &&
            memcmp(csv->bytes.data + field.begin, name, strlen(name)) == 0) {
            found = i;
        }
    }
    return found;
}

/* Digits, with white space around; 0 when it is something else or above 2^53. */
static int read_count(const char *text, struct text_span field, uint64_t *count)
{
    field = text_strip(text, field);
    *count = 0;
    for (uint32_t i = field.begin; i < field.end; i++) {
        if (text[i] < '0' || text[i] > '9' || *count > (UINT64_C(1) << 53) / 10) {
            return 0;
        }
        *count = *count * 10 + (uint64_t)(text[i] - '0');
    }
    return field.end > field.begin && *count <= UINT64_C(1) << 53;
}

/* ---- table ---- */

static uint64_t *slot_of(const struct unigram_table *table, const char *word, size_t n,
                         uint64_t hash)
{
    for (size_t i = (size_t)hash & (table->n_slots - 1);; i = (i + 1) & (table->n_slots - 1)) {
        uint64_t slot = table->slots[i];
        if (slot == 0) {
            return &table->slots[i];
        }
        const struct word *entry = &table->words[(uint32_t)slot - 1];
        if ((slot ^ hash) >> 32 == 0 && entry->length == n &&
            memcmp(table->bytes.data + entry->begin, word, n) == 0) {
            return &table->slots[i];
        }
    }
}

static sluice_status grow(struct unigram_table *table, struct sluice_error *err)
{
    size_t n_slots = table->n_slots == 0 ? 1024 : table->n_slots * 2;
    uint64_t *slots;

    if (table->n < table->n_slots / 2) {
        return SLUICE_OK;
    }
    slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL || table->n >= UINT32_MAX / 2) {
        free(slots);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for word frequencies");
    }
    free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    for (size_t i = 0; i < table->n; i++) {
        const struct word *word = &table->words[i];
        const char *bytes = table->bytes.data + word->begin;
        uint64_t hash = XXH3_64bits(bytes, word->length);
        *slot_of(table, bytes, word->length, hash) = (hash & 0xffffffff00000000u) | (i + 1);
    }
    return SLUICE_OK;
}

static sluice_status word_add(struct unigram_table *table, const char *bytes, size_t n,
                              uint64_t count, struct sluice_error *err)
{
    sluice_status status = grow(table, err);
    uint64_t hash = XXH3_64bits(bytes, n);
    uint64_t *slot;

    if (status != SLUICE_OK) {
        return status;
    }
    slot = slot_of(table, bytes, n, hash);
    if (*slot != 0) {
        table->words[(uint32_t)*slot - 1].count = count;
        return SLUICE_OK;
    }
    if (table->n == table->capacity) {
        size_t capacity = table->capacity * 2 + 1024;
        struct word *moved = realloc(table->words, capacity * sizeof *moved);
        if (moved == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for word frequencies");
        }
        table->words = moved;
        table->capacity = capacity;
    }
    table->words[table->n] = (struct word){ (uint32_t)table->bytes.len, (uint32_t)n, count, 0 };
    status = text_buffer_append(&table->bytes, bytes, n, err);
    if (status == SLUICE_OK) {
        *slot = (hash & 0xffffffff00000000u) | ++table->n;
    }
    return status;
}

static double log_of(double share)
{
    double value = (double)logl((long double)share);

    return value < -1e300 ? -1e300 : value; /* a count of 0 */
}

static sluice_status read_rows(struct csv *csv, struct unigram_table *table,
                               struct sluice_error *err)
{
    size_t word;
    size_t count;
    int found;
    sluice_status status = read_row(csv, &found, err);

    if (status != SLUICE_OK) {
        return status;
    }
    word = found ? column_find(csv, "word") : SIZE_MAX;
    count = found ? column_find(csv, "count") : SIZE_MAX;
    if (word == SIZE_MAX || count == SIZE_MAX) {
        return refuse(csv, "found no column word, or none count", err);
    }
    while ((status = read_row(csv, &found, err)) == SLUICE_OK && found) {
        uint64_t number;
        if (csv->fields.count <= word || csv->fields.count <= count) {
            return refuse(csv, "found fewer columns than in the first row", err);
        }
        struct text_span span = csv->fields.data[word];
        if (!read_count(csv->bytes.data, csv->fields.data[count], &number)) {
            return refuse(csv, "found a count that is no whole number up to 2^53", err);
        }
        table->total += number;
        if (table->total > UINT64_C(1) << 53) {
            return refuse(csv, "found counts of over 2^53 together", err);
        }
        status = word_add(table, csv->bytes.data + span.begin, span.end - span.begin, number, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    if (status == SLUICE_OK && table->total == 0) {
        return refuse(csv, "found no counts", err);
    }
    return status;
}

sluice_status unigram_table_build(const char *data, size_t n, struct unigram_table **out,
                                  struct sluice_error *err)
{
    struct csv csv = { .data = data, .n = n };
    struct unigram_table *table = calloc(1, sizeof *table);
    sluice_status status;

    *out = NULL;
    if (table == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    status = n > TEXT_MAX || !text_utf8_valid(data, n, NULL)
                 ? refuse(&csv, "found no UTF-8 text of up to 4 GiB", err)
                 : text_buffer_reserve(&csv.bytes, 64, err);
    if (status == SLUICE_OK) {
        status = text_buffer_reserve(&table->bytes, 64, err);
    }
    if (status == SLUICE_OK) {
        status = read_rows(&csv, table, err);
    }
    text_buffer_deinit(&csv.bytes);
    text_spans_deinit(&csv.fields);
    if (status != SLUICE_OK) {
        unigram_table_destroy(table);
        return status;
    }
    for (size_t i = 0; i < table->n; i++) {
        table->words[i].log = log_of((double)table->words[i].count / (double)table->total);
    }
    table->absent = log_of(1e-9);
    *out = table;
    return SLUICE_OK;
}

void unigram_table_destroy(struct unigram_table *table)
{
    if (table != NULL) {
        text_buffer_deinit(&table->bytes);
        free(table->words);
        free(table->slots);
        free(table);
    }
}

size_t unigram_table_count(const struct unigram_table *table)
{
    return table->n;
}

double unigram_table_log(const struct unigram_table *table, const char *word, size_t n)
{
    uint64_t slot = *slot_of(table, word, n, XXH3_64bits(word, n));

    return slot == 0 ? table->absent : table->words[(uint32_t)slot - 1].log;
}
