/* For tests of plugins through their vtable: a host that records what a stage asks for, declares
 * and gives back, and makers of input batches. Include after cmocka.h. One test program tests one
 * plugin; it includes the plugin's main .c file. */
#ifndef TESTS_UNIT_ADAPTER_KIT_H
#define TESTS_UNIT_ADAPTER_KIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice_arrays.h>

#define KIT_MOST 64

/* ---- plan ---- */

struct kit_column {
    const char *name, *type, *metadata;
};

struct kit_plan {
    struct sluice_plan plan;
    const struct kit_column *columns;
    uint32_t n_columns;
    char needs[KIT_MOST][64];
    uint32_t n_needs;
    struct {
        char name[64], type[64], metadata[400];
    } added[KIT_MOST];
    uint32_t n_added;
    struct {
        char suffix[16], codec[8];
        int32_t level;
    } outputs[KIT_MOST];
    uint32_t n_outputs;
    struct {
        char key[64], json[200];
    } notes[KIT_MOST];
    uint32_t n_notes;
    char metadata[400];
};

static inline bool kit_type_matches(const char *found, const char *asked)
{
    char one[64];
    size_t n = strlen(found);
    bool nullable = found[n - 1] == '?';

    if (asked[0] == '\0') {
        return true;
    }
    while (*asked != '\0') {
        size_t length = strcspn(asked, "|");
        snprintf(one, sizeof one, "%.*s", (int)length, asked);
        if (strcmp(one, found) == 0 || (!nullable && one[length - 1] == '?' &&
                                        strncmp(one, found, length - 1) == 0 && n == length - 1)) {
            return true;
        }
        asked += length + (asked[length] == '|');
    }
    return false;
}

static inline sluice_status kit_need(struct sluice_plan *plan, uint32_t port, const char *name,
                                     const char *type, int32_t optional, int32_t *index,
                                     struct sluice_error *err)
{
    struct kit_plan *kit = plan->ctx;
    const char *found = strcmp(name, "_row") == 0 ? "uint64" : NULL;

    *index = -1;
    assert_int_equal(port, 0);
    for (uint32_t k = 0; k < kit->n_columns; k++) {
        if (strcmp(kit->columns[k].name, name) == 0) {
            found = kit->columns[k].type;
        }
    }
    if (found == NULL) {
        return optional ? SLUICE_OK : sluice_fail(err, SLUICE_E_SCHEMA, name, "no such column");
    }
    if (!kit_type_matches(found, type)) {
        return sluice_fail(err, SLUICE_E_SCHEMA, name, "wrong type");
    }
    for (uint32_t k = 0; k < kit->n_needs; k++) {
        if (strcmp(kit->needs[k], name) == 0) {
            *index = (int32_t)k;
            return SLUICE_OK;
        }
    }
    snprintf(kit->needs[kit->n_needs], sizeof kit->needs[0], "%s", name);
    *index = (int32_t)kit->n_needs++;
    return SLUICE_OK;
}

static inline const char *kit_metadata(struct sluice_plan *plan, uint32_t port, int32_t index,
                                       const char *key)
{
    struct kit_plan *kit = plan->ctx;
    size_t n = strlen(key);

    assert_int_equal(port, 0);
    for (uint32_t k = 0; k < kit->n_columns; k++) {
        const char *line = kit->columns[k].metadata;
        if (strcmp(kit->columns[k].name, kit->needs[index]) != 0) {
            continue;
        }
        while (line != NULL && *line != '\0') {
            size_t length = strcspn(line, "\n");
            if (strncmp(line, key, n) == 0 && line[n] == '=') {
                snprintf(kit->metadata, sizeof kit->metadata, "%.*s", (int)(length - n - 1),
                         line + n + 1);
                return kit->metadata;
            }
            line += length + (line[length] == '\n');
        }
    }
    return NULL;
}

static inline sluice_status kit_add(struct sluice_plan *plan, const char *name, const char *type,
                                    const char *metadata, struct sluice_error *err)
{
    struct kit_plan *kit = plan->ctx;

    (void)err;
    snprintf(kit->added[kit->n_added].name, 64, "%s", name);
    snprintf(kit->added[kit->n_added].type, 64, "%s", type);
    snprintf(kit->added[kit->n_added++].metadata, 400, "%s", metadata == NULL ? "" : metadata);
    return SLUICE_OK;
}

static inline sluice_status kit_output(struct sluice_plan *plan, const char *suffix,
                                       const char *codec, int32_t level, struct sluice_error *err)
{
    struct kit_plan *kit = plan->ctx;

    (void)err;
    snprintf(kit->outputs[kit->n_outputs].suffix, 16, "%s", suffix);
    snprintf(kit->outputs[kit->n_outputs].codec, 8, "%s", codec);
    kit->outputs[kit->n_outputs++].level = level;
    return SLUICE_OK;
}

