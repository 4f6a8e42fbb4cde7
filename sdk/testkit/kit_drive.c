/* Driving a stage through a workload as the engine does: side input first, batches in order, flush,
 * judge. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "run/runInt.h"

#define RETRIES 5

struct drive {
    struct kit_bench *bench;
    const struct kit_work *work;
    struct kit_outcome *out;
    struct kit_rows rows[STAGE_PORTS];
    struct stage_worker *worker;
    struct stage_result result;
    struct buf *states; /* merge: of each batch's worker */
    uint32_t n_states;
    bool broken; /* the kit itself failed */
};

static void each(struct drive *drive, const char *call)
{
    kit_leave(drive->bench->kit);
    if (drive->work->each != NULL) {
        drive->work->each(drive->work->ctx, drive->bench->kit, call);
    }
}

/* The stage's answer is a failure: it is the outcome. */
static bool answer(struct drive *drive, const char *call, sluice_status status)
{
    if (status != SLUICE_OK && drive->out->status == SLUICE_OK) {
        drive->out->status = status;
        drive->out->failed_call = call;
    }
    return status == SLUICE_OK;
}

static bool open_worker(struct drive *drive)
{
    sluice_status status;

    kit_enter(drive->bench->kit, "worker_open");
    status = stage_worker_open(drive->bench->stage, &drive->worker, &drive->out->error);
    each(drive, "worker_open");
    return answer(drive, "worker_open", status);
}

static void close_worker(struct drive *drive)
{
    if (drive->worker != NULL) {
        kit_enter(drive->bench->kit, "worker_close");
        stage_worker_close(drive->worker);
        drive->worker = NULL;
        each(drive, "worker_close");
    }
}

/* ---- batches ---- */

/* Places of the work's rows [begin, end) in the generated rows. */
static bool make_view(struct drive *drive, uint32_t port, int64_t begin, int64_t end,
                      struct kit_view *view)
{
    bool decoys = port == 0 && drive->work->decoys;
    int64_t n = end - begin;
    int64_t whole = decoys ? 2 * n + 1 : n;
    uint32_t *pick = malloc(((size_t)whole + 1) * sizeof *pick);
    uint32_t *selected = malloc(((size_t)n + 1) * sizeof *selected);
    struct sluice_error err = ERROR_INIT;
    sluice_status status = SLUICE_E_NOMEM;

    memset(view, 0, sizeof *view);
    if (pick != NULL && selected != NULL) {
        for (int64_t i = 0; i < n; i++) {
            selected[i] = (uint32_t)(2 * i + 1);
            if (decoys) {
                pick[2 * i] = (uint32_t)(2 * (begin + i));
                pick[2 * i + 1] = (uint32_t)(2 * (begin + i) + 1);
            } else {
                pick[i] = (uint32_t)(begin + i);
            }
        }
        if (decoys) {
            pick[2 * n] = 0;
        }
        status = kit_view_make(&drive->rows[port], port, pick, whole, decoys ? selected : NULL, n,
                               drive->work->read_only, drive->work->fill, view, &err);
    }
    free(pick);
    free(selected);
    if (status != SLUICE_OK) {
        drive->broken = true;
        kit_fail(drive->bench->kit, "the kit could not make a batch: %s", err.message);
    }
    return status == SLUICE_OK;
}

/* One call of process, repeated while it says that a failure is transient. */
static sluice_status process(struct drive *drive, const struct sluice_batch *batch)
{
    sluice_status status = SLUICE_OK;

    for (int i = 0; i < RETRIES; i++) {
        if (drive->worker == NULL && !open_worker(drive)) {
            return drive->out->status;
        }
        kit_enter(drive->bench->kit, "process");
        status = stage_process(drive->worker, batch, &drive->result, &drive->out->error);
        each(drive, "process");
        if (status == SLUICE_OK && drive->work->abandoned && drive->result.n_asks > 0) {
            close_worker(drive);
            if (!open_worker(drive)) {
                return drive->out->status;
            }
            kit_enter(drive->bench->kit, "process");
            status = stage_process(drive->worker, batch, &drive->result, &drive->out->error);
            each(drive, "process");
        }
        while (status == SLUICE_OK && drive->result.n_asks > 0) {
            status = kit_answer(drive->bench, drive->worker, &drive->result,
                                &drive->work->answering, &drive->out->error);
            each(drive, "resume");
        }
        if (kit_view_released()) {
            kit_fail(drive->bench->kit,
                     "process releases a column of its input, which is borrowed");
        }
        if (!stage_worker_usable(drive->worker)) {
            close_worker(drive);
        }
        if (status != SLUICE_E_RETRY) {
            break;
        }
    }
    return status;
}

/* Rows [begin, end) in one batch; where a stateless stage refuses data, halves of it, down to the
 * rows that it refuses alone. */
