/* NAME_HERE - a judge: asks a server about each document and adds what it answers, the column
 * `score`.
 *
 * To make it yours, change what is asked (write_request) and what is made of an answer (score_of).
 * A stage opens no connection: it asks and returns, and the host calls resume with the answers. */
#include <stdlib.h>
#include <sluice_simple.h>

/* ---- options: the host parses them, checks them and puts them here ---- */

struct config {
    const char *url;
    const char *over;
};

static const struct sluice_option options[] = {
    { .name = "url",
      .doc = "Where to ask: the text is posted to it.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, url) },
    SLUICE_OPTION_COLUMN(struct config, over, "text", "Column that holds the text."),
};

/* ---- what is asked, and what is made of an answer ---- */

/* Equal requests are one: they are made once, and the answer is kept. So nothing in it may change
 * from run to run, such as a time. */
static int write_request(struct sluice_bytes *to, const struct config *config, const char *text,
                         size_t n)
{
    static const char behind[] = "\nContent-Type: text/plain\n\n";

    return sluice_bytes_add(to, "POST ", 5) &&
           sluice_bytes_add(to, config->url, strlen(config->url)) &&
           sluice_bytes_add(to, behind, sizeof behind - 1) && sluice_bytes_add(to, text, n);
}

/* The number behind "score": in what was answered; 0 = it has none. */
static int score_of(const struct sluice_answer *answer, double *score)
{
    static const char key[] = "\"score\":";
    char number[32];

    for (uint64_t i = 0; i + sizeof key <= answer->n; i++) {
        if (memcmp(answer->data + i, key, sizeof key - 1) == 0) {
            uint64_t left = answer->n - i - (sizeof key - 1);
            uint64_t n = left < sizeof number ? left : sizeof number - 1;
            char *end;
            memcpy(number, answer->data + i + sizeof key - 1, n);
            number[n] = '\0';
            *score = strtod(number, &end);
            return end != number;
        }
    }
    return 0;
}

/* ---- the stage ---- */

static sluice_status open_stage(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    (void)api;
    (void)host;
    (void)err;
    *shared = (void *)(uintptr_t)config; /* stays until close, and is all that is needed */
    return SLUICE_OK;
}

static sluice_status prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = shared;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    return status != SLUICE_OK ? status : plan->add(plan, "score", "float64", NULL, err);
}

/* Adds the column: a score a row, by the answers, which are as many as the rows. What the server
 * refuses can't be judged: the row is set aside as a bad one. */
static sluice_status give(const struct sluice_batch *batch, const struct sluice_answers *answers,
                          struct sluice_emit *emit, struct sluice_error *err)
{
    static const char why[] = "refused: the server gives the text no score";
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    struct sluice_bytes scores = { 0 };
    struct ArrowArray column;
    struct ArrowArray rows;
    sluice_status status = verdicts == NULL ? SLUICE_E_NOMEM : SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        const struct sluice_answer *answer =
            (const struct sluice_answer *)((const char *)answers->items +
                                           (uint64_t)k * answers->stride);
        double score = 0;
        if (answer->status != SLUICE_OK || !score_of(answer, &score)) {
            verdicts[k].reason = SLUICE_VERDICT_BAD;
            verdicts[k].dup_of = why;
            verdicts[k].dup_of_length = sizeof why - 1;
        }
        status = sluice_bytes_add(&scores, &score, sizeof score) ? SLUICE_OK : SLUICE_E_NOMEM;
    }
    if (status == SLUICE_OK) {
        status = emit->verdicts(emit, verdicts, batch->n);
    }
    free(verdicts);
    if (status == SLUICE_OK) {
        status = sluice_make_fixed(&column, batch->n, &scores, NULL, 0);
    } else {
        sluice_bytes_free(&scores);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&rows, batch->n, 1, &column);
    }
    return status == SLUICE_OK ? emit->batch(emit, &rows)
                               : sluice_fail(err, status, "", "the scores can't be given");
}

/* Asks about all rows at once: the answers come in this order. */
static sluice_status process(void *shared, const struct sluice_batch *batch,
                             struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes request = { 0 };
    sluice_status status = SLUICE_OK;

    if (batch->n == 0) {
        return give(batch, NULL, emit, err);
    }
    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        struct sluice_ask ask = { .size = sizeof ask, .kind = SLUICE_ASK_HTTP };
        size_t n;
        const char *text = sluice_text(batch->array->children[0], sluice_row(batch, k), &n);
        request.size = 0;
        if (!write_request(&request, shared, text, n)) {
            status = sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a request");
            break;
        }
        ask.payload = request.data;
        ask.n = request.size;
        status = emit->ask(emit, &ask);
    }
    sluice_bytes_free(&request);
    return status;
}

/* The answers of the call: nothing of them may be kept. It could ask again. */
static sluice_status resume(void *shared, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    (void)shared;
    return give(answers->batch, answers, emit, err);
}

static const struct sluice_stage NAME_HERE_stage = {
    .size = sizeof NAME_HERE_stage,
    .name = "NAME_HERE",
    .version = "0.1.0",
    .summary = "Adds the score that a server gives a document",
    .doc =
        "Posts the text to `url`, which answers {\"score\": NUMBER}, and adds the column `score`.",
    .example = "docs | NAME_HERE { url = \"http://localhost:8000/score\", "
               "ask = { hosts = { \"localhost:8000\" } } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .flags = SLUICE_STAGE_RECORDED, /* what a server says is kept, and never asked again */
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .open = open_stage,
    .prepare = prepare,
    .process = process,
    .resume = resume,
};

static const struct sluice_stage *const stages[] = { &NAME_HERE_stage, NULL };

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = SLUICE_ABI_MAJOR,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .abi_minor_needed = 1, /* asks */
        .verdict_stride = sizeof(struct sluice_verdict),
        .name = "NAME_HERE",
        .version = "0.1.0",
        .license = "MIT",
        .stages = stages,
    };

    return &plugin;
}
