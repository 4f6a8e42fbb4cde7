/* Shared memory: see area.h. */
#include "isolate/area.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAST ((size_t)64 << 10)

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

void area_close(struct area *area)
{
    if (area->data != NULL) {
        munmap(area->data, area->size);
    }
    if (area->fd >= 0) {
        close(area->fd);
    }
    *area = (struct area)AREA_INIT;
}

sluice_status area_create(struct area *area, size_t bytes, enum area_writer writer,
                          struct sluice_error *err)
{
    int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    int protection = writer == AREA_PARENT_WRITES ? PROT_READ | PROT_WRITE : PROT_READ;
    size_t size = bytes > SIZE_MAX / 2 ? bytes : (bytes + LEAST - 1) / LEAST * LEAST;
    void *data;

    area_close(area);
    size = size > 0 ? size : LEAST;
    area->fd = memfd_create("sluice", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (area->fd < 0 || ftruncate(area->fd, (off_t)size) != 0) {
        int errnum = errno;
        area_close(area);
        return error_errno(err, errnum,
                           "cannot make %zu bytes of shared memory for a child process", size);
    }
    data = mmap(NULL, size, protection, MAP_SHARED, area->fd, 0);
    if (data == MAP_FAILED) {
        int errnum = errno;
        area_close(area);
        return error_errno(err, errnum, "cannot map %zu bytes of shared memory for a child process",
                           size);
    }
    area->data = data;
    area->size = size;
    /* The mapping above stays writable; none made later is. */
    if (writer == AREA_PARENT_WRITES) {
        seals |= F_SEAL_FUTURE_WRITE;
    }
    if (fcntl(area->fd, F_ADD_SEALS, seals) != 0) {
        int errnum = errno;
        area_close(area);
        return error_errno(err, errnum,
                           "cannot seal shared memory for a child process (Linux 5.1 "
                           "or newer can)");
    }
    return SLUICE_OK;
}

bool area_map(struct area *area, int fd, size_t size, enum area_writer writer)
{
    int protection = writer == AREA_CHILD_WRITES ? PROT_READ | PROT_WRITE : PROT_READ;
    void *data;

    area_close(area);
    data = size == 0 ? MAP_FAILED : mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    close(fd);
    if (data == MAP_FAILED) {
        return false;
    }
    area->data = data;
    area->size = size;
    return true;
}
