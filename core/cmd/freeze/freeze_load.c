/* plan.json read: see freeze.h. Its bytes come from whoever can write to the run directory: every
 * member is looked at. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/freeze/freezeInt.h"
#include "store/store.h"

#define ROOT_MAX (UINT64_C(64) << 20)
#define SCRIPT_MAX (UINT64_C(16) << 20)

static sluice_status damaged(const struct session *session, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s/plan.json is damaged; run the pipeline again to write it anew",
                     session->run_dir);
}

/* The texts in an array; others are passed over. */
static const char **stored_list(struct session *session, const json_t *array, size_t *n)
{
    const char **list = ARENA_ARRAY(&session->arena, const char *, json_array_size(array));

    *n = 0;
    for (size_t i = 0; i < json_array_size(array) && list != NULL; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text != NULL) {
            list[(*n)++] = arena_copy(&session->arena, text, strlen(text));
        }
    }
    return list;
}

static bool is_sha256(const char *text)
{
    return strlen(text) == SHA256_HEX - 1 && strspn(text, "0123456789abcdef") == SHA256_HEX - 1;
}

static sluice_status load_entry(struct session *session, json_t *entry, struct sluice_error *err)
{
    const char *kind;
    const char *name;
    const char *path;
    const char *sha256;
    const char *hash;
    json_int_t bytes;
    json_int_t mtime;
    int k = 0;
    struct content content;

    if (json_unpack(entry, "{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "kind", &kind, "name", &name,
                    "path", &path, "sha256", &sha256, "hash", &hash, "bytes", &bytes, "mtime_ns",
                    &mtime) != 0) {
        return damaged(session, err);
    }
    while (k < FROZEN_KINDS && strcmp(kind, frozen_kinds[k]) != 0) {
        k++;
    }
    if (k == FROZEN_KINDS || !is_sha256(sha256) || !hash_parse(hash, &content.hash) || bytes < 0 ||
        (k == FROZEN_SCRIPT && !disk_path_valid(name))) {
        return damaged(session, err);
    }
    memcpy(content.sha256, sha256, SHA256_HEX);
    content.size = (uint64_t)bytes;
    content.mtime_ns = mtime;
    return freeze_add(session, (enum frozen_kind)k, name, path, &content, NULL, err);
}

/* Texts of the scripts, and where plugins are. */
static sluice_status load_contents(struct session *session, struct sluice_error *err)
{
    struct freeze *freeze = session->freeze;

    freeze->scripts = ARENA_ARRAY(&session->arena, struct script_file, freeze->n);
    freeze->plugins = ARENA_ARRAY(&session->arena, const char *, freeze->n);
    TRY(arena_status(&session->arena, err, "the plan"));
    for (uint32_t i = 0; i < freeze->n; i++) {
        struct frozen *file = &freeze->files[i];
        if (file->kind == FROZEN_PLUGIN) {
            TRY(freeze_check(file, NULL, err));
            freeze->plugins[freeze->n_plugins++] = file->place;
        } else if (file->kind == FROZEN_LIBRARY) {
            TRY(freeze_check(file, NULL, err));
        } else if (file->kind == FROZEN_SCRIPT) {
            struct buf text = BUF_INIT;
            sluice_status status =
                content_read(file->place, &file->content, SCRIPT_MAX, &text, err);
            size_t n = text.size;
            char *bytes = status == SLUICE_OK ? buf_take(&text) : NULL;
            if (status == SLUICE_OK && bytes == NULL) {
                status = error_nomem(err, "the script");
            }
            buf_deinit(&text);
            TRY(status);
            freeze->scripts[freeze->n_scripts++] = (struct script_file){
                .name = file->name, .path = file->path, .text = bytes, .size = n
            };
        }
    }
    return freeze->n_scripts > 0 ? SLUICE_OK : damaged(session, err);
}

static sluice_status load_root(struct session *session, json_t *json, struct sluice_error *err)
{
    struct freeze *freeze = session->freeze;
    const char *base;
    const char *key;
    const char *version;
    const char *sha256;
    const json_t *files = json_object_get(json, "files");
    json_int_t format = json_integer_value(json_object_get(json, "format"));

    if (json_is_object(json) && format != PLAN_FORMAT) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the plan in %s has format %lld, this program reads %d; run `sluice "
                         "prepare` (or `sluice run`) with the script again: finished tasks stay",
                         session->run_dir, (long long)(format == 0 ? 1 : format), PLAN_FORMAT);
    }
    if (json_unpack(json, "{s:s, s:s, s:{s:s, s:s}}", "base", &base, "plan", &key, "program",
                    "version", &version, "sha256", &sha256) != 0 ||
        base[0] != '/' || !hash_parse(key, &freeze->key) || !is_sha256(sha256) ||
        !json_is_array(files)) {
        return damaged(session, err);
    }
    freeze->loaded = true;
    freeze->version = arena_copy(&session->arena, version, strlen(version));
    freeze->sha256 = arena_copy(&session->arena, sha256, strlen(sha256));
    session->base_dir = arena_copy(&session->arena, base, strlen(base));
    session->options.limit_files =
        (uint64_t)json_integer_value(json_object_get(json, "limit_files"));
    session->options.trust = session->options.trust || json_is_true(json_object_get(json, "trust"));
    session->stored_words =
        stored_list(session, json_object_get(json, "args"), &session->n_stored_words);
    for (size_t i = 0; i < json_array_size(files); i++) {
        TRY(load_entry(session, json_array_get(files, i), err));
    }
    return arena_status(&session->arena, err, "plan.json");
}

sluice_status freeze_root(struct session *session, struct sluice_error *err)
{
    char *path = store_join(session->run_dir, "plan.json");
    struct buf text = BUF_INIT;
    json_t *json = NULL;
    bool found = false;
    sluice_status status = store_read_all(path, ROOT_MAX, &text, &found, err);

    free(path);
    if (status == SLUICE_OK && !found) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "no run in %s: plan.json is not there; give a run directory or the name "
                           "of a pipeline that ran here",
                           session->run_dir);
    }
    if (status == SLUICE_OK) {
        status = freeze_create(session, err);
    }
    if (status == SLUICE_OK) {
        json = json_loadb(text.data == NULL ? "" : text.data, text.size, 0, NULL);
        status = json == NULL ? damaged(session, err) : load_root(session, json, err);
    }
    json_decref(json);
    buf_deinit(&text);
    return status;
}

sluice_status freeze_load(struct session *session, struct sluice_error *err)
{
    TRY(freeze_root(session, err));
    TRY(load_contents(session, err));
    session->script_path = session->freeze->scripts[0].path;
    return SLUICE_OK;
}
