/* A stage in the plan: where it runs, what it is given, and what it makes of its inputs' schemas;
 * the providers of derived columns that it needs are put before it. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/planInt.h"

/* Where does the stage run? *entry becomes its twin when that is in a child process. */
static sluice_status place_stage(struct planner *planner, struct op *op,
                                 const struct registry_entry **entry, struct sluice_error *err)
{
    static const struct node_isolation none;
    const struct plan_options *options = &planner->plan->options;
    const struct node_isolation *isolation = op->node == NULL ? &none : &op->node->isolation;
    bool refused = isolation->given && !isolation->on;

    if (options->in_process) {
        return SLUICE_OK;
    }
    if (refused && (*entry)->isolation == REGISTRY_ALWAYS_ISOLATED) {
        return error_set(err, SLUICE_E_CONFIG,
                         "isolate = false: '%s' calls foreign functions, and such stages always "
                         "run in a process of their own; leave isolate away",
                         op->name);
    }
    if (refused && (*entry)->isolation == REGISTRY_ISOLATED) {
        return error_set(err, SLUICE_E_CONFIG,
                         "isolate = false: '%s' is native code from outside the installation (%s) "
                         "and runs in a process of its own; leave isolate away, or pass --trust "
                         "if you trust it",
                         op->name, (*entry)->origin);
    }
    if (refused || ((*entry)->isolation == REGISTRY_IN_PROCESS && !isolation->on)) {
        return SLUICE_OK;
    }
    if (options->isolate == NULL) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "'%s' must run in a process of its own, which this command can't do",
                         op->name);
    }
    op_edit_code(op)->isolated = true;
    op_edit_code(op)->quarantine_late = isolation->quarantine_late;
    return options->isolate(options->isolate_ctx, *entry, isolation, entry, err);
}

/* The dataset folder is what the option says that is one. */
static sluice_status note_dataset(struct plan *plan, struct op *op, const struct options *options,
                                  struct sluice_error *err)
{
    struct op_stage *stage = op_edit_stage(op);
    const char *apart = plan->options.datasets;
    struct option_value value;

    for (uint64_t k = 0; options_get(options, k, &value); k++) {
        if ((value.option.flags & SLUICE_OPTF_OUTPUT_PATH) != 0 && value.text != NULL) {
            const char *folder = options_string(options, value.option.name);
            stage->said = arena_copy(&plan->arena, folder, strlen(folder));
            stage->dataset =
                apart == NULL ? stage->said : arena_printf(&plan->arena, "%s/%s", apart, op->name);
        }
    }
    return arena_status(&plan->arena, err, "the plan");
}

/* The stage reads its files where they are kept. */
static sluice_status keep_files(const struct plan_options *how, struct options *options,
                                struct sluice_error *err)
{
    const char *name;
    const char *path;
    uint32_t flags;

    for (uint64_t k = 0; how->keep != NULL && options_path(options, k, &name, &path, &flags); k++) {
        struct hash128 hash;
        if ((flags & (SLUICE_OPTF_NO_OUTPUT | SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_BESIDE)) == 0) {
            TRY(how->keep(how->frozen_ctx, path, &path, &hash, err));
            TRY(options_set_path(options, name, path, err));
        }
    }
    return SLUICE_OK;
}

/* The place in the script, where the stage has one. */
static sluice_status placed(const char *where, struct sluice_error *err)
{
    return where[0] == '\0' ? error_known(err->code) : error_prefix(err, "%s", where);
}

