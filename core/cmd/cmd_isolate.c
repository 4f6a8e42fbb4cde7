/* Child processes for stages: see isolate.h. */
#include "cmd/cmd_isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "cmd/freeze/freeze.h"
#include "isolate/guards.h"
#include "isolate/isolate.h"
#include "store/pending.h"
#include "store/temp.h"

/* Bytes that loading a plugin may take: its code and tables, and what its libraries set up. */
#define PROBE_MEMORY ((uint64_t)8 << 30)
/* Bytes that a stage may take if the pipeline doesn't say: what the run was given, within these. */
#define CHILD_MEMORY_LEAST ((uint64_t)512 << 20)
#define CHILD_MEMORY_MOST ((uint64_t)4 << 30)

/* ---- the parent's side ---- */

/* Finding one row may cost ten processes: the 1st, 2nd, 4th, 8th ... death is worth a line. */
static void on_death(void *ctx, const char *stage, const char *how)
{
    struct session *session = ctx;
    uint32_t n = atomic_fetch_add(&session->isolate_deaths, 1) + 1;
    char message[600];

    if (session->options.log == NULL || (n & (n - 1)) != 0) {
        return;
    }
    snprintf(message, sizeof message,
             n == 1 ? "its process ended: %s; what it was doing is done again, in parts where that "
                      "ends the next one too"
                    : "its process ended: %s; %u processes of isolated stages so far",
             how, n);
    session->options.log(session, SLUICE_LOG_WARN, stage, message);
}

/* A command that only looks leaves nothing in a run directory, not even for a moment. */
static sluice_status make_temporary(struct session *session, struct sluice_error *err)
{
    const char *folder = getenv("TMPDIR");
    char *path =
        str_printf("%s/sluice-XXXXXX", folder != NULL && folder[0] == '/' ? folder : "/tmp");

    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    if (mkdtemp(path) == NULL) {
        error_errno(err, errno, "can't make the folder %s for isolated stages", path);
        free(path);
        return SLUICE_E_IO;
    }
    session->isolate_dir = path;
    return SLUICE_OK;
}

/* SCRATCH/.tmp-...: swept by a later run when this process is killed. */
static sluice_status make_folder(struct session *session, struct sluice_error *err)
{
    if (!session->runs) {
        return make_temporary(session, err);
    }
    TRY(disk_mkdirs_absent(session->scratch, false, err));
    TRY(temp_sweep(session->scratch, NULL, err));
    for (uint32_t n = 0; n < 1000; n++) {
        char *path = temp_path(session->scratch, n);
        int errnum = disk_mkdir(path);
        if (path == NULL) {
            return error_nomem(err, "a path");
        }
        if (errnum == 0) {
            session->isolate_dir = path;
            return SLUICE_OK;
        }
        if (errnum != EEXIST) {
            error_errno(err, errnum, "can't make the folder %s for isolated stages", path);
            free(path);
            return SLUICE_E_IO;
        }
        free(path);
    }
    return error_set(err, SLUICE_E_IO, "%s is full of folders of isolated stages",
                     session->scratch);
}

static sluice_status begin(struct session *session, struct sluice_error *err)
{
    struct isolate_options options = { .died = on_death, .ctx = session };

    if (session->isolate != NULL) {
        return SLUICE_OK;
    }
    TRY(make_folder(session, err));
    options.scratch = session->isolate_dir;
    return isolate_create(&options, &session->isolate, err);
}

/* A child loads the script as it is now, whatever becomes of the file meanwhile. */
static sluice_status copy_script(struct session *session, char **path, struct sluice_error *err)
{
    size_t n;
    const struct script_file *files = script_files(session->script, &n);
    sluice_status status = SLUICE_OK;

    *path = NULL;
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        char *to = str_printf("%s/script/%s", session->isolate_dir, files[i].name);
        char *slash = to == NULL ? NULL : strrchr(to, '/');
        int fd = -1;
        int errnum;
        if (slash == NULL) {
            free(to);
            status = error_nomem(err, "a path");
            break;
        }
        *slash = '\0';
        status = disk_mkdirs_absent(to, false, err);
        *slash = '/';
        if (status == SLUICE_OK && access(to, F_OK) != 0) {
            errnum = disk_open(to, O_WRONLY | O_CREAT | O_TRUNC, &fd);
            status = errnum == 0 ? disk_write_all(fd, to, files[i].text, files[i].size, err)
                                 : error_errno(err, errnum, "can't write %s", to);
        }
        if (fd >= 0) {
            close(fd);
        }
        if (i == 0 && status == SLUICE_OK) {
            *path = to;
            to = NULL;
        }
        free(to);
    }
    return status;
}

