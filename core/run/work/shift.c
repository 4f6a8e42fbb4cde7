/* What this process has in hand: see shift.h. */
#include "run/work/shift.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALL "all"
#define TWIN ".twin"
#define WON ".won"
#define LOOK_NS UINT64_C(100000000) /* between two looks for others, where looking costs little */
#define LOOK_FAR_NS UINT64_C(5000000000)
#define AGAIN_NS UINT64_C(20000000)  /* and for one that has the phase alone */
#define LONG_NS UINT64_C(1000000000) /* a task that takes longer is worth a file */
#define FLAT_TASKS 4096u             /* more are parted into 256 folders */
#define SETTLE_TRIES 200

struct hold {
    uint32_t task;
    bool active, twin;
    uint64_t since_ns;
    uint32_t lapses;
    struct lease *lease; /* NULL: by that on the phase */
};

struct shift {
    struct shift_options options;
    struct member *member;
    char *folder;
    bool local;
    pthread_mutex_t lock;
    struct lease *all;
    bool waits; /* another one may have the phase alone */
    uint64_t looked_ns;
    struct hold *holds;  /* n_hands */
    struct lease **vain; /* of twins that came to nothing */
    uint32_t n_vain;
};

/* ---- alone or not ---- */

static bool has_others(const struct shift *shift)
{
    size_t n = 0;

    /* Where that can't be told, task by task is right in any case. */
    return member_others(shift->member, false, NULL, NULL, &n, NULL) != SLUICE_OK || n > 0;
}

/* Joins first, then looks, and looks again when it has the lease: of two that come at the same time
 * at least one sees the other. */
static sluice_status try_alone(struct shift *shift, struct sluice_error *err)
{
    struct lease_found found = { .lost = 0 };

    shift->waits = true;
    if (shift->options.single || has_others(shift)) {
        return SLUICE_OK;
    }
    TRY(lease_take(shift->member, shift->folder, ALL, "first", &shift->all, &found, err));
    /* Where one died who was alone, others must be able to tell with which task the next one
     * dies. */
    if (shift->all != NULL && (found.lost > 0 || has_others(shift))) {
        lease_drop(shift->all, false);
        shift->all = NULL;
    }
    return SLUICE_OK;
}

/* The folder of a task's leases; free(). */
static char *task_folder(const struct shift *shift, uint32_t task)
{
    return shift->options.n_tasks > FLAT_TASKS ? str_printf("%s/%02x", shift->folder, task & 0xffu)
                                               : str_copy(shift->folder, strlen(shift->folder));
}

static sluice_status task_lease(struct shift *shift, struct hold *hold, struct lease_found *found,
                                struct sluice_error *err)
{
    char name[32];
    char *folder = task_folder(shift, hold->task);
    sluice_status status;

    snprintf(name, sizeof name, hold->twin ? "%u" TWIN : "%u", hold->task);
    status = folder == NULL
                 ? error_nomem(err, "a lease")
                 : lease_take(shift->member, folder, name, "first", &hold->lease, found, err);
    free(folder);
    return status;
}

/* Held: lock. A lease that can't be had now is one less: the record decides. */
static void lease_holds(struct shift *shift, uint64_t before_ns)
{
    for (uint32_t i = 0; i < shift->options.n_hands; i++) {
        struct hold *hold = &shift->holds[i];
        if (hold->active && hold->lease == NULL && hold->since_ns <= before_ns &&
            task_lease(shift, hold, NULL, NULL) != SLUICE_OK) {
            hold->lease = NULL;
        }
    }
}

/* Held: lock. */
static void share(struct shift *shift)
{
    if (shift->all != NULL) {
        lease_holds(shift, UINT64_MAX);
        lease_drop(shift->all, false);
        shift->all = NULL;
        shift->waits = false; /* who comes sees this process */
    }
}

sluice_status shift_begin(const struct shift_options *options, struct shift **out,
                          struct sluice_error *err)
{
    struct shift *shift = calloc(1, sizeof *shift);
    char hex[33];
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (shift == NULL) {
        return error_nomem(err, "the run");
    }
    shift->options = *options;
    shift->member = crew_member(options->crew);
    shift->local = store_is_local(crew_leases(options->crew));
    pthread_mutex_init(&shift->lock, NULL);
    hash_hex(options->name, hex);
    shift->folder = store_join(crew_leases(options->crew), hex);
    shift->holds = calloc(options->n_hands + 1u, sizeof *shift->holds);
    if (shift->folder == NULL || shift->holds == NULL) {
        status = error_nomem(err, "the run");
    } else {
        status = try_alone(shift, err);
    }
    if (status != SLUICE_OK) {
        shift_end(shift, false);
        return status;
    }
    shift->looked_ns = member_clock();
    *out = shift;
    return SLUICE_OK;
}

