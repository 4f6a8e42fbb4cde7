/* The index of a journal: which records there are, in which files. See journalInt.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/asks/journalInt.h"

/* ---- the index ---- */

static struct place *place_in(struct place *places, size_t capacity, struct hash128 key)
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
            *place_in(places, capacity, journal->places[i].key) = journal->places[i];
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
    place = place_in(journal->places, journal->capacity, key);
    if (hash_is_zero(place->key)) {
        *place = (struct place){ key, segment, offset };
        journal->n++;
    }
    return true;
}

static bool knows(const struct journal *journal, struct hash128 key)
{
    return journal->capacity > 0 &&
           !hash_is_zero(place_in(journal->places, journal->capacity, key)->key);
}

bool journal_find(struct journal *journal, struct hash128 key, struct place *place,
                  struct segment *segment)
{
    bool found;

    pthread_mutex_lock(&journal->mutex);
    found = knows(journal, key);
    if (found) {
        *place = *place_in(journal->places, journal->capacity, key);
        *segment = journal->segments[place->segment];
        if (place->segment + 1 == journal->own) {
            segment->synced = UINT64_MAX; /* what it adds is synced before it is given out */
        }
    }
    pthread_mutex_unlock(&journal->mutex);
    return found;
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
