/* For tests of core/run's edges and sorting: a folder to work in, and calls that must succeed.
 * Include after cmocka.h. */
#ifndef TESTS_UNIT_EDGE_KIT_H
#define TESTS_UNIT_EDGE_KIT_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static struct sluice_error error;

/* A call that gets &error. */
#define MUST(call)                                                                \
    do {                                                                          \
        if ((call) != SLUICE_OK) {                                                \
            fail_msg("%s: status %d: %s", #call, (int)error.code, error.message); \
        }                                                                         \
    } while (0)

/* A new folder, in memory where possible. */
static char *folder_create(void)
{
    const char *base = getenv("TMPDIR");
    char path[1024];

    if (base == NULL) {
        base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    snprintf(path, sizeof path, "%s/sluice-edge-XXXXXX", base);
    assert_non_null(mkdtemp(path));
    return strdup(path);
}

static int folder_remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void folder_remove(char *path)
{
    (void)nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

#endif
