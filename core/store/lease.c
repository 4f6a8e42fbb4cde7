/* Leases: see lease.h. */
#include "store/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_MAX ((uint64_t)1 << 16)
#define PAUSE_MIN_NS 1000000L
#define PAUSE_MAX_NS 64000000L

struct lease {
    struct member *member;
    char *path; /* without its epoch */
    uint32_t epoch, lapses;
    struct lease *next; /* of those that this process has */
};

/* All leases of this process: a file of its own that comes back (a request that was delayed on its
 * way) is not taken for one that is held. */
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lease *held_first;
static atomic_uint_fast64_t taken; /* so that no two leases of a process have the same bytes */

static void hold(struct lease *lease)
{
    pthread_mutex_lock(&held_lock);
    lease->next = held_first;
    held_first = lease;
    pthread_mutex_unlock(&held_lock);
}

static void let_go(struct lease *lease)
{
    pthread_mutex_lock(&held_lock);
    for (struct lease **at = &held_first; *at != NULL; at = &(*at)->next) {
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    }
    pthread_mutex_unlock(&held_lock);
}

static bool is_held(const char *path)
{
    bool found = false;

    pthread_mutex_lock(&held_lock);
    for (const struct lease *lease = held_first; lease != NULL && !found; lease = lease->next) {
        found = strcmp(lease->path, path) == 0;
    }
    pthread_mutex_unlock(&held_lock);
    return found;
}

static char *epoch_path(const char *path, uint32_t epoch)
{
    return str_printf("%s.%u", path, epoch);
}

/* The file of an epoch; holder->id "" where it can't be read as one. */
static sluice_status read_epoch(const char *path, uint32_t epoch, struct holder *holder,
                                bool *found, struct sluice_error *err)
{
    char *name = epoch_path(path, epoch);
    struct buf text = BUF_INIT;
    sluice_status status = name == NULL ? error_nomem(err, "a lease")
                                        : store_read_all(name, FILE_MAX, &text, found, err);

    if (status == SLUICE_OK && *found) {
        (void)holder_parse(text.data, text.size, holder);
    }
    buf_deinit(&text);
    free(name);
    return status;
}

static bool holds(struct member *m, const char *path, const struct holder *holder)
{
    return strcmp(holder->id, member_id(m)) == 0 ? is_held(path) : member_lives(m, holder);
}

/* The first epoch that nobody has; 0: somebody living has the lease. */
static sluice_status find_free(struct member *m, const char *path, uint32_t *epoch,
                               struct lease_found *seen, struct sluice_error *err)
{
    for (*epoch = 1;; ++*epoch) {
        struct holder holder;
        bool found = false;
        TRY(read_epoch(path, *epoch, &holder, &found, err));
        if (!found) {
            return SLUICE_OK;
        }
        seen->holder = holder;
        if (holds(m, path, &holder)) {
            *epoch = 0;
            return SLUICE_OK;
        }
        seen->lost = *epoch;
    }
}

static void lease_free(struct lease *lease)
{
    free(lease->path);
    free(lease);
}

sluice_status lease_take(struct member *m, const char *folder, const char *name, const char *reason,
                         struct lease **out, struct lease_found *found, struct sluice_error *err)
{
    struct lease *lease = calloc(1, sizeof *lease);
    struct lease_found seen = { .lost = 0 };
    enum store_put outcome = STORE_OTHER;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (lease == NULL || (lease->path = store_join(folder, name)) == NULL) {
        free(lease);
        return error_nomem(err, "a lease");
    }
    lease->member = m;
    lease->lapses = member_lapses(m);
    while (status == SLUICE_OK && outcome == STORE_OTHER) {
        char *path = NULL;
        char *text = NULL;
        status = find_free(m, lease->path, &lease->epoch, &seen, err);
        if (status != SLUICE_OK || lease->epoch == 0) {
            break;
        }
        path = epoch_path(lease->path, lease->epoch);
        text = str_printf("{%s,\"epoch\":%u,\"reason\":\"%s\",\"n\":%llu}\n", member_json(m),
                          lease->epoch, seen.lost > 0 ? "expired" : reason,
                          (unsigned long long)atomic_fetch_add(&taken, 1));
        status = path == NULL || text == NULL
                     ? error_nomem(err, "a lease")
                     : store_put_new(path, text, strlen(text), STORE_LOOSE, &outcome, err);
        free(path);
        free(text);
    }
    if (found != NULL) {
        *found = seen;
    }
    if (status != SLUICE_OK || lease->epoch == 0) {
        lease_free(lease);
        return status;
    }
    hold(lease);
    *out = lease;
    return SLUICE_OK;
}

bool lease_fresh(const struct lease *lease)
{
    return member_fresh(lease->member) && lease->lapses == member_lapses(lease->member);
}

/* Whether nobody took it, as far as can be seen: for a holder that was not fresh for a while. */
static bool lease_mine(const struct lease *lease)
{
    struct holder holder;
    bool found = false;

    if (read_epoch(lease->path, lease->epoch + 1, &holder, &found, NULL) != SLUICE_OK || found) {
        return false;
    }
    return read_epoch(lease->path, lease->epoch, &holder, &found, NULL) == SLUICE_OK && found &&
           strcmp(holder.id, member_id(lease->member)) == 0;
}

void lease_drop(struct lease *lease, bool whole)
{
    uint32_t last;
    bool sure;

    if (lease == NULL) {
        return;
    }
    sure = lease_fresh(lease);
    last = whole ? 1 : lease->epoch;
    /* From the last one down: who finds an early one finds its holder dead and the next one
     * free. */
    for (uint32_t epoch = sure || lease_mine(lease) ? lease->epoch : 0; epoch >= last; epoch--) {
        char *path = epoch_path(lease->path, epoch);
        sluice_status status = path == NULL ? SLUICE_E_NOMEM : store_remove(path, NULL);
        free(path);
        if (status != SLUICE_OK) {
            break; /* it stays until its holder has left */
        }
    }
    let_go(lease);
    lease_free(lease);
}

sluice_status lease_wait(struct member *m, const char *folder, const char *name,
                         const _Atomic int *stop, struct lease **out, struct sluice_error *err)
{
    struct timespec pause = { 0, PAUSE_MIN_NS };

    for (;;) {
        TRY(lease_take(m, folder, name, "first", out, NULL, err));
        if (*out != NULL) {
            return SLUICE_OK;
        }
        if (stop != NULL && atomic_load(stop) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "the run is being stopped");
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < PAUSE_MAX_NS ? 2 * pause.tv_nsec : PAUSE_MAX_NS;
    }
}

sluice_status lease_look(struct member *m, const char *folder, const char *name, bool *held,
                         struct holder *holder, struct sluice_error *err)
{
    char *path = store_join(folder, name);
    struct owner self;
    sluice_status status = path == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    *held = false;
    owner_self(&self);
    for (uint32_t epoch = 1; status == SLUICE_OK && !*held; epoch++) {
        bool found = false;
        status = read_epoch(path, epoch, holder, &found, err);
        if (status != SLUICE_OK || !found) {
            break;
        }
        *held = m != NULL
                    ? holds(m, path, holder)
                    : holder->id[0] != '\0' && owner_look(&holder->owner, &self) != OWNER_DIED;
    }
    free(path);
    return status;
}
