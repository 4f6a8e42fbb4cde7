/* The children of one instance of a stage: see instanceInt.h. */
#include "isolate/instanceInt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE_NS UINT64_C(10000000000)
#define PROVOKED_FACTOR 64u /* a fault is narrowed down by children that are meant to die */

/* ---- what children ask while they prepare ---- */

static struct answered *find_answer(const struct instance *instance, uint32_t op,
                                    const void *request, size_t n)
{
    for (size_t k = 0; k < instance->n_answers; k++) {
        struct answered *answer = &instance->answers[k];
        if (answer->op == op && answer->request.size == n &&
            memcmp(answer->request.data, request, n) == 0) {
            return answer;
        }
    }
    return NULL;
}

static sluice_status ask_planner(const struct stage_inputs *inputs, uint32_t op,
                                 const void *request, size_t n, int64_t *value,
                                 struct sluice_error *err)
{
    struct wire wire = wire_begin(request, n);
    int32_t field = STAGE_FIELD_MISSING;

    if (op == OP_WANTED) {
        const char *name = wire_get_text(&wire);
        if (!wire_end(&wire) || name == NULL || inputs->wanted == NULL) {
            return carry_nonsense(err, "a question");
        }
        *value = inputs->wanted(inputs->ctx, name);
    } else {
        uint32_t port = (uint32_t)wire_get_below(&wire, STAGE_PORTS - 1);
        const char *provider = wire_get_text(&wire);
        const char *options = wire_get_text(&wire);
        const char *source = wire_get_text(&wire);
        if (!wire_end(&wire) || provider == NULL || options == NULL || source == NULL ||
            inputs->find_derived == NULL || port >= inputs->n_ports ||
            inputs->schemas[port] == NULL) {
            return carry_nonsense(err, "a question");
        }
        TRY(inputs->find_derived(inputs->ctx, port, provider, options, source, &field, err));
        *value = field;
    }
    return SLUICE_OK;
}

static sluice_status ask(void *ctx, uint32_t op, const void *request, size_t n, int64_t *value,
                         struct sluice_error *err)
{
    struct instance *instance = ctx;
    struct answered *answers = find_answer(instance, op, request, n);
    struct answered answer = { .op = op };

    if (answers != NULL) {
        *value = answers->answer;
        return SLUICE_OK;
    }
    if (instance->inputs == NULL) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "(a defect of the plugin) it asks for something else when it prepares a "
                         "second time");
    }
    TRY(ask_planner(instance->inputs, op, request, n, &answer.answer, err));
    buf_append(&answer.request, request, n);
    answers = realloc(instance->answers, (instance->n_answers + 1) * sizeof *answers);
    if (answers != NULL) {
        instance->answers = answers;
    }
    if (answers == NULL || answer.request.failed) {
        buf_deinit(&answer.request);
        return error_nomem(err, "the columns of a stage");
    }
    answers[instance->n_answers++] = answer;
    *value = answer.answer;
    return SLUICE_OK;
}

static void forget_answers(struct instance *instance)
{
    for (size_t k = 0; k < instance->n_answers; k++) {
        buf_deinit(&instance->answers[k].request);
    }
    free(instance->answers);
    instance->answers = NULL;
    instance->n_answers = 0;
}

/* ---- deaths ---- */

static void note_death(struct instance *instance, uint32_t *count, const char *how,
                       const char *words)
{
    const struct isolate *isolate = instance->twin->isolate;
    char text[sizeof instance->last];

    pthread_mutex_lock(&instance->lock);
    (*count)++;
    snprintf(instance->last, sizeof instance->last, "%s", how);
    pthread_mutex_unlock(&instance->lock);
    if (isolate->died != NULL) {
        snprintf(text, sizeof text, "%s%s%s", how, words[0] != '\0' ? "; its last words: " : "",
                 words);
        isolate->died(isolate->ctx, stage_name(instance->stage), text);
    }
}