sluice_status planner_open_stage(struct planner *planner, struct op *op,
                                 const struct registry_entry *entry, const struct option_args *args,
                                 const char *where, struct sluice_error *err)
{
    struct option_table table = option_table_of(&entry->stage);
    struct options *options = NULL;
    struct op_code *code = op_edit_code(op);
    sluice_status status =
        options_parse(&table, args, planner->plan->options.base_dir, &options, err);

    if (status == SLUICE_OK) {
        status = keep_files(&planner->plan->options, options, err);
        if (status == SLUICE_OK) {
            status = place_stage(planner, op, &entry, err);
        }
        if (status != SLUICE_OK) {
            /* Ours until stage_open takes them, which it does also when it fails. */
            options_destroy(options);
        }
    }
    if (status == SLUICE_OK) {
        status = op->kind == OP_STAGE ? note_dataset(planner->plan, op, options, err) : SLUICE_OK;
        if (status != SLUICE_OK) {
            options_destroy(options);
            return status;
        }
        status = stage_open(entry, options, op->name, planner->plan->options.services, &code->stage,
                            err);
    }
    if (status != SLUICE_OK) {
        return placed(where, err);
    }
    code->declared = stage_kind(code->stage);
    if (op_writes(op) && op_stage(op)->dataset == NULL) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "%s: the writer '%s' has no option for its dataset folder (OUTPUT_PATH)",
                         where, op->name);
    }
    return op_writes(op) ? planner_check_dataset(planner, op, where, err) : SLUICE_OK;
}

/* Provider texts are compared as the providers understand them: canonical options. */
static sluice_status provider_options(struct planner *planner, const char *provider,
                                      const char *options_text, const char *source,
                                      const struct registry_entry **entry, char **canonical,
                                      struct value *named, struct sluice_error *err)
{
    struct option_table table;
    struct options *options = NULL;
    struct buf text = BUF_INIT;
    struct value over;
    struct option_args args = { .named = named, .text = true };
    sluice_status status;

    TRY(registry_find_provider(planner->registry, provider, entry, err));
    if (*entry == NULL) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "no plugin provides the derived column '%s'; see `sluice plugins` for what is missing",
            provider);
    }
    value_map_init(named);
    status = options_split(options_text, named, err);
    if (status == SLUICE_OK &&
        (!value_string(&over, source, strlen(source)) || !value_map_set(named, "over", over))) {
        status = error_nomem(err, "the plan");
    }
    if (status == SLUICE_OK) {
        table = option_table_of(&(*entry)->stage);
        status = options_parse(&table, &args, NULL, &options, err);
    }
    if (status == SLUICE_OK) {
        options_canonical(options, &text);
        *canonical = buf_take(&text);
        status = *canonical == NULL ? error_nomem(err, "the plan") : SLUICE_OK;
    }
    options_destroy(options);
    if (status != SLUICE_OK) {
        value_deinit(named);
    }
    return status;
}

static sluice_status find_derived(void *ctx, const struct schema *schema, const char *provider,
                                  const char *options_text, const char *source, int32_t *field,
                                  struct sluice_error *err)
{
    struct planner *planner = ctx;
    const struct registry_entry *entry;
    struct value named = VALUE_INIT;
    char *canonical = NULL;

    TRY(provider_options(planner, provider, options_text, source, &entry, &canonical, &named, err));
    *field = STAGE_FIELD_MISSING;
    for (uint32_t k = 0; k < schema->n; k++) {
        const struct field *f = &schema->fields[k];
        if (f->derived_provider != NULL && strcmp(f->derived_provider, provider) == 0 &&
            strcmp(f->derived_options, canonical) == 0 && strcmp(f->derived_source, source) == 0) {
            *field = (int32_t)k;
        }
    }
    value_deinit(&named);
    free(canonical);
    return SLUICE_OK;
}

struct derived_ctx {
    struct planner *planner;
    const struct schema *schemas[STAGE_PORTS];
};

static sluice_status find_derived_port(void *ctx, uint32_t port, const char *provider,
                                       const char *options, const char *source, int32_t *field,
                                       struct sluice_error *err)
{
    struct derived_ctx *derived = ctx;
    return find_derived(derived->planner, derived->schemas[port], provider, options, source, field,
                        err);
}

