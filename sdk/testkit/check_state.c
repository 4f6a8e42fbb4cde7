/* Checks of saved states: restore points, damage, and merging of gates. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "plugin/stage_state.h"

static bool saves(struct kit *kit)
{
    if (kit->kind->save == NULL || (kit->kind->load == NULL && kit->kind->merge == NULL)) {
        return kit_skip(kit, "it saves no state");
    }
    return true;
}

void check_restore(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome plain;
    struct kit_outcome restored;
    struct buf why = BUF_INIT;
    int64_t cuts[] = { 1, 7, 7, 40, 80 };
    uint64_t *ids = kit_ids(80);
    struct kit_work work = { .ids = ids, .n = 80, .cuts = cuts, .n_cuts = 5 };

    kit_outcome_init(&plain);
    kit_outcome_init(&restored);
    if (ids == NULL || !saves(kit)) {
        free(ids);
        return;
    }
    if (kit->kind->load == NULL) {
        kit_skip(kit, "its state is merged, never loaded");
        free(ids);
        return;
    }
    kit_what(kit, "batches, with a new worker that loads the state before each");
    if (kit_bench_need(kit, &options, &bench) && kit_drive(&bench, &work, &plain) &&
        kit_outcome_fine(kit, &plain, "ordinary rows")) {
        work.restore = true;
        if (kit_drive(&bench, &work, &restored) &&
            !kit_outcome_equal(&plain, "one worker all through", &restored,
                               "a new worker with the saved state before each batch", &why)) {
            kit_fail(kit, "something is lost between save and load: %s", buf_str(&why));
        }
    }
    kit_outcome_deinit(&plain);
    kit_outcome_deinit(&restored);
    kit_bench_close(&bench);
    buf_deinit(&why);
    free(ids);
}

/* ---- damage ---- */

/* The frame around a state's bytes, as the driver writes it. */
static void frame(const struct kit *kit, uint64_t version, const void *bytes, size_t n,
                  struct buf *out)
{
    struct stage_frame frame_of;

    (void)kit;
    buf_clear(out);
    stage_frame_begin(&frame_of, out, version);
    buf_append(out, bytes, n);
    stage_frame_end(&frame_of, out);
}

/* Loads (or merges) a state into a worker of its own; the stage may refuse it, not more. */
static bool load(struct kit *kit, struct kit_bench *bench, const struct buf *state,
                 bool must_refuse, const char *what)
{
    struct stage_worker *worker = NULL;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;
    bool merges = kit->kind->load == NULL;

    kit_what(kit, "%s", what);
    kit_enter(kit, "worker_open");
    status = stage_worker_open(bench->stage, &worker, &err);
    kit_leave(kit);
    if (status != SLUICE_OK) {
        return kit_fail(kit, "worker_open fails: %s", err.message);
    }
    kit_enter(kit, merges ? "merge" : "load");
    status = merges ? stage_merge(worker, state->data, state->size, &err)
                    : stage_load(worker, state->data, state->size, &err);
    kit_leave(kit);
    kit_enter(kit, "worker_close");
    stage_worker_close(worker);
    kit_leave(kit);
    return status != SLUICE_OK || !must_refuse ||
           kit_fail(kit, "%s takes up %s without a word", merges ? "merge" : "load", what);
}