static bool push(struct drive *drive, int64_t begin, int64_t end)
{
    const struct kit_work *work = drive->work;
    const struct sluice_stage *kind = drive->bench->kind;
    struct kit_view view;
    sluice_status status;

    if (!make_view(drive, 0, begin, end, &view)) {
        return false;
    }
    status = process(drive, &view.batch);
    if (status == SLUICE_OK) {
        kit_outcome_add(drive->out, drive->bench, &drive->result, work->ids + begin, end - begin);
    }
    kit_view_deinit(&view);
    if (status != SLUICE_E_DATA || kind->mode != SLUICE_MODE_STATELESS ||
        kind->role == SLUICE_ROLE_WRITER || end == begin) {
        return answer(drive, "process", status);
    }
    if (end - begin == 1) {
        kit_outcome_refused(drive->out, work->ids[begin], &drive->out->error);
        return true;
    }
    return push(drive, begin, begin + (end - begin) / 2) &&
           push(drive, begin + (end - begin) / 2, end);
}

static bool push_side(struct drive *drive)
{
    int64_t n = drive->rows[1].n;

    for (int half = 0; half < 2; half++) {
        struct kit_view view;
        sluice_status status;
        if (!make_view(drive, 1, half == 0 ? 0 : n / 2, half == 0 ? n / 2 : n, &view)) {
            return false;
        }
        status = process(drive, &view.batch);
        if (status == SLUICE_OK) {
            kit_outcome_add(drive->out, drive->bench, &drive->result, NULL, 0);
        }
        kit_view_deinit(&view);
        if (!answer(drive, "process (side input)", status)) {
            return false;
        }
    }
    return true;
}

/* ---- batches side by side ---- */

static int64_t begin_of(const struct drive *drive, uint32_t batch)
{
    return batch == 0 ? 0 : drive->work->cuts[batch - 1];
}

static bool beside_view(void *ctx, uint32_t batch, struct kit_view *view)
{
    struct drive *drive = ctx;

    return make_view(drive, 0, begin_of(drive, batch), drive->work->cuts[batch], view);
}

/* A batch that was refused is put again, in parts. */
static bool beside_done(void *ctx, uint32_t batch, sluice_status status,
                        const struct sluice_error *err, const struct stage_result *result)
{
    struct drive *drive = ctx;
    int64_t begin = begin_of(drive, batch);
    int64_t end = drive->work->cuts[batch];

    if (status == SLUICE_OK) {
        kit_outcome_add(drive->out, drive->bench, result, drive->work->ids + begin, end - begin);
        return true;
    }
    if (status == SLUICE_E_DATA || status == SLUICE_E_RETRY) {
        return push(drive, begin, end);
    }
    drive->out->error = *err;
    return answer(drive, "process", status);
}

static bool push_beside(struct drive *drive)
{
    const struct kit_work *work = drive->work;
    const struct kit_beside_user user = { .n = work->beside,
                                          .seed = work->seed,
                                          .how = &work->answering,
                                          .ctx = drive,
                                          .view = beside_view,
                                          .done = beside_done };

    return kit_beside(drive->bench, &user, work->n_cuts);
}

/* ---- state ---- */

static bool save(struct drive *drive, struct buf *out)
{
    sluice_status status;

    kit_enter(drive->bench->kit, "save");
    status = stage_save(drive->worker, out, &drive->out->error);
    each(drive, "save");
    return answer(drive, "save", status);
}

static bool restore(struct drive *drive)
{
    struct buf state = BUF_INIT;
    bool ok = save(drive, &state);

    if (ok) {
        close_worker(drive);
        ok = open_worker(drive);
    }
    if (ok) {
        sluice_status status;
        kit_enter(drive->bench->kit, "load");
        status = stage_load(drive->worker, state.data, state.size, &drive->out->error);
        each(drive, "load");
        ok = answer(drive, "load", status);
    }
    buf_deinit(&state);
    return ok;
}

static bool flush(struct drive *drive)
{
    sluice_status status;

    kit_enter(drive->bench->kit, "flush");
    status = stage_flush(drive->worker, &drive->result, &drive->out->error);
    each(drive, "flush");
    if (status == SLUICE_OK) {
        kit_outcome_add(drive->out, drive->bench, &drive->result, NULL, 0);
    }
    return answer(drive, "flush", status);
}

/* Sets the batch's worker aside as a saved state. */
static bool set_aside(struct drive *drive)
{
    struct buf *states = realloc(drive->states, (drive->n_states + 1) * sizeof *states);

    if (states == NULL) {
        drive->broken = true;
        return false;
    }
    drive->states = states;
    buf_init(&states[drive->n_states++]);
    if (!flush(drive) || !save(drive, &states[drive->n_states - 1])) {
        return false;
    }
    close_worker(drive);
    return true;
}