static void common_died(void *ctx, const char *how, const char *words)
{
    struct instance *instance = ctx;

    note_death(instance, &instance->deaths, how, words);
}

static void alone_died(void *ctx, const char *how, const char *words)
{
    struct instance *instance = ctx;

    note_death(instance, &instance->provoked, how, words);
}

static sluice_status check_deaths(struct instance *instance, struct sluice_error *err)
{
    const struct twin *twin = instance->twin;
    uint32_t max = twin->limits.max_deaths;
    uint64_t deaths;
    bool given_up;
    char last[sizeof instance->last];

    pthread_mutex_lock(&instance->lock);
    given_up = instance->deaths >= max || instance->provoked / PROVOKED_FACTOR >= max;
    deaths = (uint64_t)instance->deaths + instance->provoked;
    snprintf(last, sizeof last, "%s", instance->last);
    pthread_mutex_unlock(&instance->lock);
    if (!given_up) {
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_INTERNAL,
                     "it died %llu times in this run and is given up; last: %s; test it with "
                     "`sluice test-plugin %s`",
                     (unsigned long long)deaths, last,
                     twin->target.plugin != NULL ? twin->target.plugin : twin->target.stage);
}

/* ---- calls ---- */

static sluice_status end_status(const struct instance *instance, struct process *process,
                                enum process_end end, uint32_t op, const char *what,
                                struct sluice_error *err)
{
    /* What is said of rows is kept with the data, and must be the same in every run. */
    bool words = !instance->repeatable || (op != OP_PROCESS && op != OP_READ);
    char how[320];

    switch (end) {
    case PROCESS_LATE:
        return error_set(err, STAGE_TIMED_OUT,
                         "it did not answer %s within %.3g s, the limit of its isolation", what,
                         (double)instance->twin->limits.timeout_ns / 1e9);
    case PROCESS_CANCELLED:
        return error_set(err, SLUICE_E_CANCELLED, "it was stopped in %s", what);
    default:
        process_how(process, words, how, sizeof how);
        return error_set(err, process_killed(process) ? STAGE_KILLED : STAGE_CRASHED,
                         "it crashed (%s) in %s", how, what);
    }
}

sluice_status instance_call(struct instance *instance, struct process *process,
                            struct channel *channel, uint32_t op, size_t size, const char *what,
                            struct buf *head, struct sluice_error *err)
{
    bool closing = op == OP_CLOSE || op == OP_WORKER_CLOSE;
    uint64_t timeout = instance->twin->limits.timeout_ns;
    struct packet packet;
    struct wire wire;
    enum process_end end;

    timeout = closing && timeout > CLOSE_NS ? CLOSE_NS : timeout;
    end = process_call(process, channel, op, size, timeout, &packet);
    if (end != PROCESS_ANSWERED) {
        return end_status(instance, process, end, op, what, err);
    }
    /* A copy: the child may go on writing to the area. */
    buf_clear(head);
    buf_append(head, channel->reply.data, (size_t)packet.size);
    TRY(buf_status(head, err));
    if (packet.arg == 0) {
        return SLUICE_OK;
    }
    wire = wire_begin(head->data, head->size);
    wire_get_error(&wire, err);
    err->code = error_known(err->code);
    if (!wire_end(&wire) || err->code == SLUICE_OK) {
        return carry_nonsense(err, "an error");
    }
    return err->code;
}

/* ---- starting ---- */

static sluice_status fill_main(struct process *process, const struct buf *payload,
                               struct sluice_error *err)
{
    struct channel *channel = process_main(process);

    TRY(buf_status(payload, err));
    TRY(process_reserve(channel, payload->size, err));
    memcpy(channel->request.data, payload->data, payload->size);
    return SLUICE_OK;
}

