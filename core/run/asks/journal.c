/* The journal of answers: see journal.h. */
#include "run/asks/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/asks/journal_record.h"
#include "store/disk.h"

#define SUFFIX ".answers"
#define NAME_TRIES 1000u

struct segment {
    char *name;
    int fd;
    uint64_t known;  /* bytes that were read and are whole */
    uint64_t synced; /* bytes that are durable for sure */
    bool damaged;    /* said */
};

struct place {
    struct hash128 key; /* zero = free */
    uint32_t segment;
    uint64_t offset;
};

struct journal {
    char *folder;
    void (*warn)(void *ctx, const char *message);
    void *ctx;
    pthread_mutex_t looking; /* of journal_look; taken before the other */
    pthread_mutex_t mutex;   /* of all below; never held while the disk works */
    struct segment *segments;
    uint32_t n_segments, segments_capacity;
    struct place *places; /* open addressing, a power of two */
    size_t n, capacity;
    uint32_t own;    /* index of the file of this process + 1; 0 = none yet */
    int own_fd;      /* the thread that adds alone */
    uint64_t size;   /* of that file */
    uint64_t synced; /* of that */
    bool broken;     /* of that */
};

/* ---- the index ---- */

static struct place *place_of(struct place *places, size_t capacity, struct hash128 key)
{
    size_t at = (size_t)key.lo & (capacity - 1);

    while (!hash_is_zero(places[at].key) && !hash_equal(places[at].key, key)) {
        at = (at + 1) & (capacity - 1);
    }
    return &places[at];
}

static bool index_grow(struct journal *journal)
{
    size_t capacity = journal->capacity == 0 ? 1024 : 2 * journal->capacity;
    struct place *places = calloc(capacity, sizeof *places);

    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i < journal->capacity; i++) {
        if (!hash_is_zero(journal->places[i].key)) {
            *place_of(places, capacity, journal->places[i].key) = journal->places[i];
        }
    }
    free(journal->places);
    journal->places = places;
    journal->capacity = capacity;
    return true;
}

/* The first answer to an ask stays. */
static bool index_add(struct journal *journal, struct hash128 key, uint32_t segment,
                      uint64_t offset)
{
    struct place *place;

    if (4 * (journal->n + 1) > 3 * journal->capacity && !index_grow(journal)) {
        return false;
    }
    place = place_of(journal->places, journal->capacity, key);
    if (hash_is_zero(place->key)) {
        *place = (struct place){ key, segment, offset };
        journal->n++;
    }
    return true;
}

static bool knows(const struct journal *journal, struct hash128 key)
{
    return journal->capacity > 0 &&
           !hash_is_zero(place_of(journal->places, journal->capacity, key)->key);
}

bool journal_knows(struct journal *journal, struct hash128 key)
{
    bool known;

    pthread_mutex_lock(&journal->mutex);
    known = knows(journal, key);
    pthread_mutex_unlock(&journal->mutex);
    return known;
}

/* A record that is whole at the end of what is known of a file. */
static sluice_status learn(struct journal *journal, uint32_t segment,
                           const struct record_head *head, struct sluice_error *err)
{
    bool ok;

    pthread_mutex_lock(&journal->mutex);
    ok = index_add(journal, head->key, segment, journal->segments[segment].known);
    journal->segments[segment].known += sizeof *head + head->type_n + head->body_n;
    pthread_mutex_unlock(&journal->mutex);
    return ok ? SLUICE_OK : error_nomem(err, "the answers of the run");
}

/* ---- files ---- */

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
        TRY(learn(journal, k, &head, err));
        segment.known += sizeof head + head.type_n + head.body_n;
    }
    return SLUICE_OK;
}

