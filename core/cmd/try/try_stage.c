/* A stage on a sample, for `sluice try`: finds it, opens it by the same driver as a run does, and
 * runs it. See try.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/try/try.h"
#include "lua/stage/luastage.h"
#include "run/limits.h"

/* ---- which stage ---- */

static void on_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    (void)ctx;
    if (level >= SLUICE_LOG_WARN) {
        say_to(stderr, "sluice: %s: %s\n", stage, message);
    }
}

/* Judges rows by themselves: neither reads nor writes, needs no exchange and no second input. */
static bool triable(const struct registry_entry *entry)
{
    const struct sluice_stage *stage = &entry->stage;

    return (stage->role == SLUICE_ROLE_FILTER || stage->role == SLUICE_ROLE_ANNOTATOR ||
            stage->role == SLUICE_ROLE_TRANSFORM) &&
           (stage->mode == SLUICE_MODE_STATELESS || stage->mode == SLUICE_MODE_ORDERED) &&
           (stage->flags & SLUICE_STAGE_SIDE_INPUT) == 0;
}

/* The same, and it is no inner part of a composite. */
static bool offered(const struct node *node)
{
    return node->kind == NODE_STAGE && triable(node->entry) &&
           (node->entry->stage.flags & SLUICE_STAGE_HIDDEN) == 0;
}

static sluice_status list_stages(const struct trial *trial, const char *script, const char *wanted,
                                 struct sluice_error *err)
{
    const struct graph *graph = trial->session.graph;
    uint32_t n_lua = script_n_stages(trial->session.script);
    const char **names = calloc(graph->n_nodes + n_lua + 1u, sizeof *names);
    struct buf list = BUF_INIT;
    const char *near = NULL;
    size_t n = 0;

    if (names == NULL) {
        return error_nomem(err, "names");
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = graph->nodes[i];
        if (offered(node)) {
            names[n++] = node->name;
        }
    }
    for (uint32_t k = 0; k < n_lua; k++) {
        const char *name = script_stage_name(trial->session.script, k);
        bool known = false;
        for (size_t i = 0; i < n; i++) {
            known = known || strcmp(names[i], name) == 0;
        }
        if (!known) {
            names[n++] = name;
        }
    }
    for (size_t i = 0; i < n && list.size < 600; i++) {
        buf_printf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (wanted == NULL) {
        error_set(err, SLUICE_E_CONFIG,
                  n == 0 ? "%s defines no stage to try"
                         : "%s has several stages; say which with --stage: %s",
                  script, buf_str(&list));
    } else {
        near = error_suggest(wanted, names, n);
        error_set(err, SLUICE_E_CONFIG, "%s has no stage '%s'%s%s%s It has %s", script, wanted,
                  near == NULL ? "." : "; did you mean '", near == NULL ? "" : near,
                  near == NULL ? "" : "'?", n == 0 ? "none" : buf_str(&list));
    }
    buf_deinit(&list);
    free(names);
    return SLUICE_E_CONFIG;
}

/* The only node that uses an entry (NULL: that can be tried), or NULL. */
static const struct node *only_node(const struct graph *graph, const struct registry_entry *entry)
{
    const struct node *found = NULL;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct node *node = graph->nodes[i];
        if (entry == NULL ? offered(node) : node->kind == NODE_STAGE && node->entry == entry) {
            if (found != NULL) {
                return NULL;
            }
            found = node;
        }
    }
    return found;
}

/* A stage of the script, with its node if there is one. */
static sluice_status take_defined(struct trial *trial, const char *name, const struct node **node,
                                  struct sluice_error *err)
{
    char full[300];

    snprintf(full, sizeof full, PLUGIN_SCRIPT ".%s", name);
    TRY(registry_find(trial->session.registry, full, &trial->entry, err));
    *node = only_node(trial->session.graph, trial->entry);
    return SLUICE_OK;
}

static sluice_status find_stage(struct trial *trial, const struct trial_source *source,
                                const struct node **node, struct sluice_error *err)
{
    const struct graph *graph = trial->session.graph;
    struct script *script = trial->session.script;
    uint32_t n = script_n_stages(script);
    const char *name = source->stage;

    *node = name != NULL ? graph_find(graph, name) : n == 0 ? only_node(graph, NULL) : NULL;
    if (*node != NULL && (*node)->kind == NODE_STAGE) {
        trial->entry = (*node)->entry;
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < n; k++) {
        const char *defined = script_stage_name(script, k);
        if (name == NULL ? n == 1 : strcmp(defined, name) == 0) {
            return take_defined(trial, defined, node, err);
        }
    }
    return list_stages(trial, source->script, name, err);
}

static sluice_status check_kind(const struct trial *trial, struct sluice_error *err)
{
    if (!triable(trial->entry)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "'%s' is no stage that judges rows by themselves; try runs filters, "
                         "heuristics, annotators and transforms. Run a pipeline on the sample",
                         trial->name);
    }
    return SLUICE_OK;
}

/* ---- options ---- */

static bool set_text(struct value *map, const char *name, const char *text)
{
    struct value value;

    return value_string(&value, text, strlen(text)) && value_map_set(map, name, value);
}

/* What the pipeline gives, as text, so that the command line can overrule single options. */
static sluice_status take_options(struct trial *trial, const struct node *node,
                                  struct sluice_error *err)
{
    struct option_table table = option_table_of(&trial->entry->stage);
    struct option_args args = node_args(node);
    struct options *options = NULL;
    struct option_value value;
    sluice_status status = options_parse(&table, &args, trial->session.base_dir, &options, err);

