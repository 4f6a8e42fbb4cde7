/* Frozen plans in use: where files are kept, and whether the plan is the one that was frozen. See
 * freeze.h. */
#include "cmd/freeze/freezeInt.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/plan/used.h"
#include "store/listing_frozen.h"
#include "store/paths.h"
#include "store/statcache.h"
#include "store/store.h"

#define LIST_MAX (UINT64_C(4) << 30) /* bytes of a list of input files */

const char *const frozen_kinds[FROZEN_KINDS] = { "script", "plugin", "library", "file", "inputs" };

sluice_status freeze_create(struct session *session, struct sluice_error *err)
{
    session->freeze = ARENA_NEW(&session->arena, struct freeze);
    return arena_status(&session->arena, err, "the plan");
}

void freeze_close(struct session *session)
{
    struct freeze *freeze = session->freeze;

    for (size_t i = 0; freeze != NULL && i < freeze->n_scripts; i++) {
        free((char *)(uintptr_t)freeze->scripts[i].text);
    }
    session->freeze = NULL;
}

sluice_status freeze_put(struct session *session, const char *path, struct content *out,
                         struct sluice_error *err)
{
    struct content far;
    char *place;
    sluice_status status;

    TRY(content_keep_file(session->local_dir, session->cache, session->known, path, out, err));
    if (store_is_local(session->run_dir)) {
        return SLUICE_OK;
    }
    TRY(store_make_folder(session->scratch, false, err)); /* what goes there is spooled in it */
    place = content_path(session->local_dir, out->sha256, content_name(path));
    status = place == NULL ? error_nomem(err, "a path")
                           : content_keep_file(session->run_dir, session->cache, session->cache,
                                               place, &far, err);
    free(place);
    return status;
}

sluice_status freeze_check(const struct frozen *file, struct statcache *cache,
                           struct sluice_error *err)
{
    return file->far != NULL ? content_fetch(cache, file->far, file->place, &file->content, err)
                             : content_check(cache, file->place, &file->content, err);
}

struct hash128 freeze_key(const struct session *session)
{
    return session->freeze->key;
}

bool freeze_is_loaded(const struct session *session)
{
    return session->freeze != NULL && session->freeze->loaded;
}

sluice_status freeze_add(struct session *session, enum frozen_kind kind, const char *name,
                         const char *path, const struct content *content, struct frozen **out,
                         struct sluice_error *err)
{
    struct freeze *freeze = session->freeze;
    struct arena *arena = &session->arena;
    struct frozen *more =
        arena_more(arena, freeze->files, freeze->n, &freeze->capacity, sizeof *more);
    /* What programs map and open themselves must have a path here. */
    bool copied =
        kind != FROZEN_SCRIPT && kind != FROZEN_INPUTS && !store_is_local(session->run_dir);
    const char *own = content_name(path[0] != '\0' ? path : name);
    char *place = content_path(session->run_dir, content->sha256, own);
    char *here = copied ? content_path(session->local_dir, content->sha256, own) : NULL;

    if (more == NULL || place == NULL || (copied && here == NULL)) {
        free(place);
        free(here);
        return error_nomem(err, "the plan");
    }
    freeze->files = more;
    more[freeze->n] = (struct frozen){ .kind = kind,
                                       .name = arena_copy(arena, name, strlen(name)),
                                       .path = arena_copy(arena, path, strlen(path)),
                                       .place = arena_copy(arena, place, strlen(place)),
                                       .content = *content };
    if (copied) {
        more[freeze->n].far = more[freeze->n].place;
        more[freeze->n].place = arena_copy(arena, here, strlen(here));
    }
    free(place);
    free(here);
    if (out != NULL) {
        *out = &more[freeze->n];
    }
    freeze->n++;
    return arena_status(arena, err, "the plan");
}

const struct script_file *freeze_scripts(const struct session *session, size_t *n)
{
    *n = session->freeze == NULL ? 0 : session->freeze->n_scripts;
    return *n == 0 ? NULL : session->freeze->scripts;
}

const char *const *freeze_plugins(const struct session *session, size_t *n)
{
    *n = session->freeze == NULL ? 0 : session->freeze->n_plugins;
    return *n == 0 ? NULL : session->freeze->plugins;
}

/* ---- places ---- */

/* The entry of a file, by where it was or is. Scripts and lists are loaded, never looked up. */
static struct frozen *find(const struct freeze *freeze, const char *path)
{
    for (uint32_t i = 0; freeze != NULL && i < freeze->n; i++) {
        struct frozen *file = &freeze->files[i];
        if (file->kind != FROZEN_SCRIPT && file->kind != FROZEN_INPUTS &&
            (strcmp(file->path, path) == 0 || strcmp(file->place, path) == 0)) {
            return file;
        }
    }
    return NULL;
}

const char *freeze_place(void *ctx, const char *path)
{
    const struct session *session = ctx;
    const struct frozen *file = freeze_is_loaded(session) ? find(session->freeze, path) : NULL;

    if (file == NULL && freeze_is_loaded(session) && store_is_local(path)) {
        /* Of plugins the plan knows the real path, and scripts name them as they like. */
        char *real = path_canonical(path);
        file = real == NULL ? NULL : find(session->freeze, real);
        free(real);
    }
    return file == NULL ? path : file->place;
}

const char *freeze_origin(const struct session *session, const char *place)
{
    const struct frozen *file = find(session->freeze, place);

    return file == NULL ? place : file->path;
}

