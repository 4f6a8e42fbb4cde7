/* The journal of answers: see journal.h. */
#include "run/asks/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "net/http.h"
#include "store/disk.h"

#define MAGIC UINT32_C(0x4a524e53) /* "SNRJ" */
#define VERSION 1u
#define PADDING 64
#define SUFFIX ".answers"
#define NAME_TRIES 1000u

struct head { /* as it stands in the file, little-endian machines */
    uint32_t magic, version;
    uint32_t code, refused;
    uint32_t type_n, reserved;
    uint64_t body_n;
    struct hash128 key;
    uint64_t check; /* low half of XXH3-128 of all else */
    uint64_t more;  /* 0 */
};

struct segment {
    char *name;
    int fd;
    uint64_t known; /* bytes that were read and are whole */
    bool damaged;   /* said */
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
    struct segment *segments;
    uint32_t n_segments, segments_capacity;
    struct place *places; /* open addressing, a power of two */
    size_t n, capacity;
    uint32_t own; /* index of the file of this process + 1; 0 = none yet */
    bool unsynced;
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

bool journal_knows(const struct journal *journal, struct hash128 key)
{
    return journal->capacity > 0 &&
           !hash_is_zero(place_of(journal->places, journal->capacity, key)->key);
}

/* ---- records ---- */

/* Reads n bytes at offset; false: there are not so many, or reading failed. */
static bool read_at(int fd, void *data, size_t n, uint64_t offset)
{
    size_t at = 0;

    while (at < n) {
        ssize_t got = pread(fd, (char *)data + at, n - at, (off_t)(offset + at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += (size_t)got;
    }
    return true;
}

static uint64_t check_of(const struct head *head, const char *rest)
{
    struct head plain = *head;
    struct hash128 parts[2];

    plain.check = 0;
    parts[0] = hash_bytes(&plain, sizeof plain);
    parts[1] = hash_bytes(rest, (size_t)(head->type_n + head->body_n));
    return hash_bytes(parts, sizeof parts).lo;
}

static bool head_valid(const struct head *head)
{
    return head->magic == MAGIC && head->version == VERSION && head->type_n < 128 &&
           head->refused <= 1 && head->body_n <= HTTP_BODY_MAX && head->more == 0 &&
           head->reserved == 0 && !hash_is_zero(head->key);
}

/* The record at offset. *rest: type, body and padding, given. NULL: there is none (any more). */
static char *read_record(int fd, uint64_t offset, struct head *head)
{
    char *rest;

    if (!read_at(fd, head, sizeof *head, offset) || !head_valid(head)) {
        return NULL;
    }
    rest = malloc((size_t)(head->type_n + head->body_n + PADDING));
    if (rest != NULL &&
        (!read_at(fd, rest, (size_t)(head->type_n + head->body_n), offset + sizeof *head) ||
         check_of(head, rest) != head->check)) {
        free(rest);
        rest = NULL;
    }
    return rest;
}

/* ---- files ---- */

static sluice_status look_into(struct journal *journal, uint32_t k, struct sluice_error *err)
{
    struct segment *segment = &journal->segments[k];
    struct stat st;

    if (fstat(segment->fd, &st) != 0) {
        return error_errno(err, errno, "can't look at %s/%s", journal->folder, segment->name);
    }
    while (segment->known + sizeof(struct head) <= (uint64_t)st.st_size) {
        struct head head;
        char *rest = read_record(segment->fd, segment->known, &head);
        bool ok = rest != NULL;
        free(rest);
        if (!ok) {
            break;
        }
        if (!index_add(journal, head.key, k, segment->known)) {
            return error_nomem(err, "the answers of the run");
        }
        segment->known += sizeof head + head.type_n + head.body_n;
    }
    return SLUICE_OK;
}

static sluice_status add_segment(struct journal *journal, const char *name, int fd,
                                 struct sluice_error *err)
{
    if (journal->n_segments == journal->segments_capacity) {
        uint32_t capacity = journal->segments_capacity == 0 ? 8 : 2 * journal->segments_capacity;
        struct segment *more = realloc(journal->segments, capacity * sizeof *more);
        if (more == NULL) {
            close(fd);
            return error_nomem(err, "the answers of the run");
        }
        journal->segments = more;
        journal->segments_capacity = capacity;
    }
    journal->segments[journal->n_segments] =
        (struct segment){ .name = str_copy(name, strlen(name)), .fd = fd };
    if (journal->segments[journal->n_segments].name == NULL) {
        close(fd);
        return error_nomem(err, "the answers of the run");
    }
    journal->n_segments++;
    return SLUICE_OK;
}

static bool known_name(const struct journal *journal, const char *name)
{
    for (uint32_t k = 0; k < journal->n_segments; k++) {
        if (strcmp(journal->segments[k].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_ours(const char *name)
{
    size_t n = strlen(name);

    return n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

sluice_status journal_look(struct journal *journal, struct sluice_error *err)
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
        status = errnum == 0 ? add_segment(journal, names.names[i], fd, err)
                             : error_errno(err, errnum, "can't open %s", path);
        free(path);
    }
    disk_names_deinit(&names);
    for (uint32_t k = 0; k < journal->n_segments && status == SLUICE_OK; k++) {
        if (k + 1 != journal->own) {
            status = look_into(journal, k, err);
        }
    }
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
    journal->warn = warn;
    journal->ctx = ctx;
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
    free(journal->segments);
    free(journal->places);
    free(journal->folder);
    free(journal);
}

sluice_status journal_read(struct journal *journal, struct hash128 key, bool *found,
                           struct journal_answer *out, struct sluice_error *err)
{
    const struct place *place;
    struct head head;
    char *rest;

    *found = journal_knows(journal, key);
    if (!*found) {
        return SLUICE_OK;
    }
    place = place_of(journal->places, journal->capacity, key);
    rest = read_record(journal->segments[place->segment].fd, place->offset, &head);
    if (rest == NULL || !hash_equal(head.key, key)) {
        free(rest);
        return error_set(err, SLUICE_E_DATA,
                         "%s/%s was changed at byte %llu while the run worked; run again",
                         journal->folder, journal->segments[place->segment].name,
                         (unsigned long long)place->offset);
    }
    memset(out, 0, sizeof *out);
    out->code = head.code;
    out->refused = head.refused != 0;
    memcpy(out->type, rest, head.type_n);
    out->body_n = (size_t)head.body_n;
    memmove(rest, rest + head.type_n, out->body_n);
    memset(rest + out->body_n, 0, PADDING);
    out->body = rest;
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

    TRY(disk_mkdirs_absent(journal->folder, true, err));
    for (uint32_t k = 0; errnum == EEXIST && k < NAME_TRIES; k++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, sizeof name, "%012llx%08lx-%d-%u" SUFFIX, (unsigned long long)now.tv_sec,
                 (unsigned long)now.tv_nsec, (int)getpid(), k);
        free(path);
        path = disk_join(journal->folder, name);
        errnum = disk_open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, &fd);
    }
    free(path);
    if (errnum != 0) {
        return error_errno(err, errnum, "can't create a file in %s", journal->folder);
    }
    TRY(add_segment(journal, name, fd, err));
    journal->own = journal->n_segments;
    return disk_sync_dir(journal->folder, err);
}

sluice_status journal_add(struct journal *journal, struct hash128 key,
                          const struct journal_answer *answer, struct sluice_error *err)
{
    struct head head = { .magic = MAGIC,
                         .version = VERSION,
                         .code = answer->code,
                         .refused = answer->refused,
                         .type_n = (uint32_t)strlen(answer->type),
                         .body_n = answer->body_n,
                         .key = key };
    struct segment *own;
    struct buf record = BUF_INIT;
    sluice_status status;

    if (journal->own == 0) {
        TRY(begin_own(journal, err));
    }
    own = &journal->segments[journal->own - 1];
    buf_append(&record, &head, sizeof head);
    buf_append(&record, answer->type, head.type_n);
    buf_append(&record, answer->body, answer->body_n);
    status = buf_status(&record, err);
    if (status == SLUICE_OK) {
        head.check = check_of(&head, record.data + sizeof head);
        memcpy(record.data, &head, sizeof head);
        status = disk_write_all(own->fd, own->name, record.data, record.size, err);
    }
    if (status == SLUICE_OK && !index_add(journal, key, journal->own - 1, own->known)) {
        status = error_nomem(err, "the answers of the run");
    }
    own->known += record.size;
    journal->unsynced = true;
    buf_deinit(&record);
    return status;
}

sluice_status journal_sync(struct journal *journal, struct sluice_error *err)
{
    int errnum;

    if (!journal->unsynced) {
        return SLUICE_OK;
    }
    errnum =
        disk_sync(journal->segments[journal->own - 1].fd, journal->segments[journal->own - 1].name);
    journal->unsynced = errnum != 0;
    return errnum == 0 ? SLUICE_OK : error_errno(err, errnum, "can't sync %s", journal->folder);
}