static void add_text(json_t *list, const char *text)
{
    json_array_append_new(list, json_string(text));
}

/* Libraries that are not where the script says: path and place in turn. */
static json_t *describe_places(const struct session *session)
{
    json_t *places = json_array();
    const char *path;

    for (uint32_t k = 0; (path = script_library(session->script, k)) != NULL; k++) {
        const char *origin = freeze_origin(session, path);
        if (strcmp(origin, path) != 0) {
            add_text(places, origin);
            add_text(places, path);
        }
    }
    for (size_t k = 0; k < registry_plugin_count(session->registry); k++) {
        const struct registry_plugin *plugin = registry_plugin_at(session->registry, k);
        const char *origin = freeze_origin(session, plugin->path);
        if (strcmp(origin, plugin->path) != 0) {
            add_text(places, origin);
            add_text(places, plugin->path);
        }
    }
    return places;
}

/* What `load_session` below reads. */
static sluice_status describe_script(struct session *session, char **out, struct sluice_error *err)
{
    json_t *args = json_array();
    json_t *plugins = json_array();
    json_t *json = NULL;
    char *path = NULL;
    sluice_status status = copy_script(session, &path, err);

    for (size_t i = 0; i < session->n_stored_words; i++) {
        add_text(args, session->stored_words[i]);
    }
    for (size_t i = 0; i < session->options.n_words; i++) {
        add_text(args, session->options.words[i]);
    }
    /* The child has no environment to search by, and looks at nothing that did not load here. */
    for (size_t k = 0; k < registry_plugin_count(session->registry); k++) {
        const struct registry_plugin *plugin = registry_plugin_at(session->registry, k);
        if (!plugin->standard && plugin->loaded) {
            add_text(plugins, plugin->path);
        }
    }
    if (status == SLUICE_OK) {
        json = json_pack("{s:s, s:s, s:s, s:O, s:O, s:o}", "script", path, "base",
                         session->base_dir, "cwd", session->cwd, "args", args, "plugins", plugins,
                         "places", describe_places(session));
        *out = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
        status = *out == NULL ? error_nomem(err, "a script's description") : SLUICE_OK;
    }
    json_decref(json);
    json_decref(args);
    json_decref(plugins);
    free(path);
    return status;
}

sluice_status isolation_twin(void *ctx, const struct registry_entry *entry,
                             const struct node_isolation *isolation,
                             const struct registry_entry **twin, struct sluice_error *err)
{
    struct session *session = ctx;
    struct isolate_limits limits = { .threads = isolation->threads,
                                     .memory = isolation->memory,
                                     .timeout_ns = isolation->timeout_ns,
                                     .max_deaths = isolation->max_deaths,
                                     .network = isolation->network,
                                     .gpu = isolation->gpu,
                                     .quarantine_late = isolation->quarantine_late };
    struct isolate_target target = { .stage = entry->stage.name, .hash = entry->hash };
    char *script = NULL;
    sluice_status status;

    if (limits.memory == 0) {
        limits.memory = session->options.memory < CHILD_MEMORY_LEAST  ? CHILD_MEMORY_LEAST
                        : session->options.memory > CHILD_MEMORY_MOST ? CHILD_MEMORY_MOST
                                                                      : session->options.memory;
    }
    TRY(begin(session, err));
    if (entry->plugin != NULL) {
        target.plugin = entry->plugin->path;
    } else if (strcmp(entry->plugin_name, PLUGIN_SCRIPT) == 0) {
        TRY(describe_script(session, &script, err));
        target.script = script;
    }
    status = isolate_wrap(session->isolate, entry, &target, &limits, twin, err);
    free(script);
    return status;
}

