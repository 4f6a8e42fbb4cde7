/* Where the files of this program stand: see program.h. */
#include "cmd/program.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

sluice_status program_find(struct arena *arena, struct program *program, struct sluice_error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    struct stat info;

    if (n <= 0) {
        return error_errno(err, errno, "can't read /proc/self/exe");
    }
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    program->folder = arena_copy(arena, path, strlen(path));
    program->scripts = arena_printf(arena, "%s/share/scripts", path);
    if (program->scripts != NULL &&
        (stat(program->scripts, &info) != 0 || !S_ISDIR(info.st_mode))) {
        program->scripts = arena_printf(arena, "%s/../share/sluice/scripts", path);
    }
    return arena_status(arena, err, "paths");
}
