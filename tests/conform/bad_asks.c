/* Stages that ask servers, each wrong in one way, and an honest one. See bad_asks.sh. */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice.h"

struct config {
    const char *url;
};

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    struct config config;
    int32_t text;
    int64_t resumed; /* racy, and meant to be */
};

struct worker {
    struct shared *shared;
    const char *kept; /* into an answer of the call before */
    size_t kept_n;
    void *held; /* the host's memory */
    int32_t found;
};

static const struct sluice_option options[] = {
    { .name = "url",
      .doc = "Where to ask.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, url) },
};

static sluice_status open_it(const struct sluice_host_api *api, struct sluice_host *host,
                             const void *config, void **out, struct sluice_error *err)
{
    struct shared *shared = calloc(1, sizeof *shared);

    (void)err;
    if (shared == NULL) {
        return SLUICE_E_NOMEM;
    }
    shared->api = api;
    shared->host = host;
    shared->config = *(const struct config *)config;
    *out = shared;
    return SLUICE_OK;
}

static sluice_status prepare(void *state, struct sluice_plan *plan, struct sluice_error *err)
{
    struct shared *shared = state;

    return plan->need(plan, 0, "text", "utf8?", 0, &shared->text, err);
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    (void)err;
    if (worker == NULL) {
        return SLUICE_E_NOMEM;
    }
    worker->shared = shared;
    *out = worker;
    return SLUICE_OK;
}

/* Text of the k-th selected row; a null is empty. */
static const char *text_of(const struct worker *worker, const struct sluice_batch *batch, int64_t k,
                           size_t *n)
{
    const struct ArrowArray *column = batch->array->children[worker->shared->text];
    const int32_t *offsets = column->buffers[1];
    const uint8_t *validity = column->null_count != 0 ? column->buffers[0] : NULL;
    int64_t row = batch->rows != NULL ? (int64_t)batch->rows[k] : k;

    *n = validity != NULL && (validity[row >> 3] >> (row & 7) & 1) == 0
             ? 0
             : (size_t)(offsets[row + 1] - offsets[row]);
    return *n > 0 ? (const char *)column->buffers[2] + offsets[row] : "";
}

static sluice_status ask_one(struct sluice_emit *emit, uint32_t kind, uint64_t tag,
                             const void *data, uint64_t n)
{
    struct sluice_ask ask = {
        .size = sizeof ask, .kind = kind, .tag = tag, .payload = data, .n = n
    };

    return emit->ask(emit, &ask);
}

/* Asks about every text of more than 20 bytes; the tag is the row's place. */
static sluice_status ask_rows(const struct worker *worker, const struct sluice_batch *batch,
                              struct sluice_emit *emit, uint64_t *asked)
{
    const char *url = worker->shared->config.url;
    sluice_status status = SLUICE_OK;

    *asked = 0;
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        size_t n;
        const char *text = text_of(worker, batch, k, &n);
        char *payload;
        size_t head = strlen(url) + 7;
        if (n <= 20) {
            continue;
        }
        payload = malloc(head + n);
        if (payload == NULL) {
            return SLUICE_E_NOMEM;
        }
        memcpy(payload, "POST ", 5);
        memcpy(payload + 5, url, head - 7);
        memcpy(payload + head - 2, "\n\n", 2);
        memcpy(payload + head, text, n);
        status = ask_one(emit, SLUICE_ASK_HTTP, (uint64_t)k, payload, head + n);
        free(payload);
        *asked += 1;
    }
    return status;
}

/* Refused, or of an odd length. */
static struct sluice_verdict verdict_of(const struct sluice_answer *answer)
{
    struct sluice_verdict verdict = { .value = (double)answer->n, .limit = 1 };

    verdict.reason = answer->status != SLUICE_OK ? 2 : answer->n % 2 != 0 ? 1 : 0;
    return verdict;
}

