/* What the composites of the standard library are: its Lua tells, as a script that uses it would
 * be told. See inspectInt.h. */
#include <string.h>

#include "cmd/inspect/inspectInt.h"

struct describing {
    const char *name; /* the one that is asked for, or NULL: all */
    json_t *found;
};

static void on_composite(void *ctx, const char *name, const char *doc, const char *example,
                         const struct option_table *options)
{
    struct describing *describing = ctx;

    if (describing->name == NULL || strcmp(describing->name, name) == 0) {
        json_array_append_new(describing->found,
                              json_pack("{s:s, s:s, s:s, s:s, s:o, s:[]}", "name", name, "role",
                                        "composite", "summary", doc, "example", example, "options",
                                        inspect_options(options), "stages"));
    }
}

/* Each stage once, in the order in which rows come to them. */
static void on_part(void *ctx, const char *composite, const char *stage)
{
    struct describing *describing = ctx;
    json_t *stages = json_object_get(json_array_get(describing->found, 0), "stages");
    bool there = describing->name == NULL || strcmp(describing->name, composite) != 0;

    for (size_t k = 0; k < json_array_size(stages) && !there; k++) {
        there = strcmp(json_string_value(json_array_get(stages, k)), stage) == 0;
    }
    if (!there) {
        json_array_append_new(stages, json_string(stage));
    }
}

/* Runs a script of ours with a describer; its graph is not needed. */
static sluice_status describe(struct session *session, const char *text,
                              struct describing *describing, struct sluice_error *err)
{
    const struct script_describer describer = { describing, on_composite, on_part };
    const struct script_options options = { .path = "inspect.lua",
                                            .text = text,
                                            .base_dir = session->cwd,
                                            .cwd = session->cwd,
                                            .module_dir = session->module_dir,
                                            .registry = session->registry,
                                            .testing = true,
                                            .stop = &session_cancelled,
                                            .describer = &describer };
    struct script *script = NULL;
    struct graph *graph = NULL;
    sluice_status status;

    json_array_clear(describing->found);
    status = script_load(&options, &script, &graph, err);
    graph_destroy(graph);
    script_destroy(script);
    return status;
}

json_t *inspect_composites(struct session *session, const char *name, struct sluice_error *err)
{
    struct describing describing = { name, json_array() };
    struct buf text = BUF_INIT;
    const char *example;
    sluice_status status = describing.found == NULL ? error_nomem(err, "a list") : SLUICE_OK;

    /* Whatever is no part of the language itself is looked for in the library. */
    buf_puts(&text, "local s = require \"sluice\"\nlocal _ = s.exact\n");
    if (status == SLUICE_OK) {
        status = describe(session, buf_str(&text), &describing, err);
    }
    example = json_string_value(json_object_get(json_array_get(describing.found, 0), "example"));
    if (status == SLUICE_OK && name != NULL && example != NULL && example[0] != '\0') {
        buf_printf(&text, "local docs = s.files \"docs.jsonl\" | s.read_jsonl {}\nlocal _ = %s\n",
                   example);
        status = buf_status(&text, err);
        if (status == SLUICE_OK) {
            status = describe(session, buf_str(&text), &describing, err);
        }
    }
    buf_deinit(&text);
    if (status != SLUICE_OK) {
        json_decref(describing.found);
        return NULL;
    }
    return describing.found;
}
