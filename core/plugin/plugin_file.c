/* Loading one plugin file: see plugin_file.h. The growth rules of sluice.h are applied here: what a
 * plugin of another minor hands over is copied, min(theirs, ours) bytes, into zeroed structs. */
#include "plugin/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "plugin/option_table.h"
#include "plugin/libraries.h"
#include "plugin/plugin_describe.h"
#include "plugin/registry.h"

/* What every plugin has had since ABI 1.0; larger structs come from newer minors. */
#define PLUGIN_SIZE_1_0 (offsetof(struct sluice_plugin, stages) + sizeof(void *))
#define STAGE_SIZE_1_0 (offsetof(struct sluice_stage, close) + sizeof(void (*)(void)))
#define STRUCT_SIZE_MAX 65536u
#define VERDICT_SIZE_1_0 40u

sluice_status plugin_file_hash(const char *path, struct hash128 *out, struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();
    char *block = malloc(1 << 18);
    int fd = -1;
    sluice_status status = hasher == NULL || block == NULL
                               ? error_nomem(err, "hashing a plugin")
                               : file_open(path, "the plugin", &fd, err);

    while (status == SLUICE_OK) {
        ssize_t n = read(fd, block, 1 << 18);
        if (n > 0) {
            hasher_add(hasher, block, (size_t)n);
        } else if (n == 0) {
            *out = hasher_digest(hasher);
            break;
        } else if (errno != EINTR) {
            status = error_errno(err, errno, "cannot read the plugin %s", path);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    free(block);
    hasher_destroy(hasher);
    return status;
}

sluice_status plugin_file_safe(const char *path, struct sluice_error *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = str_copy(path, slash == NULL || slash == path ? 1 : (size_t)(slash - path));
    const char *const places[] = { path, folder };
    sluice_status status = SLUICE_OK;

    if (folder == NULL) {
        return error_nomem(err, "a plugin's path");
    }
    for (int i = 0; i < 2 && status == SLUICE_OK; i++) {
        struct stat st;
        if (stat(places[i], &st) != 0) {
            status = error_errno(err, errno, "cannot look at %s", places[i]);
        } else if ((st.st_mode & S_IWOTH) != 0) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "the plugin %s is not loaded: everybody may write to %s; move it to "
                               "a folder of your own or run "
                               "chmod o-w %s",
                               path, i == 0 ? "it" : "its folder", places[i]);
        } else if (i == 0 && !S_ISREG(st.st_mode)) {
            status = error_set(err, SLUICE_E_CONFIG, "the plugin %s is not a regular file", path);
        }
    }
    free(folder);
    return status;
}

/* The entry point of ABI 1, or why there is none. */
static sluice_status find_entry(void *handle, const char *path, sluice_plugin_fn *out,
                                struct sluice_error *err)
{
    void *symbol = dlsym(handle, "sluice_plugin_v1");

    if (symbol != NULL) {
        /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the
         * copy. */
        memcpy(out, &symbol, sizeof symbol);
        return SLUICE_OK;
    }
    for (int major = 2; major <= 9; major++) {
        char name[32];
        snprintf(name, sizeof name, "sluice_plugin_v%d", major);
        if (dlsym(handle, name) != NULL) {
            return error_set(err, SLUICE_E_CONFIG,
                             "%s is a plugin for ABI %d, this program loads ABI %u: use a version "
                             "of the plugin made for it, or a "
                             "newer Sluice",
                             path, major, SLUICE_ABI_MAJOR);
        }
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "%s is not a plugin for ABI %u: it has no function sluice_plugin_v1", path,
                     SLUICE_ABI_MAJOR);
}

/* Copies min(theirs, ours) bytes of a struct that begins with its size. */
static sluice_status copy_struct(void *out, size_t ours, const void *theirs, size_t least,
                                 const char *path, const char *what, struct sluice_error *err)
{
    uint64_t size;

    memcpy(&size, theirs, sizeof size);
    if (size < least || size > STRUCT_SIZE_MAX || size % 8 != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is broken: %s says it has %llu bytes, expected at least %zu; set "
                         ".size = sizeof(struct ...)",
                         path, what, (unsigned long long)size, least);
    }
    memset(out, 0, ours);
    memcpy(out, theirs, size < ours ? (size_t)size : ours);
    memcpy(out, &(uint64_t){ ours }, sizeof(uint64_t));
    return SLUICE_OK;
}