bool shift_shared(struct shift *shift)
{
    bool shared;

    pthread_mutex_lock(&shift->lock);
    shared = shift->all == NULL;
    pthread_mutex_unlock(&shift->lock);
    return shared;
}

/* ---- taking and giving ---- */

/* Held: lock. Whether tasks can be taken one by one: nobody has the phase alone. */
static sluice_status may_take(struct shift *shift, bool *may, struct sluice_error *err)
{
    struct holder holder;
    bool held = false;
    uint64_t now = member_clock();

    *may = !shift->waits;
    if (*may || now - shift->looked_ns < AGAIN_NS) {
        return SLUICE_OK;
    }
    shift->looked_ns = now;
    TRY(lease_look(shift->member, shift->folder, ALL, &held, &holder, err));
    shift->waits = held;
    *may = !held;
    return SLUICE_OK;
}

/* NULL: none is free, or one has this task. */
static struct hold *free_hand(struct shift *shift, uint32_t task)
{
    struct hold *free_one = NULL;

    for (uint32_t i = 0; i < shift->options.n_hands; i++) {
        struct hold *hold = &shift->holds[i];
        if (hold->active && hold->task == task) {
            return NULL;
        }
        free_one = hold->active ? free_one : hold;
    }
    return free_one;
}

sluice_status shift_take(struct shift *shift, uint32_t task, struct hold **out,
                         struct lease_found *lost, struct sluice_error *err)
{
    struct lease_found found = { .lost = 0 };
    struct hold *hold;
    bool may = true;
    bool alone;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (lost != NULL) {
        *lost = found;
    }
    if (!member_fresh(shift->member)) {
        return SLUICE_OK; /* others may take it for dead: nothing new until its heart beats again */
    }
    pthread_mutex_lock(&shift->lock);
    hold = free_hand(shift, task);
    if (shift->all != NULL && !lease_fresh(shift->all)) {
        share(shift);
    }
    alone = shift->all != NULL;
    if (!alone) {
        status = may_take(shift, &may, err);
    }
    if (status == SLUICE_OK && may && hold != NULL) {
        *hold = (struct hold){ .task = task,
                               .active = true,
                               .since_ns = member_clock(),
                               .lapses = member_lapses(shift->member) };
    }
    pthread_mutex_unlock(&shift->lock);
    if (status != SLUICE_OK || !may || hold == NULL) {
        return status;
    }
    if (!alone) {
        status = task_lease(shift, hold, &found, err);
    }
    if (lost != NULL) {
        *lost = found;
    }
    if (!alone && (status != SLUICE_OK || hold->lease == NULL)) {
        hold->active = false;
        return status;
    }
    *out = hold;
    return SLUICE_OK;
}

sluice_status shift_twin(struct shift *shift, uint32_t task, struct hold **out,
                         struct sluice_error *err)
{
    struct hold *hold;
    sluice_status status;

    *out = NULL;
    if (!member_fresh(shift->member)) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&shift->lock);
    hold = shift->all == NULL ? free_hand(shift, task) : NULL;
    if (hold != NULL) {
        *hold = (struct hold){ .task = task,
                               .active = true,
                               .twin = true,
                               .since_ns = member_clock(),
                               .lapses = member_lapses(shift->member) };
    }
    pthread_mutex_unlock(&shift->lock);
    if (hold == NULL) {
        return SLUICE_OK;
    }
    status = task_lease(shift, hold, NULL, err);
    if (status != SLUICE_OK || hold->lease == NULL) {
        hold->active = false;
        return status;
    }
    *out = hold;
    return SLUICE_OK;
}

bool shift_is_twin(const struct hold *hold)
{
    return hold->twin;
}

bool shift_has_twin(const struct shift *shift, uint32_t task)
{
    struct holder holder;
    char name[32];
    char *folder = task_folder(shift, task);
    bool held = false;

    snprintf(name, sizeof name, "%u" TWIN, task);
    if (folder == NULL ||
        lease_look(shift->member, folder, name, &held, &holder, NULL) != SLUICE_OK) {
        held = false;
    }
    free(folder);
    return held;
}

static char *won_path(const struct shift *shift, uint32_t task)
{
    char *folder = task_folder(shift, task);
    char *path = folder == NULL ? NULL : str_printf("%s/%u" WON, folder, task);

    free(folder);
    return path;
}

