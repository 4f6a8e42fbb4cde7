/* The child process: opens one instance of a stage and serves it until the parent hangs up. See
 * isolate.h and childInt.h.
 *
 * The process ends by _exit, whatever a plugin left running in it: nothing it holds outlives it
 * but files in its scratch folder. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "isolate/childInt.h"
#include "isolate/guards.h"

bool child_area(struct child *child, struct channel *channel, const struct packet *packet, int fd)
{
    if (packet->size == 0) {
        return fd < 0;
    }
    switch (packet->arg) {
    case AREA_REQUEST:
        return area_map(&channel->request, fd, (size_t)packet->size, AREA_PARENT_WRITES);
    case AREA_REPLY:
        return area_map(&channel->reply, fd, (size_t)packet->size, AREA_CHILD_WRITES);
    case AREA_STATUS:
        return area_map(&child->status, fd, (size_t)packet->size, AREA_PARENT_WRITES);
    case AREA_BLAME:
        return area_map(&child->blame, fd, (size_t)packet->size, AREA_CHILD_WRITES);
    default:
        return false;
    }
}

/* Room for the answer; false = the parent gives none. */
static bool reserve_reply(struct child *child, struct channel *channel, size_t bytes)
{
    const struct packet grow = { .op = OP_GROW, .size = bytes };
    struct packet packet;
    int fd;

    if (bytes <= channel->reply.size) {
        return true;
    }
    return channel_send(channel->fd, &grow, NULL, 0, -1, false) &&
           channel_receive(channel->fd, &packet, NULL, NULL, &fd, false) == 1 &&
           packet.op == OP_AREA && child_area(child, channel, &packet, fd) &&
           bytes <= channel->reply.size;
}

bool child_answer(struct child *child, struct channel *channel, sluice_status status,
                  struct buf *head, size_t body, void (*write)(const void *ctx, char *body),
                  const void *ctx, struct sluice_error *err)
{
    struct packet packet = { .op = OP_ANSWER };
    size_t begin = carry_body(head->size);

    if (status == SLUICE_OK && head->failed) {
        status = error_nomem(err, "an answer");
    }
    if (status == SLUICE_OK && !reserve_reply(child, channel, begin + body)) {
        status = error_set(err, SLUICE_E_NOMEM, "its answer has %zu bytes: there is no room for it",
                           begin + body);
    }
    if (status != SLUICE_OK) {
        err->code = status;
        buf_deinit(head);
        wire_put_error(head, err);
        packet.arg = 1;
        body = 0;
    }
    if (head->failed || channel->reply.data == NULL || head->size > channel->reply.size) {
        return false;
    }
    if (head->size > 0) {
        memcpy(channel->reply.data, head->data, head->size);
    }
    if (body > 0 && write != NULL) {
        write(ctx, channel->reply.data + carry_body(head->size));
    }
    packet.size = head->size;
    return channel_send(channel->fd, &packet, NULL, 0, -1, false);
}

/* ---- the instance ---- */

static sluice_status open_stage(struct child *child, const struct packet *packet,
                                struct sluice_error *err)
{
    struct carry_open open;
    struct guards_grant grant;
    struct options *options;
    struct wire wire;

    if (child->open_payload != NULL || child->main.request.data == NULL ||
        packet->size > child->main.request.size || child->status.data == NULL ||
        child->blame.data == NULL) {
        return carry_nonsense(err, "a beginning");
    }
    child->open_payload = malloc((size_t)packet->size + 1);
    if (child->open_payload == NULL) {
        return error_nomem(err, "a stage");
    }
    memcpy(child->open_payload, child->main.request.data, (size_t)packet->size);
    wire = wire_begin(child->open_payload, (size_t)packet->size);
    if (!carry_get_open(&wire, &open)) {
        return carry_nonsense(err, "a beginning");
    }
    grant = (struct guards_grant){
        .scratch = open.scratch, .memory = open.memory, .network = open.network, .gpu = open.gpu
    };
    TRY(guards_apply(&grant, err));
    child_services(child, &open);
    TRY(child->hooks->resolve(child->hooks->ctx, &open.target, &child->entry, err));
    TRY(carry_get_options(&wire, child->entry, &options, err));
    return stage_open(child->entry, options, open.name, &child->services, &child->stage, err);
}

