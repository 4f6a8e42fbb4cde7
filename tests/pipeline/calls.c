/* calls - loaded before a program (LD_PRELOAD), counts its calls that look at, open, read or write
 * files, and writes the number to the file that CALLS names when it ends. For small_files.sh, which
 * bounds what a small input file costs. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_ulong calls;

/* The real function behind ours. */
#define OURS __attribute__((visibility("default")))
#define REAL(type, name) ((type)(atomic_fetch_add(&calls, 1), dlsym(RTLD_NEXT, name)))

OURS int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode = 0;

    if ((flags & O_CREAT) != 0) {
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return REAL(int (*)(const char *, int, ...), "open")(path, flags, mode);
}

OURS int close(int fd)
{
    return REAL(int (*)(int), "close")(fd);
}

OURS int stat(const char *path, struct stat *st)
{
    return REAL(int (*)(const char *, struct stat *), "stat")(path, st);
}

OURS int lstat(const char *path, struct stat *st)
{
    return REAL(int (*)(const char *, struct stat *), "lstat")(path, st);
}

OURS int fstat(int fd, struct stat *st)
{
    return REAL(int (*)(int, struct stat *), "fstat")(fd, st);
}

OURS ssize_t read(int fd, void *data, size_t n)
{
    return REAL(ssize_t(*)(int, void *, size_t), "read")(fd, data, n);
}

OURS ssize_t pread(int fd, void *data, size_t n, off_t offset)
{
    return REAL(ssize_t(*)(int, void *, size_t, off_t), "pread")(fd, data, n, offset);
}

OURS ssize_t write(int fd, const void *data, size_t n)
{
    return REAL(ssize_t(*)(int, const void *, size_t), "write")(fd, data, n);
}

OURS int posix_fadvise(int fd, off_t offset, off_t n, int advice)
{
    return REAL(int (*)(int, off_t, off_t, int), "posix_fadvise")(fd, offset, n, advice);
}

__attribute__((destructor)) static void calls_tell(void)
{
    const char *path = getenv("CALLS");
    FILE *out = path == NULL ? NULL : fopen(path, "w");

    if (out != NULL) {
        fprintf(out, "%lu\n", atomic_load(&calls));
        fclose(out);
    }
}
