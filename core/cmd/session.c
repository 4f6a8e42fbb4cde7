/* A script or run directory turned into a plan and a run: see session.h. */
#include "cmd/sessionInt.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cmd/cmd_isolate.h"
#include "cmd/freeze/freeze.h"
#include "cmd/plan/used.h"
#include "lua/native/native.h"
#include "run/asks/asks.h"
#include "run/limits.h"
#include "run/source/survey.h"
#include "run/watchdog.h"
#include "store/filemap.h"
#include "store/store.h"

/* Exit status for an error: 1 internal, 2 usage or script, 3 halted by a gate, 4 input data, 5
 * resources, 130 interrupted. */
static int session_exit(const struct sluice_error *err)
{
    switch (err->code) {
    case SLUICE_OK:
        return 0;
    case SLUICE_E_CONFIG:
    case SLUICE_E_SCHEMA:
        return 2;
    case SLUICE_E_HALT:
        return 3;
    case SLUICE_E_DATA:
        return 4;
    case SLUICE_E_NOMEM:
    case SLUICE_E_IO:
    case SLUICE_E_RETRY:
        return 5;
    case SLUICE_E_CANCELLED:
        return 130;
    default:
        return 1;
    }
}

int session_fail(const struct sluice_error *err, bool json)
{
    int status = session_exit(err);

    if (json) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "{\"event\":\"error\",\"exit\":%d,\"message\":", status);
        buf_json_string(&text, err->message, strlen(err->message));
        buf_puts(&text, "}\n");
        say_json(buf_str(&text), text.size);
        fflush(stdout);
        buf_deinit(&text);
    }
    say_to(stderr, "sluice: %s\n", err->message);
    return status;
}

sluice_status session_registry(const struct session_options *options, struct session *session,
                               struct sluice_error *err)
{
    struct registry_options registry = { 0 };
    const char *plugins[ARGS_MAX];
    const char *const *kept;
    size_t n_kept;
    size_t n = 0;

    if (session->exe_dir == NULL) {
        memset(session, 0, sizeof *session);
        session->options = *options;
        TRY(session_find_program(session, err));
    }
    for (size_t i = 0; i < options->n_plugins && n < ARGS_MAX; i++) {
        plugins[n++] = options->plugins[i];
    }
    kept = freeze_plugins(session, &n_kept);
    for (size_t i = 0; i < n_kept && n < ARGS_MAX; i++) {
        plugins[n++] = kept[i];
    }
    registry.exe_dir = session->exe_dir;
    registry.files = plugins;
    registry.n_files = n;
    registry.trust = options->trust;
    registry.contained = options->contained;
    if (!freeze_is_loaded(session)) { /* which names all that it needs */
        registry.script_dir = session->base_dir;
        registry_environment(&registry, session->data_home, sizeof session->data_home);
    }
    TRY(registry_create(&registry, &session->registry, err));
    return native_register(session->registry, options->contained || options->in_process, err);
}

/* ---- opening ---- */

/* The watchdog over rows of Lua stages: core/lua knows no signals. */
static void watch_begin(struct script_watching *watching, void (*tick)(void *ctx), void *ctx)
{
    static_assert(sizeof(struct watchdog) <= sizeof *watching, "room for a watchdog");
    watchdog_begin((struct watchdog *)(void *)watching, tick, ctx);
}

static void watch_end(struct script_watching *watching)
{
    watchdog_end((struct watchdog *)(void *)watching);
}

static const struct script_watch watch = { watch_begin, watch_end };

static const char *place_of(void *ctx, const char *path)
{
    const struct session *session = ctx;

    for (size_t i = 0; i < session->n_places; i++) {
        if (strcmp(session->places[2 * i], path) == 0) {
            return session->places[2 * i + 1];
        }
    }
    return freeze_place(ctx, path);
}

