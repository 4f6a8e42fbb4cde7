/* Scratch files: see scratch.h. A block is u64 size, u64 checksum (low half of XXH3-128), then
 * its bytes. */
#include "run/edge/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "store/disk.h"
#include "store/pending.h"
#include "store/temp.h"

#define NAMES_TRIED 1000u

struct scratch {
    char *dir;
    char *path; /* as it was before it was unlinked, for messages */
    int fd;     /* -1 before the first block */
    uint64_t end;
};

struct block_header {
    uint64_t n;
    uint64_t hash;
};

sluice_status scratch_open(const char *dir, struct scratch **out, struct sluice_error *err)
{
    struct scratch *s = calloc(1, sizeof *s);

    *out = NULL;
    if (s == NULL) {
        return error_nomem(err, "a scratch file");
    }
    s->fd = -1;
    s->dir = str_copy(dir, strlen(dir));
    if (s->dir == NULL) {
        free(s);
        return error_nomem(err, "a scratch file");
    }
    *out = s;
    return SLUICE_OK;
}

void scratch_close(struct scratch *s)
{
    if (s != NULL) {
        if (s->fd >= 0) {
            close(s->fd);
        }
        free(s->path);
        free(s->dir);
        free(s);
    }
}

uint64_t scratch_end(const struct scratch *s)
{
    return s->end;
}

static sluice_status create(struct scratch *s, struct sluice_error *err)
{
    int errnum = EEXIST;

    for (uint32_t n = 0; errnum == EEXIST && n < NAMES_TRIED; n++) {
        free(s->path);
        s->path = temp_path(s->dir, n);
        if (s->path == NULL) {
            return error_nomem(err, "a scratch file");
        }
        errnum = disk_open(s->path, O_RDWR | O_CREAT | O_EXCL, &s->fd);
    }
    if (errnum == 0) {
        errnum = disk_unlink(s->path);
    }
    if (errnum != 0) {
        return error_errno(err, errnum, "can't make a scratch file in %s", s->dir);
    }
    return SLUICE_OK;
}

sluice_status scratch_write(struct scratch *s, const void *data, size_t n, uint64_t *offset,
                            struct sluice_error *err)
{
    struct block_header header = { n, hash_bytes(data, n).lo };

    if (s->fd < 0) {
        TRY(create(s, err));
    }
    *offset = s->end;
    TRY(disk_write_all(s->fd, s->path, &header, sizeof header, err));
    TRY(disk_write_all(s->fd, s->path, data, n, err));
    s->end += sizeof header + n;
    return SLUICE_OK;
}

static sluice_status damaged(const struct scratch *s, uint64_t offset, const char *what,
                             struct sluice_error *err)
{
    return error_set(err, SLUICE_E_IO,
                     "a block of scratch data in %s, written at byte %llu, reads back wrong: %s; "
                     "check this disk, or give another folder "
                     "for scratch data, and run again",
                     s->dir, (unsigned long long)offset, what);
}

static sluice_status read_all(const struct scratch *s, uint64_t offset, void *data, size_t n,
                              struct sluice_error *err)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(s->fd, (char *)data + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_errno(err, errno, "can't read scratch data in %s", s->dir);
        }
        if (got == 0) {
            return damaged(s, offset, "the file ends early", err);
        }
        done += (size_t)got;
    }
    return SLUICE_OK;
}

sluice_status scratch_read(struct scratch *s, uint64_t offset, struct buf *out, uint64_t *next,
                           struct sluice_error *err)
{
    struct block_header header;

    buf_clear(out);
    if (s->fd < 0 || offset > s->end || s->end - offset < sizeof header) {
        return error_set(err, SLUICE_E_INTERNAL, "scratch data was asked for at byte %llu of %llu",
                         (unsigned long long)offset, (unsigned long long)s->end);
    }
    TRY(read_all(s, offset, &header, sizeof header, err));
    if (header.n > s->end - offset - sizeof header) {
        return damaged(s, offset, "its size is impossible", err);
    }
    if (!buf_reserve(out, (size_t)header.n + 1)) {
        return error_nomem(err, "scratch data");
    }
    TRY(read_all(s, offset + sizeof header, out->data, (size_t)header.n, err));
    out->size = (size_t)header.n;
    if (hash_bytes(out->data, out->size).lo != header.hash) {
        return damaged(s, offset, "its checksum is wrong", err);
    }
    if (next != NULL) {
        *next = offset + sizeof header + header.n;
    }
    return SLUICE_OK;
}

void scratch_drop(struct scratch *s, uint64_t offset, uint64_t end)
{
    /* Only a saving: where it is not supported the space comes back with the file. */
    if (s->fd >= 0 && end > offset) {
        (void)!fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                         (off_t)(end - offset));
    }
}