static inline sluice_status kit_note(struct sluice_plan *plan, const char *key, const char *json,
                                     struct sluice_error *err)
{
    struct kit_plan *kit = plan->ctx;

    (void)err;
    snprintf(kit->notes[kit->n_notes].key, 64, "%s", key);
    snprintf(kit->notes[kit->n_notes++].json, 200, "%s", json);
    return SLUICE_OK;
}

static inline sluice_status kit_column(struct sluice_plan *plan, uint32_t port, uint32_t k,
                                       const char **name, const char **type)
{
    struct kit_plan *kit = plan->ctx;

    assert_int_equal(port, 0);
    *name = *type = "";
    for (uint32_t i = 0; i < kit->n_columns; i++) {
        if (kit->columns[i].name[0] != '_' && k-- == 0) {
            *name = kit->columns[i].name;
            *type = kit->columns[i].type;
            break;
        }
    }
    return SLUICE_OK;
}

static inline void kit_plan_init(struct kit_plan *kit, const struct kit_column *columns, uint32_t n)
{
    memset(kit, 0, sizeof *kit);
    kit->columns = columns;
    kit->n_columns = n;
    kit->plan = (struct sluice_plan){ .size = sizeof kit->plan,
                                      .ctx = kit,
                                      .need = kit_need,
                                      .metadata = kit_metadata,
                                      .add = kit_add,
                                      .output = kit_output,
                                      .note = kit_note,
                                      .column = kit_column };
}

/* ---- host ---- */

struct kit_files {
    const char *path;
    const void *data;
    uint64_t size;
};

static inline sluice_status kit_read_file(struct sluice_host *host, const char *path,
                                          const void **data, uint64_t *size,
                                          struct sluice_error *err)
{
    const struct kit_files *files = (const struct kit_files *)(const void *)host;

    for (; files != NULL && files->path != NULL; files++) {
        if (strcmp(files->path, path) == 0) {
            *data = files->data;
            *size = files->size;
            return SLUICE_OK;
        }
    }
    return sluice_fail(err, SLUICE_E_IO, "", "no such file");
}

static const struct sluice_host_api kit_api = { .size = sizeof kit_api,
                                                .abi_major = 1,
                                                .read_file = kit_read_file };

/* ---- emit ---- */

struct kit_file {
    struct sluice_bytes bytes;
};

struct kit_emit {
    struct sluice_emit emit;
    struct ArrowArray batches[4096];
    uint32_t n_batches;
    struct sluice_bytes files[2][KIT_MOST]; /* output, ordinal */
    int64_t file_rows[KIT_MOST];
    uint32_t ordinal;
    struct {
        uint64_t begin, end;
        char reason[64], detail[200];
    } bad[KIT_MOST];
    uint32_t n_bad;
    struct {
        char name[64];
        int64_t sum;
    } measures[KIT_MOST];
    uint32_t n_measures;
};

static inline sluice_status kit_batch(struct sluice_emit *emit, struct ArrowArray *array)
{
    struct kit_emit *kit = emit->ctx;

    assert_true(kit->n_batches < 4096);
    kit->batches[kit->n_batches++] = *array;
    array->release = NULL;
    return SLUICE_OK;
}

static inline sluice_status kit_bad(struct sluice_emit *emit, uint64_t begin, uint64_t end,
                                    const char *reason, const char *detail)
{
    struct kit_emit *kit = emit->ctx;

    kit->bad[kit->n_bad].begin = begin;
    kit->bad[kit->n_bad].end = end;
    snprintf(kit->bad[kit->n_bad].reason, 64, "%s", reason);
    snprintf(kit->bad[kit->n_bad++].detail, 200, "%s", detail);
    return SLUICE_OK;
}

static inline sluice_status kit_write(struct sluice_emit *emit, uint32_t output, const void *data,
                                      uint64_t n)
{
    struct kit_emit *kit = emit->ctx;

    assert_true(output < 2 && kit->ordinal < KIT_MOST);
    return sluice_bytes_add(&kit->files[output][kit->ordinal], data, n) ? SLUICE_OK
                                                                        : SLUICE_E_NOMEM;
}

static inline sluice_status kit_roll(struct sluice_emit *emit, int64_t rows)
{
    struct kit_emit *kit = emit->ctx;

    kit->file_rows[kit->ordinal++] = rows;
    return SLUICE_OK;
}

static inline sluice_status kit_measure(struct sluice_emit *emit, const char *name, int64_t delta)
{
    struct kit_emit *kit = emit->ctx;
    uint32_t k = 0;

    while (k < kit->n_measures && strcmp(kit->measures[k].name, name) != 0) {
        k++;
    }
    if (k == kit->n_measures) {
        snprintf(kit->measures[kit->n_measures++].name, 64, "%s", name);
    }
    kit->measures[k].sum += delta;
    return SLUICE_OK;
}

