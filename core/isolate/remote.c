/* Workers in children, and what is done when a child dies under a call: see isolate.h and
 * instanceInt.h. */
#include "isolate/instanceInt.h"

#include <stdlib.h>

/* ---- the place of a worker ---- */

static void detach(struct remote *remote)
{
    struct process *process = remote->process;

    channel_close(&remote->channel);
    remote->process = NULL;
    remote->calls = 0;
    remote->waits = false;
    remote->description = (struct hash128){ 0, 0 };
    if (remote->alone) {
        remote->alone = false;
        instance_retire(remote->instance, process);
    } else {
        process_unref(process);
    }
}

static sluice_status attach(struct remote *remote, bool alone, struct sluice_error *err)
{
    struct instance *instance = remote->instance;
    struct buf head = BUF_INIT;
    sluice_status status = alone ? instance_alone(instance, &remote->process, err)
                                 : instance_common(instance, &remote->process, err);

    if (status != SLUICE_OK) {
        return status;
    }
    remote->alone = alone;
    status = process_channel(remote->process, &remote->channel, err);
    if (status == SLUICE_OK) {
        status = instance_call(instance, remote->process, &remote->channel, OP_WORKER_OPEN, 0,
                               "worker_open()", &head, err);
    }
    buf_deinit(&head);
    if (status != SLUICE_OK) {
        detach(remote);
    }
    return status;
}

/* It did well in a child of its own: that one may serve the others, too. */
static void settle(struct remote *remote)
{
    if (remote->alone) {
        instance_adopt(remote->instance, remote->process);
    }
}

/* ---- how many are served at once ---- */

static void enter(struct instance *instance)
{
    uint32_t limit = instance->twin->limits.threads;

    pthread_mutex_lock(&instance->lock);
    while (limit > 0 && instance->serving >= limit) {
        pthread_cond_wait(&instance->left, &instance->lock);
    }
    instance->serving++;
    pthread_mutex_unlock(&instance->lock);
}

static void leave(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->serving--;
    pthread_cond_signal(&instance->left);
    pthread_mutex_unlock(&instance->lock);
}

static bool take_suspect(struct instance *instance)
{
    bool taken;

    pthread_mutex_lock(&instance->lock);
    taken = instance->suspects > 0;
    instance->suspects -= taken ? 1 : 0;
    pthread_mutex_unlock(&instance->lock);
    return taken;
}

static void add_suspect(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->suspects++;
    pthread_mutex_unlock(&instance->lock);
}

/* ---- opening and closing ---- */

sluice_status remote_open(struct instance *instance, struct remote **out, struct sluice_error *err)
{
    struct remote *remote = calloc(1, sizeof *remote);
    bool alone = take_suspect(instance);
    sluice_status status;

    *out = NULL;
    if (remote == NULL) {
        return error_nomem(err, "a worker");
    }
    remote->instance = instance;
    remote->channel = (struct channel)CHANNEL_INIT;
    enter(instance);
    status = attach(remote, alone, err);
    if (stage_died(status) && !alone) {
        status = attach(remote, true, err);
        if (status == SLUICE_OK) {
            settle(remote);
        }
    }
    leave(instance);
    if (status != SLUICE_OK) {
        free(remote);
        return status;
    }
    *out = remote;
    return SLUICE_OK;
}

void remote_close(struct remote *remote)
{
    struct sluice_error error = ERROR_INIT;
    struct buf head = BUF_INIT;

    if (remote->process != NULL && !process_dead(remote->process)) {
        enter(remote->instance);
        (void)!instance_call(remote->instance, remote->process, &remote->channel, OP_WORKER_CLOSE,
                             0, "worker_close()", &head, &error);
        leave(remote->instance);
    }
    buf_deinit(&head);
    detach(remote);
    free(remote);
}

/* ---- calls ---- */

static sluice_status attempt(struct remote *remote, const struct request *request, struct buf *head,
                             struct sluice_error *err)
{
    size_t size = 0;
    sluice_status status;

    TRY(request->fill(remote, request->ctx, &size, err));
    status = instance_call(remote->instance, remote->process, &remote->channel, request->op, size,
                           request->what, head, err);
    remote->calls++;
    return status;
}

static sluice_status lost(struct remote *remote, struct sluice_error *err)
{
    char how[320];

    process_how(remote->process, true, how, sizeof how);
    return error_set(
        err, process_killed(remote->process) ? STAGE_KILLED : STAGE_CRASHED,
        "its process ended (%s) in a call of another worker, and what this one held is "
        "lost",
        how);
}

/* A call that can't be made again failed: is another worker to blame? */
static sluice_status blame(struct remote *remote, sluice_status status, struct sluice_error *err)
{
    uint64_t culprit = remote->process == NULL ? 0 : process_culprit(remote->process);

    return culprit == 0 || culprit == remote->channel.serial ? status : lost(remote, err);
}

/* Finds a worker whose child died between two calls another one, if it held nothing. */
static sluice_status find_place(struct remote *remote, bool repeatable, struct sluice_error *err)
{
    bool apart;

    if (remote->process != NULL && !process_dead(remote->process)) {
        return SLUICE_OK;
    }
    if (remote->process != NULL && !repeatable && remote->calls > 0) {
        return lost(remote, err);
    }
    detach(remote);
    apart = remote->apart;
    remote->apart = false;
    return attach(remote, apart, err);
}

/* A child died while a call waited for answers, or with them. Where the call can be made again, it
 * is, by who made it, and in a child of its own: then it is clear whose fault it was. */
static sluice_status again(struct remote *remote, struct sluice_error *err)
{
    remote->apart = true;
    err->code = SLUICE_E_RETRY;
    return SLUICE_E_RETRY;
}

sluice_status remote_call(struct remote *remote, const struct request *request, struct buf *head,
                          struct sluice_error *err)
{
    struct instance *instance = remote->instance;
    bool first = remote->alone && remote->calls == 0 && remote->process != NULL;
    bool waits = remote->waits;
    bool repeatable = !waits && (instance->repeatable || request->fresh || remote->calls == 0);
    bool alone;
    sluice_status status;

    enter(instance);
    status = find_place(remote, repeatable, err);
    alone = remote->alone;
    if (status == SLUICE_OK) {
        status = attempt(remote, request, head, err);
    }
    if (stage_died(status) && repeatable && !first) {
        detach(remote);
        status = attach(remote, true, err);
        if (status == SLUICE_OK) {
            status = attempt(remote, request, head, err);
        }
    }
    if (stage_died(status) && !repeatable) {
        status = blame(remote, status, err);
    }
    if (stage_died(status)) {
        detach(remote);
        if (waits && remote->afresh && !alone) {
            status = again(remote, err);
        } else if (instance->repeatable) {
            add_suspect(instance);
        }
    } else if (status == SLUICE_OK) {
        settle(remote);
    }
    leave(instance);
    return status;
}