sluice_status session_script(struct session *session, struct sluice_error *err)
{
    struct script_arg args[ARGS_MAX];
    struct script_options options = { .path = session->script_path,
                                      .base_dir = session->base_dir,
                                      .cwd = session->cwd,
                                      .module_dir = session->module_dir,
                                      .registry = session->registry,
                                      .args = args,
                                      .text = session->options.script_text,
                                      .foreign =
                                          session->options.contained || session->options.in_process,
                                      .testing = session->options.testing,
                                      .stop = &session_cancelled,
                                      .watch = &watch,
                                      .place = place_of,
                                      .place_ctx = session,
                                      .declared = session->options.declared,
                                      .declared_ctx = session->options.declared_ctx };
    const char *words[ARGS_MAX];
    size_t n_words = 0;

    options.files = freeze_scripts(session, &options.n_files);
    for (size_t i = 0; i < session->n_stored_words && n_words < ARGS_MAX; i++) {
        words[n_words++] = session->stored_words[i];
    }
    for (size_t i = 0; i < session->options.n_words && n_words < ARGS_MAX; i++) {
        words[n_words++] = session->options.words[i];
    }
    for (size_t i = 0; i < n_words; i++) {
        const char *equals = strchr(words[i], '=');
        if (equals == NULL || equals == words[i]) {
            return error_set(err, SLUICE_E_CONFIG,
                             "found '%s', expected name=value for an argument of the script",
                             words[i]);
        }
        args[i].name = arena_copy(&session->arena, words[i], (size_t)(equals - words[i]));
        args[i].value = equals + 1;
        options.n_args++;
    }
    TRY(arena_status(&session->arena, err, "the script's arguments"));
    return script_load(&options, &session->script, &session->graph, err);
}

static sluice_status describe(void *ctx, struct stage *stage, const struct listing *files,
                              const struct hash128 *hashes, struct buf *out, bool *said,
                              struct sluice_error *err)
{
    return survey_first(((struct session *)ctx)->cache, stage, files, hashes, out, said, err);
}

void session_describes(struct session *session, struct plan_options *options)
{
    options->describe = describe;
    options->describe_ctx = session;
}

static sluice_status open_plan(struct session *session, enum session_depth depth,
                               struct sluice_error *err)
{
    struct plan_options options = { .base_dir = session->base_dir,
                                    .run_dir = session->run_dir,
                                    .scratch = session->scratch,
                                    .limit_files = session->options.limit_files,
                                    .batch_bytes = session->options.batch_bytes,
                                    .check_only = depth == SESSION_SCHEMAS,
                                    .services = &session->services,
                                    .isolate = isolation_twin,
                                    .isolate_ctx = session,
                                    .in_process = session->options.in_process,
                                    .keep = freeze_keep,
                                    .thaw = freeze_thaw,
                                    .frozen_ctx = session,
                                    .inputs = session->cache,
                                    .frozen = freeze_is_loaded(session) };

    if (session->options.apart != NULL) {
        options.datasets = session_apart(session, SESSION_APART_DATASETS);
        TRY(arena_status(&session->arena, err, "paths"));
    }

    session_services(session);
    session_describes(session, &options);
    return plan_build(session->graph, session->registry, &options, &session->plan, err);
}

char *session_lock_path(const char *script)
{
    size_t n = strlen(script);

    return str_printf("%.*s.lock", (int)(n > 4 && strcmp(script + n - 4, ".lua") == 0 ? n - 4 : n),
                      script);
}

/* Finds out what the plan is made of, and refuses what the lock file does not list. */
static sluice_status collect_used(struct session *session, struct sluice_error *err)
{
    const struct session_options *options = &session->options;
    char *path;
    sluice_status status =
        used_collect(session, options->locked ? NULL : session->known, &session->used, err);

    if (status != SLUICE_OK || !options->locked) {
        return status;
    }
    path = options->lock_file != NULL ? str_copy(options->lock_file, strlen(options->lock_file))
                                      : session_lock_path(session->script_path);
    status = path == NULL ? error_nomem(err, "a path") : used_check(session->used, path, err);
    free(path);
    return status;
}

/* The run directory that options.run_dir means. */
static sluice_status find_run(struct session *session, struct sluice_error *err)
{
    char *run_dir = session_run_dir(session->options.run_dir);

    session->run_dir =
        run_dir == NULL ? NULL : arena_copy(&session->arena, run_dir, strlen(run_dir));
    free(run_dir);
    if (session->run_dir == NULL) {
        return error_nomem(err, "paths");
    }
    session->frozen_dir = session->run_dir;
    return session_find_local(session, err);
}

static sluice_status open_frozen(struct session *session, struct sluice_error *err)
{
    TRY(find_run(session, err));
    TRY(freeze_load(session, err));
    if (session->options.apart == NULL) {
        return SLUICE_OK;
    }
    session->run_dir = session_apart(session, SESSION_APART_RUN);
    TRY(arena_status(&session->arena, err, "paths"));
    return session_find_local(session, err);
}

/* The plan of a script, or of a run directory, in which the script is. */
static sluice_status open_source(const struct session_options *options, struct session *session,
                                 struct sluice_error *err)
{
    const char *slash;