/* A state worth damaging: after some rows. */
static bool make_state(struct kit *kit, struct kit_bench *bench, struct buf *out)
{
    struct kit_rows_spec spec = { .n = 30 };
    struct kit_rows rows = { 0 };
    struct kit_view view = { 0 };
    struct stage_worker *worker = NULL;
    struct stage_result result;
    struct sluice_error err = ERROR_INIT;
    uint32_t pick[30];
    uint64_t ids[30];
    sluice_status status;

    for (uint32_t i = 0; i < 30; i++) {
        pick[i] = i;
        ids[i] = i;
    }
    spec.ids = ids;
    stage_result_init(&result);
    kit_what(kit, "the state after 30 rows");
    status = stage_worker_open(bench->stage, &worker, &err);
    if (status == SLUICE_OK && !kit_reader(kit)) {
        status = kit_rows_make(bench, 0, &spec, &rows, &err);
        if (status == SLUICE_OK) {
            status = kit_view_make(&rows, 0, pick, 30, NULL, 0, false, 0, &view, &err);
        }
        if (status == SLUICE_OK && (kit->kind->flags & SLUICE_STAGE_SIDE_INPUT) == 0) {
            kit_enter(kit, "process");
            status = stage_process(worker, &view.batch, &result, &err);
            kit_leave(kit);
        }
    }
    if (status == SLUICE_OK) {
        kit_enter(kit, "save");
        status = stage_save(worker, out, &err);
        kit_leave(kit);
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_view_deinit(&view);
    kit_rows_deinit(&rows);
    return status == SLUICE_OK || kit_fail(kit, "a state can't be made: %s", err.message);
}

static void damage(struct kit *kit, struct kit_bench *bench, const struct buf *state)
{
    const char *bytes = state->data + STAGE_FRAME_HEADER;
    size_t n = state->size - STAGE_FRAME_HEADER;
    uint64_t version = kit->kind->state_version;
    struct kit_random random = kit_random_of(kit->seed, "damage", 0);
    struct buf bad = BUF_INIT;
    char *copy = malloc(n + 1);
    bool ok = copy != NULL;

    frame(kit, version + 1, bytes, n, &bad);
    ok = ok && load(kit, bench, &bad, true, "a state that a newer version saved");
    for (size_t k = 0; ok && k < 24 && n > 0; k++) {
        size_t cut = k < 12 ? n - 1 - k % n : (size_t)kit_below(&random, n);
        frame(kit, version, bytes, cut, &bad);
        ok = load(kit, bench, &bad, true, "a state whose end is cut off");
    }
    for (size_t k = 0; ok && k < 60 && n > 0; k++) {
        memcpy(copy, bytes, n);
        for (uint64_t i = 0; i <= kit_below(&random, 4); i++) {
            copy[kit_below(&random, n)] = (char)kit_next(&random);
        }
        frame(kit, version, copy, n, &bad);
        ok = load(kit, bench, &bad, false, "a state with other bytes in it");
    }
    free(copy);
    buf_deinit(&bad);
}

void check_state_damage(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct buf state = BUF_INIT;

    if (!saves(kit)) {
        return;
    }
    if (kit_bench_need(kit, &options, &bench) && make_state(kit, &bench, &state)) {
        damage(kit, &bench, &state);
    }
    kit_bench_close(&bench);
    buf_deinit(&state);
}

/* ---- gates ---- */

void check_gate_merge(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outs[3];
    struct buf why = BUF_INIT;
    int64_t cuts[] = { 11, 12, 50, 90 };
    uint64_t *ids = kit_ids(90);
    static const char *const names[] = { "one worker", "a worker a batch, states merged",
                                         "the states merged in the opposite order" };

    if (kit->kind->role != SLUICE_ROLE_GATE || kit->kind->merge == NULL || ids == NULL) {
        kit_skip(kit,
                 kit->kind->role != SLUICE_ROLE_GATE ? "it is no gate" : "it merges no states");
        free(ids);
        return;
    }
    for (uint32_t k = 0; k < 3; k++) {
        kit_outcome_init(&outs[k]);
    }
    if (kit_bench_need(kit, &options, &bench)) {
        for (uint32_t k = 0; k < 3 && !kit_failed(kit); k++) {
            struct kit_work work = {
                .ids = ids, .n = 90, .cuts = cuts, .n_cuts = 4, .merge = k > 0, .reversed = k == 2
            };
            kit_what(kit, "rows seen by %s", names[k]);
            if (!kit_drive(&bench, &work, &outs[k]) || !kit_outcome_fine(kit, &outs[k], names[k])) {
                break;
            }
            if (k > 0 && !kit_outcome_equal(&outs[0], names[0], &outs[k], names[k], &why)) {
                kit_fail(kit, "the judgement depends on how the rows were divided: %s",
                         buf_str(&why));
            }
        }
    }
    for (uint32_t k = 0; k < 3; k++) {
        kit_outcome_deinit(&outs[k]);
    }
    kit_bench_close(&bench);
    buf_deinit(&why);
    free(ids);
}
