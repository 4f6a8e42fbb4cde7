/* Descriptors as text: see plugin_describe.h. Tables name the fields, so that writing and reading
 * can't drift apart. */
#include "plugin/plugin_describe.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "plugin/options.h"

/* Owns what a described plugin_file's pointers reach. */
struct plugin_description {
    json_t *root;                   /* the texts */
    struct sluice_option **options; /* one table a stage */
    size_t n;
};

enum field_kind { FIELD_TEXT, FIELD_U32, FIELD_U64, FIELD_DOUBLE };

struct field {
    const char *name;
    size_t offset;
    enum field_kind kind;
};

#define AT(type, member, kind)                \
    {                                         \
#member, offsetof(type, member), kind \
    }

static const struct field plugin_fields[] = {
    AT(struct sluice_plugin, abi_major, FIELD_U32),
    AT(struct sluice_plugin, abi_minor_built, FIELD_U32),
    AT(struct sluice_plugin, abi_minor_needed, FIELD_U32),
    AT(struct sluice_plugin, verdict_stride, FIELD_U32),
    AT(struct sluice_plugin, name, FIELD_TEXT),
    AT(struct sluice_plugin, version, FIELD_TEXT),
    AT(struct sluice_plugin, license, FIELD_TEXT),
    AT(struct sluice_plugin, libraries, FIELD_TEXT),
};

static const struct field stage_fields[] = {
    AT(struct sluice_stage, name, FIELD_TEXT),
    AT(struct sluice_stage, version, FIELD_TEXT),
    AT(struct sluice_stage, summary, FIELD_TEXT),
    AT(struct sluice_stage, doc, FIELD_TEXT),
    AT(struct sluice_stage, example, FIELD_TEXT),
    AT(struct sluice_stage, role, FIELD_U32),
    AT(struct sluice_stage, mode, FIELD_U32),
    AT(struct sluice_stage, flags, FIELD_U64),
    AT(struct sluice_stage, config_size, FIELD_U64),
    AT(struct sluice_stage, reasons, FIELD_TEXT),
    AT(struct sluice_stage, provides, FIELD_TEXT),
    AT(struct sluice_stage, cut, FIELD_TEXT),
    AT(struct sluice_stage, conserves, FIELD_TEXT),
    AT(struct sluice_stage, bytes_shared, FIELD_U64),
    AT(struct sluice_stage, bytes_worker, FIELD_U64),
    AT(struct sluice_stage, bytes_per_input, FIELD_DOUBLE),
    AT(struct sluice_stage, state_version, FIELD_U64),
    AT(struct sluice_stage, bytes_per_batch, FIELD_DOUBLE),
};

static const struct field option_fields[] = {
    AT(struct sluice_option, name, FIELD_TEXT),  AT(struct sluice_option, doc, FIELD_TEXT),
    AT(struct sluice_option, def, FIELD_TEXT),   AT(struct sluice_option, choices, FIELD_TEXT),
    AT(struct sluice_option, since, FIELD_TEXT), AT(struct sluice_option, min, FIELD_DOUBLE),
    AT(struct sluice_option, max, FIELD_DOUBLE), AT(struct sluice_option, type, FIELD_U32),
    AT(struct sluice_option, flags, FIELD_U32),  AT(struct sluice_option, offset, FIELD_U64),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- functions that are not here ---- */

static sluice_status absent(struct sluice_error *err)
{
    return error_set(err, SLUICE_E_INTERNAL,
                     "a function of a plugin was called that runs in a process of its own only");
}

static sluice_status absent_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    (void)api, (void)host, (void)config;
    *shared = NULL;
    return absent(err);
}

static sluice_status absent_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    (void)shared, (void)plan;
    return absent(err);
}

static sluice_status absent_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    (void)shared;
    *worker = NULL;
    return absent(err);
}

static sluice_status absent_process(void *worker, const struct sluice_batch *in,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker, (void)in, (void)emit;
    return absent(err);
}

static sluice_status absent_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    (void)worker, (void)chunk, (void)emit;
    return absent(err);
}

static sluice_status absent_flush(void *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker, (void)emit;
    return absent(err);
}

static sluice_status absent_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    (void)worker, (void)io;
    return absent(err);
}

static sluice_status absent_load(void *worker, struct sluice_io *io, uint64_t version,
                                 struct sluice_error *err)
{
    (void)worker, (void)io, (void)version;
    return absent(err);
}

