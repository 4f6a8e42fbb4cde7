/* A plan frozen: see freeze.h. Everything that plan.json names stands before it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/freeze/freezeInt.h"
#include "cmd/plan/used.h"
#include "store/listing_frozen.h"
#include "store/store.h"

static bool is_there(const struct freeze *freeze, const char *path)
{
    for (uint32_t i = 0; i < freeze->n; i++) {
        if (freeze->files[i].kind != FROZEN_SCRIPT && strcmp(freeze->files[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status keep(struct session *session, enum frozen_kind kind, const char *path,
                          struct content *content, struct sluice_error *err)
{
    TRY(freeze_put(session, path, content, err));
    return freeze_add(session, kind, "", path, content, NULL, err);
}

static sluice_status keep_scripts(struct session *session, struct sluice_error *err)
{
    size_t n;
    const struct script_file *files = script_files(session->script, &n);

    for (size_t i = 0; i < n; i++) {
        struct content content;
        const char *name = content_name(files[i].path);
        TRY(content_keep_bytes(session->run_dir, files[i].text, files[i].size, name, &content,
                               err));
        TRY(freeze_add(session, FROZEN_SCRIPT, files[i].name, files[i].path, &content, NULL, err));
    }
    return SLUICE_OK;
}

/* The plugin that was loaded, and no other that may stand there by now. */
static sluice_status keep_plugin(struct session *session, const struct registry_plugin *plugin,
                                 struct sluice_error *err)
{
    struct content content;

    if (plugin == NULL || plugin->standard || is_there(session->freeze, plugin->path)) {
        return SLUICE_OK;
    }
    TRY(keep(session, FROZEN_PLUGIN, plugin->path, &content, err));
    return hash_equal(content.hash, plugin->hash)
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "the plugin %s changed while the plan was made; run again",
                           plugin->path);
}

