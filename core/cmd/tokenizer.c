/* Finding libsluice-tokenizer.so: see tokenizer.h. */
#include "cmd/tokenizer.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libsluice-tokenizer.so"

sluice_status tokenizer_library_load(struct tokenizer_library *library, struct sluice_error *err)
{
    static const char *const places[] = { "", "/../lib/sluice" };
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];
    void *loaded = NULL;
    ssize_t n = readlink("/proc/self/exe", directory, sizeof directory - 1);
    char *slash;

    if (n <= 0 || (size_t)n >= sizeof directory - 1) {
        return error_set(err, SLUICE_E_IO,
                         "can't tell where this program is (/proc/self/exe); is /proc mounted?");
    }
    directory[n] = '\0';
    slash = strrchr(directory, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && loaded == NULL; i++) {
        snprintf(path, sizeof path, "%s%s/%s", directory, places[i], LIBRARY);
        if (access(path, F_OK) == 0) {
            loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
            if (loaded == NULL) {
                return error_set(err, SLUICE_E_CONFIG, "can't load the tokenizer: %s", dlerror());
            }
        }
    }
    if (loaded == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "no " LIBRARY " beside the core library in %s; it is built when the "
                         "tokenize plugin is: `sluice plugins` says which libraries that needs",
                         directory);
    }
#define TOKENIZER_FIND(name)                                                        \
    {                                                                               \
        void *symbol = dlsym(loaded, "sluice_" #name);                              \
        if (symbol == NULL) {                                                       \
            return error_set(err, SLUICE_E_CONFIG,                                  \
                             "%s has no sluice_" #name                              \
                             ": it belongs to another version; install both again", \
                             path);                                                 \
        }                                                                           \
        memcpy(&library->name, &symbol, sizeof symbol);                             \
    }
    TOKENIZER_FUNCTIONS(TOKENIZER_FIND)
    return SLUICE_OK;
}
