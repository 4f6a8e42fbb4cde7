/* The functions of a stage in a child: each carries one call there and its answer back. See
 * isolate.h. */
#include <stdio.h>
#include <string.h>

#include "isolate/flat.h"
#include "isolate/instanceInt.h"

#define WHAT 400

/* ---- instances ---- */

static sluice_status twin_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)config; /* the options' texts go over, not the struct */
    return instance_open(host, shared, err);
}

static sluice_status twin_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return instance_prepare(shared, plan, err);
}

static void twin_close(void *shared)
{
    instance_close(shared);
}

static sluice_status twin_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct remote *remote;

    TRY(remote_open(shared, &remote, err));
    *worker = remote;
    return SLUICE_OK;
}

static void twin_worker_close(void *worker)
{
    remote_close(worker);
}

/* ---- calls that give a result ---- */

static sluice_status fill_head(struct remote *remote, struct buf *head, size_t body, size_t *size,
                               struct sluice_error *err)
{
    sluice_status status = buf_status(head, err);

    if (status == SLUICE_OK) {
        status = process_reserve(&remote->channel, carry_body(head->size) + body, err);
    }
    if (status == SLUICE_OK) {
        memcpy(remote->channel.request.data, head->data, head->size);
        *size = head->size;
    }
    return status;
}

static sluice_status take_result(struct remote *remote, struct wire *wire, size_t head,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    const struct area *area = &remote->channel.reply;
    size_t begin = carry_body(head);
    const char *body = begin <= area->size ? area->data + begin : area->data;
    struct wire peek = *wire;

    remote->waits = wire_get(&peek) > 0; /* it begins with the number of asks */
    return carry_emit(wire, stage_output(remote->instance->stage), body,
                      begin <= area->size ? area->size - begin : 0, emit, err);
}

static sluice_status fill_batch(struct remote *remote, const void *ctx, size_t *size,
                                struct sluice_error *err)
{
    const struct sluice_batch *batch = ctx;
    const struct carry_ports *ports = &remote->instance->ports;
    struct buf head = BUF_INIT;
    size_t body;
    sluice_status status;

    carry_put_batch(&head, batch, ports, &body);
    status = fill_head(remote, &head, body, size, err);
    if (status == SLUICE_OK) {
        carry_write_batch(batch, ports, remote->channel.request.data + carry_body(head.size));
    }
    buf_deinit(&head);
    return status;
}

/* A call from its beginning. */
static void begin_call(struct remote *remote, bool fresh)
{
    remote->waits = false;
    remote->afresh = fresh || remote->instance->repeatable;
}

