/* The journal of answers: see journal.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/asks/journalInt.h"
#include "store/store.h"

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

sluice_status journal_learn(struct journal *journal, uint32_t segment,
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

sluice_status journal_add_segment(struct journal *journal, const char *name, int fd, bool own,
                                  uint32_t *at, struct sluice_error *err)
{
    struct segment segment = { .name = str_copy(name, strlen(name)), .fd = fd };
    bool ok;

    pthread_mutex_lock(&journal->mutex);
    ok = segment.name != NULL && add_locked(journal, segment);
    if (ok && own) {
        journal->own = journal->n_segments;
    }
    if (ok && at != NULL) {
        *at = journal->n_segments - 1;
    }
    pthread_mutex_unlock(&journal->mutex);
    if (!ok) {
        free(segment.name);
        if (fd >= 0) {
            close(fd);
        }
        return error_nomem(err, "the answers of the run");
    }
    return SLUICE_OK;
}

bool journal_named(const char *name)
{
    size_t n = strlen(name);
    size_t suffix = strlen(JOURNAL_SUFFIX);

    return n > suffix && strcmp(name + n - suffix, JOURNAL_SUFFIX) == 0;
}

static sluice_status look(struct journal *journal, struct sluice_error *err)
{
    return journal->puts ? journal_store_look(journal, err) : journal_disk_look(journal, err);
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

sluice_status journal_catch_up(struct journal *journal, struct sluice_error *err)
{
    sluice_status status;

    pthread_mutex_lock(&journal->looking);
    status = look(journal, err);
    pthread_mutex_unlock(&journal->looking);
    return status;
}

/* What is behind the last whole record of a file when a run begins was cut or damaged. */
static void tell_damage(struct journal *journal)
{
    for (uint32_t k = 0; k < journal->n_segments; k++) {
        struct segment *segment = &journal->segments[k];
        struct stat st = { .st_size = (off_t)segment->size };
        char text[600];
        if (journal->warn == NULL || segment->damaged ||
            (segment->fd >= 0 && fstat(segment->fd, &st) != 0) ||
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
    pthread_mutex_init(&journal->holding, NULL);
    journal->warn = warn;
    journal->ctx = ctx;
    journal->own_fd = -1;
    journal->puts = !store_is_local(folder);
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
        if (journal->segments[k].fd >= 0) {
            close(journal->segments[k].fd);
        }
        free(journal->segments[k].name);
    }
    for (uint32_t k = 0; k < JOURNAL_HELD; k++) {
        buf_deinit(&journal->held[k].bytes);
    }
    buf_deinit(&journal->waiting);
    buf_deinit(&journal->heads);
    pthread_mutex_destroy(&journal->holding);
    pthread_mutex_destroy(&journal->mutex);
    pthread_mutex_destroy(&journal->looking);
    free(journal->writers);
    free(journal->segments);
    free(journal->places);
    free(journal->folder);
    free(journal);
}

bool journal_puts(const struct journal *journal)
{
    return journal->puts;
}

void journal_call(struct journal *journal, const char *id)
{
    snprintf(journal->id, sizeof journal->id, "%s", id);
}

sluice_status journal_expect(struct journal *journal, const char *id, struct sluice_error *err)
{
    sluice_status status;

    if (!journal->puts) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&journal->looking);
    status = journal_store_expect(journal, id, err);
    pthread_mutex_unlock(&journal->looking);
    return status;
}

/* ---- reading and writing ---- */

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
    if (journal->puts) {
        TRY(journal_store_read(journal, place.segment, segment.name, place.offset, &head, &rest,
                               err));
    } else {
        rest = record_read(segment.fd, place.offset, &head);
    }
    if (rest == NULL || !hash_equal(head.key, key)) {
        free(rest);
        return error_set(err, SLUICE_E_DATA,
                         "%s/%s was changed at byte %llu while the run worked; run again",
                         journal->folder, segment.name, (unsigned long long)place.offset);
    }
    if (!own && !journal->puts && place.offset >= segment.synced) {
        sluice_status status = journal_disk_settle(journal, place.segment, &segment, err);
        if (status != SLUICE_OK) {
            free(rest);
            return status;
        }
    }
    record_answer(&head, rest, out);
    return SLUICE_OK;
}

static sluice_status refuse_broken(const struct journal *journal, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_IO,
                     "%s could not be written before; see to it and run again: what was answered "
                     "until then is kept",
                     journal->folder);
}

sluice_status journal_add(struct journal *journal, struct hash128 key,
                          const struct journal_answer *answer, struct sluice_error *err)
{
    sluice_status status;

    if (journal->broken) {
        return refuse_broken(journal, err);
    }
    status = journal->puts ? journal_store_add(journal, key, answer, err)
                           : journal_disk_add(journal, key, answer, err);
    journal->broken = status != SLUICE_OK;
    return status;
}

sluice_status journal_sync(struct journal *journal, struct sluice_error *err)
{
    sluice_status status;

    if (journal->broken) {
        return refuse_broken(journal, err);
    }
    status = journal->puts ? journal_store_sync(journal, err) : journal_disk_sync(journal, err);
    journal->broken = status != SLUICE_OK;
    return status;
}