static sluice_status note_needs(struct plan *plan, struct op *op,
                                const struct stage_prepared *prepared,
                                const struct schema *const *schemas, struct sluice_error *err)
{
    struct op_stage *stage = op_edit_stage(op);

    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        if (prepared->n_needs[port] > PLAN_NEEDS_MAX) {
            return error_set(err, SLUICE_E_SCHEMA,
                             "stage '%s' needs %u columns, at most %d are possible; declare fewer "
                             "columns in the reader: what is not declared goes by in `metadata`",
                             op->name, prepared->n_needs[port], PLAN_NEEDS_MAX);
        }
        stage->n_need[port] = prepared->n_needs[port];
        stage->need[port] = ARENA_ARRAY(&plan->arena, int32_t, prepared->n_needs[port]);
        TRY(arena_status(&plan->arena, err, "the plan"));
        for (uint32_t k = 0; k < prepared->n_needs[port]; k++) {
            const struct stage_need *need = &prepared->needs[port][k];
            int32_t slot = need->field;
            if (slot == STAGE_FIELD_ROW || slot == STAGE_FIELD_POS) {
                slot =
                    schema_find(schemas[port], slot == STAGE_FIELD_ROW ? SLUICE_ROW : SLUICE_POS);
                if (slot < 0) {
                    return error_set(err, SLUICE_E_SCHEMA,
                                     "stage '%s' needs %s, which the rows here do not have",
                                     op->name, need->name);
                }
            }
            stage->need[port][k] = slot < 0 ? -1 : slot;
        }
    }
    return SLUICE_OK;
}

