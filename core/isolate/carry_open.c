/* Options, schemas and what a stage asks for in prepare, on their way between parent and child:
 * see carry.h. */
#include "isolate/carry.h"

#include <stdlib.h>
#include <string.h>

#include "isolate/flat.h"

#define FIELDS_MAX 65536u

size_t carry_body(size_t n)
{
    return (n + FLAT_ALIGN - 1) & ~(size_t)(FLAT_ALIGN - 1);
}

sluice_status carry_nonsense(struct sluice_error *err, const char *what)
{
    return error_set(err, SLUICE_E_INTERNAL, "its process answered with %s that makes no sense",
                     what);
}

/* ---- opening ---- */

void carry_put_open(struct buf *out, const struct carry_open *open, const struct options *options)
{
    struct buf json = BUF_INIT;
    struct option_value value;

    wire_put_text(out, open->target.plugin);
    wire_put_text(out, open->target.stage);
    wire_put_text(out, open->target.script);
    wire_put(out, open->target.hash.lo);
    wire_put(out, open->target.hash.hi);
    wire_put_text(out, open->name);
    wire_put(out, open->seed);
    wire_put(out, open->memory_share);
    wire_put(out, open->memory);
    wire_put(out, open->network);
    wire_put(out, open->gpu);
    wire_put(out, open->files);
    wire_put(out, open->maps);
    wire_put_text(out, open->scratch);
    wire_put(out, options_count(options));
    for (uint64_t k = 0; options_get(options, k, &value); k++) {
        wire_put_text(out, value.option.name);
        wire_put_text(out, value.text);
    }
    options_json(options, &json);
    wire_put_text(out, buf_str(&json));
    out->failed = out->failed || json.failed;
    buf_deinit(&json);
}

bool carry_get_open(struct wire *wire, struct carry_open *open)
{
    memset(open, 0, sizeof *open);
    open->target.plugin = wire_get_text(wire);
    open->target.stage = wire_get_text(wire);
    open->target.script = wire_get_text(wire);
    open->target.hash.lo = wire_get(wire);
    open->target.hash.hi = wire_get(wire);
    open->name = wire_get_text(wire);
    open->seed = wire_get(wire);
    open->memory_share = wire_get(wire);
    open->memory = wire_get(wire);
    open->network = wire_get(wire) != 0;
    open->gpu = wire_get(wire) != 0;
    open->files = wire_get(wire) != 0;
    open->maps = wire_get(wire) != 0;
    open->scratch = wire_get_text(wire);
    return !wire->failed && open->name != NULL;
}

static sluice_status check_options(struct wire *wire, const struct options *options,
                                   struct sluice_error *err)
{
    const char *expected = wire_get_text(wire);
    struct buf json = BUF_INIT;
    sluice_status status = SLUICE_OK;

    options_json(options, &json);
    if (json.failed) {
        status = error_nomem(err, "the options of a stage");
    } else if (!wire_end(wire) || expected == NULL || strcmp(expected, buf_str(&json)) != 0) {
        status = error_set(err, SLUICE_E_INTERNAL,
                           "its options changed on the way to its process: %.300s there, %.300s "
                           "here",
                           buf_str(&json), expected != NULL ? expected : "nothing");
    }
    buf_deinit(&json);
    return status;
}

/* Options go as texts and are parsed here by the child's own table. What came out is compared
 * with what the parent has: a child whose table is not the one that was probed is found before
 * it computes. */
sluice_status carry_get_options(struct wire *wire, const struct registry_entry *entry,
                                struct options **out, struct sluice_error *err)
{
    struct option_table table = option_table_of(&entry->stage);
    struct value named;
    struct option_args args = { .named = &named, .text = true };
    uint64_t n = wire_get_below(wire, OPTIONS_MAX);
    sluice_status status = SLUICE_OK;