static bool merge_states(struct drive *drive)
{
    if (!open_worker(drive)) {
        return false;
    }
    for (uint32_t k = 0; k < drive->n_states; k++) {
        uint32_t at = drive->work->reversed ? drive->n_states - 1 - k : k;
        sluice_status status;
        kit_enter(drive->bench->kit, "merge");
        status = stage_merge(drive->worker, drive->states[at].data, drive->states[at].size,
                             &drive->out->error);
        each(drive, "merge");
        if (!answer(drive, "merge", status)) {
            return false;
        }
    }
    return true;
}

static int64_t count_node(void *ctx, const char *node)
{
    (void)ctx;
    (void)node;
    return 1000;
}

static bool judge(struct drive *drive)
{
    sluice_status status;

    kit_enter(drive->bench->kit, "judge");
    status =
        stage_judge(drive->worker, count_node, NULL, &drive->out->judgement, &drive->out->error);
    each(drive, "judge");
    drive->out->judged = status == SLUICE_OK;
    return answer(drive, "judge", status);
}

/* ---- the whole ---- */

static bool make_rows(struct drive *drive)
{
    const struct kit_work *work = drive->work;
    const struct sluice_stage *kind = drive->bench->kind;
    struct kit_rows_spec spec = { .ids = work->ids, .n = work->n, .profile = work->profile };
    struct sluice_error err = ERROR_INIT;
    uint64_t *ids = malloc((2 * (size_t)work->n + 2) * sizeof *ids);
    int64_t n = 0;
    sluice_status status = SLUICE_E_NOMEM;

    if (ids != NULL) {
        if (work->decoys) {
            for (int64_t i = 0; i < work->n; i++) {
                ids[n++] = KIT_DECOY + (uint64_t)i;
                ids[n++] = work->ids[i];
            }
            if (n == 0) {
                ids[n++] = KIT_DECOY;
            }
            spec.ids = ids;
            spec.n = n;
        }
        status = kit_rows_make(drive->bench, 0, &spec, &drive->rows[0], &err);
    }
    if (status == SLUICE_OK && (kind->flags & SLUICE_STAGE_SIDE_INPUT) != 0) {
        struct kit_rows_spec side = {
            .ids = ids, .profile = work->profile, .main_ids = work->ids, .n_main = work->n
        };
        bool by_split = (kind->flags & SLUICE_STAGE_SIDE_BY_SPLIT) != 0;
        for (int64_t i = 0; i < work->n / 3; i++) {
            ids[i] = by_split ? work->ids[2 * i] : (uint64_t)i;
            side.n++;
        }
        status = kit_rows_make(drive->bench, 1, &side, &drive->rows[1], &err);
    }
    free(ids);
    if (status != SLUICE_OK) {
        drive->broken = true;
        kit_fail(drive->bench->kit, "the kit could not make rows: %s", err.message);
    }
    return status == SLUICE_OK;
}

static bool run(struct drive *drive)
{
    const struct kit_work *work = drive->work;
    uint32_t n_cuts = work->cuts != NULL ? work->n_cuts : 1;
    int64_t begin = 0;

    if (!make_rows(drive) || !open_worker(drive)) {
        return false;
    }
    if ((drive->bench->kind->flags & SLUICE_STAGE_SIDE_INPUT) != 0 && !push_side(drive)) {
        return false;
    }
    if (work->beside > 0) {
        return push_beside(drive) && (drive->worker != NULL || open_worker(drive)) && flush(drive);
    }
    for (uint32_t k = 0; k < n_cuts; k++) {
        int64_t end = work->cuts != NULL ? work->cuts[k] : work->n;
        if (work->restore && !restore(drive)) {
            return false;
        }
        if (work->merge && drive->worker == NULL && !open_worker(drive)) {
            return false;
        }
        if (!push(drive, begin, end) || (work->merge && !set_aside(drive))) {
            return false;
        }
        begin = end;
    }
    if (work->merge) {
        return merge_states(drive) && judge(drive);
    }
    if (drive->worker == NULL && !open_worker(drive)) {
        return false;
    }
    if ((work->restore && !restore(drive)) || !flush(drive)) {
        return false;
    }
    return drive->bench->kind->role != SLUICE_ROLE_GATE || judge(drive);
}

bool kit_drive(struct kit_bench *bench, const struct kit_work *work, struct kit_outcome *out)
{
    struct drive drive = { .bench = bench, .work = work, .out = out };

    kit_outcome_init(out);
    stage_result_init(&drive.result);
    run(&drive);
    close_worker(&drive);
    stage_result_deinit(&drive.result);
    for (uint32_t k = 0; k < drive.n_states; k++) {
        buf_deinit(&drive.states[k]);
    }
    free(drive.states);
    kit_rows_deinit(&drive.rows[0]);
    kit_rows_deinit(&drive.rows[1]);
    return !drive.broken && !out->text.failed;
}
