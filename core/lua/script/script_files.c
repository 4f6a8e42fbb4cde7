/* The files of a script: its own text, the modules that it requires, and their chunks. See
 * scriptInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/script/scriptInt.h"
#include "store/store.h"

static struct loaded_file *find_file(struct script *script, const char *name)
{
    for (size_t i = 0; i < script->n_files; i++) {
        if (strcmp(script->files[i].name, name) == 0) {
            return &script->files[i];
        }
    }
    return NULL;
}

/* One of the files that the script was given with. */
static sluice_status given_file(const struct script *script, const char *name, struct buf *text,
                                bool *found, struct sluice_error *err)
{
    const struct script_options *options = &script->options;

    for (size_t i = 0; i < options->n_files; i++) {
        if (strcmp(options->files[i].name, name) == 0) {
            buf_append(text, options->files[i].text, options->files[i].size);
            if (found != NULL) {
                *found = true;
            }
            return buf_status(text, err);
        }
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "%s was not there when the plan was frozen; a script must require the same "
                     "modules each time",
                     name);
}

sluice_status script_file(struct script *script, const char *path, const char *name, uint64_t max,
                          bool *found, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    struct loaded_file *files;
    struct buf *codes;
    sluice_status status = SLUICE_OK;

    if (script->n_files == 0 && script->options.text != NULL) {
        buf_puts(&text, script->options.text);
        status = buf_status(&text, err);
    } else if (script->options.n_files > 0) {
        status = given_file(script, name, &text, found, err);
    } else {
        status = store_read_all(path, max, &text, found, err);
    }
    if (status != SLUICE_OK || (found != NULL && !*found)) {
        buf_deinit(&text);
        return status;
    }
    codes = realloc(script->codes, (script->n_files + 1) * sizeof *codes);
    script->codes = codes != NULL ? codes : script->codes;
    files = realloc(script->files, (script->n_files + 1) * sizeof *files);
    script->files = files != NULL ? files : script->files;
    if (codes == NULL || files == NULL) {
        buf_deinit(&text);
        return error_nomem(err, "the script");
    }
    codes[script->n_files] = (struct buf)BUF_INIT;
    files += script->n_files;
    files->size = text.size;
    files->name = str_copy(name, strlen(name));
    files->path = str_copy(path, strlen(path));
    files->text = buf_take(&text);
    script->n_files++;
    return files->name == NULL || files->path == NULL || files->text == NULL
               ? error_nomem(err, "the script")
               : SLUICE_OK;
}

sluice_status script_text(struct script *script, const char *path, uint64_t max, bool planning,
                          const struct loaded_file **out, struct sluice_error *err)
{
    char *full;
    sluice_status status;

    *out = find_file(script, path);
    if (*out != NULL) {
        return SLUICE_OK;
    }
    if (!planning) {
        return error_set(err, SLUICE_E_CONFIG,
                         "the file %s is new in a worker; a script must read the same files each "
                         "time",
                         path);
    }
    full = path[0] == '/' ? str_printf("%s", path) : str_printf("%s/%s", script->base_dir, path);
    status =
        full == NULL ? error_nomem(err, "a path") : script_file(script, full, path, max, NULL, err);
    free(full);
    if (status == SLUICE_OK) {
        *out = &script->files[script->n_files - 1];
    }
    return status;
}

/* "heuristics.digits" -> "heuristics/digits.lua"; refuses what is no module name. */
static bool module_file(const char *module, char name[300])
{
    size_t n = strlen(module);

    if (n == 0 || n > 200 || module[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        char c = module[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '-';
        if (!word && (c != '.' || module[i + 1] == '.' || module[i + 1] == '\0')) {
            return false;
        }
        name[i] = c == '.' ? '/' : c;
    }
    memcpy(name + n, ".lua", 5);
    return true;
}

static sluice_status find_module(struct script *script, const char *module, bool planning,
                                 struct loaded_file **out, bool *library, struct sluice_error *err)
{
    char name[300];
    char *path;
    bool found = false;

    if (!module_file(module, name)) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "require: found \"%s\", expected a module's name such as \"heuristics.digits\"",
            module);
    }
    *library = strncmp(module, "lib.", 4) == 0;
    *out = find_file(script, name);
    if (*out != NULL) {
        return SLUICE_OK;
    }
    if (!planning) {
        return error_set(err, SLUICE_E_CONFIG,
                         "require: the module \"%s\" is new in a worker; a script must require the "
                         "same modules each time",
                         module);
    }
    for (int k = *library ? 1 : 0; k < 2 && !found; k++) {
        path = store_join(k == 0 ? script->folder : script->module_dir, name);
        if (path == NULL) {
            return error_nomem(err, "a path");
        }
        if (script_file(script, path, name, SCRIPT_BYTES, &found, err) != SLUICE_OK) {
            free(path);
            return error_known(err->code);
        }
        free(path);
    }
    if (!found) {
        return error_set(err, SLUICE_E_CONFIG, "require: no module \"%s\": tried %s/%s and %s/%s",
                         module, script->folder, name, script->module_dir, name);
    }
    *out = &script->files[script->n_files - 1];
    return SLUICE_OK;
}

static int put_code(lua_State *L, const void *data, size_t n, void *code)
{
    (void)L;
    buf_append(code, data, n);
    return ((struct buf *)code)->failed ? 1 : 0;
}

/* The planner, which comes first and is one thread, compiles; what it made is read by the states of
 * all workers, with lines and names as it has them. */
sluice_status script_chunk(struct script *script, lua_State *L, const char *module, bool planning,
                           struct sluice_error *err)
{
    struct loaded_file *file = script->n_files > 0 ? &script->files[0] : NULL;
    struct buf *code;
    bool library = false;
    char chunk[320];
    int result;

    if (module != NULL) {
        TRY(find_module(script, module, planning, &file, &library, err));
    }
    code = &script->codes[file - script->files];
    snprintf(chunk, sizeof chunk, "%c%s", library ? '=' : '@', file->name);
    if (code->size > 0) {
        result = luaL_loadbufferx(L, code->data, code->size, chunk, "b");
    } else {
        /* "t": text only; precompiled code is refused. */
        result = luaL_loadbufferx(L, file->text, file->size, chunk, "t");
        if (result == LUA_OK && planning && lua_dump(L, put_code, code, 0) != 0) {
            buf_deinit(code);
            return error_nomem(err, "the script");
        }
    }
    if (result != LUA_OK) {
        const char *message = lua_tostring(L, -1);
        error_set(err, SLUICE_E_CONFIG, "%s",
                  message == NULL ? "the script can't be loaded" : message);
        lua_pop(L, 1);
        return SLUICE_E_CONFIG;
    }
    return SLUICE_OK;
}
