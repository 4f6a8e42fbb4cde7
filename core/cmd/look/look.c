/* Looking at runs that are there: see look.h. */
#include "cmd/look/look.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/say.h"
#include "store/snapshot.h"
#include "store/store.h"
#include "store/tags.h"

/* Warnings for people on standard error. */
static void look_warn(void *ctx, const char *message)
{
    (void)ctx;
    say_to(stderr, "sluice: warning: %s\n", message);
}

static sluice_status open_view(struct session *session, bool warn, struct run **out,
                               struct sluice_error *err)
{
    struct run_events events = { .warn = warn ? look_warn : NULL };
    return runview_open(session->plan, session->run_dir, session->options.fresh, session->cache,
                        &events, out, err);
}

static sluice_status open_run(const char *run, bool warn, struct look *look,
                              struct sluice_error *err)
{
    struct session_options options = { .run_dir = run, .read_only = true };

    memset(look, 0, sizeof *look);
    TRY(session_open(&options, SESSION_PLAN, &look->session, err));
    return open_view(&look->session, warn, &look->run, err);
}

sluice_status look_at(struct session *session, struct run **out, struct sluice_error *err)
{
    TRY(open_view(session, true, out, err));
    return runview_all(*out, err);
}

sluice_status look_open(const char *run, struct look *look, struct sluice_error *err)
{
    TRY(open_run(run, true, look, err));
    return runview_all(look->run, err);
}

sluice_status look_open_silent(const char *run, struct look *look, struct sluice_error *err)
{
    TRY(open_run(run, false, look, err));
    return runview_all(look->run, err);
}

sluice_status look_open_old(const char *run, const char *prefer, struct look *look, uint32_t *old,
                            struct sluice_error *err)
{
    TRY(open_run(run, true, look, err));
    return runview_all_old(look->run, prefer, old, err);
}

void look_close(struct look *look)
{
    run_close(look->run);
    look->run = NULL;
    session_close(&look->session);
}

bool look_is_run(const char *text)
{
    char *dir = session_run_dir(text);
    char *path = dir == NULL ? NULL : store_join(dir, "plan.json");
    uint64_t bytes;
    bool found = false;

    found = path != NULL && store_size(path, &bytes, &found, NULL) == SLUICE_OK && found;
    free(path);
    free(dir);
    return found;
}

bool look_print(const char *event, json_t *object)
{
    char *text = NULL;

    if (object != NULL && json_object_set_new(object, "event", json_string(event)) == 0) {
        text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    }
    json_decref(object);
    if (text == NULL) {
        return false;
    }
    say_json_line(text);
    free(text);
    return true;
}

size_t look_columns(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns = 0;

    if (text != NULL && whole_parse(text, &columns) && columns > 0) {
        return (size_t)columns;
    }
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

sluice_status look_dataset(const char *reference, char **dir, uint32_t *number,
                           struct sluice_error *err)
{
    char cwd[PATH_MAX];

    *dir = NULL;
    return getcwd(cwd, sizeof cwd) == NULL ? error_nomem(err, "a path")
                                           : tags_resolve(cwd, reference, dir, number, err);
}

sluice_status look_alone(const char *dir, const char *kind, struct crew **crew,
                         struct sluice_error *err)
{
    struct holder *list = NULL;
    size_t n = 0;
    sluice_status status;

    TRY(crew_join(dir, kind, NULL, crew, err));
    TRY(crew_lead(*crew, &session_drain, err));
    status = member_others(crew_member(*crew), true, &session_drain, &list, &n, err);
    if (status == SLUICE_OK && n > 0) {
        status = error_field(err, SLUICE_E_IO, "lock",
                             "%s: %s works on it; wait until that ends or stop it (`sluice stop`)",
                             dir, list[0].words);
    }
    free(list);
    return status;
}

const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

sluice_status look_dataset_run(const char *dir, uint32_t number, char **run,
                               struct sluice_error *err)
{
    struct snapshot *snapshot = NULL;
    const char *pipeline;
    const char *slash = strrchr(dir, '/');

    *run = NULL;
    TRY(snapshot_open(dir, number, &snapshot, err));
    pipeline = json_string_value(json_object_get(snapshot->lineage, "pipeline"));
    if (pipeline != NULL && look_is_run(pipeline)) {
        *run = session_run_dir(pipeline);
    }
    if (pipeline != NULL && *run == NULL && slash != NULL) {
        *run = str_printf("%.*s/.sluice/%s", (int)(slash - dir), dir, pipeline);
        if (*run != NULL && !look_is_run(*run)) {
            free(*run);
            *run = NULL;
        }
    }
    if (*run == NULL) {
        error_set(err, SLUICE_E_CONFIG,
                  "can't tell which run wrote %s (its pipeline is called '%s', and there is no run "
                  "of that name here); give --run RUN",
                  dir, pipeline == NULL ? "" : pipeline);
    }
    snapshot_destroy(snapshot);
    return *run == NULL ? SLUICE_E_CONFIG : SLUICE_OK;
}