/* All that is loaded from outside: a script may name one of which it uses no stage. */
static sluice_status keep_plugins(struct session *session, struct sluice_error *err)
{
    for (size_t k = 0; k < registry_plugin_count(session->registry); k++) {
        const struct registry_plugin *plugin = registry_plugin_at(session->registry, k);
        if (!plugin->standard && plugin->loaded) {
            TRY(keep_plugin(session, plugin, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status keep_libraries(struct session *session, struct sluice_error *err)
{
    const char *path;
    struct content content;

    for (uint32_t k = 0; (path = script_library(session->script, k)) != NULL; k++) {
        if (!is_there(session->freeze, path)) {
            TRY(keep(session, FROZEN_LIBRARY, path, &content, err));
        }
    }
    return SLUICE_OK;
}

static sluice_status keep_inputs(struct session *session, struct sluice_error *err)
{
    const struct plan *plan = session->plan;
    sluice_status status = SLUICE_OK;

    for (uint32_t i = 0; status == SLUICE_OK && i < plan->n_lanes; i++) {
        const struct lane *lane = plan->lanes[i];
        struct buf bytes = BUF_INIT;
        struct content content;
        if (!lane->planned) {
            continue;
        }
        listing_freeze(&lane->files, plan->key, lane->hashes, &bytes);
        status = buf_status(&bytes, err);
        if (status == SLUICE_OK) {
            status = content_keep_bytes(session->run_dir, bytes.data, bytes.size, "inputs",
                                        &content, err);
        }
        buf_deinit(&bytes);
        if (status == SLUICE_OK) {
            status =
                freeze_add(session, FROZEN_INPUTS, lane->node->name, "inputs", &content, NULL, err);
        }
    }
    return status;
}

/* ---- the root ---- */

/* Arguments with a path type are stored absolute, so that the plan means the same from any working
 * directory. */
static sluice_status stored_args(struct session *session, json_t *list, struct sluice_error *err)
{
    for (size_t i = 0; i < session->options.n_words; i++) {
        const char *word = session->options.words[i];
        const char *equals = strchr(word, '=');
        char name[200];
        const char *text = word;
        snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
        for (uint32_t k = 0; k < session->graph->n_args && text == word; k++) {
            const struct graph_arg *arg = &session->graph->args[k];
            bool path = strcmp(arg->type, "glob") == 0 || strcmp(arg->type, "path") == 0;
            if (strcmp(arg->name, name) == 0 && path && equals[1] != '/' && equals[1] != '\0' &&
                strstr(equals, "://") == NULL) {
                bool at = equals[1] == '@';
                if (equals[1 + at] != '/') {
                    text = arena_printf(&session->arena, "%s=%s%s/%s", name, at ? "@" : "",
                                        session->cwd, equals + 1 + at);
                }
                break;
            }
        }
        TRY(arena_status(&session->arena, err, "plan.json"));
        if (json_array_append_new(list, json_string(text)) != 0) {
            return error_set(err, SLUICE_E_CONFIG, "argument %s is not UTF-8", name);
        }
    }
    return SLUICE_OK;
}

static sluice_status list_files(const struct freeze *freeze, json_t *list, struct sluice_error *err)
{
    for (uint32_t i = 0; i < freeze->n; i++) {
        const struct frozen *file = &freeze->files[i];
        char hash[33];
        json_t *entry;
        hash_hex(file->content.hash, hash);
        entry = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "kind", frozen_kinds[file->kind],
                          "name", file->name, "path", file->path, "sha256", file->content.sha256,
                          "hash", hash, "bytes", (json_int_t)file->content.size, "mtime_ns",
                          (json_int_t)file->content.mtime_ns);
        if (entry == NULL || json_array_append_new(list, entry) != 0) {
            return error_set(err, SLUICE_E_CONFIG,
                             "the path %s is not UTF-8, expected one that a plan can name; rename "
                             "the file",
                             file->path);
        }
    }
    return SLUICE_OK;
}

/* What the next plan replaces. */
static sluice_status replace_file(const char *dir, const char *name, const char *text,
                                  struct sluice_error *err)
{
    char *path = text == NULL ? NULL : store_join(dir, name);
    sluice_status status = path == NULL ? error_nomem(err, name)
                                        : store_replace(path, text, strlen(text), STORE_LOOSE, err);

    free(path);
    return status;
}

static sluice_status write_root(struct session *session, struct sluice_error *err)
{
    json_t *args = json_array();
    json_t *files = json_array();
    const json_t *program = json_object_get(session->used, "program");
    json_t *json = NULL;
    char *text = NULL;
    char key[33];
    sluice_status status = args == NULL || files == NULL ? error_nomem(err, "plan.json")
                                                         : stored_args(session, args, err);

    if (status == SLUICE_OK) {
        status = list_files(session->freeze, files, err);
    }
    if (status == SLUICE_OK) {
        size_t n;
        hash_hex(session->plan->key, key);
        json = json_pack("{s:i, s:s, s:s, s:s, s:O, s:b, s:I, s:s, s:{s:O, s:O}, s:O}", "format",
                         PLAN_FORMAT, "name", session->graph->name, "script",
                         script_files(session->script, &n)->name, "base", session->base_dir, "args",
                         args, "trust", session->options.trust ? 1 : 0, "limit_files",
                         (json_int_t)session->options.limit_files, "plan", key, "program",
                         "version", json_object_get(program, "version"), "sha256",
                         json_object_get(program, "sha256"), "files", files);
        text = json == NULL ? NULL : json_dumps(json, JSON_INDENT(1) | JSON_SORT_KEYS);
        status = replace_file(session->run_dir, "plan.json", text, err);
    }
    free(text);
    json_decref(json);
    json_decref(args);
    json_decref(files);
    return status;
}

sluice_status freeze_write(struct session *session, struct sluice_error *err)
{
    char *text;
    sluice_status status;

    TRY(keep_scripts(session, err));
    TRY(keep_plugins(session, err));
    TRY(keep_libraries(session, err));
    TRY(keep_inputs(session, err));
    TRY(write_root(session, err));
    text = used_text(session->used);
    status = replace_file(session->run_dir, "used.json", text, err);
    free(text);
    return status;
}
