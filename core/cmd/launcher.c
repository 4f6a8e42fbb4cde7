/*
 * launcher.c - the `sluice` executable: finds libsluice-core.so and calls sluice_main() in it.
 *
 * It is linked to libc alone and loads the core RTLD_LOCAL. Whatever an executable links is visible
 * to everything loaded later, and would replace, say, a plugin's own ZSTD_* functions; from a
 * library loaded this way nothing leaks. So this file must never need another library, and nothing
 * else belongs in it.
 *
 * The core is looked for in the executable's own directory (a build tree), then in ../lib/sluice
 * (an installed tree).
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CORE_NAME "libsluice-core.so"
#define EXIT_INTERNAL 1

typedef int (*main_function)(int argc, char **argv);

/* Writes the directory of the running executable to path[size]; 0, or -1 if the system does not
 * say. */
static int own_directory(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0 || (size_t)n >= size - 1) {
        return -1;
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return -1;
    }
    *slash = '\0';
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const places[] = { "", "/../lib/sluice" };
    char directory[PATH_MAX];
    char path[PATH_MAX + 64];

    if (own_directory(directory, sizeof directory) != 0) {
        fprintf(stderr,
                "sluice: cannot tell where this program is (/proc/self/exe); is /proc mounted?\n");
        return EXIT_INTERNAL;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/%s", directory, places[i], CORE_NAME);
        if (access(path, F_OK) != 0) {
            continue;
        }
        void *core = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (core == NULL) {
            fprintf(stderr, "sluice: cannot load its core library: %s\n", dlerror());
            return EXIT_INTERNAL;
        }
        main_function entry = NULL;
        void *symbol = dlsym(core, "sluice_main");
        if (symbol == NULL) {
            fprintf(stderr, "sluice: %s has no sluice_main; it is not of this installation\n",
                    path);
            return EXIT_INTERNAL;
        }
        /* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees the
         * copy. */
        memcpy(&entry, &symbol, sizeof entry);
        return entry(argc, argv);
    }
    fprintf(stderr,
            "sluice: %s is neither in %s nor in %s/../lib/sluice; build it with `make`, or install "
            "again\n",
            CORE_NAME, directory, directory);
    return EXIT_INTERNAL;
}
