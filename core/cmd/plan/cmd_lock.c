/* sluice lock: writes what a pipeline is made of (this program, scripts, plugins, models) into a
 * lock file; `run --locked` accepts nothing else. See used.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/plan/used.h"

static sluice_status write_lock(const struct session *session, const char *path,
                                struct sluice_error *err)
{
    char *text = used_text(session->used);
    sluice_status status = text == NULL ? error_nomem(err, "the lock file")
                                        : common_write(path, text, strlen(text), err);

    free(text);
    return status;
}

static void print_counts(const char *path, const json_t *used)
{
    static const char *const lists[] = { "script", "plugin", "file" };

    say("%s: ", path);
    for (size_t k = 0; k < 3; k++) {
        char name[16];
        size_t n;
        snprintf(name, sizeof name, "%ss", lists[k]);
        n = json_array_size(json_object_get(used, name));
        say("%zu %s%s", n, n == 1 ? lists[k] : name, k < 2 ? ", " : "");
    }
    say("; sluice run --locked accepts nothing else\n");
}

int cmd_lock(int argc, char **argv)
{
    static const char *const usage = "sluice lock PIPELINE.lua [name=value ...] [options]";
    static const char *const text =
        "Writes the lock file of a pipeline: versions and SHA-256 of this program, of the script "
        "and its modules, of every\n"
        "plugin, and of every file that an option names (models, tokenizers, word lists). `sluice "
        "run --locked` refuses\n"
        "anything that is not listed. Keep the file beside the script, under version control.";
    struct common common;
    struct session session;
    struct sluice_error err = ERROR_INIT;
    char *path = NULL;
    int status;

    memset(&session, 0, sizeof session);
    if (common_script(argc, argv, usage, text, &common, &status, &err) != SLUICE_OK) {
        return session_fail(&err, false);
    }
    if (status >= 0) {
        return status;
    }
    path = common.options.lock_file != NULL
               ? str_copy(common.options.lock_file, strlen(common.options.lock_file))
               : session_lock_path(common.options.script);
    common.options.locked = false;
    status = 0;
    if (path == NULL) {
        error_nomem(&err, "a path");
        status = session_fail(&err, common.json);
    } else if (session_open(&common.options, SESSION_SCHEMAS, &session, &err) != SLUICE_OK ||
               used_collect(&session, NULL, &session.used, &err) != SLUICE_OK ||
               write_lock(&session, path, &err) != SLUICE_OK) {
        status = session_fail(&err, common.json);
    } else if (common.json) {
        char *line = json_dumps(session.used, JSON_COMPACT | JSON_SORT_KEYS);
        say_json_line(line == NULL ? "" : line);
        free(line);
    } else {
        print_counts(path, session.used);
    }
    session_close(&session);
    free(path);
    return status;
}