static sluice_status send_open(struct instance *instance, struct process *process,
                               struct sluice_error *err)
{
    const struct twin *twin = instance->twin;
    const struct stage_services *services = instance->services;
    const struct carry_open open = { .target = twin->target,
                                     .name = stage_name(instance->stage),
                                     .scratch = process_scratch(process),
                                     .seed = services->seed,
                                     .memory_share = services->memory_share,
                                     .memory = twin->limits.memory,
                                     .network = twin->limits.network,
                                     .gpu = twin->limits.gpu,
                                     .files = services->read_file != NULL,
                                     .maps = services->map_file != NULL };
    struct buf payload = BUF_INIT;
    struct buf head = BUF_INIT;
    sluice_status status;

    carry_put_open(&payload, &open, stage_options(instance->stage));
    status = fill_main(process, &payload, err);
    if (status == SLUICE_OK) {
        (void)process_send_pages(process);
        status = instance_call(instance, process, process_main(process), OP_OPEN, payload.size,
                               "open()", &head, err);
    }
    buf_deinit(&payload);
    buf_deinit(&head);
    return status;
}

static sluice_status send_prepare(struct instance *instance, struct process *process,
                                  struct buf *head, struct sluice_error *err)
{
    TRY(fill_main(process, &instance->schemas, err));
    return instance_call(instance, process, process_main(process), OP_PREPARE,
                         instance->schemas.size, "prepare()", head, err);
}

static sluice_status prepare_again(struct instance *instance, struct process *process,
                                   struct sluice_error *err)
{
    struct buf head = BUF_INIT;
    sluice_status status = send_prepare(instance, process, &head, err);

    if (status == SLUICE_OK && (head.size != instance->prepared.size ||
                                memcmp(head.data, instance->prepared.data, head.size) != 0)) {
        status = error_set(err, SLUICE_E_INTERNAL,
                           "(a defect of the plugin) it declares something else when it prepares a "
                           "second time");
    }
    buf_deinit(&head);
    return status;
}

static sluice_status launch(struct instance *instance, bool alone, struct process **out,
                            struct sluice_error *err)
{
    const struct isolate *isolate = instance->twin->isolate;
    const struct process_host host = { .ctx = instance,
                                       .stage = stage_name(instance->stage),
                                       .services = instance->services,
                                       .reply_max = instance->twin->limits.memory,
                                       .ask = ask,
                                       .died = alone ? alone_died : common_died };
    struct process *process;
    sluice_status status;

    *out = NULL;
    TRY(check_deaths(instance, err));
    TRY(process_start(isolate->spawner, isolate->scratch, &host, &process, err));
    status = send_open(instance, process, err);
    if (status == SLUICE_OK && instance->is_prepared) {
        status = prepare_again(instance, process, err);
    }
    if (status != SLUICE_OK) {
        process_unref(process);
        return status;
    }
    *out = process;
    return SLUICE_OK;
}

/* A reference to the common child if it lives. */
static struct process *living(struct instance *instance)
{
    struct process *dead = NULL;
    struct process *process;

    pthread_mutex_lock(&instance->lock);
    process = instance->common;
    if (process != NULL && process_dead(process)) {
        dead = process;
        process = instance->common = NULL;
    }
    process = process == NULL ? NULL : process_ref(process);
    pthread_mutex_unlock(&instance->lock);
    process_unref(dead);
    return process;
}

sluice_status instance_common(struct instance *instance, struct process **out,
                              struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    pthread_mutex_lock(&instance->starting);
    *out = living(instance);
    if (*out == NULL) {
        status = launch(instance, false, out, err);
        if (status == SLUICE_OK) {
            instance_adopt(instance, *out);
        }
    }
    pthread_mutex_unlock(&instance->starting);
    return status;
}

sluice_status instance_alone(struct instance *instance, struct process **out,
                             struct sluice_error *err)
{
    return launch(instance, true, out, err);
}

void instance_adopt(struct instance *instance, struct process *process)
{
    struct process *dead = NULL;

    pthread_mutex_lock(&instance->lock);
    if (instance->common != NULL && process_dead(instance->common)) {
        dead = instance->common;
        instance->common = NULL;
    }
    if (instance->common == NULL && !process_dead(process)) {
        instance->common = process_ref(process);
    }
    pthread_mutex_unlock(&instance->lock);
    process_unref(dead);
}