static sluice_status check_plugin(const struct sluice_plugin *plugin, const char *path,
                                  struct sluice_error *err)
{
    if (plugin->abi_major != SLUICE_ABI_MAJOR) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s says it is for ABI %u but exports sluice_plugin_v%u", path,
                         plugin->abi_major, SLUICE_ABI_MAJOR);
    }
    if (plugin->abi_minor_needed > SLUICE_ABI_MINOR) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s needs plugin ABI %u.%u, this program has %u.%u: install a newer "
                         "Sluice or an older plugin",
                         path, plugin->abi_major, plugin->abi_minor_needed, SLUICE_ABI_MAJOR,
                         SLUICE_ABI_MINOR);
    }
    if (!option_name_valid(plugin->name) || strcmp(plugin->name, PLUGIN_CORE) == 0 ||
        strcmp(plugin->name, PLUGIN_SCRIPT) == 0) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "%s is broken: its name is \"%.40s\"; expected [a-z][a-z0-9_]*, neither \"" PLUGIN_CORE
            "\" nor \"" PLUGIN_SCRIPT "\"",
            path, plugin->name != NULL ? plugin->name : "");
    }
    /* The host walks the plugin's verdicts by this, which may be longer than its own. */
    if (plugin->verdict_stride < VERDICT_SIZE_1_0 || plugin->verdict_stride > STRUCT_SIZE_MAX ||
        plugin->verdict_stride % 8 != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is broken: its verdict_stride is %u, expected at least %u; set "
                         ".verdict_stride = sizeof(struct sluice_verdict)",
                         path, plugin->verdict_stride, VERDICT_SIZE_1_0);
    }
    if (plugin->version == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "%s is broken: its descriptor has no version", path);
    }
    return SLUICE_OK;
}

static sluice_status check_stages(const struct plugin_file *file, const char *path,
                                  struct sluice_error *err)
{
    for (size_t k = 0; k < file->n_stages; k++) {
        const struct sluice_stage *stage = &file->stages[k];
        sluice_status status = registry_check_stage(stage, err);
        if (status != SLUICE_OK) {
            error_prefix(err, "%s is broken", path);
            return status == SLUICE_E_NOMEM ? status : SLUICE_E_CONFIG;
        }
        for (size_t j = 0; j < k; j++) {
            if (strcmp(file->stages[j].name, stage->name) == 0) {
                return error_set(err, SLUICE_E_CONFIG,
                                 "%s is broken: it has two stages called '%s'", path, stage->name);
            }
        }
    }
    return SLUICE_OK;
}

sluice_status plugin_file_check(const struct plugin_file *file, const char *path,
                                struct sluice_error *err)
{
    sluice_status status = check_plugin(&file->plugin, path, err);

    if (status == SLUICE_OK) {
        status = check_stages(file, path, err);
    }
    if (status != SLUICE_OK && err != NULL) {
        err->code = status;
        utf8_clean(err->message);
    }
    return status;
}

static sluice_status copy_stages(const char *path, struct plugin_file *file,
                                 struct sluice_error *err)
{
    const struct sluice_stage *const *stages = file->plugin.stages;
    size_t n = 0;

    if (stages == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "%s is broken: its descriptor has no stages", path);
    }
    while (n <= PLUGIN_STAGES_MAX && stages[n] != NULL) {
        n++;
    }
    if (n == 0 || n > PLUGIN_STAGES_MAX) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s is broken: found %s stages, expected 1 to %u and a NULL at the end",
                         path, n == 0 ? "no" : "too many", PLUGIN_STAGES_MAX);
    }
    file->stages = calloc(n, sizeof *file->stages);
    if (file->stages == NULL) {
        return error_nomem(err, "a plugin's stages");
    }
    for (size_t k = 0; k < n; k++) {
        TRY(copy_struct(&file->stages[k], sizeof file->stages[k], stages[k], STAGE_SIZE_1_0, path,
                        "a stage", err));
        file->n_stages = k + 1;
    }
    return SLUICE_OK;
}

sluice_status plugin_file_load(const char *path, struct plugin_file *out, struct sluice_error *err)
{
    /* NODELETE: batches that a plugin gave away may be released after its stage is closed. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const struct sluice_plugin *plugin;
    sluice_plugin_fn entry = NULL;
    sluice_status status;

    memset(out, 0, sizeof *out);
    if (handle == NULL) {
        return plugin_missing(path, dlerror(), err);
    }
    status = find_entry(handle, path, &entry, err);
    if (status == SLUICE_OK) {
        plugin = entry();
        if (plugin == NULL) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "%s is broken: sluice_plugin_v1() returned NULL", path);
        } else {
            status = copy_struct(&out->plugin, sizeof out->plugin, plugin, PLUGIN_SIZE_1_0, path,
                                 "its descriptor", err);
            if (status == SLUICE_OK && out->plugin.verdict_stride == 0) {
                out->plugin.verdict_stride = VERDICT_SIZE_1_0;
            }
        }
    }
    if (status == SLUICE_OK) {
        status = check_plugin(&out->plugin, path, err);
    }
    if (status == SLUICE_OK) {
        status = copy_stages(path, out, err);
    }
    if (status == SLUICE_OK) {
        status = check_stages(out, path, err);
    }
    if (status == SLUICE_OK) {
        status = libraries_of(handle, out->plugin.libraries, &out->libraries, err);
        out->plugin.libraries = out->libraries;
    }
    if (status != SLUICE_OK) {
        plugin_file_deinit(out);
        if (err != NULL) {
            err->code = status;
            utf8_clean(err->message);
        }
    }
    return status;
}

void plugin_file_deinit(struct plugin_file *file)
{
    free(file->stages);
    plugin_description_destroy(file->description);
    free(file->libraries);
    memset(file, 0, sizeof *file);
}
