/* The journal in a store without append: a process puts a file for each sync, ID.000000.answers and
 * so on, one after the other, so that who knows the ids finds them all without a list. What is read
 * is held for a while, for answers are wanted in about the order in which they came. See
 * journalInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "run/asks/journalInt.h"
#include "store/disk.h"
#include "store/store.h"

#define FILE_MAX ((uint64_t)16 << 30)

static void name_of(char name[80], const char *id, uint32_t number)
{
    snprintf(name, 80, "%s.%06u" JOURNAL_SUFFIX, id, number);
}

/* ---- what others wrote ---- */

sluice_status journal_store_expect(struct journal *journal, const char *id,
                                   struct sluice_error *err)
{
    if (strcmp(id, journal->id) == 0) {
        return SLUICE_OK;
    }
    for (uint32_t k = 0; k < journal->n_writers; k++) {
        if (strcmp(journal->writers[k].id, id) == 0) {
            return SLUICE_OK;
        }
    }
    if (journal->n_writers == journal->writers_capacity) {
        uint32_t capacity = journal->writers_capacity == 0 ? 8 : 2 * journal->writers_capacity;
        struct writer *more = realloc(journal->writers, capacity * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "the answers of the run");
        }
        journal->writers = more;
        journal->writers_capacity = capacity;
    }
    journal->writers[journal->n_writers] = (struct writer){ .next = 0 };
    snprintf(journal->writers[journal->n_writers++].id, JOURNAL_ID, "%s", id);
    return SLUICE_OK;
}

/* All who put files, as far as a list tells. */
static sluice_status list_writers(struct journal *journal, struct sluice_error *err)
{
    struct disk_names names = { NULL, 0 };
    sluice_status status = store_names(journal->folder, &names, err);

    for (size_t i = 0; i < names.n && status == SLUICE_OK; i++) {
        char id[JOURNAL_ID] = "";
        struct hash128 bits;
        if (journal_named(names.names[i]) && strcspn(names.names[i], ".") == JOURNAL_ID - 1) {
            memcpy(id, names.names[i], JOURNAL_ID - 1);
        }
        if (id[0] != '\0' && hash_parse(id, &bits)) {
            status = journal_store_expect(journal, id, err);
        }
    }
    disk_names_deinit(&names);
    return status;
}

/* Takes bytes. */
static void hold(struct journal *journal, uint32_t segment, struct buf *bytes)
{
    struct held *held;

    pthread_mutex_lock(&journal->holding);
    held = &journal->held[journal->next_held++ % JOURNAL_HELD];
    buf_deinit(&held->bytes);
    *held = (struct held){ segment + 1, *bytes };
    pthread_mutex_unlock(&journal->holding);
    buf_init(bytes);
}

static sluice_status take_in(struct journal *journal, const char *name, struct buf *bytes,
                             struct sluice_error *err)
{
    struct record_head head;
    uint64_t offset = 0;
    uint32_t at;
    char *rest;

    TRY(journal_add_segment(journal, name, -1, false, &at, err));
    while ((rest = record_find(bytes, offset, &head)) != NULL) {
        free(rest);
        TRY(journal_learn(journal, at, &head, err));
        offset += sizeof head + head.type_n + head.body_n;
    }
    pthread_mutex_lock(&journal->mutex);
    journal->segments[at].size = bytes->size;
    pthread_mutex_unlock(&journal->mutex);
    hold(journal, at, bytes);
    return SLUICE_OK;
}

static sluice_status read_whole(const struct journal *journal, const char *name, struct buf *bytes,
                                bool *found, struct sluice_error *err)
{
    char *path = store_join(journal->folder, name);
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_MAX, bytes, found, err);

    free(path);
    return status;
}

static sluice_status look_at(struct journal *journal, struct writer *writer,
                             struct sluice_error *err)
{
    bool found = true;
    sluice_status status = SLUICE_OK;

    while (status == SLUICE_OK && found) {
        struct buf bytes = BUF_INIT;
        char name[80];
        name_of(name, writer->id, writer->next);
        status = read_whole(journal, name, &bytes, &found, err);
        if (status == SLUICE_OK && found) {
            status = take_in(journal, name, &bytes, err);
            writer->next++;
        }
        buf_deinit(&bytes);
    }
    return status;
}

sluice_status journal_store_look(struct journal *journal, struct sluice_error *err)
{
    TRY(list_writers(journal, err));
    for (uint32_t k = 0; k < journal->n_writers; k++) {
        TRY(look_at(journal, &journal->writers[k], err));
    }
    return SLUICE_OK;
}

/* ---- reading ---- */

sluice_status journal_store_read(struct journal *journal, uint32_t at, const char *name,
                                 uint64_t offset, struct record_head *head, char **rest,
                                 struct sluice_error *err)
{
    struct buf bytes = BUF_INIT;
    bool found = false;
    sluice_status status;

    *rest = NULL;
    pthread_mutex_lock(&journal->holding);
    for (uint32_t k = 0; k < JOURNAL_HELD && !found; k++) {
        found = journal->held[k].segment == at + 1;
        *rest = found ? record_find(&journal->held[k].bytes, offset, head) : NULL;
    }
    pthread_mutex_unlock(&journal->holding);
    if (found) {
        return SLUICE_OK;
    }
    status = read_whole(journal, name, &bytes, &found, err);
    if (status == SLUICE_OK && found) {
        *rest = record_find(&bytes, offset, head);
        hold(journal, at, &bytes);
    }
    buf_deinit(&bytes);
    return status;
}

/* ---- writing ---- */

sluice_status journal_store_add(struct journal *journal, struct hash128 key,
                                const struct journal_answer *answer, struct sluice_error *err)
{
    struct record_head head;

    record_put(key, answer, &head, &journal->waiting);
    TRY(buf_status(&journal->waiting, err));
    buf_append(&journal->heads, &head, sizeof head);
    return buf_status(&journal->heads, err);
}

static sluice_status choose_id(struct journal *journal, struct sluice_error *err)
{
    struct hash128 bits;

    if (journal->id[0] == '\0') {
        if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
            return error_set(err, SLUICE_E_IO, "the system has no random numbers");
        }
        hash_hex(bits, journal->id);
    }
    return SLUICE_OK;
}

sluice_status journal_store_sync(struct journal *journal, struct sluice_error *err)
{
    char name[80];
    char *path;
    enum store_put outcome = STORE_OTHER;
    uint32_t at = 0;
    sluice_status status;

    if (journal->waiting.size == 0) {
        return SLUICE_OK;
    }
    TRY(choose_id(journal, err));
    name_of(name, journal->id, journal->put++);
    path = store_join(journal->folder, name);
    status = path == NULL ? error_nomem(err, "a path")
                          : store_put_new(path, journal->waiting.data, journal->waiting.size, 0,
                                          &outcome, err);
    if (status == SLUICE_OK && outcome == STORE_OTHER) {
        status = error_set(err, SLUICE_E_IO,
                           "%s is there, and was written by somebody else; run again", path);
    }
    free(path);
    if (status == SLUICE_OK) {
        status = journal_add_segment(journal, name, -1, false, &at, err);
    }
    for (size_t k = 0; status == SLUICE_OK && k < journal->heads.size;
         k += sizeof(struct record_head)) {
        struct record_head head;
        memcpy(&head, journal->heads.data + k, sizeof head);
        status = journal_learn(journal, at, &head, err);
    }
    buf_clear(&journal->waiting);
    buf_clear(&journal->heads);
    return status;
}
