/* Answers to what a stage asks servers: made here, a function of the ask, so that a stage has to
 * give the same for the same rows. Each lies in guarded memory that is gone when the call returns;
 * workers wait side by side, and are answered in any order. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "testkit/kitInt.h"

/* ---- what a server says ---- */

/* Of the lines of --answers, the one that the ask chooses. */
static void answer_of_user(const struct buf *lines, uint64_t choice, struct buf *out)
{
    uint64_t n = 0;
    size_t at = 0;

    for (size_t k = 0; k < lines->size; k++) {
        n += lines->data[k] == '\n' ? 1 : 0;
    }
    for (uint64_t left = n == 0 ? 0 : choice % n; left > 0; left--) {
        at =
            (size_t)((const char *)memchr(lines->data + at, '\n', lines->size - at) - lines->data) +
            1;
    }
    buf_append(out, lines->data + at, strcspn(lines->data + at, "\n"));
}

/* What tests/http.pl says as well: the bytes of the ask's body and their sum; and a bit of all that
 * servers say. */
static void answer_made(const char *payload, size_t n, struct kit_random *random, struct buf *out)
{
    const char *body = memmem(payload, n, "\n\n", 2);
    size_t size = body == NULL ? 0 : n - (size_t)(body + 2 - payload);
    uint64_t sum = 0;

    for (size_t k = 0; k < size; k++) {
        sum += (unsigned char)body[2 + k];
    }
    buf_printf(out,
               "{\"n\":%zu,\"sum\":%llu,\"score\":0.%03u,\"label\":\"%s\",\"text\":\"caf\xc3\xa9 "
               "\\\"quoted\\\"\"}",
               size, (unsigned long long)sum, (unsigned)kit_below(random, 1000),
               kit_below(random, 2) == 0 ? "good" : "bad");
}

static sluice_status answer_make(struct kit_bench *bench, const struct stage_result *result,
                                 const struct kit_answering *how, uint32_t k, struct kit_view *view,
                                 struct sluice_answer *out, struct sluice_error *err)
{
    static const uint32_t refusals[] = { 400, 404, 422 };
    const struct stage_ask *ask = &result->asks[k];
    const char *payload = result->asked.data + ask->offset;
    struct hash128 hash = hash_bytes(payload, (size_t)ask->size);
    struct kit_random random = kit_random_of(hash.lo, "answer", hash.hi);
    bool refused = how->refused || (!how->empty && kit_below(&random, 8) == 0);
    struct buf text = BUF_INIT;
    sluice_status status;

    *out = (struct sluice_answer){
        .size = sizeof *out, .tag = ask->tag, .code = 200, .type = "application/json"
    };
    if (ask->kind != SLUICE_ASK_HTTP) {
        return error_set(err, SLUICE_E_INTERNAL, "an ask of kind %u", ask->kind);
    }
    if (refused) {
        out->status = SLUICE_E_DATA;
        out->code = refusals[kit_below(&random, 3)];
        out->type = "text/plain";
        buf_puts(&text, kit_below(&random, 2) == 0 ? "none" : "");
    } else if (how->empty) {
        out->type = "";
    } else if (bench->kit->answers.size > 0) {
        answer_of_user(&bench->kit->answers, kit_next(&random), &text);
    } else {
        answer_made(payload, (size_t)ask->size, &random, &text);
    }
    out->n = text.size;
    status = text.failed
                 ? error_nomem(err, "an answer")
                 : kit_view_bytes(text.data, text.size, true, how->fill, view, &out->data, err);
    buf_deinit(&text);
    return status;
}

sluice_status kit_answer(struct kit_bench *bench, struct stage_worker *worker,
                         struct stage_result *result, const struct kit_answering *how,
                         struct sluice_error *err)
{
    uint32_t n = result->n_asks;
    struct kit_view *views = calloc(n, sizeof *views);
    struct sluice_answer *items = calloc(n, sizeof *items);
    sluice_status status = SLUICE_OK;

