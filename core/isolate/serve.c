/* Calls to a child process, and what its stage asks of the host meanwhile: see process.h.
 * Whatever comes from the child may be a lie; nothing that it says can do more than end it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "isolate/processInt.h"
#include "isolate/wire.h"
#include "store/filemap.h"

#define TICK_MS 100
#define GRACE_NS UINT64_C(2000000000) /* for a stage to hear of a cancellation */
#define STEP_NS UINT64_C(500000000)   /* a longer wait means that this process stood still */
#define NONSENSE "an answer that makes no sense"
#define SERVED_AT_ONCE 512 /* packets, more than a socket holds: a child that never stops waits */
#define LOG_MOST 20000u    /* lines of a child */

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- services ---- */

static void answer(struct process *process, sluice_status status, struct buf *body,
                   const struct sluice_error *error, uint64_t size, int pass)
{
    struct packet packet = { .op = OP_ANSWER, .size = size, .arg = status == SLUICE_OK ? 0 : 1 };

    if (status != SLUICE_OK) {
        buf_clear(body);
        wire_put_error(body, error);
    }
    if (!body->failed) {
        (void)channel_send(process->service, &packet, body->data, body->size, pass, true);
    }
}

static void serve_log(struct process *process, const struct packet *packet, char *text)
{
    const struct stage_services *services = process->host.services;
    int32_t level = packet->arg < SLUICE_LOG_DEBUG   ? SLUICE_LOG_DEBUG
                    : packet->arg > SLUICE_LOG_ERROR ? SLUICE_LOG_ERROR
                                                     : (int32_t)packet->arg;

    if (services->log == NULL || process->logged > LOG_MOST) {
        return;
    }
    if (process->logged++ == LOG_MOST) {
        services->log(services->ctx, SLUICE_LOG_WARN, process->host.stage,
                      "it logs too much; what more this process has to say is left out");
        return;
    }
    utf8_clean(text);
    services->log(services->ctx, level, process->host.stage, text);
}

/* What a child can't read by itself it does not get through its parent: files about processes,
 * devices (of what is below /dev only /dev/shm is a place for files), or a file in its own folder
 * that it may replace by a link to one meanwhile. */
static bool file_safe(const struct process *process, const char *path)
{
    static const char *const kept[] = { "/proc/", "/dev/", "/sys/" };
    char *real = realpath(path, NULL);
    size_t n = process->scratch == NULL ? 0 : strlen(process->scratch);
    bool safe = true;

    for (size_t k = 0; real != NULL && k < sizeof kept / sizeof kept[0]; k++) {
        safe = safe && (strncmp(real, kept[k], strlen(kept[k])) != 0 ||
                        strncmp(real, "/dev/shm/", strlen("/dev/shm/")) == 0);
    }
    if (real != NULL && n > 0) {
        safe = safe && strncmp(real, process->scratch, n) != 0 &&
               strncmp(path, process->scratch, n) != 0;
    }
    free(real);
    return safe;
}

/* The bytes go over in memory that the child can't write to; our own copy is not kept. */
static void serve_file(struct process *process, const char *path)
{
    const struct stage_services *services = process->host.services;
    struct sluice_error error = ERROR_INIT;
    struct area area = AREA_INIT;
    struct buf body = BUF_INIT;
    const void *data = NULL;
    uint64_t size = 0;
    sluice_status status;

    status = services->read_file == NULL
                 ? error_set(&error, SLUICE_E_INTERNAL, "no files can be read here")
             : !file_safe(process, path)
                 ? error_set(&error, SLUICE_E_IO,
                             "the host reads no such file for a stage in a child process: %s", path)
                 : services->read_file(services->ctx, path, &data, &size, &error);
    if (status == SLUICE_OK) {
        status = area_create(&area, (size_t)size, AREA_PARENT_WRITES, &error);
        if (status == SLUICE_OK && size > 0) {
            memcpy(area.data, data, (size_t)size);
        }
        if (services->release_file != NULL) {
            services->release_file(services->ctx, data);
        }
    }
    answer(process, status, &body, &error, size, area.fd);
    area_close(&area);
    buf_deinit(&body);
}

