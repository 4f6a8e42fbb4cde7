/* A worker in the child: a thread that serves the calls of one. See childInt.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "isolate/childInt.h"
#include "isolate/flat.h"
#include "plugin/stage_state.h"

#define UNPLUGGED 113 /* exit status */

struct worker {
    struct child *child;
    struct channel channel;
    struct stage_worker *worker;
    struct stage_result result;
    void *stack; /* of the handler of crashes */
    /* What a call that asks was given, until it is over: the request's memory is the next
     * request's. */
    struct carry_batch batch;
    char *rows; /* the body of a request with a batch */
    char *uri;
    struct sluice_file file;
    struct sluice_scan scan;
    struct buf description; /* of the file that was scanned last */
};

static void release(struct worker *worker)
{
    carry_batch_deinit(&worker->batch);
    free(worker->rows);
    free(worker->uri);
    worker->rows = NULL;
    worker->uri = NULL;
}

/* ---- calls that give a result ---- */

struct given {
    const struct stage_result *result;
    const struct type *output;
};

static void write_result(const void *ctx, char *body)
{
    const struct given *given = ctx;

    carry_write_result(given->result, given->output, body);
}

/* head holds what goes before the result. */
static bool answer_result(struct worker *worker, sluice_status status, struct buf *head,
                          struct sluice_error *err)
{
    struct given given = { &worker->result, stage_output(worker->child->stage) };
    size_t body = 0;

    if (status == SLUICE_OK) {
        carry_put_result(head, given.result, given.output, &body);
    }
    if (status != SLUICE_OK || worker->result.n_asks == 0) {
        release(worker);
    }
    return child_answer(worker->child, &worker->channel, status, head, body, write_result, &given,
                        err);
}

/* The head of a request lies in memory that only the parent writes to, and does not while the
 * call lasts. */
static struct wire request_of(const struct worker *worker, const struct packet *packet,
                              const char **body, size_t *n)
{
    const struct area *area = &worker->channel.request;
    size_t begin = carry_body((size_t)packet->size);

    *body = area->data + begin;
    *n = begin <= area->size ? area->size - begin : 0;
    return packet->size <= area->size ? wire_begin(area->data, (size_t)packet->size)
                                      : (struct wire){ .failed = true };
}

/* The bytes of a batch, where the stage may ask: it may be looked at again behind an answer. */
static sluice_status keep_rows(struct worker *worker, const char **body, size_t n,
                               struct sluice_error *err)
{
    if (!stage_may_ask(worker->child->stage)) {
        return SLUICE_OK;
    }
    worker->rows = flat_alloc(n);
    if (worker->rows == NULL) {
        return error_nomem(err, "a batch");
    }
    memcpy(worker->rows, *body, n);
    *body = worker->rows;
    return SLUICE_OK;
}

static bool process(struct worker *worker, const struct packet *packet, struct buf *head,
                    struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    sluice_status status = keep_rows(worker, &body, n, err);

    if (status == SLUICE_OK) {
        status = carry_get_batch(&wire, &worker->child->ports, body, n, &worker->batch, err);
    }
    if (status == SLUICE_OK) {
        status = stage_process(worker->worker, &worker->batch.view.batch, &worker->result, err);
    }
    return answer_result(worker, status, head, err);
}

/* ---- readers that read at random ---- */

static sluice_status keep_uri(struct worker *worker, struct sluice_error *err)
{
    worker->uri = strdup(worker->file.uri);
    worker->file.uri = worker->uri;
    return worker->uri == NULL ? error_nomem(err, "a file's name") : SLUICE_OK;
}

static bool survey(struct worker *worker, const struct packet *packet, struct buf *head,
                   struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    sluice_status status = carry_get_file(&wire, &worker->file) && wire_end(&wire)
                               ? keep_uri(worker, err)
                               : carry_nonsense(err, "a file");

    if (status == SLUICE_OK) {
        status = stage_survey(worker->worker, &worker->file, &worker->result, err);
    }
    return answer_result(worker, status, head, err);
}

/* The description comes along once for a file; until another one comes it stays. */
static sluice_status take_scan(struct worker *worker, struct wire *wire, const char *body, size_t n,
                               struct sluice_error *err)
{
    struct sluice_scan *scan = &worker->scan;
    bool fresh;