bool freeze_names(const struct session *session, const char *sha256)
{
    const struct freeze *freeze = session->freeze;

    for (uint32_t i = 0; freeze != NULL && i < freeze->n; i++) {
        if (strcmp(freeze->files[i].content.sha256, sha256) == 0) {
            return true;
        }
    }
    return false;
}

/* A new file of a plan in the making: kept, where there is a run directory to keep it in. */
static sluice_status keep_new(struct session *session, const char *path, const char **place,
                              struct hash128 *hash, struct sluice_error *err)
{
    struct content content;
    struct frozen *file;
    char hex[SHA256_HEX];

    if (!session->keeps) {
        *place = path;
        return statcache_hashes(session->known, path, hex, hash, err);
    }
    TRY(freeze_put(session, path, &content, err));
    TRY(freeze_add(session, FROZEN_FILE, "", path, &content, &file, err));
    file->checked = true;
    *place = file->place;
    *hash = content.hash;
    return SLUICE_OK;
}

sluice_status freeze_keep(void *ctx, const char *path, const char **place, struct hash128 *hash,
                          struct sluice_error *err)
{
    struct session *session = ctx;
    struct frozen *file = find(session->freeze, path);

    if (file == NULL && session->freeze->loaded) {
        return error_set(err, SLUICE_E_INTERNAL, "%s is not among the files of the frozen plan",
                         path);
    }
    if (file == NULL) {
        return keep_new(session, path, place, hash, err);
    }
    if (!file->checked) {
        TRY(freeze_check(file, session->cache, err));
        file->checked = true;
    }
    *place = file->place;
    *hash = file->content.hash;
    return SLUICE_OK;
}

sluice_status freeze_files(const struct session *session, const struct frozen *file,
                           struct listing *files, const struct hash128 **hashes,
                           struct sluice_error *err)
{
    struct buf bytes = BUF_INIT;
    sluice_status status = content_read(file->place, &file->content, LIST_MAX, &bytes, err);

    if (status == SLUICE_OK) {
        status = listing_thaw(bytes.data, bytes.size, session->freeze->key, files, hashes, err);
        if (status != SLUICE_OK) {
            status = error_prefix(err, "%s", file->place);
        }
    }
    buf_deinit(&bytes);
    return status;
}

sluice_status freeze_thaw(void *ctx, const char *reader, struct listing *files,
                          const struct hash128 **hashes, bool *found, struct sluice_error *err)
{
    const struct session *session = ctx;
    const struct freeze *freeze = session->freeze;
    const struct frozen *file = NULL;

    for (uint32_t i = 0; freeze->loaded && i < freeze->n && file == NULL; i++) {
        if (freeze->files[i].kind == FROZEN_INPUTS && strcmp(freeze->files[i].name, reader) == 0) {
            file = &freeze->files[i];
        }
    }
    *found = file != NULL;
    if (file == NULL) {
        return !freeze->loaded
                   ? SLUICE_OK
                   : error_set(err, SLUICE_E_DATA,
                               "the frozen plan in %s has no list of files for '%s'; run `sluice "
                               "prepare` with the script again",
                               session->frozen_dir, reader);
    }
    return freeze_files(session, file, files, hashes, err);
}

/* ---- the same plan ---- */

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text == NULL ? "" : text;
}

/* The plugin that is another one than when the plan was made; false: none is. */
static bool other_plugin(struct session *session, struct buf *out)
{
    struct sluice_error err = ERROR_INIT;
    char *path = store_join(session->frozen_dir, "used.json");
    json_t *then = path == NULL ? NULL : json_load_file(path, 0, NULL);
    json_t *now = NULL;
    const json_t *a;
    const json_t *b;
    size_t i;
    size_t k;

    if (then != NULL && used_collect(session, session->known, &now, &err) == SLUICE_OK) {
        json_array_foreach(json_object_get(now, "plugins"), i, a)
        {
            json_array_foreach(json_object_get(then, "plugins"), k, b)
            {
                if (out->size == 0 && strcmp(member(a, "name"), member(b, "name")) == 0 &&
                    strcmp(member(a, "sha256"), member(b, "sha256")) != 0) {
                    buf_printf(out, "plugin '%s' %s (%.16s…), it is %s (%.16s…) here",
                               member(a, "name"), member(b, "version"), member(b, "sha256"),
                               member(a, "version"), member(a, "sha256"));
                }
            }
        }
    }
    json_decref(then);
    json_decref(now);
    free(path);
    return out->size > 0;
}

sluice_status freeze_compare(struct session *session, struct sluice_error *err)
{
    const struct freeze *freeze = session->freeze;
    const json_t *program;
    json_t *own = NULL;
    struct buf what = BUF_INIT;
    sluice_status status = used_program(session, session->known, &own, err);

    if (status != SLUICE_OK) {
        return status;
    }
    program = json_object_get(own, "program");
    if (strcmp(member(program, "sha256"), freeze->sha256) != 0) {
        buf_printf(&what, "sluice %s (core library %.16s…), this is sluice %s (%.16s…)",
                   freeze->version, freeze->sha256, member(program, "version"),
                   member(program, "sha256"));
    } else if (!hash_equal(session->plan->key, freeze->key) && !other_plugin(session, &what)) {
        buf_puts(&what, "something else than is installed here");
    }
    json_decref(own);
    if (what.size > 0) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "the plan in %s was made with %s; use that one, or run `sluice prepare` "
                           "(or `sluice run`) with the script again",
                           session->frozen_dir, buf_str(&what));
    }
    buf_deinit(&what);
    return status;
}