void instance_retire(struct instance *instance, struct process *process)
{
    struct sluice_error error = ERROR_INIT;
    struct buf head = BUF_INIT;
    bool common;

    if (process == NULL) {
        return;
    }
    pthread_mutex_lock(&instance->lock);
    common = instance->common == process;
    pthread_mutex_unlock(&instance->lock);
    if (!common && !process_dead(process) &&
        instance_call(instance, process, process_main(process), OP_CLOSE, 0, "close()", &head,
                      &error) == SLUICE_OK) {
        process_ended(process);
    }
    buf_deinit(&head);
    process_unref(process);
}

/* ---- the life of an instance ---- */

/* Calls of stateless stages depend on their input alone; those that hold something between calls
 * can't be repeated elsewhere. */
static bool calls_repeat(const struct sluice_stage *kind)
{
    return kind->mode == SLUICE_MODE_STATELESS && kind->role != SLUICE_ROLE_GATE &&
           kind->role != SLUICE_ROLE_WRITER && kind->save == NULL && kind->flush == NULL &&
           (kind->flags & (SLUICE_STAGE_SIDE_INPUT | SLUICE_STAGE_SIDE_BY_SPLIT)) == 0 &&
           (kind->role != SLUICE_ROLE_READER ||
            (kind->cut != NULL && strcmp(kind->cut, "newline") == 0));
}

sluice_status instance_open(struct sluice_host *host, void **shared, struct sluice_error *err)
{
    struct instance *instance = calloc(1, sizeof *instance);
    struct process *process;
    sluice_status status;

    if (instance == NULL) {
        return error_nomem(err, "a stage");
    }
    stage_set_remote(host);
    instance->twin = stage_user(host);
    instance->stage = stage_of(host);
    instance->services = stage_services(instance->stage);
    instance->repeatable = calls_repeat(&instance->twin->entry.stage);
    pthread_mutex_init(&instance->starting, NULL);
    pthread_mutex_init(&instance->lock, NULL);
    pthread_cond_init(&instance->left, NULL);
    status = instance_common(instance, &process, err);
    if (status != SLUICE_OK) {
        instance_close(instance);
        return status;
    }
    process_unref(process);
    *shared = instance;
    return SLUICE_OK;
}

sluice_status instance_prepare(struct instance *instance, struct sluice_plan *plan,
                               struct sluice_error *err)
{
    struct process *process;
    struct wire wire;
    sluice_status status;

    instance->is_prepared = false;
    forget_answers(instance);
    carry_ports_deinit(&instance->ports);
    buf_clear(&instance->schemas);
    buf_clear(&instance->prepared);
    carry_put_inputs(&instance->schemas, stage_plan_inputs(plan));
    TRY(instance_common(instance, &process, err));
    instance->inputs = stage_plan_inputs(plan);
    status = send_prepare(instance, process, &instance->prepared, err);
    instance->inputs = NULL;
    process_unref(process);
    TRY(status);
    wire = wire_begin(instance->prepared.data, instance->prepared.size);
    TRY(carry_replay(&wire, plan, err));
    TRY(carry_ports_init(&instance->ports, stage_plan_prepared(plan), stage_plan_inputs(plan),
                         err));
    instance->is_prepared = true;
    return SLUICE_OK;
}

void instance_close(struct instance *instance)
{
    struct process *process = instance->common;

    instance->common = NULL;
    instance_retire(instance, process);
    forget_answers(instance);
    carry_ports_deinit(&instance->ports);
    buf_deinit(&instance->schemas);
    buf_deinit(&instance->prepared);
    pthread_cond_destroy(&instance->left);
    pthread_mutex_destroy(&instance->lock);
    pthread_mutex_destroy(&instance->starting);
    free(instance);
}