/* add: to the tag; by_place: the k-th answer is the k-th row's. */
static sluice_status judge(const struct sluice_answers *answers, const struct sluice_batch *batch,
                           int by_place, struct sluice_emit *emit)
{
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    for (uint64_t k = 0; answers != NULL && k < answers->n; k++) {
        const struct sluice_answer *answer =
            (const struct sluice_answer *)((const char *)answers->items + k * answers->stride);
        verdicts[by_place ? k : answer->tag] = verdict_of(answer);
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static sluice_status process(void *state, const struct sluice_batch *batch,
                             struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t asked;
    sluice_status status = ask_rows(state, batch, emit, &asked);

    (void)err;
    return status != SLUICE_OK || asked > 0 ? status : judge(NULL, batch, 0, emit);
}

static sluice_status resume(void *worker, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return judge(answers, answers->batch, 0, emit);
}

/* ---- asks that can't be ---- */

static sluice_status process_bytes(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    static const struct sluice_extent extent = { 0, 10 };

    (void)state;
    (void)batch;
    (void)err;
    return ask_one(emit, SLUICE_ASK_BYTES, 0, &extent, sizeof extent);
}

static sluice_status process_kind(void *state, const struct sluice_batch *batch,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    (void)state;
    (void)batch;
    (void)err;
    return ask_one(emit, 77, 0, "a wish", 6);
}

static sluice_status process_absurd(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    uint64_t n = (UINT64_C(64) << 20) + 1;
    char *payload = calloc(1, n);
    sluice_status status;

    (void)state;
    (void)batch;
    (void)err;
    if (payload == NULL) {
        return SLUICE_E_NOMEM;
    }
    status = ask_one(emit, SLUICE_ASK_HTTP, 0, payload, n);
    free(payload);
    return status;
}

static sluice_status process_brief(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_ask ask = { .size = 8, .kind = SLUICE_ASK_HTTP };

    (void)state;
    (void)batch;
    (void)err;
    return emit->ask(emit, &ask);
}

static sluice_status flush_asks(void *state, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)state;
    (void)err;
    return ask_one(emit, SLUICE_ASK_HTTP, 0, "GET http://localhost/\n\n", 23);
}

/* ---- answers that are not used well ---- */

static sluice_status process_judged(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    sluice_status status = judge(NULL, batch, 0, emit);

    return status != SLUICE_OK ? status : process(state, batch, emit, err);
}

static sluice_status resume_endless(void *worker, const struct sluice_answers *answers,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    const char *url = ((struct worker *)worker)->shared->config.url;
    char payload[300] = "GET ";

    (void)answers;
    (void)err;
    strncat(payload, url, 200);
    strcat(payload, "\n\n");
    return ask_one(emit, SLUICE_ASK_HTTP, 0, payload, strlen(payload));
}

static sluice_status resume_by_place(void *worker, const struct sluice_answers *answers,
                                     struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return judge(answers, answers->batch, 1, emit);
}

/* Looks at what it kept from the call before. */
static sluice_status process_keeps(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    for (size_t k = 0; k < worker->kept_n; k++) {
        worker->found += ((const volatile char *)worker->kept)[k] == '!';
    }
    return process(state, batch, emit, err);
}

static sluice_status resume_keeps(void *state, const struct sluice_answers *answers,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    worker->kept = answers->items[0].data;
    worker->kept_n = answers->items[0].n;
    return resume(state, answers, emit, err);
}

/* The more was answered before, the better. */
static sluice_status resume_counts(void *state, const struct sluice_answers *answers,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    struct sluice_verdict *verdicts = calloc((size_t)answers->batch->n + 1, sizeof *verdicts);
    sluice_status status;

    (void)err;
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    worker->shared->resumed++;
    for (int64_t k = 0; k < answers->batch->n; k++) {
        verdicts[k].value = (double)worker->shared->resumed;
    }
    status = emit->verdicts(emit, verdicts, answers->batch->n);
    free(verdicts);
    return status;
}

static sluice_status resume_strict(void *worker, const struct sluice_answers *answers,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    for (uint64_t k = 0; k < answers->n; k++) {
        const struct sluice_answer *answer =
            (const struct sluice_answer *)((const char *)answers->items + k * answers->stride);
        if (answer->status != SLUICE_OK) {
            strcpy(err->message, "the server does not like the text");
            return SLUICE_E_IO;
        }
    }
    return resume(worker, answers, emit, err);
}

static sluice_status resume_past(void *state, const struct sluice_answers *answers,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    worker->found +=
        ((const volatile char *)answers->items[0].data)[answers->items[0].n + SLUICE_PADDING] ==
        '!';
    return resume(state, answers, emit, err);
}

/* What resume frees stays where nobody resumes. */
static sluice_status process_holds(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t asked;
    sluice_status status = ask_rows(state, batch, emit, &asked);

    (void)err;
    if (status != SLUICE_OK || asked == 0) {
        return status != SLUICE_OK ? status : judge(NULL, batch, 0, emit);
    }
    worker->held = worker->shared->api->alloc(worker->shared->host, 1000);
    return worker->held != NULL ? SLUICE_OK : SLUICE_E_NOMEM;
}

static sluice_status resume_holds(void *state, const struct sluice_answers *answers,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    struct worker *worker = state;

    worker->shared->api->free(worker->shared->host, worker->held);
    worker->held = NULL;
    return resume(state, answers, emit, err);
}

/* ---- who asks without the host, dies or hangs while it waits ---- */

/* The port of "http://127.0.0.1:PORT/"; keeps rows if nobody listens to it. */
static sluice_status process_itself(void *state, const struct sluice_batch *batch,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    const struct worker *worker = state;
    const char *colon = strrchr(worker->shared->config.url, ':');
    struct sockaddr_in to = { .sin_family = AF_INET };
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int heard;
    sluice_status status;

    (void)err;
    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    to.sin_port = htons((uint16_t)strtol(colon != NULL ? colon + 1 : "1", NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    heard = fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0;
    for (int64_t k = 0; k < batch->n; k++) {
        verdicts[k].reason = heard ? 1 : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static int holds_marker(const struct sluice_answers *answers, const struct worker *worker)
{
    for (int64_t k = 0; k < answers->batch->n; k++) {
        size_t n;
        const char *text = text_of(worker, answers->batch, k, &n);
        if (n > 0 && memmem(text, n, "CRASH-ME", 8) != NULL) {
            return 1;
        }
    }
    return 0;
}

static sluice_status resume_crashes(void *state, const struct sluice_answers *answers,
                                    struct sluice_emit *emit, struct sluice_error *err)
{
    if (holds_marker(answers, state)) {
        abort();
    }
    return resume(state, answers, emit, err);
}

static sluice_status resume_hangs(void *state, const struct sluice_answers *answers,
                                  struct sluice_emit *emit, struct sluice_error *err)
{
    while (holds_marker(answers, state)) {
        sleep(1);
    }
    return resume(state, answers, emit, err);
}

/* ---- the plugin ---- */

#define ASKER(NAME, SUMMARY, PROCESS, RESUME, FLAGS, ...)                                   \
    static const struct sluice_stage NAME##_stage = { .size = sizeof(struct sluice_stage),  \
                                                      .name = #NAME,                        \
                                                      .version = "1.0",                     \
                                                      .summary = SUMMARY,                   \
                                                      .role = SLUICE_ROLE_FILTER,           \
                                                      .mode = SLUICE_MODE_STATELESS,        \
                                                      .flags = FLAGS,                       \
                                                      .options = options,                   \
                                                      .n_options = 1,                       \
                                                      .option_stride = sizeof options[0],   \
                                                      .config_size = sizeof(struct config), \
                                                      .reasons = "odd|refused",             \
                                                      .bytes_worker = 1 << 20,              \
                                                      .open = open_it,                      \
                                                      .prepare = prepare,                   \
                                                      .worker_open = worker_open,           \
                                                      .process = PROCESS,                   \
                                                      .resume = RESUME,                     \
                                                      .worker_close = free,                 \
                                                      .close = free,                        \
                                                      __VA_ARGS__ }
#define RECORDED SLUICE_STAGE_RECORDED

ASKER(asks_fine, "Asks as it should", process, resume, RECORDED, .flush = NULL);
ASKER(asks_no_resume, "Has nothing to go on with", process, NULL, RECORDED, .flush = NULL);
ASKER(asks_unrecorded, "Is not marked RECORDED", process, resume, 0, .flush = NULL);
ASKER(asks_bytes, "Asks for bytes of no file", process_bytes, resume, RECORDED, .flush = NULL);
ASKER(asks_kind, "Asks for something unknown", process_kind, resume, RECORDED, .flush = NULL);
ASKER(asks_absurd, "Asks with too many bytes", process_absurd, resume, RECORDED, .flush = NULL);
ASKER(asks_brief, "Asks with half an ask", process_brief, resume, RECORDED, .flush = NULL);
ASKER(asks_flush, "Asks in flush", process, resume, RECORDED, .flush = flush_asks);
ASKER(asks_judged, "Judges before it asks, and after", process_judged, resume, RECORDED,
      .flush = NULL);
ASKER(asks_endless, "Is never content", process, resume_endless, RECORDED, .flush = NULL);
ASKER(asks_by_place, "Takes answers for those of other rows", process, resume_by_place, RECORDED,
      .flush = NULL);
ASKER(asks_keeps, "Keeps a pointer into an answer", process_keeps, resume_keeps, RECORDED,
      .flush = NULL);
ASKER(asks_counts, "Gives what the order of answers says", process, resume_counts, RECORDED,
      .flush = NULL);
ASKER(asks_strict, "Fails where an ask is refused", process, resume_strict, RECORDED,
      .flush = NULL);
ASKER(asks_past, "Reads behind an answer", process, resume_past, RECORDED, .flush = NULL);
ASKER(asks_holds, "Frees in resume alone", process_holds, resume_holds, RECORDED, .flush = NULL);
ASKER(asks_itself, "Asks without the host", process_itself, NULL, RECORDED, .flush = NULL);
ASKER(asks_crashes, "Crashes over an answer", process, resume_crashes, RECORDED, .flush = NULL);
ASKER(asks_hangs, "Hangs over an answer", process, resume_hangs, RECORDED, .flush = NULL);

static const struct sluice_stage *const stages[] = {
    &asks_fine_stage,   &asks_no_resume_stage, &asks_unrecorded_stage, &asks_bytes_stage,
    &asks_kind_stage,   &asks_absurd_stage,    &asks_brief_stage,      &asks_flush_stage,
    &asks_judged_stage, &asks_endless_stage,   &asks_by_place_stage,   &asks_keeps_stage,
    &asks_counts_stage, &asks_strict_stage,    &asks_past_stage,       &asks_holds_stage,
    &asks_itself_stage, &asks_crashes_stage,   &asks_hangs_stage,      NULL
};

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = SLUICE_ABI_MAJOR,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .abi_minor_needed = 1,
        .name = "bad_asks",
        .version = "1.0",
        .license = "MIT",
        .stages = stages,
    };

    return &plugin;
}