/* The file itself: pages of it are shared by all who map it. */
static void serve_map(struct process *process, const char *path)
{
    const struct stage_services *services = process->host.services;
    struct sluice_error error = ERROR_INIT;
    struct buf body = BUF_INIT;
    uint64_t size = 0;
    int fd = -1;
    sluice_status status =
        services->map_file == NULL
            ? error_set(&error, SLUICE_E_INTERNAL, "no files can be mapped here")
        : !file_safe(process, path)
            ? error_set(&error, SLUICE_E_IO,
                        "the host maps no such file for a stage in a child process: %s", path)
            : filemap_open(path,
                           services->scratch_dir == NULL
                               ? NULL
                               : services->scratch_dir(services->ctx, process->host.stage),
                           &fd, &size, &error);

    answer(process, status, &body, &error, size, fd);
    if (fd >= 0) {
        close(fd);
    }
    buf_deinit(&body);
}

static void serve_ask(struct process *process, uint32_t op, const void *request, size_t n)
{
    struct sluice_error error = ERROR_INIT;
    struct buf body = BUF_INIT;
    int64_t value = -1;
    sluice_status status = process->host.ask(process->host.ctx, op, request, n, &value, &error);

    wire_put(&body, (uint64_t)value);
    answer(process, status, &body, &error, 0, -1);
    buf_deinit(&body);
}

/* false = the child talks nonsense. */
static bool serve_packet(struct process *process, const struct packet *packet, char *data, size_t n)
{
    data[n] = '\0';
    switch (packet->op) {
    case OP_LOG:
        serve_log(process, packet, data);
        return true;
    case OP_FILE:
        serve_file(process, data);
        return true;
    case OP_MAP:
        serve_map(process, data);
        return true;
    case OP_FIND:
    case OP_WANTED:
        serve_ask(process, packet->op, data, n);
        return true;
    default:
        return false;
    }
}

/* Serves what waits, but not for long: the caller has an eye on the time. false = the child talks
 * nonsense. */
static bool serve(struct process *process)
{
    bool sane = true;
    bool long_enough = false;

    if (pthread_mutex_trylock(&process->serving) != 0) {
        return true;
    }
    for (int k = 0; sane && !process->service_gone && !long_enough; k++) {
        char data[CHANNEL_INLINE_MAX + 1];
        struct packet packet;
        size_t n = CHANNEL_INLINE_MAX;
        int got = channel_receive(process->service, &packet, data, &n, NULL, true);
        if (got == 0) {
            break;
        }
        process->service_gone = got < 0;
        sane = got < 0 || serve_packet(process, &packet, data, n);
        long_enough =
            k >= SERVED_AT_ONCE || (got > 0 && (packet.op == OP_FILE || packet.op == OP_MAP));
    }
    pthread_mutex_unlock(&process->serving);
    return sane;
}

/* ---- calls ---- */

struct call {
    struct process *process;
    struct channel *channel;
    uint64_t timeout, waited, cancelled_for;
    bool cancelled;
};

static bool send_area(struct channel *channel, struct area *area, enum channel_area which)
{
    struct packet packet = { .op = OP_AREA, .size = area->size, .arg = which };

    if (area->fd < 0 || area->sent) {
        return true;
    }
    area->sent = channel_send(channel->fd, &packet, NULL, 0, area->fd, true);
    if (area->sent) {
        /* The mapping stays; a run with many workers has no descriptors to spare. */
        close(area->fd);
        area->fd = -1;
    }
    return area->sent;
}

/* The child needs more room for its answer. None, when it asks for more than anybody may: the
 * call then fails in the child. */
static bool grow(struct channel *channel, uint64_t bytes, uint64_t max)
{
    struct sluice_error error = ERROR_INIT;
    const struct packet none = { .op = OP_AREA, .size = 0, .arg = AREA_REPLY };

    if (bytes > max ||
        area_create(&channel->reply, (size_t)bytes, AREA_CHILD_WRITES, &error) != SLUICE_OK) {
        return channel_send(channel->fd, &none, NULL, 0, -1, true) &&
               (channel->reply.data != NULL ||
                area_create(&channel->reply, 0, AREA_CHILD_WRITES, &error) == SLUICE_OK);
    }
    return send_area(channel, &channel->reply, AREA_REPLY);
}

/* Receives what the child sent on the call's channel: 1 = the answer, 0 = wait on, -1 = it is
 * gone, -2 = nonsense. */