static sluice_status absent_judge(void *worker, struct sluice_verdict_io *io,
                                  struct sluice_error *err)
{
    (void)worker, (void)io;
    return absent(err);
}

static sluice_status absent_resume(void *worker, const struct sluice_answers *answers,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker, (void)answers, (void)emit;
    return absent(err);
}

static sluice_status absent_survey(void *worker, const struct sluice_file *file,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker, (void)file, (void)emit;
    return absent(err);
}

static sluice_status absent_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                                 struct sluice_error *err)
{
    (void)worker, (void)scan, (void)emit;
    return absent(err);
}

static void absent_close(void *state)
{
    (void)state;
}

/* Which functions there are, one bit each. */
#define FUNCTIONS(DO)                      \
    DO(0, open, absent_open)               \
    DO(1, prepare, absent_prepare)         \
    DO(2, worker_open, absent_worker_open) \
    DO(3, process, absent_process)         \
    DO(4, read, absent_read)               \
    DO(5, flush, absent_flush)             \
    DO(6, save, absent_save)               \
    DO(7, load, absent_load)               \
    DO(8, merge, absent_load)              \
    DO(9, judge, absent_judge)             \
    DO(10, worker_close, absent_close)     \
    DO(11, close, absent_close)            \
    DO(12, resume, absent_resume)          \
    DO(13, survey, absent_survey)          \
    DO(14, scan, absent_scan)

static uint32_t functions_of(const struct sluice_stage *stage)
{
    uint32_t bits = 0;

#define BIT_OF(bit, name, stub) bits |= stage->name != NULL ? UINT32_C(1) << (bit) : 0;
    FUNCTIONS(BIT_OF)
#undef BIT_OF
    return bits;
}

static void functions_set(struct sluice_stage *stage, json_int_t bits)
{
#define SET(bit, name, stub) stage->name = (bits >> (bit)&1) != 0 ? (stub) : NULL;
    FUNCTIONS(SET)
#undef SET
}

/* ---- writing ---- */