static sluice_status prepare_stage(struct child *child, const struct packet *packet,
                                   struct buf *answer, struct sluice_error *err)
{
    struct stage_prepared prepared;
    struct stage_inputs inputs;
    struct wire wire = wire_begin(child->main.request.data, (size_t)packet->size);
    bool find;
    bool wanted;
    sluice_status status;

    if (packet->size > child->main.request.size || child->stage == NULL) {
        return carry_nonsense(err, "a beginning");
    }
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        schema_deinit(&child->schemas[port]);
        schema_init(&child->schemas[port]);
    }
    carry_ports_deinit(&child->ports);
    TRY(carry_get_inputs(&wire, child->schemas, &inputs, &find, &wanted, err));
    inputs.find_derived = find ? child_find : NULL;
    inputs.wanted = wanted ? child_wanted : NULL;
    inputs.ctx = child;
    status = stage_prepare(child->stage, &inputs, &prepared, err);
    if (status == SLUICE_OK) {
        status = carry_ports_init(&child->ports, &prepared, &inputs, err);
    }
    if (status == SLUICE_OK) {
        carry_put_prepared(answer, &prepared);
    }
    child->prepared = status == SLUICE_OK;
    stage_prepared_deinit(&prepared);
    return status;
}

/* false = the process ends. */
static bool serve(struct child *child, const struct packet *packet, int fd)
{
    struct sluice_error err = ERROR_INIT;
    struct buf answer = BUF_INIT;
    sluice_status status;
    bool good = true;

    switch (packet->op) {
    case OP_AREA:
        return child_area(child, &child->main, packet, fd);
    case OP_WORKER:
        if (fd < 0 || child->stage == NULL ||
            (!child->prepared && stage_kind(child->stage)->survey == NULL)) {
            return false;
        }
        child_worker(child, fd, (uint64_t)packet->arg);
        return true;
    case OP_OPEN:
        status = open_stage(child, packet, &err);
        good = child_answer(child, &child->main, status, &answer, 0, NULL, NULL, &err);
        break;
    case OP_PREPARE:
        status = prepare_stage(child, packet, &answer, &err);
        good = child_answer(child, &child->main, status, &answer, 0, NULL, NULL, &err);
        break;
    case OP_CLOSE:
        stage_close(child->stage);
        child->stage = NULL;
        (void)child_answer(child, &child->main, SLUICE_OK, &answer, 0, NULL, NULL, &err);
        good = false;
        break;
    default:
        good = false;
        break;
    }
    buf_deinit(&answer);
    return good;
}

int isolate_child_main(const struct isolate_child *hooks)
{
    struct child child = { .hooks = hooks,
                           .main = CHANNEL_INIT,
                           .service = CHANNEL_SERVICE_FD,
                           .status = AREA_INIT,
                           .blame = AREA_INIT,
                           .asking = PTHREAD_MUTEX_INITIALIZER };
    struct packet packet;
    int fd;

    /* Again when the rights are given up; until then the parent's end is enough. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    blame_install();
    if (fcntl(CHANNEL_MAIN_FD, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(CHANNEL_SERVICE_FD, F_SETFD, FD_CLOEXEC) != 0) {
        return 2; /* nobody started it the way a child is started */
    }
    child.main.fd = CHANNEL_MAIN_FD;
    for (uint32_t port = 0; port < STAGE_PORTS; port++) {
        schema_init(&child.schemas[port]);
    }
    while (channel_receive(child.main.fd, &packet, NULL, NULL, &fd, false) == 1 &&
           serve(&child, &packet, fd)) {
    }
    _exit(0);
}