void isolation_close(struct session *session)
{
    isolate_destroy(session->isolate);
    session->isolate = NULL;
    if (session->isolate_dir != NULL) {
        struct sluice_error err = ERROR_INIT;
        if (temp_remove(session->isolate_dir, &err) != SLUICE_OK && session->options.log != NULL) {
            session->options.log(session, SLUICE_LOG_WARN, "isolate", err.message);
        }
        free(session->isolate_dir);
        session->isolate_dir = NULL;
    }
}

/* ---- the child's side ---- */

struct child {
    struct session session; /* of core stages and scripts */
    struct registry *registry;
    const char *words[ARGS_MAX], *plugins[ARGS_MAX], *places[ARGS_MAX];
};

static sluice_status load_plugin(struct child *child, const struct isolate_target *target,
                                 const struct registry_entry **out, struct sluice_error *err)
{
    struct registry_options options = { .bare = true,
                                        .contained = true,
                                        .files = &target->plugin,
                                        .n_files = 1,
                                        .expected = target->hash };

    TRY(registry_create(&options, &child->registry, err));
    return registry_find_in(child->registry, registry_plugin_at(child->registry, 0), target->stage,
                            out, err);
}

static void read_list(const json_t *list, const char **out, size_t *n)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        if (*n < ARGS_MAX && json_is_string(item)) {
            out[(*n)++] = json_string_value(item);
        }
    }
}

/* json lives until the process ends: the session points into it. */
static sluice_status load_session(struct child *child, const json_t *json, struct sluice_error *err)
{
    struct session_options options = {
        .contained = true, .testing = true, .words = child->words, .plugins = child->plugins
    };
    struct session *session = &child->session;

    read_list(json_object_get(json, "args"), child->words, &options.n_words);
    read_list(json_object_get(json, "plugins"), child->plugins, &options.n_plugins);
    TRY(session_registry(&options, session, err));
    if (json == NULL) {
        return SLUICE_OK;
    }
    read_list(json_object_get(json, "places"), child->places, &session->n_places);
    session->n_places /= 2;
    session->places = child->places;
    session->cwd = json_string_value(json_object_get(json, "cwd"));
    session->base_dir = json_string_value(json_object_get(json, "base"));
    session->script_path = json_string_value(json_object_get(json, "script"));
    if (session->cwd == NULL || session->base_dir == NULL || session->script_path == NULL) {
        return error_set(err, SLUICE_E_INTERNAL, "a child process was told no script to load");
    }
    return session_script(session, err);
}

static sluice_status resolve(void *ctx, const struct isolate_target *target,
                             const struct registry_entry **out, struct sluice_error *err)
{
    struct child *child = ctx;
    json_t *json = NULL;
    char name[200];

    if (target->plugin != NULL) {
        return load_plugin(child, target, out, err);
    }
    if (target->script != NULL) {
        json = json_loads(target->script, 0, NULL);
        if (json == NULL) {
            return error_set(err, SLUICE_E_INTERNAL, "a child process was told no script to load");
        }
    }
    TRY(load_session(child, json, err));
    snprintf(name, sizeof name, "%s.%s", json != NULL ? PLUGIN_SCRIPT : PLUGIN_CORE, target->stage);
    TRY(registry_find(child->session.registry, name, out, err));
    if (!hash_equal((*out)->hash, target->hash)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the stage '%s' is another one in a process of its own than in the "
                         "planner's; it must not depend on anything but the script and its "
                         "arguments",
                         target->stage);
    }
    return SLUICE_OK;
}

int isolation_child(void)
{
    struct child *state = calloc(1, sizeof *state);
    struct isolate_child child = { resolve, state };
    int status = state == NULL ? 5 : isolate_child_main(&child);

    free(state); /* what it points to goes with the process */
    return status;
}

void isolation_probe(const char *path)
{
    struct guards_grant none = { .memory = PROBE_MEMORY };
    struct sluice_error err = ERROR_INIT;

    /* Constructors run when the file is loaded: they get less than the plugin's stages will. What a
     * plugin wants to do when a process ends is not run: nothing of it shall last longer than its
     * answer. */
    if (guards_apply(&none, &err) != SLUICE_OK) {
        _exit(probe_fail(&err) ? 0 : 1);
    }
    _exit(probe_main(path));
}
