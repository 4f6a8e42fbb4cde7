/* The journal on a disk: a file a process, which it appends to. See journalInt.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/asks/journalInt.h"
#include "store/disk.h"

#define NAME_TRIES 1000u

/* ---- what others wrote ---- */

/* `looking` is held, so that no other thread moves what is known of the file. */
static sluice_status look_into(struct journal *journal, uint32_t k, struct sluice_error *err)
{
    struct segment segment;
    struct stat st;

    pthread_mutex_lock(&journal->mutex);
    segment = journal->segments[k];
    pthread_mutex_unlock(&journal->mutex);
    if (fstat(segment.fd, &st) != 0) {
        return error_errno(err, errno, "can't look at %s/%s", journal->folder, segment.name);
    }
    while (segment.known + sizeof(struct record_head) <= (uint64_t)st.st_size) {
        struct record_head head;
        char *rest = record_read(segment.fd, segment.known, &head);
        if (rest == NULL) {
            break;
        }
        free(rest);
        TRY(journal_learn(journal, k, &head, err));
        segment.known += sizeof head + head.type_n + head.body_n;
    }
    return SLUICE_OK;
}

static bool known_name(struct journal *journal, const char *name)
{
    bool known = false;

    pthread_mutex_lock(&journal->mutex);
    for (uint32_t k = 0; k < journal->n_segments && !known; k++) {
        known = strcmp(journal->segments[k].name, name) == 0;
    }
    pthread_mutex_unlock(&journal->mutex);
    return known;
}

static sluice_status open_others(struct journal *journal, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = disk_list(journal->folder, &names, err);

    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        char *path;
        int fd = -1;
        int errnum;
        if (!journal_named(names.names[i]) || known_name(journal, names.names[i])) {
            continue;
        }
        path = disk_join(journal->folder, names.names[i]);
        errnum = disk_open(path, O_RDONLY, &fd);
        status = errnum == 0 ? journal_add_segment(journal, names.names[i], fd, false, NULL, err)
                             : error_errno(err, errnum, "can't open %s", path);
        free(path);
    }
    disk_names_deinit(&names);
    return status;
}

sluice_status journal_disk_look(struct journal *journal, struct sluice_error *err)
{
    uint32_t own;
    uint32_t n;

    TRY(open_others(journal, err));
    pthread_mutex_lock(&journal->mutex);
    own = journal->own;
    n = journal->n_segments;
    pthread_mutex_unlock(&journal->mutex);
    for (uint32_t k = 0; k < n; k++) {
        if (k + 1 != own) {
            TRY(look_into(journal, k, err));
        }
    }
    return SLUICE_OK;
}

/* What another process wrote may be in memory alone: it can have been killed before it synced. One
 * sync is for all that is known of the file. The names of files are durable before anything is
 * written into them. */
sluice_status journal_disk_settle(struct journal *journal, uint32_t at,
                                  const struct segment *segment, struct sluice_error *err)
{
    int errnum = disk_sync(segment->fd, segment->name);

    if (errnum != 0) {
        return error_errno(err, errnum, "can't sync %s/%s", journal->folder, segment->name);
    }
    pthread_mutex_lock(&journal->mutex);
    if (journal->segments[at].synced < segment->known) {
        journal->segments[at].synced = segment->known;
    }
    pthread_mutex_unlock(&journal->mutex);
    return SLUICE_OK;
}

/* ---- writing ---- */

/* A file of our own: its name says when and by whom it was begun, and no two have one. */
static sluice_status begin_own(struct journal *journal, struct sluice_error *err)
{
    int errnum = EEXIST;
    char name[64];
    char *path = NULL;
    int fd = -1;

    /* Whoever made the folder may not have come to make it durable. */
    TRY(disk_mkdirs(journal->folder, err));
    for (uint32_t k = 0; errnum == EEXIST && k < NAME_TRIES; k++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, sizeof name, "%012llx%08lx-%d-%u" JOURNAL_SUFFIX,
                 (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec, (int)getpid(), k);
        free(path);
        path = disk_join(journal->folder, name);
        pthread_mutex_lock(&journal->looking); /* who looks meanwhile takes it for another's */
        errnum = disk_open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, &fd);
        if (errnum == 0) {
            sluice_status status = journal_add_segment(journal, name, fd, true, NULL, err);
            pthread_mutex_unlock(&journal->looking);
            free(path);
            TRY(status);
            journal->own_fd = fd;
            return disk_sync_dir(journal->folder, err);
        }
        pthread_mutex_unlock(&journal->looking);
    }
    free(path);
    return error_errno(err, errnum, "can't create a file in %s", journal->folder);
}

sluice_status journal_disk_add(struct journal *journal, struct hash128 key,
                               const struct journal_answer *answer, struct sluice_error *err)
{
    struct record_head head;
    struct buf record = BUF_INIT;
    sluice_status status;

    if (journal->own_fd < 0) {
        TRY(begin_own(journal, err));
    }
    record_put(key, answer, &head, &record);
    status = buf_status(&record, err);
    if (status == SLUICE_OK) {
        status = disk_write_all(journal->own_fd, journal->folder, record.data, record.size, err);
    }
    if (status == SLUICE_OK) {
        journal->size += record.size;
        status = journal_learn(journal, journal->own - 1, &head, err);
    }
    buf_deinit(&record);
    return status;
}

sluice_status journal_disk_sync(struct journal *journal, struct sluice_error *err)
{
    int errnum;

    if (journal->synced == journal->size) {
        return SLUICE_OK;
    }
    errnum = disk_sync(journal->own_fd, journal->folder);
    if (errnum != 0) { /* the kernel says that once, and forgets what it could not write */
        return error_errno(err, errnum, "can't sync %s", journal->folder);
    }
    journal->synced = journal->size;
    return SLUICE_OK;
}
