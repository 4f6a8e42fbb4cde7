/* Tasks that failed: see troubles.h. */
#include "run/work/troubles.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/temp.h"

#define FOLDER "failures"
#define DELAY_MAX 1e9 /* seconds that a file may say */
#define FILE_MAX ((uint64_t)1 << 20)

/* A task, and the last of its failures. */
struct record {
    struct trouble last;
    struct trouble_count count;
    uint64_t from_ns; /* it may be tried again */
    uint32_t *hosts;  /* hashes; count.hosts of them */
};

struct troubles {
    char *folder;
    pthread_mutex_t lock;
    struct record *records; /* by task */
    size_t n, room;
};

static const char *const words[] = { "transient", "memory", "permanent", "lost_worker", "fatal" };

const char *trouble_word(enum trouble_kind kind)
{
    return words[kind];
}

enum trouble_kind trouble_kind(const struct sluice_error *err)
{
    switch (err->code) {
    case SLUICE_E_RETRY:
        return TROUBLE_TRANSIENT;
    case SLUICE_E_IO:
        return strcmp(err->field, ERROR_FULL) == 0      ? TROUBLE_FATAL
               : strcmp(err->field, ERROR_LASTING) == 0 ? TROUBLE_PERMANENT
                                                        : TROUBLE_TRANSIENT;
    case SLUICE_E_NOMEM:
        return strcmp(err->field, ERROR_MEMORY) == 0 ? TROUBLE_FATAL : TROUBLE_MEMORY;
    case SLUICE_E_DATA:
        return strcmp(err->field, ERROR_MAX_BAD) == 0 ? TROUBLE_FATAL : TROUBLE_PERMANENT;
    case SLUICE_E_INTERNAL:
        return TROUBLE_PERMANENT;
    default:
        return TROUBLE_FATAL;
    }
}

sluice_status troubles_open(const char *run_dir, struct hash128 name, struct troubles **out,
                            struct sluice_error *err)
{
    struct troubles *troubles = calloc(1, sizeof *troubles);
    char hex[33];

    *out = troubles;
    if (troubles == NULL) {
        return error_nomem(err, "the run");
    }
    hash_hex(name, hex);
    pthread_mutex_init(&troubles->lock, NULL);
    troubles->folder = str_printf("%s/" FOLDER "/%s", run_dir, hex);
    if (troubles->folder == NULL) {
        troubles_close(troubles);
        *out = NULL;
        return error_nomem(err, "the run");
    }
    return SLUICE_OK;
}

void troubles_close(struct troubles *troubles)
{
    if (troubles != NULL) {
        for (size_t i = 0; i < troubles->n; i++) {
            free(troubles->records[i].hosts);
        }
        pthread_mutex_destroy(&troubles->lock);
        free(troubles->records);
        free(troubles->folder);
        free(troubles);
    }
}

/* ---- what is known ---- held: lock */