static inline int64_t kit_sum(const struct kit_emit *kit, const char *name)
{
    for (uint32_t k = 0; k < kit->n_measures; k++) {
        if (strcmp(kit->measures[k].name, name) == 0) {
            return kit->measures[k].sum;
        }
    }
    return 0;
}

static inline struct kit_emit *kit_emit_create(void)
{
    struct kit_emit *kit = calloc(1, sizeof *kit);

    assert_non_null(kit);
    kit->emit = (struct sluice_emit){ .size = sizeof kit->emit,
                                      .ctx = kit,
                                      .batch = kit_batch,
                                      .bad = kit_bad,
                                      .write = kit_write,
                                      .roll = kit_roll,
                                      .measure = kit_measure };
    return kit;
}

static inline void kit_emit_destroy(struct kit_emit *kit)
{
    for (uint32_t k = 0; k < kit->n_batches; k++) {
        kit->batches[k].release(&kit->batches[k]);
    }
    for (uint32_t k = 0; k < KIT_MOST; k++) {
        sluice_bytes_free(&kit->files[0][k]);
        sluice_bytes_free(&kit->files[1][k]);
    }
    free(kit);
}

/* ---- input ---- */

static inline void kit_ok(sluice_status status, const struct sluice_error *err)
{
    if (status != SLUICE_OK) {
        fail_msg("status %d: %s", status, err->message);
    }
}

/* A column of texts; NULL = null. */
static inline struct ArrowArray kit_texts(const char *const *texts, const size_t *lengths,
                                          int64_t n)
{
    struct sluice_bytes ends = { 0 }, data = { 0 }, valid = { 0 };
    struct ArrowArray array = { 0 };
    int32_t end = 0;
    int64_t nulls = 0;

    assert_true(sluice_bytes_add(&ends, &end, 4));
    for (int64_t k = 0; k < n; k++) {
        char zero = 0;
        if (k % 8 == 0) {
            assert_true(sluice_bytes_add(&valid, &zero, 1));
        }
        if (texts[k] != NULL) {
            size_t length = lengths != NULL ? lengths[k] : strlen(texts[k]);
            assert_true(sluice_bytes_add(&data, texts[k], length));
            valid.data[k / 8] = (char)(valid.data[k / 8] | 1 << (k % 8));
        } else {
            nulls++;
        }
        end = (int32_t)data.size;
        assert_true(sluice_bytes_add(&ends, &end, 4));
    }
    assert_int_equal(sluice_make_text(&array, n, &ends, &data, &valid, nulls), SLUICE_OK);
    return array;
}

/* A column of fixed-width values. */
static inline struct ArrowArray kit_fixed(const void *values, size_t width, int64_t n)
{
    struct sluice_bytes bytes = { 0 };
    struct ArrowArray array = { 0 };

    assert_true(sluice_bytes_add(&bytes, values, width * (size_t)n));
    assert_int_equal(sluice_make_fixed(&array, n, &bytes, NULL, 0), SLUICE_OK);
    return array;
}

/* A column of lists: lengths[k] items of width bytes each, one behind the other. */
static inline struct ArrowArray kit_lists(const void *items, size_t width, const uint32_t *lengths,
                                          int64_t n)
{
    struct sluice_bytes ends = { 0 }, data = { 0 };
    struct ArrowArray array = { 0 };
    int32_t end = 0;

    assert_true(sluice_bytes_add(&ends, &end, 4));
    for (int64_t k = 0; k < n; k++) {
        end += (int32_t)lengths[k];
        assert_true(sluice_bytes_add(&ends, &end, 4));
    }
    assert_true(sluice_bytes_add(&data, items, width * (size_t)end));
    assert_int_equal(sluice_make_list(&array, n, &ends, &data, end), SLUICE_OK);
    return array;
}

/* The columns (taken) as one input; free with kit_input_free. */
static inline struct ArrowArray kit_input(struct ArrowArray *columns, int64_t n_columns,
                                          int64_t rows)
{
    struct ArrowArray array = { 0 };

    assert_int_equal(sluice_make_struct(&array, rows, n_columns, columns), SLUICE_OK);
    return array;
}

/* Rows [begin, end) of an input as a selection; rows must hold end - begin numbers. */
static inline struct sluice_batch kit_select(const struct ArrowArray *array, uint32_t *rows,
                                             int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; k++) {
        rows[k - begin] = (uint32_t)k;
    }
    return (struct sluice_batch){
        .size = sizeof(struct sluice_batch), .array = array, .rows = rows, .n = end - begin
    };
}

static inline uint64_t kit_mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 */

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#endif
