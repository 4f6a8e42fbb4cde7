/* Keys: everything static that shapes a phase's output, hashed with names so that `why` can say
 * what changed. */
#include "plan/planInt.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/buf.h"
#include "store/outcodec.h"
#include "store/store.h"

static sluice_status path_hashes(const struct plan_options *how, const struct options *options,
                                 struct buf *text, struct sluice_error *err)
{
    const char *name;
    const char *path;
    uint32_t flags;

    for (uint64_t k = 0; options_path(options, k, &name, &path, &flags); k++) {
        struct hash128 hash;
        uint64_t bytes;
        char hex[33];
        if ((flags & (SLUICE_OPTF_NO_OUTPUT | SLUICE_OPTF_OUTPUT_PATH)) != 0) {
            continue;
        }
        TRY(how == NULL || how->keep == NULL || (flags & SLUICE_OPTF_BESIDE) != 0
                ? store_hash(path, &bytes, &hash, NULL, err)
                : how->keep(how->frozen_ctx, path, &path, &hash, err));
        hash_hex(hash, hex);
        buf_printf(text, "%s content=%s\n", name, hex);
    }
    return SLUICE_OK;
}

/* The code and the options of a stage. */
static sluice_status stage_text(const struct plan_options *how, const struct stage *stage,
                                struct buf *text, struct sluice_error *err)
{
    const struct registry_entry *entry = stage_entry(stage);
    char hex[33];

    hash_hex(entry->hash, hex);
    buf_printf(text, "stage %s.%s %s %s %s\n", entry->plugin_name, entry->stage.name,
               entry->stage.version == NULL ? "" : entry->stage.version, hex, entry->libraries);
    options_canonical(stage_options(stage), text);
    return path_hashes(how, stage_options(stage), text, err);
}

sluice_status plan_stage_key(const struct stage *stage, struct hash128 *out,
                             struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status = stage_text(NULL, stage, &text, err);

    if (status == SLUICE_OK) {
        status = buf_status(&text, err);
    }
    if (status == SLUICE_OK) {
        *out = hash_bytes(text.data, text.size);
    }
    buf_deinit(&text);
    return status;
}

/* The text says all that shapes what the op gives, and no more: a line that is added, moved or
 * worded anew has every task of every run done again. */
static sluice_status op_key(struct plan *plan, const struct phase *phase, struct op *op,
                            struct sluice_error *err)
{
    static const char *const kinds[] = { "read", "load", "stage", "union", "collect", "store" };
    struct buf text = BUF_INIT;
    char *schema = schema_print(&op->out, true);
    const struct op_code *code = op_code(op);
    const struct plan_edge *edge = op_edge(op);
    sluice_status status = SLUICE_OK;

    buf_printf(&text, "%s %s\n", kinds[op->kind], op->name);
    if (code != NULL) {
        size_t begin = text.size;
        status = stage_text(&plan->options, code->stage, &text, err);
        if (op->kind == OP_READ && !text.failed) {
            op_edit_read(op)->stage_key = hash_bytes(text.data + begin, text.size - begin);
        }
        if (code->quarantine_late) {
            buf_puts(&text, "on_timeout=quarantine\n");
        }
    }
    for (uint32_t k = 0; op->kind == OP_STAGE && k < op_stage(op)->n_outputs; k++) {
        const struct stage_output *output = &op_stage(op)->outputs[k];
        enum outcodec_kind codec;
        char version[32];
        if (status == SLUICE_OK) {
            status = outcodec_parse(output->codec, &codec, err);
        }
        if (status == SLUICE_OK) {
            buf_printf(&text, "output %s %s %d %s\n", output->suffix, output->codec, output->level,
                       outcodec_version(codec, version));
        }
    }
    if (edge != NULL) {
        char *stored = schema_print(&edge->schema, true);
        buf_printf(&text, "edge %d %u %s\n", (int)edge->load,
                   edge->load == LOAD_KEYED ? edge->n_partitions : 0, stored == NULL ? "" : stored);
        free(stored);
    }
    for (uint32_t port = 0; port < op_n_inputs(op); port++) {
        buf_printf(&text, "input %s\n", phase_input(phase, op, port)->name);
    }
    for (uint32_t i = 0; op->kind == OP_COLLECT && i < op_collect(op)->n_stages; i++) {
        buf_printf(&text, "drops of %s\n", phase->ops[op_collect(op)->stages[i].op]->name);
    }
    buf_printf(&text, "columns %s\n", schema == NULL ? "" : schema);
    free(schema);
    if (status == SLUICE_OK) {
        status = buf_status(&text, err);
    }
    if (status == SLUICE_OK) {
        op->key = hash_bytes(text.data, text.size);
        op->key_text = arena_copy(&plan->arena, text.data, text.size);
        status = arena_status(&plan->arena, err, "the plan");
    }
    buf_deinit(&text);
    return status;
}

sluice_status planner_keys(struct planner *planner, struct sluice_error *err)
{
    struct plan *plan = planner->plan;
    struct hasher *all = hasher_create();
    struct hasher *one = hasher_create();
    sluice_status status = all == NULL || one == NULL ? error_nomem(err, "the plan") : SLUICE_OK;

    for (uint32_t p = 0; status == SLUICE_OK && p < plan->n_phases; p++) {
        struct phase *phase = plan->phases[p];
        hasher_reset(one);
        hasher_add_u64(one, PLAN_OUTPUT_EPOCH);
        hasher_add_string(one, ZSTD_versionString());
        hasher_add_u64(one, planner->graph->seed);
        for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
            status = op_key(plan, phase, phase->ops[i], err);
            hasher_add_hash(one, phase->ops[i]->key);
        }
        phase->key = hasher_digest(one);
        hasher_add_hash(all, phase->key);
        for (uint32_t k = 0; k < phase->n_lanes; k++) {
            for (size_t t = 0; phase->lanes[k]->planned && t < phase->lanes[k]->splits.n; t++) {
                hasher_add_hash(all, phase->lanes[k]->splits.items[t].layout);
            }
        }
    }
    if (status == SLUICE_OK) {
        plan->key = hasher_digest(all);
    }
    hasher_destroy(all);
    hasher_destroy(one);
    return status;
}