/* Replaced and added columns; what was derived from a replaced column goes. */
static sluice_status annotated_schema(struct plan *plan, struct op *op, const struct schema *in,
                                      const struct schema *added, struct sluice_error *err)
{
    struct op_column *columns = ARENA_ARRAY(&plan->arena, struct op_column, in->n + added->n);

    TRY(arena_status(&plan->arena, err, "the plan"));
    op_edit_stage(op)->columns = columns;
    for (uint32_t k = 0; k < in->n; k++) {
        const struct field *field = &in->fields[k];
        struct field *copy;
        int32_t replaced = schema_find(added, field->name);
        if (field->derived_source != NULL && schema_find(added, field->derived_source) >= 0) {
            continue;
        }
        columns[op->out.n] = replaced >= 0 ? (struct op_column){ FROM_PLUGIN, (uint32_t)replaced }
                                           : (struct op_column){ FROM_INPUT, k };
        field = replaced >= 0 ? &added->fields[replaced] : field;
        TRY(schema_add(&op->out, field->name, field->type, field->metadata, err));
        copy = &op->out.fields[op->out.n - 1];
        field = &in->fields[k];
        if (replaced < 0 && field->derived_provider != NULL) {
            copy->derived_provider =
                str_copy(field->derived_provider, strlen(field->derived_provider));
            copy->derived_options =
                str_copy(field->derived_options, strlen(field->derived_options));
            copy->derived_source = str_copy(field->derived_source, strlen(field->derived_source));
            if (copy->derived_provider == NULL || copy->derived_options == NULL ||
                copy->derived_source == NULL) {
                return error_nomem(err, "the plan");
            }
        }
    }
    for (uint32_t k = 0; k < added->n; k++) {
        if (schema_find(in, added->fields[k].name) < 0) {
            columns[op->out.n] = (struct op_column){ FROM_PLUGIN, k };
            TRY(schema_add(&op->out, added->fields[k].name, added->fields[k].type,
                           added->fields[k].metadata, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status output_schema(struct plan *plan, struct op *op, const struct schema *in,
                                   const struct schema *added, struct sluice_error *err)
{
    static const struct schema none = { NULL, 0, 0 };

    switch (op_declared(op)->role) {
    case SLUICE_ROLE_FILTER:
    case SLUICE_ROLE_GATE:
        return annotated_schema(plan, op, in, &none, err);
    case SLUICE_ROLE_ANNOTATOR:
        return annotated_schema(plan, op, in, added, err);
    case SLUICE_ROLE_WRITER:
        return SLUICE_OK;
    default:
        TRY(schema_copy(&op->out, added, err));
        return schema_find(&op->out, SLUICE_ROW) >= 0
                   ? SLUICE_OK
                   : schema_add_hidden(&op->out, SLUICE_HIDDEN_ROW, err);
    }
}

static sluice_status insert_provider(struct planner *planner, struct phase *phase, uint32_t input,
                                     const struct stage_need *need, const char *where,
                                     uint32_t *out, struct sluice_error *err);

/* Adds a note of the host's; takes json. */
static sluice_status add_note(struct op_stage *stage, const char *key, char *json,
                              struct sluice_error *err)
{
    struct stage_note *notes = realloc(stage->notes, (stage->n_notes + 1u) * sizeof *notes);
    if (notes == NULL) {
        free(json);
        return error_nomem(err, "the plan");
    }
    stage->notes = notes;
    notes[stage->n_notes].key = str_printf("%s", key);
    notes[stage->n_notes].json = json;
    stage->n_notes++;
    return notes[stage->n_notes - 1].key == NULL || json == NULL ? error_nomem(err, "the plan")
                                                                 : SLUICE_OK;
}

/* A run with on_timeout = "quarantine" may lose rows to a slow machine: every manifest downstream
 * says so. */
static sluice_status note_late(struct op_stage *stage, struct sluice_error *err)
{
    return stage->code.quarantine_late ? add_note(stage, "reproducible", str_printf("false"), err)
                                       : SLUICE_OK;
}

/* What the dataset of a writer is. */
static sluice_status note_class(struct op_stage *stage, const struct node *node,
                                struct sluice_error *err)
{
    struct buf text = BUF_INIT;

    if (node == NULL || node->class == CLASS_NONE) {
        return SLUICE_OK;
    }
    TRY(add_note(stage, "class", str_printf("\"%s\"", graph_class_name(node->class)), err));
    if (node->class_note == NULL) {
        return SLUICE_OK;
    }
    buf_json_string(&text, node->class_note, strlen(node->class_note));
    return add_note(stage, node->class == CLASS_BRONZE ? "source" : "tokenizer", buf_take(&text),
                    err);
}

/* Whether rows can be appended to what the writer writes. */
static sluice_status check_mode(const struct op *op, struct sluice_error *err)
{
    const struct op_stage *stage = op_stage(op);

    for (uint32_t k = 0; op->node != NULL && op->node->mode == MODE_APPEND && k < stage->n_notes;
         k++) {
        if (strcmp(stage->notes[k].key, "names") == 0 ||
            strcmp(stage->notes[k].key, "append") == 0) {
            return error_field(err, SLUICE_E_CONFIG, "mode",
                               "'%s' can't append: %s; leave out mode = \"append\"", op->name,
                               stage->notes[k].key[0] == 'n'
                                   ? "its files are called by what all of them hold"
                                   : "it carries a snapshot of its own choice on");
        }
    }
    return SLUICE_OK;
}

/* Prepares op's stage against its inputs, inserting providers behind them as long as derived
 * columns are missing. */
sluice_status planner_prepare_stage(struct planner *planner, struct phase *phase, struct op *op,
                                    const char *where, uint32_t n_ports, uint32_t *inputs,
                                    struct sluice_error *err)
{
    struct op_stage *stage = op_edit_stage(op);

    for (int rounds = 0;; rounds++) {
        struct derived_ctx derived = { .planner = planner };
        struct stage_inputs ports = { .n_ports = n_ports,
                                      .find_derived = find_derived_port,
                                      .ctx = &derived };
        struct stage_prepared prepared;
        sluice_status status;
        bool again = false;

        for (uint32_t port = 0; port < n_ports; port++) {
            ports.schemas[port] = &phase->ops[inputs[port]]->out;
            derived.schemas[port] = ports.schemas[port];
        }
        status = stage_prepare(stage->code.stage, &ports, &prepared, err);
        if (status != SLUICE_OK) {
            stage_prepared_deinit(&prepared);
            return placed(where, err);
        }
        for (uint32_t port = 0; port < n_ports && status == SLUICE_OK; port++) {
            for (uint32_t k = 0; k < prepared.n_needs[port] && status == SLUICE_OK && !again; k++) {
                const struct stage_need *need = &prepared.needs[port][k];
                if (need->provider != NULL && need->field == STAGE_FIELD_MISSING) {
                    status = rounds > 8 ? error_set(err, SLUICE_E_INTERNAL,
                                                    "%s: the provider of '%s' does not deliver it",
                                                    where, need->provider)
                                        : insert_provider(planner, phase, inputs[port], need, where,
                                                          &inputs[port], err);
                    again = true;
                }
            }
        }
        if (status == SLUICE_OK && !again) {
            status = note_needs(planner->plan, op, &prepared, ports.schemas, err);
            if (status == SLUICE_OK) {
                status = output_schema(planner->plan, op, n_ports > 0 ? ports.schemas[0] : NULL,
                                       &prepared.added, err);
            }
            if (status != SLUICE_OK) {
                stage_prepared_deinit(&prepared);
                return placed(where, err);
            }
            stage->outputs = prepared.outputs;
            stage->n_outputs = prepared.n_outputs;
            prepared.outputs = NULL;
            prepared.n_outputs = 0;
            stage->notes = prepared.notes;
            stage->n_notes = prepared.n_notes;
            prepared.notes = NULL;
            prepared.n_notes = 0;
            planner_find_row(op);
            status = note_late(stage, err);
            if (status == SLUICE_OK) {
                status = note_class(stage, op->node, err);
            }
            if (status == SLUICE_OK && check_mode(op, err) != SLUICE_OK) {
                status = placed(where, err);
            }
        }
        stage_prepared_deinit(&prepared);
        if (status != SLUICE_OK || !again) {
            return status;
        }
    }
}

static sluice_status insert_provider(struct planner *planner, struct phase *phase, uint32_t input,
                                     const struct stage_need *need, const char *where,
                                     uint32_t *out, struct sluice_error *err)
{
    const struct registry_entry *entry;
    struct value named = VALUE_INIT;
    char *canonical = NULL;
    struct arena *arena = &planner->plan->arena;
    const char *name;
    struct op *op;
    struct field *field;
    sluice_status status;
    struct option_args args = { .named = &named, .text = true };

    TRY(provider_options(planner, need->provider, need->options, need->source, &entry, &canonical,
                         &named, err));
    name =
        arena_printf(arena, "%s(%s) of %s", need->provider, need->options, phase->ops[input]->name);
    status = name == NULL ? arena_status(arena, err, "the plan")
                          : op_create(planner->plan, OP_STAGE, name, &op, err);
    if (status == SLUICE_OK) {
        uint32_t from = input;
        status = planner_open_stage(planner, op, entry, &args, where, err);
        if (status == SLUICE_OK) {
            status = planner_prepare_stage(planner, phase, op, where, 1, &from, err);
        }
        if (status == SLUICE_OK) {
            status = planner_op_append(planner, phase, op, err);
        }
        if (status == SLUICE_OK) {
            status = planner_consume(planner, phase, from, op->index, 0, err);
        }
    }
    value_deinit(&named);
    if (status == SLUICE_OK) {
        int32_t slot = schema_find(&op->out, need->provider);
        if (slot < 0) {
            status =
                error_set(err, SLUICE_E_INTERNAL, "%s: the provider '%s' declares no column '%s'",
                          where, entry->stage.name, need->provider);
        } else {
            /* A hidden name of its own, so that several variants stand side by side. */
            field = &op->out.fields[slot];
            free(field->name);
            field->name = str_printf("_%s@%u", need->provider, op->index);
            field->hidden = true;
            field->derived_provider = str_copy(need->provider, strlen(need->provider));
            field->derived_options = canonical;
            canonical = NULL;
            field->derived_source = str_copy(need->source, strlen(need->source));
            status = field->name == NULL || field->derived_provider == NULL ||
                             field->derived_source == NULL
                         ? error_nomem(err, "the plan")
                         : SLUICE_OK;
            planner->tails[phase->index][input] = op->index;
            for (uint32_t k = 0; k < phase->n_ops; k++) {
                if (planner->tails[phase->index][k] == input) {
                    planner->tails[phase->index][k] = op->index;
                }
            }
            *out = op->index;
        }
    }
    free(canonical);
    return status;
}