static bool add_locked(struct journal *journal, struct segment segment)
{
    if (journal->n_segments == journal->segments_capacity) {
        uint32_t capacity = journal->segments_capacity == 0 ? 8 : 2 * journal->segments_capacity;
        struct segment *more = realloc(journal->segments, capacity * sizeof *more);
        if (more == NULL) {
            return false;
        }
        journal->segments = more;
        journal->segments_capacity = capacity;
    }
    journal->segments[journal->n_segments++] = segment;
    return true;
}

/* Takes fd. */
static sluice_status add_segment(struct journal *journal, const char *name, int fd, bool own,
                                 struct sluice_error *err)
{
    struct segment segment = { .name = str_copy(name, strlen(name)), .fd = fd };
    bool ok;

    pthread_mutex_lock(&journal->mutex);
    ok = segment.name != NULL && add_locked(journal, segment);
    if (ok && own) {
        journal->own = journal->n_segments;
    }
    pthread_mutex_unlock(&journal->mutex);
    if (!ok) {
        free(segment.name);
        close(fd);
        return error_nomem(err, "the answers of the run");
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

static bool is_ours(const char *name)
{
    size_t n = strlen(name);

    return n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static sluice_status open_others(struct journal *journal, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = disk_list(journal->folder, &names, err);

    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        char *path;
        int fd = -1;
        int errnum;
        if (!is_ours(names.names[i]) || known_name(journal, names.names[i])) {
            continue;
        }
        path = disk_join(journal->folder, names.names[i]);
        errnum = disk_open(path, O_RDONLY, &fd);
        status = errnum == 0 ? add_segment(journal, names.names[i], fd, false, err)
                             : error_errno(err, errnum, "can't open %s", path);
        free(path);
    }
    disk_names_deinit(&names);
    return status;
}

static sluice_status look(struct journal *journal, struct sluice_error *err)
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

sluice_status journal_look(struct journal *journal, struct sluice_error *err)
{
    sluice_status status;

    if (pthread_mutex_trylock(&journal->looking) != 0) {
        return SLUICE_OK;
    }
    status = look(journal, err);
    pthread_mutex_unlock(&journal->looking);
    return status;
}

/* What is behind the last whole record of a file when a run begins was cut or damaged. */
static void tell_damage(struct journal *journal)
{
    for (uint32_t k = 0; k < journal->n_segments; k++) {
        struct segment *segment = &journal->segments[k];
        struct stat st;
        char text[600];
        if (journal->warn == NULL || segment->damaged || fstat(segment->fd, &st) != 0 ||
            (uint64_t)st.st_size == segment->known) {
            continue;
        }
        segment->damaged = true;
        snprintf(text, sizeof text,
                 "%.300s/%.100s is cut or damaged from byte %llu on: what was answered there is "
                 "asked again, unless another process writes there now",
                 journal->folder, segment->name, (unsigned long long)segment->known);
        journal->warn(journal->ctx, text);
    }
}

sluice_status journal_open(const char *folder, void (*warn)(void *ctx, const char *message),
                           void *ctx, struct journal **out, struct sluice_error *err)
{
    struct journal *journal = calloc(1, sizeof *journal);
    sluice_status status;

    *out = NULL;
    if (journal == NULL) {
        return error_nomem(err, "the answers of the run");
    }
    pthread_mutex_init(&journal->looking, NULL);
    pthread_mutex_init(&journal->mutex, NULL);
    journal->warn = warn;
    journal->ctx = ctx;
    journal->own_fd = -1;
    journal->folder = str_copy(folder, strlen(folder));
    status = journal->folder == NULL ? error_nomem(err, "a path") : journal_look(journal, err);
    if (status != SLUICE_OK) {
        journal_close(journal);
        return status;
    }
    tell_damage(journal);
    *out = journal;
    return SLUICE_OK;
}

void journal_close(struct journal *journal)
{
    if (journal == NULL) {
        return;
    }
    for (uint32_t k = 0; k < journal->n_segments; k++) {
        close(journal->segments[k].fd);
        free(journal->segments[k].name);
    }
    pthread_mutex_destroy(&journal->mutex);
    pthread_mutex_destroy(&journal->looking);
    free(journal->segments);
    free(journal->places);
    free(journal->folder);
    free(journal);
}

/* What another process wrote may be in memory alone: it can have been killed before it synced. One
 * sync is for all that is known of the file. The names of files are durable before anything is
 * written into them. */
static sluice_status make_durable(struct journal *journal, uint32_t k, uint64_t known, int fd,
                                  const char *name, struct sluice_error *err)
{
    int errnum = disk_sync(fd, name);

    if (errnum != 0) {
        return error_errno(err, errnum, "can't sync %s/%s", journal->folder, name);
    }
    pthread_mutex_lock(&journal->mutex);
    if (journal->segments[k].synced < known) {
        journal->segments[k].synced = known;
    }
    pthread_mutex_unlock(&journal->mutex);
    return SLUICE_OK;
}

sluice_status journal_read(struct journal *journal, struct hash128 key, bool *found,
                           struct journal_answer *out, struct sluice_error *err)
{
    struct place place = { .offset = 0 };
    struct segment segment = { .fd = -1 };
    bool own = false;
    struct record_head head;
    char *rest;

    pthread_mutex_lock(&journal->mutex);
    *found = knows(journal, key);
    if (*found) { /* files stay open until the journal is closed */
        place = *place_of(journal->places, journal->capacity, key);
        segment = journal->segments[place.segment];
        own = place.segment + 1 == journal->own;
    }
    pthread_mutex_unlock(&journal->mutex);
    if (!*found) {
        return SLUICE_OK;
    }
    rest = record_read(segment.fd, place.offset, &head);
    if (rest == NULL || !hash_equal(head.key, key)) {
        free(rest);
        return error_set(err, SLUICE_E_DATA,
                         "%s/%s was changed at byte %llu while the run worked; run again",
                         journal->folder, segment.name, (unsigned long long)place.offset);
    }
    if (!own && place.offset >= segment.synced) {
        sluice_status status =
            make_durable(journal, place.segment, segment.known, segment.fd, segment.name, err);
        if (status != SLUICE_OK) {
            free(rest);
            return status;
        }
    }
    record_answer(&head, rest, out);
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
        snprintf(name, sizeof name, "%012llx%08lx-%d-%u" SUFFIX, (unsigned long long)now.tv_sec,
                 (unsigned long)now.tv_nsec, (int)getpid(), k);
        free(path);
        path = disk_join(journal->folder, name);
        pthread_mutex_lock(&journal->looking); /* who looks meanwhile takes it for another's */
        errnum = disk_open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, &fd);
        if (errnum == 0) {
            sluice_status status = add_segment(journal, name, fd, true, err);
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

static sluice_status refuse_broken(const struct journal *journal, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_IO,
                     "%s could not be written before; see to it and run again: what was answered "
                     "until then is kept",
                     journal->folder);
}

static sluice_status add(struct journal *journal, struct hash128 key,
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
        status = learn(journal, journal->own - 1, &head, err);
    }
    buf_deinit(&record);
    return status;
}

sluice_status journal_add(struct journal *journal, struct hash128 key,
                          const struct journal_answer *answer, struct sluice_error *err)
{
    sluice_status status =
        journal->broken ? refuse_broken(journal, err) : add(journal, key, answer, err);

    journal->broken = status != SLUICE_OK;
    return status;
}

sluice_status journal_sync(struct journal *journal, struct sluice_error *err)
{
    int errnum;

    if (journal->broken) {
        return refuse_broken(journal, err);
    }
    if (journal->synced == journal->size) {
        return SLUICE_OK;
    }
    errnum = disk_sync(journal->own_fd, journal->folder);
    if (errnum != 0) { /* the kernel says that once, and forgets what it could not write */
        journal->broken = true;
        return error_errno(err, errnum, "can't sync %s", journal->folder);
    }
    journal->synced = journal->size;
    return SLUICE_OK;
}