    for (uint64_t k = 0; status == SLUICE_OK && options_get(options, k, &value); k++) {
        if (value.given && value.text != NULL &&
            !set_text(&trial->given, value.option.name, value.text)) {
            status = error_nomem(err, "options");
        }
    }
    options_destroy(options);
    return status;
}

sluice_status trial_set(struct trial *trial, const char *name, const char *value,
                        struct sluice_error *err)
{
    return set_text(&trial->given, name, value) ? SLUICE_OK : error_nomem(err, "options");
}

static sluice_status add_options(struct trial *trial, const struct trial_source *source,
                                 struct sluice_error *err)
{
    for (size_t i = 0; i < source->n_options; i++) {
        const char *equals = strchr(source->options[i], '=');
        char name[100];
        if (equals == NULL || equals == source->options[i] ||
            (size_t)(equals - source->options[i]) >= sizeof name) {
            return error_set(err, SLUICE_E_CONFIG, "--option: found '%s', expected name=value",
                             source->options[i]);
        }
        snprintf(name, sizeof name, "%.*s", (int)(equals - source->options[i]), source->options[i]);
        TRY(trial_set(trial, name, equals + 1, err));
    }
    return SLUICE_OK;
}

sluice_status trial_options(const struct trial *trial, struct options **out,
                            struct sluice_error *err)
{
    struct option_table table = option_table_of(&trial->entry->stage);
    struct option_args args = { .named = &trial->given, .text = true };

    return options_parse(&table, &args, trial->session.cwd, out, err);
}

sluice_status trial_number(const struct trial *trial, const char *name, double *value, bool *whole,
                           struct sluice_error *err)
{
    struct options *options = NULL;
    struct option_value found;
    sluice_status status = trial_options(trial, &options, err);

    if (status == SLUICE_OK && !options_find(options, name, &found)) {
        struct option_table table = option_table_of(&trial->entry->stage);
        const char *names[200];
        const char *near;
        struct sluice_option option;
        size_t n = 0;
        while (n < 200 && option_at(&table, n, &option)) {
            names[n++] = option.name;
        }
        near = error_suggest(name, names, n);
        status = error_set(err, SLUICE_E_CONFIG, "'%s' has no option '%s'%s%s%s", trial->name, name,
                           near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                           near == NULL ? "" : "'?");
    }
    if (status == SLUICE_OK) {
        *whole = found.option.type == SLUICE_OPT_INT || found.option.type == SLUICE_OPT_SIZE;
        if ((!*whole && found.option.type != SLUICE_OPT_FLOAT) || found.text == NULL ||
            number_parse(found.text, strlen(found.text), value) == 0) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "option '%s' of '%s' is no number that a threshold can be", name,
                               trial->name);
        }
    }
    options_destroy(options);
    return status;
}

/* ---- opening ---- */

static bool is_file(const char *path)
{
    return strchr(path, '/') != NULL || strstr(path, ".lua") != NULL || access(path, F_OK) == 0;
}

static sluice_status open_script(struct trial *trial, const struct trial_source *source,
                                 const struct node **node, struct sluice_error *err)
{
    struct session_options options = { .script = source->script,
                                       .script_text = source->script_text,
                                       .testing = true,
                                       .words = source->words,
                                       .n_words = source->n_words,
                                       .plugins = source->plugins,
                                       .n_plugins = source->n_plugins,
                                       .trust = source->trust,
                                       .workers = source->workers,
                                       .log = on_log };

    *node = NULL;
    if (is_file(source->script)) {
        TRY(session_open(&options, SESSION_GRAPH, &trial->session, err));
        return find_stage(trial, source, node, err);
    }
    /* A stage by its name, with nothing around it. */
    if (source->n_words > 0 || source->stage != NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found '%s' beside '%s', which is no file: %s belong to a script; a stage "
                         "by name takes --option NAME=VALUE",
                         source->n_words > 0 ? source->words[0] : "--stage", source->script,
                         source->n_words > 0 ? "arguments" : "names of stages");
    }
    options.script = NULL;
    TRY(session_registry(&options, &trial->session, err));
    return registry_find(trial->session.registry, source->script, &trial->entry, err);
}

sluice_status trial_open(const struct trial_source *source, struct trial *trial,
                         struct sluice_error *err)
{
    const struct node *node = NULL;
    const char *name;
    const char *where;

    memset(trial, 0, sizeof *trial);
    value_map_init(&trial->given);
    trial->workers = source->workers > 0 ? source->workers : limits_workers();
    TRY(open_script(trial, source, &node, err));
    name = node != NULL ? node->name : trial->entry->stage.name;
    where = node != NULL ? node->where : "";
    trial->name = str_copy(name, strlen(name));
    trial->where = str_copy(where, strlen(where));
    if (trial->name == NULL || trial->where == NULL) {
        return error_nomem(err, "a name");
    }
    TRY(check_kind(trial, err));
    if (node != NULL) {
        trial->isolation = node->isolation;
        TRY(take_options(trial, node, err));
    }
    TRY(add_options(trial, source, err));
    for (uint32_t k = 0;
         trial->session.script != NULL && k < script_n_stages(trial->session.script); k++) {
        if (strcmp(trial->entry->plugin_name, PLUGIN_SCRIPT) == 0 &&
            strcmp(script_stage_name(trial->session.script, k), trial->entry->stage.name) == 0) {
            trial->above = luastage_bound(trial->session.script, k, true);
            trial->below = luastage_bound(trial->session.script, k, false);
        }
    }
    return SLUICE_OK;
}

void trial_close(struct trial *trial)
{
    value_deinit(&trial->given);
    free(trial->name);
    free(trial->where);
    session_close(&trial->session);
    memset(trial, 0, sizeof *trial);
}