    if (options->script == NULL) {
        return open_frozen(session, err);
    }
    TRY(freeze_create(session, err));
    session->script_path = session_absolute(session, options->script);
    slash = session->script_path == NULL ? NULL : strrchr(session->script_path, '/');
    if (slash != NULL) {
        session->base_dir = arena_copy(&session->arena, session->script_path,
                                       (size_t)(slash - session->script_path));
    }
    TRY(arena_status(&session->arena, err, "paths"));
    if (access(session->script_path, F_OK) != 0 || session_is_folder(session->script_path)) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s is %s, expected a pipeline script (a file that returns s.pipeline {...})",
            options->script, session_is_folder(session->script_path) ? "a folder" : "not there");
    }
    return SLUICE_OK;
}

static sluice_status open_run(struct session *session, struct sluice_error *err)
{
    struct run_options run = { .run_dir = session->run_dir,
                               .local_dir = session->local_dir,
                               .scratch = session->scratch,
                               .workers = session->options.workers,
                               .memory = session->options.memory,
                               .batch_bytes = session->options.batch_bytes,
                               .fresh = session->options.fresh,
                               .take_over = session->options.take_over,
                               .lock = session->options.lock,
                               .save_ns = session_save_ns(),
                               .kind = session->options.kind,
                               .answers = session->options.apart == NULL
                                              ? NULL
                                              : arena_printf(&session->arena, "%s/" ASKS_FOLDER,
                                                             session->frozen_dir),
                               .inputs = session->cache,
                               .drain = &session_drain,
                               .deadline = &session_deadline,
                               .cancelled = &session_cancelled,
                               .events = session->options.events };

    TRY(arena_status(&session->arena, err, "paths"));
    return run_open(session->plan, &run, &session->run, err);
}

sluice_status session_frozen(const struct session_options *options, struct session *session,
                             struct sluice_error *err)
{
    memset(session, 0, sizeof *session);
    session->options = *options;
    TRY(session_find_program(session, err));
    TRY(find_run(session, err));
    return freeze_root(session, err);
}

sluice_status session_open(const struct session_options *options, enum session_depth depth,
                           struct session *session, struct sluice_error *err)
{
    bool freezes;

    memset(session, 0, sizeof *session);
    session->options = *options;
    session->runs = depth == SESSION_RUN;
    session->options.workers = options->workers > 0 ? options->workers : limits_workers();
    session->options.memory = options->memory > 0 ? options->memory : limits_memory();
    budget_init(&session->budget, NULL, session->options.memory);
    TRY(session_find_program(session, err));
    TRY(open_source(options, session, err));
    TRY(session_registry(options, session, err));
    TRY(session_script(session, err));
    if (options->edit != NULL) {
        TRY(options->edit(options->edit_ctx, session, err));
    }
    if (depth == SESSION_GRAPH) {
        return SLUICE_OK;
    }
    if (session->run_dir == NULL) {
        session->run_dir = options->run_dir != NULL
                               ? session_absolute(session, options->run_dir)
                               : arena_printf(&session->arena, "%s/.sluice/%s", session->base_dir,
                                              session->graph->name);
    }
    if (session->local_dir == NULL) {
        TRY(session_find_local(session, err));
    }
    if (session->runs && !options->lock && (store_caps(session->run_dir) & STORE_PUT_NEW) == 0) {
        /* Two that commit one task at once could both believe that they were the first. */
        return error_set(err, SLUICE_E_CONFIG,
                         "%s stands in a store that can't create a file only where there is none, "
                         "so that one process alone may write there: use `sluice run`, or a run "
                         "directory in a store that can",
                         session->run_dir);
    }
    freezes =
        options->script != NULL && (options->freeze || (session->runs && !options->read_only));
    if (depth >= SESSION_PLAN &&
        (session->runs || freezes || session_is_folder(session->local_dir))) {
        TRY(session_open_run_dir(session, err));
    }
    session->keeps = freezes;
    TRY(open_plan(session, depth, err));
    if (options->locked || session->runs || freezes) {
        TRY(collect_used(session, err));
    }
    if (session->runs && options->script == NULL && !options->other_program) {
        TRY(freeze_compare(session, err));
    }
    if (session->runs) {
        TRY(open_run(session, err));
    }
    return freezes ? freeze_write(session, err) : SLUICE_OK;
}

void session_close(struct session *session)
{
    json_decref(session->used);
    run_close(session->run);
    plan_destroy(session->plan);
    isolation_close(session);
    statcache_close(session->cache);
    statcache_close(session->user_cache);
    filemaps_destroy(session->maps);
    graph_destroy(session->graph);
    registry_destroy(session->registry);
    script_destroy(session->script);
    freeze_close(session);
    arena_deinit(&session->arena);
    memset(session, 0, sizeof *session);
}