/* NULL: not UTF-8, or out of memory. A double travels as its bits: JSON has no infinities. */
static json_t *fields_json(const void *from, const struct field *fields, size_t n)
{
    json_t *object = json_object();

    for (size_t k = 0; object != NULL && k < n; k++) {
        const char *at = (const char *)from + fields[k].offset;
        json_t *value = NULL;
        const char *text;
        uint32_t narrow;
        uint64_t wide;
        switch (fields[k].kind) {
        case FIELD_TEXT:
            memcpy(&text, at, sizeof text);
            value = text == NULL ? json_null() : json_string(text);
            break;
        case FIELD_U32:
            memcpy(&narrow, at, sizeof narrow);
            value = json_integer((json_int_t)narrow);
            break;
        case FIELD_U64:
        case FIELD_DOUBLE:
            memcpy(&wide, at, sizeof wide);
            value = json_integer((json_int_t)wide);
            break;
        }
        if (json_object_set_new(object, fields[k].name, value) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

static json_t *stage_json(const struct sluice_stage *stage)
{
    struct option_table table = option_table_of(stage);
    json_t *object = fields_json(stage, stage_fields, COUNT(stage_fields));
    json_t *options = json_array();
    struct sluice_option option;
    bool ok = object != NULL && options != NULL;

    for (uint64_t k = 0; ok && option_at(&table, k, &option); k++) {
        ok = json_array_append_new(options,
                                   fields_json(&option, option_fields, COUNT(option_fields))) == 0;
    }
    ok = ok && json_object_set(object, "options", options) == 0 &&
         json_object_set_new(object, "functions", json_integer(functions_of(stage))) == 0;
    json_decref(options);
    if (!ok) {
        json_decref(object);
        return NULL;
    }
    return object;
}

sluice_status plugin_describe(const struct plugin_file *file, struct buf *out,
                              struct sluice_error *err)
{
    json_t *root = fields_json(&file->plugin, plugin_fields, COUNT(plugin_fields));
    json_t *stages = json_array();
    char *text = NULL;
    bool ok = root != NULL && stages != NULL;

    for (size_t k = 0; ok && k < file->n_stages; k++) {
        ok = json_array_append_new(stages, stage_json(&file->stages[k])) == 0;
    }
    ok = ok && json_object_set(root, "stages", stages) == 0;
    text = ok ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(stages);
    json_decref(root);
    if (text == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the plugin '%s' is broken: a text of its descriptor is not UTF-8",
                         file->plugin.name);
    }
    if (strlen(text) > PLUGIN_DESCRIPTION_MAX) {
        free(text);
        return error_set(err, SLUICE_E_CONFIG,
                         "the plugin '%s' is broken: its descriptor has more than %zu bytes",
                         file->plugin.name, PLUGIN_DESCRIPTION_MAX);
    }
    buf_puts(out, text);
    free(text);
    return buf_status(out, err);
}

/* ---- reading ---- */

/* Unknown and missing members are refused: the text is written by this same program. */
static bool fields_read(const json_t *object, size_t extra, const struct field *fields, size_t n,
                        void *out)
{
    if (!json_is_object(object) || json_object_size(object) != n + extra) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        const json_t *value = json_object_get(object, fields[k].name);
        char *at = (char *)out + fields[k].offset;
        const char *text;
        json_int_t number;
        uint32_t narrow;
        if (fields[k].kind == FIELD_TEXT) {
            if (!json_is_string(value) && !json_is_null(value)) {
                return false;
            }
            text = json_string_value(value); /* NULL for null; ends at its only NUL */
            memcpy(at, &text, sizeof text);
            continue;
        }
        if (!json_is_integer(value)) {
            return false;
        }
        number = json_integer_value(value);
        if (fields[k].kind == FIELD_U32) {
            if (number < 0 || number > (json_int_t)UINT32_MAX) {
                return false;
            }
            narrow = (uint32_t)number;
            memcpy(at, &narrow, sizeof narrow);
        } else {
            memcpy(at, &number, sizeof number);
        }
    }
    return true;
}

static bool stage_read(const json_t *object, struct sluice_stage *stage,
                       struct sluice_option **table)
{
    const json_t *options = json_object_get(object, "options");
    const json_t *functions = json_object_get(object, "functions");
    size_t n = json_array_size(options);

    if (!fields_read(object, 2, stage_fields, COUNT(stage_fields), stage) ||
        !json_is_array(options) || !json_is_integer(functions) || n > OPTIONS_MAX) {
        return false;
    }
    stage->size = sizeof *stage;
    functions_set(stage, json_integer_value(functions));
    if (n == 0) {
        return true;
    }
    *table = calloc(n, sizeof **table);
    if (*table == NULL) {
        return false;
    }
    for (size_t k = 0; k < n; k++) {
        if (!fields_read(json_array_get(options, k), 0, option_fields, COUNT(option_fields),
                         &(*table)[k])) {
            return false;
        }
    }
    stage->options = *table;
    stage->n_options = n;
    stage->option_stride = sizeof **table;
    return true;
}

static bool read_all(const char *text, size_t n, struct plugin_file *out)
{
    struct plugin_description *description = calloc(1, sizeof *description);
    const json_t *stages;

    out->description = description;
    if (description == NULL) {
        return false;
    }
    description->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    stages = json_object_get(description->root, "stages");
    description->n = json_array_size(stages);
    if (!fields_read(description->root, 1, plugin_fields, COUNT(plugin_fields), &out->plugin) ||
        !json_is_array(stages) || description->n == 0 || description->n > PLUGIN_STAGES_MAX) {
        description->n = 0;
        return false;
    }
    out->plugin.size = sizeof out->plugin;
    description->options = calloc(description->n, sizeof(struct sluice_option *));
    out->stages = calloc(description->n, sizeof *out->stages);
    if (description->options == NULL || out->stages == NULL) {
        description->n = 0;
        return false;
    }
    for (size_t k = 0; k < description->n; k++) {
        if (!stage_read(json_array_get(stages, k), &out->stages[k], &description->options[k])) {
            return false;
        }
    }
    out->n_stages = description->n;
    return true;
}

sluice_status plugin_described(const char *text, size_t n, const char *path,
                               struct plugin_file *out, struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    memset(out, 0, sizeof *out);
    if (n > PLUGIN_DESCRIPTION_MAX || !read_all(text, n, out)) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "the plugin %s is not loaded: what it says of itself when tried in a "
                           "process of its own is no descriptor",
                           path);
    }
    if (status == SLUICE_OK) {
        status = plugin_file_check(out, path, err);
    }
    if (status != SLUICE_OK) {
        plugin_file_deinit(out);
    }
    return status;
}

void plugin_description_destroy(struct plugin_description *description)
{
    if (description == NULL) {
        return;
    }
    for (size_t k = 0; k < description->n; k++) {
        free(description->options[k]);
    }
    free(description->options);
    json_decref(description->root);
    free(description);
}
