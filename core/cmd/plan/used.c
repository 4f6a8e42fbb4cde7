/* What a plan is made of: see used.h. */
#include "cmd/plan/used.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "cmd/freeze/freeze.h"
#include "store/disk.h"

static sluice_status append(json_t *list, json_t *entry, struct sluice_error *err)
{
    return entry == NULL || json_array_append_new(list, entry) != 0
               ? error_nomem(err, "the list of what a plan is made of")
               : SLUICE_OK;
}

static bool listed(const json_t *list, const char *member, const char *value)
{
    size_t i;
    const json_t *entry;

    json_array_foreach(list, i, entry)
    {
        const char *text = json_string_value(json_object_get(entry, member));
        if (text != NULL && strcmp(text, value) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status add_program(const struct session *session, struct statcache *known,
                                 json_t *out, struct sluice_error *err)
{
    static const char *const places[] = { "libsluice-core.so", "../lib/sluice/libsluice-core.so" };
    char hex[SHA256_HEX];
    char abi[32];
    json_t *program = NULL;
    sluice_status status = SLUICE_E_INTERNAL;

    for (size_t i = 0; i < 2 && status != SLUICE_OK; i++) {
        char *path = disk_join(session->exe_dir, places[i]);
        status =
            path == NULL ? error_nomem(err, "a path") : statcache_sha256(known, path, hex, err);
        free(path);
    }
    TRY(status);
    snprintf(abi, sizeof abi, "%u.%u", SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR);
    program = json_pack("{s:s, s:s, s:s}", "version", SLUICE_VERSION, "abi", abi, "sha256", hex);
    return program == NULL || json_object_set_new(out, "program", program) != 0
               ? error_nomem(err, "the list of what a plan is made of")
               : SLUICE_OK;
}

static sluice_status add_scripts(const struct session *session, json_t *list,
                                 struct sluice_error *err)
{
    size_t n;
    const struct script_file *files = script_files(session->script, &n);

    for (size_t i = 0; i < n; i++) {
        char hex[SHA256_HEX];
        sha256_bytes(files[i].text, files[i].size, hex);
        TRY(append(list, json_pack("{s:s, s:s}", "name", files[i].name, "sha256", hex), err));
    }
    return SLUICE_OK;
}

static sluice_status add_plugin(const struct session *session, const struct registry_plugin *plugin,
                                struct statcache *known, json_t *list, struct sluice_error *err)
{
    char hex[SHA256_HEX];
    const char *path = plugin == NULL ? NULL : freeze_origin(session, plugin->path);

    if (path == NULL || listed(list, "path", path)) {
        return SLUICE_OK;
    }
    TRY(statcache_sha256(known, plugin->path, hex, err));
    return append(list,
                  json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", plugin->name, "version",
                            plugin->version, "libraries", plugin->libraries, "path", path, "sha256",
                            hex),
                  err);
}

static sluice_status add_files(const struct session *session, const struct op *op,
                               struct statcache *known, json_t *list, struct sluice_error *err)
{
    const struct options *options = stage_options(op_code(op)->stage);
    const char *name;
    const char *path;
    uint32_t flags;

    for (uint64_t k = 0; options_path(options, k, &name, &path, &flags); k++) {
        char hex[SHA256_HEX];
        if ((flags & (SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_NO_OUTPUT)) != 0) {
            continue;
        }
        TRY(statcache_sha256(known, path, hex, err));
        TRY(append(list,
                   json_pack("{s:s, s:s, s:s, s:s}", "stage", op->name, "option", name, "path",
                             freeze_origin(session, path), "sha256", hex),
                   err));
    }
    return SLUICE_OK;
}

/* Libraries of ffi.def; those of s.native are options of their stages. */
static sluice_status add_libraries(const struct session *session, struct statcache *known,
                                   json_t *list, struct sluice_error *err)
{
    const char *path;

    for (uint32_t k = 0; (path = script_library(session->script, k)) != NULL; k++) {
        char hex[SHA256_HEX];
        TRY(statcache_sha256(known, path, hex, err));
        TRY(append(list,
                   json_pack("{s:s, s:s, s:s, s:s}", "stage", "ffi.def", "option",
                             strrchr(path, '/') + 1, "path", freeze_origin(session, path), "sha256",
                             hex),
                   err));
    }
    return SLUICE_OK;
}

sluice_status used_program(const struct session *session, struct statcache *known, json_t **out,
                           struct sluice_error *err)
{
    json_t *used = json_object();
    sluice_status status = used == NULL ? error_nomem(err, "the list of what a plan is made of")
                                        : add_program(session, known, used, err);

    if (status != SLUICE_OK) {
        json_decref(used);
        return status;
    }
    *out = used;
    return SLUICE_OK;
}

sluice_status used_collect(const struct session *session, struct statcache *known, json_t **out,
                           struct sluice_error *err)
{
    json_t *used =
        json_pack("{s:i, s:[], s:[], s:[]}", "format", USED_FORMAT, "scripts", "plugins", "files");
    sluice_status status = used == NULL ? error_nomem(err, "the list of what a plan is made of")
                                        : add_program(session, known, used, err);

    if (status == SLUICE_OK) {
        status = add_scripts(session, json_object_get(used, "scripts"), err);
    }
    if (status == SLUICE_OK) {
        status = add_libraries(session, known, json_object_get(used, "files"), err);
    }
    for (uint32_t p = 0; status == SLUICE_OK && p < session->plan->n_phases; p++) {
        const struct phase *phase = session->plan->phases[p];
        for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
            const struct op *op = phase->ops[i];
            if (op_code(op) == NULL) {
                continue;
            }
            status = add_plugin(session, stage_entry(op_code(op)->stage)->plugin, known,
                                json_object_get(used, "plugins"), err);
            if (status == SLUICE_OK) {
                status = add_files(session, op, known, json_object_get(used, "files"), err);
            }
        }
    }
    if (status != SLUICE_OK) {
        json_decref(used);
        return status;
    }
    *out = used;
    return SLUICE_OK;
}

char *used_text(const json_t *used)
{
    char *text = json_dumps(used, JSON_INDENT(1) | JSON_SORT_KEYS);
    char *line = text == NULL ? NULL : str_printf("%s\n", text);

    free(text);
    return line;
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

/* Looks for entry in the lock's list: the same name(s) and SHA-256. locked is the entry of the same
 * name, or NULL. */
static bool accepted(const json_t *list, const json_t *entry, const char *const names[2],
                     const json_t **locked)
{
    size_t i;
    const json_t *other;

    *locked = NULL;
    json_array_foreach(list, i, other)
    {
        if (strcmp(member(other, names[0]), member(entry, names[0])) != 0 ||
            (names[1] != NULL && strcmp(member(other, names[1]), member(entry, names[1])) != 0)) {
            continue;
        }
        *locked = other;
        if (strcmp(member(other, "sha256"), member(entry, "sha256")) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status check_entry(const json_t *list, const json_t *entry, const char *what,
                                 const char *const names[2], const char *lock_path,
                                 struct sluice_error *err)
{
    const json_t *locked;
    const char *path = member(entry, "path");
    char found[700];

    if (accepted(list, entry, names, &locked)) {
        return SLUICE_OK;
    }
    snprintf(found, sizeof found, "%s%s%s%s%s%s", member(entry, names[0]),
             names[1] == NULL ? "" : "'s ", names[1] == NULL ? "" : member(entry, names[1]),
             path[0] == '\0' ? "" : " (", path, path[0] == '\0' ? "" : ")");
    return locked == NULL
               ? error_set(err, SLUICE_E_CONFIG,
                           "--locked: %s does not list %s %s; if that is right, run sluice lock "
                           "again",
                           lock_path, what, found)
               : error_set(
                     err, SLUICE_E_CONFIG,
                     "--locked: %s %s has the SHA-256 %.16s…, expected %.16s… as in %s; check "
                     "what changed, then run sluice lock again",
                     what, found, member(entry, "sha256"), member(locked, "sha256"), lock_path);
}

sluice_status used_check(const json_t *used, const char *lock_path, struct sluice_error *err)
{
    static const struct {
        const char *list, *what;
        const char *names[2];
    } kinds[] = { { "scripts", "the script", { "name", NULL } },
                  { "plugins", "the plugin", { "name", NULL } },
                  { "files", "the file of stage", { "stage", "option" } } };
    json_error_t at;
    json_t *lock = json_load_file(lock_path, JSON_REJECT_DUPLICATES, &at);
    const json_t *program = json_object_get(used, "program");
    const json_t *locked = json_object_get(lock, "program");
    sluice_status status = SLUICE_OK;

    if (lock == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--locked: cannot read the lock file %s (%s); sluice lock writes it",
                         lock_path, at.text);
    }
    if (json_integer_value(json_object_get(lock, "format")) != USED_FORMAT) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "--locked: %s is not a lock file of format %d; sluice lock writes one",
                           lock_path, USED_FORMAT);
    } else if (strcmp(member(program, "sha256"), member(locked, "sha256")) != 0) {
        status = error_set(err, SLUICE_E_CONFIG,
                           "--locked: this program is sluice %s (core library %.16s…), %s was "
                           "written for sluice %s (%.16s…); install that one, or run sluice lock "
                           "again",
                           member(program, "version"), member(program, "sha256"), lock_path,
                           member(locked, "version"), member(locked, "sha256"));
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0] && status == SLUICE_OK; k++) {
        const json_t *list = json_object_get(lock, kinds[k].list);
        const json_t *entry;
        size_t i;
        json_array_foreach(json_object_get(used, kinds[k].list), i, entry)
        {
            if (status == SLUICE_OK) {
                status = check_entry(list, entry, kinds[k].what, kinds[k].names, lock_path, err);
            }
        }
    }
    json_decref(lock);
    return status;
}
