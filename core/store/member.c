/* Those who work on a run: see member.h. */
#include "store/member.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/hooks.h"

#define FILE_MAX ((uint64_t)1 << 20)
#define LOOK_NS UINT64_C(50000000) /* between two looks at a process of this machine */

/* Another one, as it was seen last. */
struct sight {
    struct holder holder;
    uint64_t counter;
    uint64_t since_ns;  /* it has not changed since */
    uint64_t read_ns;   /* its file was read */
    uint64_t looked_ns; /* its process was looked at */
    bool known;         /* its file was read */
    bool elsewhere;     /* its process can't be looked at */
    bool died;          /* its process was seen to be dead: it stays dead */
    bool lives, moved;  /* moved: its counter was seen to change, or its process to live */
};

struct member {
    char *path, *dir, *json;
    struct holder self;
    atomic_uint_fast64_t beaten_ns;
    atomic_uint_fast32_t lapses;
    uint64_t counter;
    pthread_mutex_t lock; /* of the rest */
    struct sight *sights;
    size_t n_sights, room;
};

static struct member_times read_times(void)
{
    struct member_times times = { UINT64_C(15000000000), UINT64_C(120000000000),
                                  UINT64_C(80000000000) };
    const char *text = hook_text("SLUICE_TEST_LEASE");
    uint64_t ms[3];

    if (text != NULL &&
        sscanf(text, "%" SCNu64 ":%" SCNu64 ":%" SCNu64, &ms[0], &ms[1], &ms[2]) == 3) {
        times = (struct member_times){ ms[0] * 1000000u, ms[1] * 1000000u, ms[2] * 1000000u };
    }
    return times;
}

static struct member_times times_read;
static pthread_once_t times_once = PTHREAD_ONCE_INIT;

static void times_set(void)
{
    times_read = read_times();
}

const struct member_times *member_times(void)
{
    pthread_once(&times_once, times_set);
    return &times_read;
}

uint64_t member_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- this process ---- */

static sluice_status random_id(char id[MEMBER_ID], struct sluice_error *err)
{
    struct hash128 bits;

    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        return error_set(err, SLUICE_E_IO, "the system has no random numbers");
    }
    hash_hex(bits, id);
    return SLUICE_OK;
}

static void describe(struct holder *self)
{
    struct tm tm;
    time_t now = time(NULL);

    owner_self(&self->owner);
    owner_host(self->host, sizeof self->host);
    for (char *p = self->host; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x21 || (unsigned char)*p > 0x7e || *p == '"' || *p == '\\') {
            *p = '?';
        }
    }
    memset(&tm, 0, sizeof tm);
    (void)gmtime_r(&now, &tm);
    snprintf(self->words, sizeof self->words,
             "process %d on %s, since %04d-%02d-%02dT%02d:%02d:%02dZ", (int)getpid(), self->host,
             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

sluice_status member_join(const char *dir, const char *kind, struct member **out,
                          struct sluice_error *err)
{
    struct member *m = calloc(1, sizeof *m);
    char owner[OWNER_TEXT];
    sluice_status status;

    *out = NULL;
    if (m == NULL) {
        return error_nomem(err, "a worker's file");
    }
    pthread_mutex_init(&m->lock, NULL);
    describe(&m->self);
    status = random_id(m->self.id, err);
    if (status == SLUICE_OK) {
        m->dir = str_copy(dir, strlen(dir));
        m->path = store_join(dir, m->self.id);
        m->json = str_printf(
            "\"id\":\"%s\",\"kind\":\"%s\",\"owner\":\"%s\",\"host\":\"%s\",\"words\":\"%s\"",
            m->self.id, kind, owner_print(&m->self.owner, owner), m->self.host, m->self.words);
        status = m->dir == NULL || m->path == NULL || m->json == NULL
                     ? error_nomem(err, "a worker's file")
                     : member_beat(m, NULL, err);
    }
    if (status != SLUICE_OK) {
        member_leave(m);
        return status;
    }
    *out = m;
    return SLUICE_OK;
}

sluice_status member_beat(struct member *m, const char *state, struct sluice_error *err)
{
    uint64_t now = member_clock();
    char *text = str_printf("{%s,\"counter\":%" PRIu64 ",\"state\":%s}\n", m->json, ++m->counter,
                            state == NULL ? "{}" : state);
    sluice_status status = text == NULL
                               ? error_nomem(err, "a heartbeat")
                               : store_replace(m->path, text, strlen(text), STORE_LOOSE, err);

    free(text);
    if (status == SLUICE_OK) {
        uint64_t before = atomic_exchange(&m->beaten_ns, now);
        if (before != 0 && now - before > member_times()->fence) {
            atomic_fetch_add(&m->lapses, 1);
        }
    }
    return status;
}

void member_leave(struct member *m)
{
    if (m == NULL) {
        return;
    }
    if (m->path != NULL && atomic_load(&m->beaten_ns) != 0 &&
        store_remove(m->path, NULL) != SLUICE_OK) {
        /* Then others wait until they take this process for dead. */
    }
    pthread_mutex_destroy(&m->lock);
    free(m->sights);
    free(m->path);
    free(m->dir);
    free(m->json);
    free(m);
}

const char *member_id(const struct member *m)
{
    return m->self.id;
}

const struct holder *member_self(const struct member *m)
{
    return &m->self;
}

const char *member_json(const struct member *m)
{
    return m->json;
}

bool member_fresh(const struct member *m)
{
    return member_clock() - atomic_load(&m->beaten_ns) <= member_times()->fence;
}

uint32_t member_lapses(const struct member *m)
{
    return (uint32_t)atomic_load(&m->lapses);
}

/* ---- others ---- */

static void copy_text(const json_t *json, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(json, name));

    snprintf(text, size, "%s", value == NULL ? "" : value);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p == 0x7f) {
            *p = '?';
        }
    }
}

