/* Where things of a session are: the program's, the run's, this machine's. See session.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/program.h"
#include "cmd/sessionInt.h"
#include "store/pending.h"
#include "store/statcache.h"
#include "store/store.h"

#define KNOWN_MAX (1 << 20) /* bytes: some thousands of versions of plugins */

static char *copy(struct session *session, const char *text)
{
    return arena_copy(&session->arena, text, strlen(text));
}

char *session_absolute(struct session *session, const char *path)
{
    return path[0] == '/' || !store_is_local(path)
               ? copy(session, path)
               : arena_printf(&session->arena, "%s/%s", session->cwd, path);
}

bool session_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

char *session_run_dir(const char *text)
{
    char cwd[PATH_MAX];

    if (getcwd(cwd, sizeof cwd) == NULL) {
        return NULL;
    }
    if (session_is_folder(text) || strchr(text, '/') != NULL) {
        return store_absolute(cwd, text);
    }
    return str_printf("%s/.sluice/%s", cwd, text);
}

sluice_status session_find_program(struct session *session, struct sluice_error *err)
{
    struct program program;
    char path[PATH_MAX];

    TRY(program_find(&session->arena, &program, err));
    session->exe_dir = program.folder;
    session->module_dir = program.scripts;
    if (getcwd(path, sizeof path) == NULL) {
        return error_errno(err, errno, "can't tell the working directory");
    }
    session->cwd = copy(session, path);
    return arena_status(&session->arena, err, "paths");
}

/* Where this user's programs keep what they can find out again; NULL = nowhere. */
static const char *user_cache(struct session *session)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    return cache != NULL && cache[0] == '/' ? arena_printf(&session->arena, "%s/sluice", cache)
           : home != NULL && home[0] == '/'
               ? arena_printf(&session->arena, "%s/.cache/sluice", home)
               : NULL;
}

/* Scratch and what is known of files stay on this machine, whatever the run's directory is. */
sluice_status session_find_local(struct session *session, struct sluice_error *err)
{
    const char *run_dir = session->run_dir;
    const char *scratch = session->options.scratch;
    const char *cache = user_cache(session);
    char hex[33];

    TRY(store_check(run_dir, err));
    if (scratch != NULL && !store_is_local(scratch)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--scratch %s is no folder of this machine, expected one: what is there "
                         "is read and written at random, and gone with the process",
                         scratch);
    }
    hash_hex(hash_bytes(run_dir, strlen(run_dir)), hex);
    if (store_is_local(run_dir)) {
        session->local_dir = run_dir;
    } else if (scratch != NULL) {
        session->local_dir =
            arena_printf(&session->arena, "%s/run-%s", session_absolute(session, scratch), hex);
    } else if (cache != NULL) {
        session->local_dir = arena_printf(&session->arena, "%s/run-%s", cache, hex);
    } else {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is no folder of this machine, and scratch needs one; name it with "
                         "--scratch",
                         run_dir);
    }
    session->scratch = scratch != NULL
                           ? session_absolute(session, scratch)
                           : arena_printf(&session->arena, "%s/scratch", session->local_dir);
    TRY(arena_status(&session->arena, err, "paths"));
    if (!store_is_local(run_dir)) {
        pending_spool(session->scratch);
    }
    return SLUICE_OK;
}

/* Programs, plugins and models are the same for all runs: what is known of them is kept for this
 * user, so that a new run directory reads none of them again. Failures cost time only. */
static void open_known(struct session *session)
{
    const char *folder = user_cache(session);
    const char *path = folder == NULL ? NULL : arena_printf(&session->arena, "%s/files", folder);
    char *parent = path == NULL ? NULL : str_copy(folder, strlen(folder) - strlen("/sluice"));
    struct stat info;

    session->known = session->cache;
    if (parent != NULL) {
        (void)mkdir(parent, 0777); /* not its parents: they are the user's */
        (void)mkdir(folder, 0777);
        if (stat(path, &info) == 0 && info.st_size > KNOWN_MAX) {
            (void)unlink(path);
        }
        (void)!statcache_open(path, &session->user_cache, NULL);
    }
    if (session->user_cache != NULL) {
        session->known = session->user_cache;
    }
    free(parent);
}

const char *session_apart(struct session *session, const char *name)
{
    return arena_printf(&session->arena, "%s/%s", session->options.apart, name);
}

sluice_status session_open_run_dir(struct session *session, struct sluice_error *err)
{
    const char *folder = arena_printf(&session->arena, "%s/cache", session->local_dir);
    const char *path = arena_printf(&session->arena, "%s/cache/inputs", session->local_dir);

    TRY(arena_status(&session->arena, err, "paths"));
    TRY(store_make_folder(session->run_dir, true, err));
    TRY(store_make_folder(folder, false, err));
    TRY(statcache_open(path, &session->cache, err));
    open_known(session);
    return SLUICE_OK;
}