static sluice_status twin_process(void *worker, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    char what[WHAT];
    const struct request request = {
        .op = OP_PROCESS, .what = what, .fill = fill_batch, .ctx = batch
    };
    struct buf head = BUF_INIT;
    sluice_status status;

    snprintf(what, sizeof what, "process() on %lld row%s", (long long)batch->n,
             batch->n == 1 ? "" : "s");
    begin_call(worker, false);
    status = remote_call(worker, &request, &head, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

static sluice_status fill_chunk(struct remote *remote, const void *ctx, size_t *size,
                                struct sluice_error *err)
{
    const struct sluice_chunk *chunk = ctx;
    struct buf head = BUF_INIT;
    sluice_status status;

    wire_put(&head, chunk->n);
    wire_put(&head, chunk->offset);
    wire_put_text(&head, chunk->uri);
    wire_put(&head, chunk->file);
    wire_put(&head, chunk->flags);
    status = fill_head(remote, &head, (size_t)chunk->n + SLUICE_PADDING, size, err);
    if (status == SLUICE_OK) {
        char *body = remote->channel.request.data + carry_body(head.size);
        if (chunk->n > 0) {
            memcpy(body, chunk->data, (size_t)chunk->n);
        }
        memset(body + chunk->n, 0, SLUICE_PADDING);
    }
    buf_deinit(&head);
    return status;
}

static sluice_status twin_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    char what[WHAT];
    const struct request request = {
        .op = OP_READ, .what = what, .fill = fill_chunk, .ctx = chunk
    };
    struct buf head = BUF_INIT;
    sluice_status status;

    snprintf(what, sizeof what, "read() of %llu bytes from %llu on of %.200s",
             (unsigned long long)chunk->n, (unsigned long long)chunk->offset,
             chunk->uri != NULL ? chunk->uri : "its input");
    status = remote_call(worker, &request, &head, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        chunk->consumed = wire_get(&wire);
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

static sluice_status fill_survey(struct remote *remote, const void *ctx, size_t *size,
                                 struct sluice_error *err)
{
    struct buf head = BUF_INIT;
    sluice_status status;

    carry_put_file(&head, ctx);
    status = fill_head(remote, &head, 0, size, err);
    buf_deinit(&head);
    return status;
}

static sluice_status twin_survey(void *worker, const struct sluice_file *file,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    char what[WHAT];
    const struct request request = {
        .op = OP_SURVEY, .what = what, .fill = fill_survey, .ctx = file, .fresh = true
    };
    struct buf head = BUF_INIT;
    sluice_status status;

    snprintf(what, sizeof what, "survey() of %.200s", file->uri);
    begin_call(worker, true);
    status = remote_call(worker, &request, &head, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

/* A description goes over once for all the units of a file that follow each other. */
static sluice_status fill_scan(struct remote *remote, const void *ctx, size_t *size,
                               struct sluice_error *err)
{
    const struct sluice_scan *scan = ctx;
    struct hash128 hash = { 0, 0 };
    struct buf head = BUF_INIT;
    size_t n = scan->description == NULL ? 0 : (size_t)scan->description_size;
    bool fresh;
    sluice_status status;

    if (n > 0) {
        hash = hash_bytes(scan->description, n);
    }
    fresh = n > 0 && !hash_equal(hash, remote->description);
    carry_put_scan(&head, scan, fresh);
    status = fill_head(remote, &head, fresh ? n : 0, size, err);
    if (status == SLUICE_OK && fresh) {
        memcpy(remote->channel.request.data + carry_body(head.size), scan->description, n);
        remote->description = hash;
    }
    buf_deinit(&head);
    return status;
}

static sluice_status twin_scan(void *worker, struct sluice_scan *scan, struct sluice_emit *emit,
                               struct sluice_error *err)
{
    char what[WHAT];
    const struct request request = {
        .op = OP_SCAN, .what = what, .fill = fill_scan, .ctx = scan, .fresh = scan->call == 0
    };
    struct buf head = BUF_INIT;
    sluice_status status;

    snprintf(what, sizeof what, "scan() of bytes %llu to %llu of %.200s",
             (unsigned long long)scan->begin, (unsigned long long)scan->end, scan->file->uri);
    begin_call(worker, scan->call == 0);
    status = remote_call(worker, &request, &head, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        scan->more = wire_get(&wire) != 0;
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

static sluice_status fill_answers(struct remote *remote, const void *ctx, size_t *size,
                                  struct sluice_error *err)
{
    const struct sluice_answers *answers = ctx;
    struct buf head = BUF_INIT;
    size_t body;
    sluice_status status;

    carry_put_answers(&head, answers, &body);
    status = fill_head(remote, &head, body, size, err);
    if (status == SLUICE_OK) {
        carry_write_answers(answers, remote->channel.request.data + carry_body(head.size));
    }
    buf_deinit(&head);
    return status;
}

static sluice_status twin_resume(void *worker, const struct sluice_answers *answers,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    char what[WHAT];
    const struct request request = {
        .op = OP_RESUME, .what = what, .fill = fill_answers, .ctx = answers
    };
    struct buf head = BUF_INIT;
    sluice_status status;

    snprintf(what, sizeof what, "resume() with %llu answer%s", (unsigned long long)answers->n,
             answers->n == 1 ? "" : "s");
    status = remote_call(worker, &request, &head, err);
    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        int32_t more = wire_get(&wire) != 0;
        if (answers->scan != NULL) {
            answers->scan->more = more;
        }
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

static sluice_status fill_nothing(struct remote *remote, const void *ctx, size_t *size,
                                  struct sluice_error *err)
{
    (void)ctx;
    *size = 0;
    return process_reserve(&remote->channel, 0, err);
}

static sluice_status twin_flush(void *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct request request = { .op = OP_FLUSH, .what = "flush()", .fill = fill_nothing };
    struct buf head = BUF_INIT;
    sluice_status status = remote_call(worker, &request, &head, err);

    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        status = take_result(worker, &wire, head.size, emit, err);
    }
    buf_deinit(&head);
    return status;
}

/* ---- state ---- */

static sluice_status twin_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    const struct request request = { .op = OP_SAVE, .what = "save()", .fill = fill_nothing };
    struct buf head = BUF_INIT;
    sluice_status status = remote_call(worker, &request, &head, err);

    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        size_t n;
        const void *data = wire_get_bytes(&wire, &n);
        status = wire_end(&wire) ? io->write(io, data, n) : carry_nonsense(err, "a state");
    }
    buf_deinit(&head);
    return status;
}

struct state {
    struct buf bytes;
    uint64_t version;
};

static sluice_status fill_state(struct remote *remote, const void *ctx, size_t *size,
                                struct sluice_error *err)
{
    const struct state *state = ctx;
    struct buf head = BUF_INIT;
    sluice_status status;

    wire_put(&head, state->version);
    wire_put_bytes(&head, state->bytes.data, state->bytes.size);
    status = fill_head(remote, &head, 0, size, err);
    buf_deinit(&head);
    return status;
}

static sluice_status send_state(struct remote *remote, struct sluice_io *io, uint64_t version,
                                uint32_t op, const char *what, struct sluice_error *err)
{
    struct state state = { .version = version };
    const struct request request = { .op = op, .what = what, .fill = fill_state, .ctx = &state };
    struct buf head = BUF_INIT;
    size_t n = stage_state_left(io);
    sluice_status status = SLUICE_OK;

    buf_init(&state.bytes);
    if (!buf_reserve(&state.bytes, n)) {
        status = error_nomem(err, "a saved state");
    } else if (n > 0) {
        status = io->read(io, state.bytes.data, n);
        state.bytes.size = n;
    }
    if (status == SLUICE_OK) {
        status = remote_call(remote, &request, &head, err);
    }
    buf_deinit(&state.bytes);
    buf_deinit(&head);
    return status;
}

static sluice_status twin_load(void *worker, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    return send_state(worker, io, version, OP_LOAD, "load()", err);
}

static sluice_status twin_merge(void *worker, struct sluice_io *io, uint64_t version,
                                struct sluice_error *err)
{
    return send_state(worker, io, version, OP_MERGE, "merge()", err);
}

/* ---- gates ---- */

/* The counts of the nodes that options name go along: a gate may ask for no others. */
static sluice_status fill_counts(struct remote *remote, const void *ctx, size_t *size,
                                 struct sluice_error *err)
{
    struct sluice_verdict_io *io = (struct sluice_verdict_io *)(uintptr_t)ctx;
    const struct options *options = stage_options(remote->instance->stage);
    struct option_value value;
    struct buf counts = BUF_INIT;
    struct buf head = BUF_INIT;
    uint64_t n = 0;
    sluice_status status;

    for (uint64_t k = 0; options_get(options, k, &value); k++) {
        const char *node = value.option.type == SLUICE_OPT_NODE
                               ? options_string(options, value.option.name)
                               : NULL;
        if (node != NULL) {
            wire_put_text(&counts, node);
            wire_put(&counts, (uint64_t)io->count(io, node));
            n++;
        }
    }
    wire_put(&head, n);
    if (counts.size > 0) {
        buf_append(&head, counts.data, counts.size);
    }
    head.failed = head.failed || counts.failed;
    status = fill_head(remote, &head, 0, size, err);
    buf_deinit(&counts);
    buf_deinit(&head);
    return status;
}

static sluice_status twin_judge(void *worker, struct sluice_verdict_io *io,
                                struct sluice_error *err)
{
    const struct request request = {
        .op = OP_JUDGE, .what = "judge()", .fill = fill_counts, .ctx = io
    };
    struct buf head = BUF_INIT;
    sluice_status status = remote_call(worker, &request, &head, err);

    if (status == SLUICE_OK) {
        struct wire wire = wire_begin(head.data, head.size);
        int32_t outcome = (int32_t)(int64_t)wire_get(&wire);
        const char *message = wire_get_text(&wire);
        if (!wire_end(&wire) || message == NULL) {
            status = carry_nonsense(err, "a judgement");
        } else {
            io->outcome = outcome;
            snprintf(io->message, sizeof io->message, "%s", message);
        }
    }
    buf_deinit(&head);
    return status;
}

void twin_functions(struct sluice_stage *out, const struct sluice_stage *has)
{
    out->open = twin_open;
    out->prepare = twin_prepare;
    out->worker_open = twin_worker_open;
    out->worker_close = twin_worker_close;
    out->close = twin_close;
    out->process = has->process != NULL ? twin_process : NULL;
    out->read = has->read != NULL ? twin_read : NULL;
    out->survey = has->survey != NULL ? twin_survey : NULL;
    out->scan = has->scan != NULL ? twin_scan : NULL;
    out->resume = has->resume != NULL ? twin_resume : NULL;
    out->flush = has->flush != NULL ? twin_flush : NULL;
    out->save = has->save != NULL ? twin_save : NULL;
    out->load = has->load != NULL ? twin_load : NULL;
    out->merge = has->merge != NULL ? twin_merge : NULL;
    out->judge = has->judge != NULL ? twin_judge : NULL;
}