    *out = NULL;
    value_map_init(&named);
    for (uint64_t k = 0; k < n && status == SLUICE_OK; k++) {
        const char *name = wire_get_text(wire);
        const char *text = wire_get_text(wire);
        struct value value;
        if (name == NULL) {
            status = carry_nonsense(err, "options");
        } else if (text != NULL && (!value_string(&value, text, strlen(text)) ||
                                    !value_map_set(&named, name, value))) {
            status = error_nomem(err, "the options of a stage");
        }
    }
    if (status == SLUICE_OK) {
        status = options_parse(&table, &args, NULL, out, err);
    }
    value_deinit(&named);
    if (status == SLUICE_OK) {
        status = check_options(wire, *out, err);
    }
    if (status != SLUICE_OK) {
        options_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- preparing ---- */

static void put_type(struct buf *out, const struct type *type)
{
    char *text = type_print(type);

    out->failed = out->failed || text == NULL;
    wire_put_text(out, text);
    free(text);
}

void carry_put_inputs(struct buf *out, const struct stage_inputs *inputs)
{
    wire_put(out, inputs->find_derived != NULL);
    wire_put(out, inputs->wanted != NULL);
    wire_put(out, inputs->n_ports);
    for (uint32_t port = 0; port < inputs->n_ports; port++) {
        const struct schema *schema = inputs->schemas[port];
        wire_put(out, schema != NULL);
        wire_put(out, schema != NULL ? schema->n : 0);
        for (uint32_t k = 0; schema != NULL && k < schema->n; k++) {
            const struct field *field = &schema->fields[k];
            wire_put_text(out, field->name);
            put_type(out, field->type);
            wire_put_text(out, field->metadata);
            wire_put(out, field->hidden);
            wire_put_text(out, field->derived_provider);
            wire_put_text(out, field->derived_options);
            wire_put_text(out, field->derived_source);
        }
    }
    wire_put_text(out, inputs->described_uri);
    wire_put(out, inputs->described_data != NULL);
    wire_put_bytes(out, inputs->described_data, (size_t)inputs->described_n);
}

/* A copy of text, which may be NULL; false = out of memory. */
static bool copy_text(char **out, const char *text)
{
    *out = text == NULL ? NULL : str_copy(text, strlen(text));
    return text == NULL || *out != NULL;
}

static sluice_status get_field(struct wire *wire, struct schema *schema, struct sluice_error *err)
{
    const char *name = wire_get_text(wire);
    const char *type = wire_get_text(wire);
    const char *metadata = wire_get_text(wire);
    bool hidden = wire_get(wire) != 0;
    const char *provider = wire_get_text(wire);
    const char *options = wire_get_text(wire);
    const char *source = wire_get_text(wire);
    struct field *field;

    if (wire->failed || name == NULL || type == NULL) {
        return carry_nonsense(err, "a schema");
    }
    TRY(schema_add_text(schema, name, type, metadata, err));
    field = &schema->fields[schema->n - 1];
    field->hidden = hidden;
    if (!copy_text(&field->derived_provider, provider) ||
        !copy_text(&field->derived_options, options) ||
        !copy_text(&field->derived_source, source)) {
        return error_nomem(err, "a schema");
    }
    return SLUICE_OK;
}

sluice_status carry_get_inputs(struct wire *wire, struct schema *schemas,
                               struct stage_inputs *inputs, bool *find, bool *wanted,
                               struct sluice_error *err)
{
    const void *described;
    size_t size;
    bool said;

    memset(inputs, 0, sizeof *inputs);
    *find = wire_get(wire) != 0;
    *wanted = wire_get(wire) != 0;
    inputs->n_ports = (uint32_t)wire_get_below(wire, STAGE_PORTS);
    for (uint32_t port = 0; port < inputs->n_ports; port++) {
        bool there = wire_get(wire) != 0;
        uint64_t n = wire_get_below(wire, FIELDS_MAX);
        inputs->schemas[port] = there ? &schemas[port] : NULL;
        for (uint64_t k = 0; k < n; k++) {
            TRY(get_field(wire, &schemas[port], err));
        }
    }
    inputs->described_uri = wire_get_text(wire);
    said = wire_get(wire) != 0;
    described = wire_get_bytes(wire, &size);
    inputs->described_data = said ? described : NULL;
    inputs->described_n = size;
    return wire_end(wire) ? SLUICE_OK : carry_nonsense(err, "schemas");
}

void carry_put_prepared(struct buf *out, const struct stage_prepared *prepared)
{
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        wire_put(out, prepared->n_needs[port]);
        for (uint32_t k = 0; k < prepared->n_needs[port]; k++) {
            const struct stage_need *need = &prepared->needs[port][k];
            wire_put_text(out, need->name);
            wire_put_text(out, need->type);
            wire_put_text(out, need->provider);
            wire_put_text(out, need->options);
            wire_put_text(out, need->source);
            wire_put(out, need->optional);
        }
    }
    wire_put(out, prepared->added.n);
    for (uint32_t k = 0; k < prepared->added.n; k++) {
        const struct field *field = &prepared->added.fields[k];
        wire_put_text(out, field->name);
        put_type(out, field->type);
        wire_put_text(out, field->metadata);
    }
    wire_put(out, prepared->n_outputs);
    for (uint32_t k = 0; k < prepared->n_outputs; k++) {
        wire_put_text(out, prepared->outputs[k].suffix);
        wire_put_text(out, prepared->outputs[k].codec);
        wire_put(out, (uint64_t)(int64_t)prepared->outputs[k].level);
    }
    wire_put(out, prepared->n_notes);
    for (uint32_t k = 0; k < prepared->n_notes; k++) {
        wire_put_text(out, prepared->notes[k].key);
        wire_put_text(out, prepared->notes[k].json);
    }
}

static sluice_status replay_need(struct wire *wire, struct sluice_plan *plan, uint32_t port,
                                 uint32_t k, struct sluice_error *err)
{
    const char *name = wire_get_text(wire);
    const char *type = wire_get_text(wire);
    const char *provider = wire_get_text(wire);
    const char *options = wire_get_text(wire);
    const char *source = wire_get_text(wire);
    bool optional = wire_get(wire) != 0;
    int32_t index = -1;

    if (wire->failed || (name == NULL && provider == NULL)) {
        return carry_nonsense(err, "columns");
    }
    if (provider != NULL) {
        TRY(plan->need_derived(plan, port, provider, options, source, &index, err));
    } else {
        TRY(plan->need(plan, port, name, type, optional, &index, err));
    }
    return index == (int32_t)k ? SLUICE_OK : carry_nonsense(err, "columns");
}

sluice_status carry_replay(struct wire *wire, struct sluice_plan *plan, struct sluice_error *err)
{
    uint64_t n;

    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        n = wire_get_below(wire, FIELDS_MAX);
        for (uint32_t k = 0; k < n; k++) {
            TRY(replay_need(wire, plan, port, k, err));
        }
    }
    n = wire_get_below(wire, FIELDS_MAX);
    for (uint64_t k = 0; k < n && !wire->failed; k++) {
        const char *name = wire_get_text(wire);
        const char *type = wire_get_text(wire);
        TRY(plan->add(plan, name, type, wire_get_text(wire), err));
    }
    n = wire_get_below(wire, FIELDS_MAX);
    for (uint64_t k = 0; k < n && !wire->failed; k++) {
        const char *suffix = wire_get_text(wire);
        const char *codec = wire_get_text(wire);
        TRY(plan->output(plan, suffix, codec, (int32_t)(int64_t)wire_get(wire), err));
    }
    n = wire_get_below(wire, FIELDS_MAX);
    for (uint64_t k = 0; k < n && !wire->failed; k++) {
        const char *key = wire_get_text(wire);
        TRY(plan->note(plan, key, wire_get_text(wire), err));
    }
    return wire_end(wire) ? SLUICE_OK : carry_nonsense(err, "columns");
}