static bool holder_read(const json_t *json, struct holder *out)
{
    const char *owner = json_string_value(json_object_get(json, "owner"));

    memset(out, 0, sizeof *out);
    if (owner == NULL || !owner_parse(owner, &out->owner, NULL)) {
        return false;
    }
    copy_text(json, "host", out->host, sizeof out->host);
    copy_text(json, "words", out->words, sizeof out->words);
    copy_text(json, "id", out->id, sizeof out->id);
    return out->id[0] != '\0';
}

bool holder_parse(const char *text, size_t n, struct holder *out)
{
    json_t *json = json_loadb(text, n, 0, NULL);
    bool read = holder_read(json, out);

    json_decref(json);
    return read;
}

/* The file of a member; *found false: it took it away. */
static sluice_status read_member(const char *dir, const char *id, struct member_file *file,
                                 bool *found, struct sluice_error *err)
{
    char *path = store_join(dir, id);
    struct buf text = BUF_INIT;
    json_t *json = NULL;
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, FILE_MAX, &text, found, err);

    if (status == SLUICE_OK && *found) {
        json = json_loadb(text.data, text.size, 0, NULL);
        file->counter = (uint64_t)json_integer_value(json_object_get(json, "counter"));
        copy_text(json, "kind", file->kind, sizeof file->kind);
        if (!holder_read(json, &file->holder)) {
            memset(&file->holder, 0, sizeof file->holder);
        }
    }
    json_decref(json);
    buf_deinit(&text);
    free(path);
    return status;
}

