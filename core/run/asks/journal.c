/* The journal of answers: see journal.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/asks/journalInt.h"
#include "store/store.h"

/* ---- files ---- */

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
    struct record_head head;
    char *rest;

    *found = journal_find(journal, key, &place, &segment); /* files stay open until the end */
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
    if (!journal->puts && place.offset >= segment.synced) {
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
