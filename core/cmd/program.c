/* Where the files of this program stand: see program.h. */
#include "cmd/program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

sluice_status program_find(struct program *program, struct sluice_error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    struct stat info;

    *program = (struct program){ NULL, NULL };
    if (n <= 0) {
        return error_errno(err, errno, "can't read /proc/self/exe");
    }
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    program->folder = str_copy(path, strlen(path));
    program->scripts = str_printf("%s/share/scripts", path);
    if (program->scripts != NULL &&
        (stat(program->scripts, &info) != 0 || !S_ISDIR(info.st_mode))) {
        free(program->scripts);
        program->scripts = str_printf("%s/../share/sluice/scripts", path);
    }
    return program->folder == NULL || program->scripts == NULL ? error_nomem(err, "paths")
                                                               : SLUICE_OK;
}

void program_deinit(struct program *program)
{
    free(program->folder);
    free(program->scripts);
}