static int receive(struct call *call, struct packet *packet)
{
    struct channel *channel = call->channel;
    int got = channel_receive(channel->fd, packet, NULL, NULL, NULL, true);

    if (got <= 0) {
        return got;
    }
    if (packet->op == OP_GROW) {
        return grow(channel, packet->size, call->process->host.reply_max) ? 0 : -1;
    }
    return packet->op == OP_ANSWER && packet->size <= channel->reply.size ? 1 : -2;
}

/* Counts a wait of ns; PROCESS_ANSWERED = go on. */
static enum process_end count_time(struct call *call, uint64_t ns)
{
    struct process *process = call->process;
    const _Atomic int *flag = process->host.services->cancelled;

    ns = ns < STEP_NS ? ns : STEP_NS;
    call->waited += ns;
    if (call->cancelled) {
        call->cancelled_for += ns;
    } else if (flag != NULL && atomic_load_explicit(flag, memory_order_relaxed) != 0) {
        struct status_page *page = (struct status_page *)(void *)process->status.data;
        atomic_store(&page->cancelled, 1);
        call->cancelled = true;
    }
    if (call->cancelled_for > GRACE_NS) {
        process_kill(process, "it did not stop when the run was stopped");
        return PROCESS_CANCELLED;
    }
    if (call->waited >= call->timeout) {
        char how[64];
        pthread_mutex_lock(&process->lock);
        if (process->late == 0 && !process->over) {
            process->late = call->channel->serial;
        }
        pthread_mutex_unlock(&process->lock);
        snprintf(how, sizeof how, "%.3g s without an answer", (double)call->timeout / 1e9);
        process_kill(process, how);
        return PROCESS_LATE;
    }
    return PROCESS_ANSWERED;
}

/* Milliseconds until the next look at the clock. */
static int next_tick(const struct call *call)
{
    uint64_t left = (call->timeout - call->waited) / 1000000u + 1;

    return left < TICK_MS ? (int)left : TICK_MS;
}

static enum process_end await(struct call *call, struct packet *packet)
{
    struct process *process = call->process;
    enum process_end end = count_time(call, 0);

    while (end == PROCESS_ANSWERED) {
        struct pollfd events[2] = { { .fd = call->channel->fd, .events = POLLIN },
                                    { .fd = process->service_gone ? -1 : process->service,
                                      .events = POLLIN } };
        uint64_t before = now_ns();
        int got;
        if (poll(events, 2, next_tick(call)) < 0 && errno != EINTR) {
            process_kill(process, "it could not be waited for");
            return PROCESS_DIED;
        }
        end = count_time(call, now_ns() - before);
        if (events[1].revents != 0 && !serve(process)) {
            process_kill(process, NONSENSE);
            return PROCESS_DIED;
        }
        got = events[0].revents != 0 ? receive(call, packet) : 0;
        if (got == 1 && end == PROCESS_ANSWERED) {
            return end;
        }
        if (got < 0 && end == PROCESS_ANSWERED) {
            process_kill(process, got == -2 ? NONSENSE : NULL);
            return PROCESS_DIED;
        }
    }
    return end;
}

enum process_end process_call(struct process *process, struct channel *channel, uint32_t op,
                              size_t size, uint64_t timeout_ns, struct packet *packet)
{
    const struct packet request = { .op = op, .size = size };
    struct call call = { .process = process, .channel = channel, .timeout = timeout_ns };
    struct sluice_error error = ERROR_INIT;
    enum process_end end;

    /* One huge answer does not keep its memory for good. */
    if (channel->reply.size > AREA_KEPT &&
        area_create(&channel->reply, 0, AREA_CHILD_WRITES, &error) != SLUICE_OK) {
        process_kill(process, "no memory to answer in");
        return PROCESS_DIED;
    }
    if (!send_area(channel, &channel->request, AREA_REQUEST) ||
        !send_area(channel, &channel->reply, AREA_REPLY) ||
        !channel_send(channel->fd, &request, NULL, 0, -1, true)) {
        process_kill(process, NULL);
        return PROCESS_DIED;
    }
    end = await(&call, packet);
    /* What it logged comes before what it answered. */
    if (!serve(process) && end == PROCESS_ANSWERED) {
        process_kill(process, NONSENSE);
        end = PROCESS_DIED;
    }
    process_drain(process);
    return end;
}
