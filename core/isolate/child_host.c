/* The host services that a stage finds in its child process: memory is counted there, all else
 * is asked of the parent. See childInt.h. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "isolate/childInt.h"

#define LOG_PATIENCE_MS 100

/* A line of the log needs no answer. Where nobody listens for long it is lost. */
static void forward_log(void *ctx, int32_t level, const char *stage, const char *message)
{
    struct child *child = ctx;
    const struct packet packet = { .op = OP_LOG, .arg = level };
    struct pollfd room = { .fd = child->service, .events = POLLOUT };
    size_t n = strlen(message);

    (void)stage;
    if (!channel_send(child->service, &packet, message, n, -1, true) &&
        poll(&room, 1, LOG_PATIENCE_MS) > 0) {
        (void)channel_send(child->service, &packet, message, n, -1, true);
    }
}

/* Asks the parent and waits. *body gets what came inline; *passed a descriptor or -1. */
static sluice_status ask(struct child *child, uint32_t op, const struct buf *request,
                         struct packet *packet, struct buf *body, int *passed,
                         struct sluice_error *err)
{
    const struct packet question = { .op = op };
    size_t n = CHANNEL_INLINE_MAX;
    int got;

    *passed = -1;
    if (request->failed || !buf_reserve(body, n)) {
        return error_nomem(err, "a question to the host");
    }
    if (request->size > CHANNEL_INLINE_MAX) {
        return error_set(err, SLUICE_E_INTERNAL, "a question of %zu bytes to the host is too long",
                         request->size);
    }
    pthread_mutex_lock(&child->asking);
    got = channel_send(child->service, &question, request->data, request->size, -1, false)
              ? channel_receive(child->service, packet, body->data, &n, passed, false)
              : -1;
    pthread_mutex_unlock(&child->asking);
    if (got != 1 || packet->op != OP_ANSWER) {
        return error_set(err, SLUICE_E_CANCELLED, "the host is gone");
    }
    body->size = n;
    if (packet->arg != 0) {
        struct wire wire = wire_begin(body->data, body->size);
        wire_get_error(&wire, err);
        return err->code != SLUICE_OK ? err->code : SLUICE_E_INTERNAL;
    }
    return SLUICE_OK;
}

static sluice_status forward_file(struct child *child, uint32_t op, const char *path,
                                  const void **data, uint64_t *size, struct sluice_error *err)
{
    struct buf request = BUF_INIT;
    struct buf body = BUF_INIT;
    struct packet packet;
    void *mapped = NULL;
    int fd;
    sluice_status status;

    buf_append(&request, path, strlen(path) + 1);
    status = ask(child, op, &request, &packet, &body, &fd, err);
    buf_deinit(&request);
    buf_deinit(&body);
    if (status == SLUICE_OK && packet.size == 0 && op == OP_MAP) {
        close(fd);
        mapped = (void *)(uintptr_t) "";
    } else if (status == SLUICE_OK) {
        struct area area = AREA_INIT;
        size_t mapped_size = packet.size > 0 ? (size_t)packet.size : 1;
        if (!area_map(&area, fd, mapped_size, AREA_PARENT_WRITES)) {
            return error_set(err, SLUICE_E_NOMEM,
                             "no room for the %llu bytes of %s: grant the stage more memory",
                             (unsigned long long)packet.size, path);
        }
        mapped = area.data; /* until the process ends */
    }
    *data = mapped;
    *size = status == SLUICE_OK ? packet.size : 0;
    return status;
}

static sluice_status forward_read_file(void *ctx, const char *path, const void **data,
                                       uint64_t *size, struct sluice_error *err)
{
    return forward_file(ctx, OP_FILE, path, data, size, err);
}

static sluice_status forward_map_file(void *ctx, const char *path, const void **data,
                                      uint64_t *size, struct sluice_error *err)
{
    return forward_file(ctx, OP_MAP, path, data, size, err);
}

static void keep_map(void *ctx, const void *data, uint64_t size)
{
    (void)ctx;
    (void)data;
    (void)size; /* until the process ends */
}

static const char *own_scratch(void *ctx, const char *stage)
{
    (void)stage;
    return ((struct child *)ctx)->scratch;
}

void child_services(struct child *child, const struct carry_open *open)
{
    budget_init(&child->budget, NULL, open->memory);
    child->scratch = open->scratch;
    child->services = (struct stage_services){
        .ctx = child,
        .budget = &child->budget,
        .log = forward_log,
        .read_file = open->files ? forward_read_file : NULL,
        .map_file = open->maps ? forward_map_file : NULL,
        .unmap_file = keep_map,
        .scratch_dir = open->scratch != NULL ? own_scratch : NULL,
        .seed = open->seed,
        .memory_share = open->memory_share,
        .cancelled = (const _Atomic int *)(const void *)child->status.data,
        .unnamed = true, /* the driver on the other side names the stage */
    };
}

sluice_status child_find(void *ctx, uint32_t port, const char *provider, const char *options,
                         const char *source, int32_t *field, struct sluice_error *err)
{
    struct buf request = BUF_INIT;
    struct buf body = BUF_INIT;
    struct packet packet;
    sluice_status status;
    int fd;

    wire_put(&request, port);
    wire_put_text(&request, provider);
    wire_put_text(&request, options);
    wire_put_text(&request, source);
    status = ask(ctx, OP_FIND, &request, &packet, &body, &fd, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(body.data, body.size);
        *field = (int32_t)(int64_t)wire_get(&wire);
    }
    buf_deinit(&request);
    buf_deinit(&body);
    return status;
}

int32_t child_wanted(void *ctx, const char *name)
{
    struct sluice_error error = ERROR_INIT;
    struct buf request = BUF_INIT;
    struct buf body = BUF_INIT;
    struct packet packet;
    int32_t wanted = 1;
    int fd;

    wire_put_text(&request, name);
    if (ask(ctx, OP_WANTED, &request, &packet, &body, &fd, &error) == SLUICE_OK) {
        struct wire wire = wire_begin(body.data, body.size);
        wanted = (int32_t)(int64_t)wire_get(&wire);
    }
    buf_deinit(&request);
    buf_deinit(&body);
    return wanted;
}