void shift_win(const struct shift *shift, uint32_t task)
{
    char *path = won_path(shift, task);
    enum store_put outcome;

    if (path != NULL && store_put_new(path, "\n", 1, STORE_LOOSE, &outcome, NULL) != SLUICE_OK) {
        /* The other one finds the record when it is done itself. */
    }
    free(path);
}

void shift_unwin(const struct shift *shift, uint32_t task)
{
    char *path = won_path(shift, task);

    if (path != NULL && store_remove(path, NULL) != SLUICE_OK) {
        /* Then it is read again. */
    }
    free(path);
}

bool shift_won(const struct shift *shift, uint32_t task)
{
    char *path = won_path(shift, task);
    struct buf text = BUF_INIT;
    bool found = false;

    if (path != NULL && store_read_all(path, 1u << 10, &text, &found, NULL) != SLUICE_OK) {
        found = false;
    }
    buf_deinit(&text);
    free(path);
    return found;
}

void shift_give(struct shift *shift, struct hold *hold, bool done)
{
    struct lease *lease;

    pthread_mutex_lock(&shift->lock);
    lease = hold->lease;
    hold->lease = NULL;
    hold->active = false;
    if (hold->twin && !done) {
        struct lease **vain = realloc(
            shift->vain, (shift->n_vain + 1u) * sizeof *vain); /* NULL: there may be another */
        shift->vain = vain == NULL ? shift->vain : vain;
        if (vain != NULL) {
            vain[shift->n_vain++] = lease;
            lease = NULL;
        }
    }
    pthread_mutex_unlock(&shift->lock);
    lease_drop(lease, done);
}

bool shift_doubtful(const struct shift *shift, const struct hold *hold)
{
    return !member_fresh(shift->member) || member_lapses(shift->member) != hold->lapses;
}

void shift_tick(struct shift *shift)
{
    uint64_t now = member_clock();

    pthread_mutex_lock(&shift->lock);
    if (shift->all != NULL) {
        if (now - shift->looked_ns >= (shift->local ? LOOK_NS : LOOK_FAR_NS)) {
            shift->looked_ns = now;
            if (has_others(shift)) {
                share(shift);
            }
        }
        if (shift->all != NULL && now > LONG_NS) {
            lease_holds(shift, now - LONG_NS);
        }
    }
    pthread_mutex_unlock(&shift->lock);
}

/* ---- the end ---- */

/* Removes the files below a folder of leases. Where folders are things it stays: another process
 * may be about to make a file in it. */
static sluice_status remove_leases(const char *folder, struct sluice_error *err)
{
    struct store_list list = { 0 };
    sluice_status status = store_list(folder, STORE_DEEP, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *path = store_join(folder, list.entries[i].name);
        status = path == NULL ? error_nomem(err, "a path") : store_remove(path, err);
        free(path);
    }
    store_list_deinit(&list);
    return status;
}

void shift_end(struct shift *shift, bool complete)
{
    if (shift == NULL) {
        return;
    }
    for (uint32_t i = 0; shift->holds != NULL && i < shift->options.n_hands; i++) {
        lease_drop(shift->holds[i].lease, false);
    }
    for (uint32_t i = 0; i < shift->n_vain; i++) {
        lease_drop(shift->vain[i], false);
    }
    lease_drop(shift->all, complete);
    if (complete && shift->folder != NULL && remove_leases(shift->folder, NULL) != SLUICE_OK) {
        /* What stays is swept by the next run. */
    }
    pthread_mutex_destroy(&shift->lock);
    free(shift->holds);
    free(shift->vain);
    free(shift->folder);
    free(shift);
}

/* Whether somebody who lives has one of these in hand. */
static bool in_hand(struct shift *shift)
{
    struct store_list list = { 0 };
    bool held = false;

    if (store_list(shift->folder, STORE_DEEP, &list, NULL) != SLUICE_OK) {
        return false;
    }
    for (size_t i = 0; i < list.n && !held; i++) {
        struct holder holder;
        char *name = str_copy(list.entries[i].name, strlen(list.entries[i].name));
        char *dot = name == NULL ? NULL : strrchr(name, '.');
        if (dot != NULL && strcmp(dot, WON) != 0) {
            *dot = '\0';
            if (lease_look(shift->member, shift->folder, name, &held, &holder, NULL) != SLUICE_OK) {
                held = false;
            }
        }
        free(name);
    }
    store_list_deinit(&list);
    return held;
}

void shift_settle(struct shift *shift)
{
    static const struct timespec pause = { 0, 10000000 };

    for (int i = 0; i < SETTLE_TRIES && shift_shared(shift) && in_hand(shift); i++) {
        nanosleep(&pause, NULL);
    }
}
