/* Driving whatever stage is under test: readers over a file, others over rows, several at once on
 * threads. See kitInt.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "run/pool.h"
#include "testkit/kitInt.h"

bool kit_exercise(struct kit_bench *bench, int64_t rows, enum kit_profile profile,
                  void (*each)(void *ctx, struct kit *, const char *call), void *ctx,
                  struct kit_outcome *out)
{
    int64_t n = rows > 0 ? rows : 60;
    int64_t cuts[3] = { n / 3, n / 2, n };
    bool ok;

    if (bench->kind->role == SLUICE_ROLE_READER) {
        struct buf file = BUF_INIT;
        struct kit_reading reading = { .chunk = 4096, .each = each, .ctx = ctx };
        uint32_t which =
            bench->kind->cut != NULL && strcmp(bench->kind->cut, "newline") == 0 ? 0 : 1;
        kit_outcome_init(out);
        ok = kit_file_make(bench->kit, which, (size_t)n * 400, &file);
        if (ok) {
            reading.data = file.data;
            reading.n = file.size;
            ok = kit_read(bench, &reading, out);
        }
        buf_deinit(&file);
    } else {
        uint64_t *ids = kit_ids(n);
        struct kit_work work = { .ids = ids,
                                 .n = n,
                                 .cuts = cuts,
                                 .n_cuts = 3,
                                 .profile = profile,
                                 .each = each,
                                 .ctx = ctx };
        kit_outcome_init(out);
        ok = ids != NULL && kit_drive(bench, &work, out);
        free(ids);
    }
    return ok;
}

/* ---- threads ---- */

struct crowd {
    struct kit_bench *const *benches;
    const struct kit_work *works;
    const struct kit_reading *readings;
    struct kit_outcome *outs;
    bool *fine;
    pthread_barrier_t start;
};

static sluice_status drive_one(void *ctx, void *state, uint32_t i, bool *taken,
                               struct sluice_error *err)
{
    struct crowd *crowd = ctx;

    (void)state;
    (void)taken;
    (void)err;
    pthread_barrier_wait(&crowd->start);
    crowd->fine[i] = crowd->works != NULL
                         ? kit_drive(crowd->benches[i], &crowd->works[i], &crowd->outs[i])
                         : kit_read(crowd->benches[i], &crowd->readings[i], &crowd->outs[i]);
    return SLUICE_OK;
}

bool kit_drive_threads(struct kit_bench *const *benches, const struct kit_work *works,
                       const struct kit_reading *readings, struct kit_outcome *outs, uint32_t n)
{
    bool fine[16] = { false };
    struct crowd crowd = {
        .benches = benches, .works = works, .readings = readings, .outs = outs, .fine = fine
    };
    struct pool_job job = { .ctx = &crowd, .n = n, .n_threads = n, .run = drive_one };
    struct kit *kit = benches[0]->kit;
    struct sluice_error err = ERROR_INIT;
    bool drained;
    bool ok;

    for (uint32_t i = 0; i < n; i++) {
        kit_outcome_init(&outs[i]);
    }
    if (n > sizeof fine / sizeof fine[0] || pthread_barrier_init(&crowd.start, NULL, n) != 0) {
        return false;
    }
    kit_enter(kit, "process (on several threads at once)");
    kit->threaded = true;
    ok = pool_run(&job, &drained, &err) == SLUICE_OK;
    kit->threaded = false;
    kit_leave(kit);
    pthread_barrier_destroy(&crowd.start);
    for (uint32_t i = 0; i < n; i++) {
        ok = ok && fine[i];
    }
    return ok;
}