    atomic_fetch_add(&bench->asks, n);
    if (views == NULL || items == NULL) {
        status = error_nomem(err, "answers");
    }
    for (uint32_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = answer_make(bench, result, how, k, &views[k], &items[k], err);
    }
    if (status != SLUICE_OK) {
        kit_fail(bench->kit, "the kit could not make an answer: %s", err->message);
    } else {
        kit_enter(bench->kit, "resume");
        status = stage_resume(worker, items, n, result, err);
        kit_leave(bench->kit);
    }
    for (uint32_t k = 0; views != NULL && k < n; k++) {
        kit_view_deinit(&views[k]);
    }
    free(views);
    free(items);
    return status;
}

/* ---- workers side by side ---- */

struct parked {
    struct stage_worker *worker; /* kept for the next batch while it can be used */
    struct kit_view view;
    struct stage_result result;
    struct sluice_error error;
    sluice_status status;
    bool waits;
};

static void park(struct kit_bench *bench, struct parked *p)
{
    p->status = SLUICE_OK;
    p->error = (struct sluice_error)ERROR_INIT;
    if (p->worker == NULL) {
        kit_enter(bench->kit, "worker_open");
        p->status = stage_worker_open(bench->stage, &p->worker, &p->error);
        kit_leave(bench->kit);
    }
    if (p->status == SLUICE_OK) {
        kit_enter(bench->kit, "process");
        p->status = stage_process(p->worker, &p->view.batch, &p->result, &p->error);
        kit_leave(bench->kit);
    }
    p->waits = p->status == SLUICE_OK && p->result.n_asks > 0;
}

static void close_parked(struct kit_bench *bench, struct parked *p)
{
    if (p->worker != NULL) {
        kit_enter(bench->kit, "worker_close");
        stage_worker_close(p->worker);
        kit_leave(bench->kit);
    }
    p->worker = NULL;
}

/* One of those that wait is answered, whichever chance takes, until none waits. */
static void answer_all(struct kit_bench *bench, struct parked *parked, uint32_t n,
                       const struct kit_answering *how, struct kit_random *random)
{
    for (;;) {
        uint32_t waiting[KIT_BESIDE_MAX];
        uint32_t n_waiting = 0;
        struct parked *p;
        for (uint32_t k = 0; k < n; k++) {
            if (parked[k].waits) {
                waiting[n_waiting++] = k;
            }
        }
        if (n_waiting == 0) {
            return;
        }
        p = &parked[waiting[kit_below(random, n_waiting)]];
        p->status = kit_answer(bench, p->worker, &p->result, how, &p->error);
        p->waits = p->status == SLUICE_OK && p->result.n_asks > 0;
    }
}

bool kit_beside(struct kit_bench *bench, const struct kit_beside_user *user, uint32_t n_batches)
{
    struct parked *parked = calloc(KIT_BESIDE_MAX, sizeof *parked);
    struct kit_random random = kit_random_of(user->seed, "beside", 0);
    bool ok = parked != NULL;

    for (uint32_t at = 0; ok && at < n_batches;) {
        uint32_t n = 0;
        for (; ok && n < user->n && at + n < n_batches; n++) {
            stage_result_init(&parked[n].result);
            ok = user->view(user->ctx, at + n, &parked[n].view);
            if (ok) {
                park(bench, &parked[n]);
            }
        }
        if (ok) {
            answer_all(bench, parked, n, user->how, &random);
        }
        for (uint32_t k = 0; k < n; k++) {
            struct parked *p = &parked[k];
            kit_view_deinit(&p->view);
            if (p->worker != NULL && !stage_worker_usable(p->worker)) {
                close_parked(bench, p);
            }
            ok = ok && user->done(user->ctx, at + k, p->status, &p->error, &p->result);
            stage_result_deinit(&p->result);
        }
        at += n;
    }
    for (uint32_t k = 0; parked != NULL && k < KIT_BESIDE_MAX; k++) {
        close_parked(bench, &parked[k]);
    }
    free(parked);
    return ok;
}
