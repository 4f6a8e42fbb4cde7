/* Opening files that a person named: see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

const char *file_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "folder"
           : S_ISFIFO(mode) ? "pipe"
           : S_ISSOCK(mode) ? "socket"
           : S_ISREG(mode)  ? "file"
                            : "device";
}

sluice_status file_open(const char *path, const char *what, int *fd, struct sluice_error *err)
{
    struct stat st;
    sluice_status status;

    do {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        status = error_errno(err, errno, "%s %s can't be opened", what, path);
        if (absent && err != NULL) {
            err->code = SLUICE_E_CONFIG;
        }
        return absent ? SLUICE_E_CONFIG : status;
    }
    if (fstat(*fd, &st) != 0) {
        status = error_errno(err, errno, "%s %s can't be examined", what, path);
    } else if (!S_ISREG(st.st_mode)) {
        status = error_set(err, SLUICE_E_CONFIG, "%s %s is a %s, expected a file", what, path,
                           file_kind(st.st_mode));
    } else {
        return SLUICE_OK;
    }
    close(*fd);
    *fd = -1;
    return status;
}