static size_t place_of(const struct troubles *troubles, uint32_t task)
{
    size_t low = 0;
    size_t high = troubles->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (troubles->records[middle].last.task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct record *find(const struct troubles *troubles, uint32_t task)
{
    size_t at = place_of(troubles, task);

    return at < troubles->n && troubles->records[at].last.task == task ? &troubles->records[at]
                                                                       : NULL;
}

static struct record *make(struct troubles *troubles, uint32_t task)
{
    size_t at = place_of(troubles, task);

    if (troubles->n == troubles->room) {
        size_t room = troubles->room == 0 ? 16 : 2 * troubles->room;
        struct record *more = realloc(troubles->records, room * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        troubles->records = more;
        troubles->room = room;
    }
    memmove(&troubles->records[at + 1], &troubles->records[at],
            (troubles->n - at) * sizeof *troubles->records);
    troubles->n++;
    troubles->records[at] = (struct record){ .last = { .task = task } };
    return &troubles->records[at];
}

static uint32_t host_hash(const char *host)
{
    return (uint32_t)hash_bytes(host, strlen(host)).lo;
}

static sluice_status count_host(struct record *record, const char *host, struct sluice_error *err)
{
    uint32_t hash = host_hash(host);
    uint32_t *more;

    for (uint32_t i = 0; i < record->count.hosts; i++) {
        if (record->hosts[i] == hash) {
            return SLUICE_OK;
        }
    }
    more = realloc(record->hosts, (record->count.hosts + 1u) * sizeof *more);
    if (more == NULL) {
        return error_nomem(err, "failures");
    }
    record->hosts = more;
    record->hosts[record->count.hosts++] = hash;
    return SLUICE_OK;
}

static sluice_status note(struct troubles *troubles, const struct trouble *trouble,
                          struct sluice_error *err)
{
    struct record *record = find(troubles, trouble->task);

    if (record == NULL) {
        record = make(troubles, trouble->task);
    }
    if (record == NULL) {
        return error_nomem(err, "failures");
    }
    record->last = *trouble;
    record->count.n = trouble->n;
    record->count.by_kind[trouble->kind]++;
    record->from_ns = member_clock() + trouble->delay_ns;
    return trouble->kind == TROUBLE_LOST ? count_host(record, trouble->host, err) : SLUICE_OK;
}

/* ---- files ---- */

static char *trouble_path(const struct troubles *troubles, uint32_t task, uint32_t n)
{
    return str_printf("%s/%u.%u", troubles->folder, task, n);
}

static void copy_text(const json_t *json, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(json, name));
    snprintf(text, size, "%s", value == NULL ? "" : value);
}

/* A file that can't be read as one counts as a failure that may pass. */
static void trouble_parse(const struct buf *text, struct trouble *trouble)
{
    json_t *json = json_loadb(text->data, text->size, 0, NULL);
    const char *word = json_string_value(json_object_get(json, "class"));
    double delay = json_number_value(json_object_get(json, "delay"));

    for (int k = 0; word != NULL && k < TROUBLE_KINDS; k++) {
        if (strcmp(word, words[k]) == 0) {
            trouble->kind = (enum trouble_kind)k;
        }
    }
    trouble->code = (int32_t)json_integer_value(json_object_get(json, "code"));
    trouble->final = json_is_true(json_object_get(json, "final"));
    trouble->delay_ns = delay >= 0 && delay <= DELAY_MAX ? (uint64_t)(1e9 * delay) : 0;
    copy_text(json, "worker", trouble->worker, sizeof trouble->worker);
    copy_text(json, "host", trouble->host, sizeof trouble->host);
    copy_text(json, "message", trouble->message, sizeof trouble->message);
    json_decref(json);
}

/* Held: lock. */
static sluice_status read_more(struct troubles *troubles, uint32_t task, struct sluice_error *err)
{
    for (;;) {
        const struct record *record = find(troubles, task);
        struct trouble trouble = { .task = task, .n = record == NULL ? 1 : record->count.n + 1 };
        char *path = trouble_path(troubles, task, trouble.n);
        struct buf text = BUF_INIT;
        bool found = false;
        sluice_status status = path == NULL ? error_nomem(err, "failures")
                                            : store_read_all(path, FILE_MAX, &text, &found, err);
        if (status == SLUICE_OK && found) {
            trouble_parse(&text, &trouble);
            status = note(troubles, &trouble, err);
        }
        buf_deinit(&text);
        free(path);
        if (status != SLUICE_OK || !found) {
            return status;
        }
    }
}

sluice_status troubles_read(struct troubles *troubles, uint32_t task, struct sluice_error *err)
{
    sluice_status status;

    pthread_mutex_lock(&troubles->lock);
    status = read_more(troubles, task, err);
    pthread_mutex_unlock(&troubles->lock);
    return status;
}

static char *trouble_text(const struct trouble *trouble)
{
    json_t *json =
        json_pack("{s:s, s:i, s:b, s:f, s:s, s:s, s:o}", "class", words[trouble->kind], "code",
                  (int)trouble->code, "final", trouble->final, "delay",
                  (double)trouble->delay_ns / 1e9, "worker", trouble->worker, "host", trouble->host,
                  "message", json_stringn_nocheck(trouble->message, strlen(trouble->message)));
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(json);
    return text;
}

static sluice_status put(struct troubles *troubles, struct trouble *trouble,
                         struct sluice_error *err)
{
    char *text = trouble_text(trouble);
    enum store_put outcome = STORE_OTHER;
    sluice_status status = text == NULL ? error_nomem(err, "failures") : SLUICE_OK;

    while (status == SLUICE_OK && outcome == STORE_OTHER) {
        char *path;
        status = read_more(troubles, trouble->task, err);
        if (status == SLUICE_OK) {
            const struct record *record = find(troubles, trouble->task);
            trouble->n = record == NULL ? 1 : record->count.n + 1;
            path = trouble_path(troubles, trouble->task, trouble->n);
            status = path == NULL
                         ? error_nomem(err, "failures")
                         : store_put_new(path, text, strlen(text), STORE_LOOSE, &outcome, err);
            free(path);
        }
    }
    free(text);
    return status == SLUICE_OK ? note(troubles, trouble, err) : status;
}

sluice_status troubles_add(struct troubles *troubles, struct trouble *trouble,
                           struct sluice_error *err)
{
    sluice_status status;

    pthread_mutex_lock(&troubles->lock);
    status = put(troubles, trouble, err);
    pthread_mutex_unlock(&troubles->lock);
    return status;
}

/* ---- asking ---- */

enum trouble_state troubles_state(struct troubles *troubles, uint32_t task)
{
    enum trouble_state state = TASK_READY;
    const struct record *record;

    pthread_mutex_lock(&troubles->lock);
    record = troubles->n == 0 ? NULL : find(troubles, task);
    if (record != NULL) {
        state = record->last.final                 ? TASK_GIVEN_UP
                : member_clock() < record->from_ns ? TASK_WAITS
                                                   : TASK_READY;
    }
    pthread_mutex_unlock(&troubles->lock);
    return state;
}

bool troubles_alone(struct troubles *troubles, uint32_t task)
{
    const struct record *record;
    bool alone;

    pthread_mutex_lock(&troubles->lock);
    record = troubles->n == 0 ? NULL : find(troubles, task);
    alone = record != NULL &&
            (record->last.kind == TROUBLE_MEMORY || record->count.by_kind[TROUBLE_LOST] >= 2);
    pthread_mutex_unlock(&troubles->lock);
    return alone;
}

void troubles_count(struct troubles *troubles, struct trouble *trouble, struct trouble_count *count)
{
    uint32_t hash = host_hash(trouble->host);
    const struct record *record;
    bool met = trouble->kind != TROUBLE_LOST;

    pthread_mutex_lock(&troubles->lock);
    record = find(troubles, trouble->task);
    *count = record == NULL ? (struct trouble_count){ .n = 0 } : record->count;
    for (uint32_t i = 0; i < count->hosts; i++) {
        met = met || record->hosts[i] == hash;
    }
    pthread_mutex_unlock(&troubles->lock);
    count->hosts += !met;
    count->by_kind[trouble->kind]++;
    trouble->n = ++count->n;
}

size_t troubles_n_given_up(struct troubles *troubles)
{
    size_t n = 0;

    pthread_mutex_lock(&troubles->lock);
    for (size_t i = 0; i < troubles->n; i++) {
        n += troubles->records[i].last.final;
    }
    pthread_mutex_unlock(&troubles->lock);
    return n;
}

sluice_status troubles_given_up(struct troubles *troubles, struct trouble **list, size_t *n,
                                struct sluice_error *err)
{
    *n = 0;
    pthread_mutex_lock(&troubles->lock);
    *list = calloc(troubles->n + 1u, sizeof **list);
    for (size_t i = 0; *list != NULL && i < troubles->n; i++) {
        if (troubles->records[i].last.final) {
            (*list)[(*n)++] = troubles->records[i].last;
        }
    }
    pthread_mutex_unlock(&troubles->lock);
    return *list == NULL ? error_nomem(err, "failures") : SLUICE_OK;
}

sluice_status troubles_sweep(const char *run_dir, struct sluice_error *err)
{
    char *folder = store_join(run_dir, FOLDER);
    struct store_list list = { 0 };
    sluice_status status =
        folder == NULL ? error_nomem(err, "a path") : store_list(folder, STORE_DEEP, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *path = store_join(folder, list.entries[i].name);
        status = path == NULL ? error_nomem(err, "a path") : store_remove(path, err);
        free(path);
    }
    if (status == SLUICE_OK && list.n > 0 && (store_caps(folder) & STORE_FOLDERS) != 0) {
        status = temp_drop(folder, err);
    }
    store_list_deinit(&list);
    free(folder);
    return status;
}
