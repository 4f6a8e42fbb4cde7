/* Libraries beside the core's: see library.h. */
#include "cmd/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

sluice_status library_load(const char *name, const char *why_missing, void **out,
                           struct sluice_error *err)
{
    static const char *const places[] = { "", "/../lib/sluice" };
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", directory, sizeof directory - 1);
    char *slash;

    *out = NULL;
    if (n <= 0 || (size_t)n >= sizeof directory - 1) {
        return error_set(err, SLUICE_E_IO,
                         "can't tell where this program is (/proc/self/exe); is /proc mounted?");
    }
    directory[n] = '\0';
    slash = strrchr(directory, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/%s", directory, places[i], name);
        if (access(path, F_OK) != 0) {
            continue;
        }
        *out = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        return *out != NULL ? SLUICE_OK
                            : error_set(err, SLUICE_E_CONFIG, "can't load it: %s", dlerror());
    }
    return error_set(err, SLUICE_E_CONFIG, "no %s beside the core library in %s; %s", name,
                     directory, why_missing);
}

sluice_status library_find(void *library, const char *symbol, void *place, struct sluice_error *err)
{
    void *found = dlsym(library, symbol);

    if (found == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "a library has no %s: it belongs to another version; install both again",
                         symbol);
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the copy. */
    memcpy(place, &found, sizeof found);
    return SLUICE_OK;
}