/* Of a lease's holder or a file's name; NULL = out of memory. */
static struct sight *sight_of(struct member *m, const char *id)
{
    for (size_t i = 0; i < m->n_sights; i++) {
        if (strcmp(m->sights[i].holder.id, id) == 0) {
            return &m->sights[i];
        }
    }
    if (m->n_sights == m->room) {
        size_t room = m->room == 0 ? 16 : 2 * m->room;
        struct sight *more = realloc(m->sights, room * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        m->sights = more;
        m->room = room;
    }
    m->sights[m->n_sights] = (struct sight){ .lives = true };
    snprintf(m->sights[m->n_sights].holder.id, MEMBER_ID, "%s", id);
    return &m->sights[m->n_sights++];
}

/* Reads the file of one that is not known to be dead. Held: m->lock. */
static void read_sight(const struct member *m, struct sight *sight, uint64_t now)
{
    const struct member_times *times = member_times();
    struct member_file file = { .counter = 0 };
    bool found = false;

    if (sight->known && now - sight->read_ns < times->beat / 4) {
        return;
    }
    if (read_member(m->dir, sight->holder.id, &file, &found, NULL) != SLUICE_OK) {
        return; /* nothing was learned */
    }
    if (!found) {
        /* A process that can be seen to live is believed more than a file that is not there. */
        sight->lives = !sight->elsewhere;
        sight->read_ns = now;
        return;
    }
    /* An observer that was away itself has seen nothing meanwhile. */
    if (!sight->known || file.counter != sight->counter || now - sight->read_ns > times->ttl / 2) {
        sight->moved = sight->moved || (sight->known && file.counter != sight->counter);
        sight->counter = file.counter;
        sight->since_ns = now;
        sight->lives = true;
    }
    if (file.holder.id[0] != '\0') {
        sight->holder = file.holder;
    }
    sight->known = true;
    sight->read_ns = now;
    if (now - sight->since_ns >= times->ttl) {
        sight->lives = false;
    }
}

/* Held: m->lock. */
static bool judge(struct member *m, struct sight *sight)
{
    uint64_t now = member_clock();

    if (sight->died) {
        return false;
    }
    if (sight->holder.owner.pid > 0 &&
        (sight->looked_ns == 0 || now - sight->looked_ns >= LOOK_NS)) {
        enum owner_sight seen = owner_look(&sight->holder.owner, &m->self.owner);
        sight->looked_ns = now;
        sight->elsewhere = seen == OWNER_ELSEWHERE;
        if (seen == OWNER_DIED) {
            sight->died = true;
            sight->lives = false;
            return false;
        }
        sight->moved = sight->moved || seen == OWNER_LIVES;
    }
    read_sight(m, sight, now);
    return sight->lives;
}

static bool look_at(struct member *m, const struct holder *holder, bool *seen)
{
    struct sight *sight;
    bool lives = true;

    *seen = true;
    if (strcmp(holder->id, m->self.id) == 0) {
        return true;
    }
    if (holder->id[0] == '\0') {
        return false; /* a file that says nothing is nobody's */
    }
    pthread_mutex_lock(&m->lock);
    sight = sight_of(m, holder->id);
    if (sight != NULL) {
        if (sight->holder.owner.pid <= 0) {
            sight->holder = *holder;
        }
        lives = judge(m, sight);
        *seen = sight->moved;
    }
    pthread_mutex_unlock(&m->lock);
    return lives;
}

bool member_lives(struct member *m, const struct holder *holder)
{
    bool seen;
    return look_at(m, holder, &seen);
}

bool member_seen(struct member *m, const struct holder *holder)
{
    bool seen;
    return look_at(m, holder, &seen) && seen;
}

static bool is_id(const char *name)
{
    struct hash128 bits;
    return hash_parse(name, &bits);
}

/* One more look at all; *unsure: of some it is not known. */
static sluice_status look_around(struct member *m, struct holder *list, size_t *n, size_t room,
                                 bool *unsure, struct sluice_error *err)
{
    struct store_list names = { 0 };
    sluice_status status = store_list(m->dir, 0, &names, err);

    *n = 0;
    *unsure = false;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        const char *id = names.entries[i].name;
        struct sight *sight;
        if (!is_id(id) || strcmp(id, m->self.id) == 0) {
            continue;
        }
        sight = sight_of(m, id);
        if (sight == NULL) {
            status = error_nomem(err, "workers");
        } else if (!judge(m, sight) ||
                   (sight->holder.owner.pid > 0 && !judge(m, sight))) { /* now its owner is known */
            char *path = store_join(m->dir, id);
            if (path != NULL && store_remove(path, NULL) != SLUICE_OK) {
                /* The next one does it. */
            }
            free(path);
        } else {
            *unsure = *unsure || !sight->moved;
            if (*n < room) {
                list[*n] = sight->holder;
            }
            ++*n;
        }
    }
    pthread_mutex_unlock(&m->lock);
    store_list_deinit(&names);
    return status;
}

sluice_status member_others(struct member *m, bool certain, const _Atomic int *stop,
                            struct holder **list, size_t *n, struct sluice_error *err)
{
    struct holder found[64];
    bool unsure = true;
    sluice_status status = look_around(m, found, n, 64, &unsure, err);

    while (status == SLUICE_OK && certain && unsure && (stop == NULL || atomic_load(stop) == 0)) {
        uint64_t ns = member_times()->beat / 8;
        struct timespec pause = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
        nanosleep(&pause, NULL);
        status = look_around(m, found, n, 64, &unsure, err);
    }
    if (list != NULL) {
        size_t held = *n < 64 ? *n : 64;
        *list = NULL;
        if (status == SLUICE_OK && held > 0) {
            *list = malloc(held * sizeof **list);
            *n = *list == NULL ? 0 : held;
            if (*list == NULL) {
                return error_nomem(err, "workers");
            }
            memcpy(*list, found, held * sizeof **list);
        }
    }
    return status;
}

sluice_status member_files(const char *dir, struct member_file **list, size_t *n,
                           struct sluice_error *err)
{
    struct store_list names = { 0 };
    struct owner self;
    sluice_status status = store_list(dir, 0, &names, err);

    *n = 0;
    *list = status == SLUICE_OK ? calloc(names.n + 1, sizeof **list) : NULL;
    if (status == SLUICE_OK && *list == NULL) {
        status = error_nomem(err, "workers");
    }
    owner_self(&self);
    for (size_t i = 0; status == SLUICE_OK && i < names.n; i++) {
        struct member_file *file = &(*list)[*n];
        bool found = false;
        if (!is_id(names.entries[i].name)) {
            continue;
        }
        status = read_member(dir, names.entries[i].name, file, &found, err);
        *n += status == SLUICE_OK && found && file->holder.id[0] != '\0' &&
              owner_look(&file->holder.owner, &self) != OWNER_DIED;
    }
    store_list_deinit(&names);
    if (status != SLUICE_OK) {
        free(*list);
        *list = NULL;
        *n = 0;
    }
    return status;
}