    *scan = (struct sluice_scan){ .size = sizeof *scan, .file = &worker->file };
    if (!carry_get_file(wire, &worker->file) || !carry_get_scan(wire, scan, &fresh) ||
        (fresh && scan->description_size > n)) {
        return carry_nonsense(err, "a unit");
    }
    if (fresh) {
        buf_clear(&worker->description);
        buf_append(&worker->description, body, (size_t)scan->description_size);
        TRY(buf_status(&worker->description, err));
    }
    if (scan->description_size > 0) {
        scan->description = worker->description.data;
    }
    return scan->description_size > worker->description.size ? carry_nonsense(err, "a description")
                                                             : keep_uri(worker, err);
}

static bool scan(struct worker *worker, const struct packet *packet, struct buf *head,
                 struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    sluice_status status = take_scan(worker, &wire, body, n, err);

    if (status == SLUICE_OK) {
        status = stage_scan(worker->worker, &worker->scan, &worker->result, err);
    }
    wire_put(head, worker->scan.more != 0);
    return answer_result(worker, status, head, err);
}

static bool resume(struct worker *worker, const struct packet *packet, struct buf *head,
                   struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    struct sluice_answer *items = NULL;
    uint32_t n_items;
    sluice_status status = carry_get_answers(&wire, body, n, &items, &n_items, err);

    if (status == SLUICE_OK && n_items != worker->result.n_asks) {
        status = carry_nonsense(err, "answers");
    }
    if (status == SLUICE_OK) {
        status = stage_resume(worker->worker, items, n_items, &worker->result, err);
    }
    free(items);
    wire_put(head, worker->scan.more != 0);
    return answer_result(worker, status, head, err);
}

/* ---- readers that are given chunks ---- */

static bool read_chunk(struct worker *worker, const struct packet *packet, struct buf *head,
                       struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    struct sluice_chunk chunk = { .size = sizeof chunk, .data = body };
    sluice_status status;

    chunk.n = wire_get_below(&wire, n);
    chunk.offset = wire_get(&wire);
    chunk.uri = wire_get_text(&wire);
    chunk.file = (uint32_t)wire_get(&wire);
    chunk.flags = (uint32_t)wire_get(&wire);
    status = wire_end(&wire) ? stage_read(worker->worker, &chunk, &worker->result, err)
                             : carry_nonsense(err, "a chunk");
    wire_put(head, chunk.consumed);
    return answer_result(worker, status, head, err);
}

static bool flush(struct worker *worker, struct buf *head, struct sluice_error *err)
{
    sluice_status status = stage_flush(worker->worker, &worker->result, err);

    return answer_result(worker, status, head, err);
}

/* ---- state ---- */

/* Without the frame, which the parent puts around it. */
static sluice_status save(struct worker *worker, struct buf *head, struct sluice_error *err)
{
    struct buf state = BUF_INIT;
    sluice_status status = stage_save(worker->worker, &state, err);

    if (status == SLUICE_OK) {
        wire_put_bytes(head, state.data + STAGE_FRAME_HEADER, state.size - STAGE_FRAME_HEADER);
    }
    buf_deinit(&state);
    return status;
}

static sluice_status load(struct worker *worker, const struct packet *packet,
                          struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct wire wire = request_of(worker, packet, &body, &n);
    uint64_t version = wire_get(&wire);
    size_t size;
    const void *data = wire_get_bytes(&wire, &size);
    struct stage_frame frame;
    struct buf state = BUF_INIT;
    sluice_status status;

    stage_frame_begin(&frame, &state, version);
    buf_append(&state, data, size);
    stage_frame_end(&frame, &state);
    status = buf_status(&state, err);
    if (status == SLUICE_OK && packet->op == OP_LOAD) {
        status = stage_load(worker->worker, state.data, state.size, err);
    } else if (status == SLUICE_OK) {
        status = stage_merge(worker->worker, state.data, state.size, err);
    }
    buf_deinit(&state);
    return status;
}

/* ---- gates ---- */

struct counts { /* of the nodes that the options name */
    struct wire wire;
    uint64_t n;
};

static int64_t count_node(void *ctx, const char *node)
{
    const struct counts *counts = ctx;
    struct wire wire = counts->wire;

    for (uint64_t k = 0; k < counts->n; k++) {
        const char *name = wire_get_text(&wire);
        int64_t count = (int64_t)wire_get(&wire);
        if (name != NULL && strcmp(name, node) == 0) {
            return count;
        }
    }
    return -1;
}

static sluice_status judge(struct worker *worker, const struct packet *packet, struct buf *head,
                           struct sluice_error *err)
{
    const char *body;
    size_t n;
    struct counts counts = { .wire = request_of(worker, packet, &body, &n) };
    struct stage_judgement judgement;
    sluice_status status;

    counts.n = wire_get_below(&counts.wire, OPTIONS_MAX);
    status = stage_judge(worker->worker, count_node, &counts, &judgement, err);
    if (status == SLUICE_OK) {
        wire_put(head, (uint64_t)(int64_t)judgement.outcome);
        wire_put_text(head, judgement.message);
    }
    return status;
}

/* ---- the thread ---- */

/* false = the thread ends. */
static bool serve(struct worker *worker, const struct packet *packet, int fd)
{
    struct child *child = worker->child;
    struct sluice_error err = ERROR_INIT;
    struct buf head = BUF_INIT;
    sluice_status status = SLUICE_OK;
    bool answered = false;
    bool good = true;

    if (packet->op == OP_AREA) {
        return child_area(child, &worker->channel, packet, fd);
    }
    if ((worker->worker == NULL) != (packet->op == OP_WORKER_OPEN)) {
        return false;
    }
    switch (packet->op) {
    case OP_WORKER_OPEN:
        status = stage_worker_open(child->stage, &worker->worker, &err);
        break;
    case OP_PROCESS:
        good = process(worker, packet, &head, &err);
        answered = true;
        break;
    case OP_READ:
        good = read_chunk(worker, packet, &head, &err);
        answered = true;
        break;
    case OP_SURVEY:
        good = survey(worker, packet, &head, &err);
        answered = true;
        break;
    case OP_SCAN:
        good = scan(worker, packet, &head, &err);
        answered = true;
        break;
    case OP_RESUME:
        good = resume(worker, packet, &head, &err);
        answered = true;
        break;
    case OP_FLUSH:
        good = flush(worker, &head, &err);
        answered = true;
        break;
    case OP_SAVE:
        status = save(worker, &head, &err);
        break;
    case OP_LOAD:
    case OP_MERGE:
        status = load(worker, packet, &err);
        break;
    case OP_JUDGE:
        status = judge(worker, packet, &head, &err);
        break;
    case OP_WORKER_CLOSE:
        stage_worker_close(worker->worker);
        worker->worker = NULL;
        break;
    default:
        return false;
    }
    if (!answered) {
        good = child_answer(child, &worker->channel, status, &head, 0, NULL, NULL, &err);
    }
    buf_deinit(&head);
    return good && worker->worker != NULL;
}

static void *worker_main(void *ctx)
{
    struct worker *worker = ctx;
    struct packet packet;
    int fd;

    blame_begin((struct blame_page *)(void *)worker->child->blame.data, worker->channel.serial,
                worker->stack);
    while (channel_receive(worker->channel.fd, &packet, NULL, NULL, &fd, false) == 1 &&
           serve(worker, &packet, fd)) {
    }
    /* A stage has closed what is not its own: nobody would hear of anything any more. */
    if (fcntl(worker->channel.fd, F_GETFD) < 0) {
        _exit(UNPLUGGED);
    }
    /* The parent hung up without closing: it is gone, or gave the worker up after an error. */
    stage_worker_close(worker->worker);
    release(worker);
    buf_deinit(&worker->description);
    stage_result_deinit(&worker->result);
    channel_close(&worker->channel);
    blame_end();
    free(worker->stack);
    free(worker);
    return NULL;
}

void child_worker(struct child *child, int fd, uint64_t serial)
{
    struct worker *worker = calloc(1, sizeof *worker);
    pthread_attr_t attributes;
    pthread_t thread;
    bool started = false;

    if (worker != NULL && pthread_attr_init(&attributes) == 0) {
        worker->child = child;
        worker->channel = (struct channel)CHANNEL_INIT;
        worker->channel.fd = fd;
        worker->channel.serial = serial;
        worker->stack = malloc(blame_stack_size());
        stage_result_init(&worker->result);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        started =
            worker->stack != NULL && pthread_create(&thread, &attributes, worker_main, worker) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!started) {
        free(worker != NULL ? worker->stack : NULL);
        free(worker);
        close(fd); /* which is how the parent hears of it */
    }
}
