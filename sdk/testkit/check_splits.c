/* Checks that run the same rows twice, put differently, and compare what comes out. See
 * kitInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testkit/kitInt.h"

#define EVALUATIONS 120 /* runs that are spent on making an example small */
#define THREADS 4u

/* One way of running rows. */
struct way {
    const char *name;
    enum { WAY_ONE, WAY_SINGLE, WAY_HALVES, WAY_GAPS, WAY_RANDOM, WAY_REVERSED } how;
    uint64_t seed;
};

static bool cut(const struct way *way, int64_t n, int64_t *cuts, uint32_t *n_cuts)
{
    struct kit_random random = kit_random_of(way->seed, "cuts", 0);
    uint32_t k = 0;

    switch (way->how) {
    case WAY_SINGLE:
        for (int64_t i = 1; i <= n; i++) {
            cuts[k++] = i;
        }
        break;
    case WAY_HALVES:
        cuts[k++] = n / 2;
        cuts[k++] = n;
        break;
    case WAY_GAPS:
        cuts[k++] = 0;
        cuts[k++] = n / 3;
        cuts[k++] = n / 3;
        cuts[k++] = n;
        cuts[k++] = n;
        break;
    case WAY_RANDOM:
        for (int64_t at = 0; at < n && k < 60;) {
            at += 1 + (int64_t)kit_below(&random, (uint64_t)n / 3 + 2);
            cuts[k++] = at < n ? at : n;
        }
        if (k == 0 || cuts[k - 1] != n) {
            cuts[k++] = n;
        }
        break;
    default:
        cuts[k++] = n;
        break;
    }
    *n_cuts = k;
    return true;
}

static bool drive(struct kit_bench *bench, const struct way *way, const uint64_t *ids, int64_t n,
                  enum kit_profile profile, struct kit_outcome *out)
{
    int64_t *cuts = malloc(((size_t)n + 64) * sizeof *cuts);
    uint64_t *order = malloc(((size_t)n + 1) * sizeof *order);
    struct kit_work work = { .ids = ids, .n = n, .profile = profile };
    bool ok = false;

    kit_outcome_init(out);
    if (cuts != NULL && order != NULL && cut(way, n, cuts, &work.n_cuts)) {
        work.cuts = cuts;
        work.fill = way->how == WAY_ONE ? 0 : 0xa5;
        if (way->how == WAY_REVERSED) {
            for (int64_t i = 0; i < n; i++) {
                order[i] = ids[n - 1 - i];
            }
            work.ids = order;
        }
        ok = kit_drive(bench, &work, out);
    }
    free(cuts);
    free(order);
    return ok;
}

/* Puts the records of rows into the order of ids, so that runs in other orders can be compared. */
static bool reorder(struct kit_outcome *outcome, const uint64_t *ids, int64_t n)
{
    struct kit_record *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    size_t found = 0;

    if (sorted == NULL) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        for (size_t k = 0; k < outcome->n; k++) {
            if (outcome->records[k].owner == ids[i]) {
                sorted[found++] = outcome->records[k];
                break;
            }
        }
    }
    if (found == outcome->n) {
        memcpy(outcome->records, sorted, found * sizeof *sorted);
    }
    free(sorted);
    return true;
}

/* ---- comparing, and a small example ---- */

struct comparison {
    struct kit *kit;
    const struct way *a, *b;
    enum kit_profile profile;
};

/* Do the two ways differ over these rows? A fresh instance each time, so that nothing lingers. */
static bool differ(const struct comparison *c, const uint64_t *ids, int64_t n, struct buf *why)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome one;
    struct kit_outcome two;
    bool different = false;

    kit_outcome_init(&one);
    kit_outcome_init(&two);
    if (kit_bench_need(c->kit, &options, &bench) && drive(&bench, c->a, ids, n, c->profile, &one) &&
        drive(&bench, c->b, ids, n, c->profile, &two)) {
        if (c->a->how == WAY_REVERSED || c->b->how == WAY_REVERSED) {
            reorder(&one, ids, n);
            reorder(&two, ids, n);
        }
        buf_clear(why);
        different = !kit_outcome_equal(&one, c->a->name, &two, c->b->name, why);
    }
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    kit_bench_close(&bench);
    return different;
}

/* Leaves out rows as long as the difference stays. */
static int64_t shrink(const struct comparison *c, uint64_t *ids, int64_t n, struct buf *why)
{
    struct buf scrap = BUF_INIT;
    uint64_t *fewer = malloc(((size_t)n + 1) * sizeof *fewer);
    int left = EVALUATIONS;

    for (int64_t size = n / 2; fewer != NULL && size >= 1 && left > 0; size /= 2) {
        for (int64_t at = 0; at < n && left > 0;) {
            int64_t drop = at + size < n ? size : n - at;
            memcpy(fewer, ids, (size_t)at * sizeof *ids);
            memcpy(fewer + at, ids + at + drop, (size_t)(n - at - drop) * sizeof *ids);
            left--;
            if (n - drop > 0 && differ(c, fewer, n - drop, &scrap)) {
                n -= drop;
                memcpy(ids, fewer, (size_t)n * sizeof *ids);
                buf_clear(why);
                buf_puts(why, buf_str(&scrap));
            } else {
                at += size;
            }
        }
    }
    free(fewer);
    buf_deinit(&scrap);
    return n;
}

/* Fails the check if the two ways differ; the example is made small first. */
static bool compare(const struct comparison *c, const uint64_t *all, int64_t n, const char *means)
{
    struct buf why = BUF_INIT;
    struct buf list = BUF_INIT;
    uint64_t *ids = malloc(((size_t)n + 1) * sizeof *ids);
    bool same = true;

    if (ids == NULL) {
        return false;
    }
    memcpy(ids, all, (size_t)n * sizeof *ids);
    kit_what(c->kit, "%s, and %s", c->a->name, c->b->name);
    if (differ(c, ids, n, &why)) {
        same = false;
        n = shrink(c, ids, n, &why);
        for (int64_t i = 0; i < n && i < 20; i++) {
            buf_printf(&list, "%s%llu", i > 0 ? ", " : "", (unsigned long long)ids[i]);
        }
        kit_fail(c->kit, "%s: %s\n  smallest example: generated row%s %s%s, seed %llu", means,
                 buf_str(&why), n == 1 ? "" : "s", buf_str(&list), n > 20 ? ", ..." : "",
                 (unsigned long long)c->kit->seed);
    }
    free(ids);
    buf_deinit(&why);
    buf_deinit(&list);
    return same && !kit_failed(c->kit);
}

static const struct way whole = { "all rows in one batch", WAY_ONE, 0 };

static bool can_compare(struct kit *kit)
{
    return kit_compares(kit) && kit_not_for_readers(kit);
}

void check_row_local(struct kit *kit)
{
    static const struct way ways[] = {
        { "each row in a batch of its own", WAY_SINGLE, 0 },
        { "all rows in the opposite order", WAY_REVERSED, 0 },
    };
    bool aligned =
        kit->kind->role == SLUICE_ROLE_FILTER || kit->kind->role == SLUICE_ROLE_ANNOTATOR;
    int64_t n = kit->options.thorough ? 500 : 60;
    uint64_t *ids = kit_ids(n);

    if (kit->kind->mode != SLUICE_MODE_STATELESS) {
        kit_skip(kit, "only stateless stages are row-local");
    } else if (can_compare(kit) && ids != NULL) {
        for (uint32_t k = 0; k < (aligned ? 2u : 1u); k++) {
            for (uint32_t profile = KIT_ORDINARY; profile <= KIT_HOSTILE; profile++) {
                struct comparison c = { kit, &whole, &ways[k], (enum kit_profile)profile };
                if (!compare(&c, ids, n,
                             "what a row gives depends on the rows beside it, though the stage is "
                             "stateless")) {
                    free(ids);
                    return;
                }
            }
        }
    }
    free(ids);
}

void check_splits(struct kit *kit)
{
    static const struct way ways[] = {
        { "each row in a batch of its own", WAY_SINGLE, 0 },
        { "two batches", WAY_HALVES, 0 },
        { "batches with empty ones between", WAY_GAPS, 0 },
        { "batches cut at random", WAY_RANDOM, 1 },
        { "batches cut at random otherwise", WAY_RANDOM, 2 },
    };
    int64_t n = kit->options.thorough ? 2000 : 120;
    uint64_t *ids = kit_ids(n);

    for (uint32_t k = 0; ids != NULL && k < 5 && can_compare(kit); k++) {
        struct comparison c = { kit, &whole, &ways[k], KIT_ORDINARY };
        if (!compare(&c, ids, n, "what comes out depends on how rows are cut into batches")) {
            break;
        }
    }
    free(ids);
}

/* ---- threads ---- */

static bool alone(struct kit *kit, struct kit_bench *bench, const struct kit_work *works,
                  const struct kit_reading *readings, struct kit_outcome *outs)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        bool ok = works != NULL ? kit_drive(bench, &works[i], &outs[i])
                                : kit_read(bench, &readings[i], &outs[i]);
        if (!ok || (outs[i].status != SLUICE_E_DATA &&
                    !kit_outcome_fine(kit, &outs[i], "ordinary rows"))) {
            return false;
        }
    }
    return true;
}

static void compare_threads(struct kit *kit, struct kit_bench *const *benches,
                            const struct kit_work *works, const struct kit_reading *readings,
                            const struct kit_outcome *expected)
{
    struct kit_outcome outs[THREADS];
    struct buf why = BUF_INIT;

    kit_what(kit, "%u workers on as many threads at once", THREADS);
    if (kit_drive_threads(benches, works, readings, outs, THREADS)) {
        for (uint32_t i = 0; i < THREADS && !kit_failed(kit); i++) {
            if (!kit_outcome_equal(&expected[i], "one worker alone", &outs[i],
                                   "several workers at once", &why)) {
                kit_fail(kit, "workers on several threads disturb each other: %s", buf_str(&why));
            }
        }
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        kit_outcome_deinit(&outs[i]);
    }
    buf_deinit(&why);
}

void check_threads(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench benches[THREADS];
    struct kit_bench *places[THREADS];
    struct kit_outcome expected[THREADS];
    struct kit_work works[THREADS];
    struct kit_reading readings[THREADS];
    struct buf files[THREADS];
    int64_t n = kit->options.thorough ? 3000 : 150;
    uint64_t *ids = kit_ids(n * THREADS);
    bool lines = kit->kind->cut != NULL && strcmp(kit->kind->cut, "newline") == 0;
    /* Stages of one worker a run, and those with a side input, are several instances. */
    bool several = kit->kind->mode == SLUICE_MODE_GLOBAL;
    bool ok = ids != NULL;

    memset(benches, 0, sizeof benches);
    for (uint32_t i = 0; i < THREADS; i++) {
        kit_outcome_init(&expected[i]);
        buf_init(&files[i]);
        benches[i].kit = kit;
        places[i] = several ? &benches[i] : &benches[0];
        works[i] = (struct kit_work){ .ids = ids != NULL ? ids + n * i : NULL, .n = n };
        readings[i] = (struct kit_reading){ .chunk = 2000 + 500 * i };
        ok = ok && (!kit_reader(kit) ||
                    kit_file_make(kit, lines ? 0 : 1, (size_t)n * 400 + 1000 * i, &files[i]));
        readings[i].data = files[i].data;
        readings[i].n = files[i].size;
    }
    ok = ok && kit_compares(kit);
    for (uint32_t i = 0; ok && i < (several ? THREADS : 1u); i++) {
        ok = kit_bench_need(kit, &options, &benches[i]);
    }
    if (ok && alone(kit, &benches[0], kit_reader(kit) ? NULL : works, readings, expected)) {
        for (int round = 0; round < (kit->options.thorough ? 10 : 2) && !kit_failed(kit); round++) {
            compare_threads(kit, places, kit_reader(kit) ? NULL : works, readings, expected);
        }
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        kit_outcome_deinit(&expected[i]);
        buf_deinit(&files[i]);
        kit_bench_close(&benches[i]);
    }
    free(ids);
}

/* ---- processes ---- */

void check_deterministic(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_outcome outs[2];
    struct buf text = BUF_INIT;
    struct buf why = BUF_INIT;
    FILE *file;

    kit_outcome_init(&outs[0]);
    kit_outcome_init(&outs[1]);
    if (!kit_compares(kit)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct kit_bench bench;
        kit_what(kit, "ordinary rows, instance %d", i + 1);
        if (kit_bench_need(kit, &options, &bench)) {
            kit_exercise(&bench, 90, KIT_ORDINARY, NULL, NULL, &outs[i]);
        }
        kit_bench_close(&bench);
    }
    if (!kit_failed(kit) && !kit_outcome_equal(&outs[0], "the first instance", &outs[1],
                                               "another one in the same process", &why)) {
        kit_fail(kit, "two instances give different results for the same rows: %s", buf_str(&why));
    }
    kit_outcome_print(&outs[0], &text);
    file = kit->dump != NULL ? fopen(kit->dump, "we") : NULL;
    if (file != NULL) {
        if (fwrite(buf_str(&text), 1, text.size, file) != text.size) {
            kit_fail(kit, "the kit can't write %s", kit->dump);
        }
        fclose(file);
    }
    kit_outcome_deinit(&outs[0]);
    kit_outcome_deinit(&outs[1]);
    buf_deinit(&text);
    buf_deinit(&why);
}

/* ---- fuzzing ---- */

static bool fuzz_file(struct kit *kit, struct kit_random *random)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome one;
    struct kit_outcome two;
    struct buf file = BUF_INIT;
    struct buf why = BUF_INIT;
    struct kit_reading reading = { 0 };
    bool ok = kit_file_make(kit, (uint32_t)kit_below(random, KIT_FILES),
                            (size_t)kit_below(random, 6000), &file);

    kit_outcome_init(&one);
    kit_outcome_init(&two);
    for (uint64_t k = kit_below(random, 12); ok && file.size > 0 && k > 0; k--) {
        file.data[kit_below(random, file.size)] = (char)kit_next(random);
    }
    reading.data = file.data;
    reading.n = file.size;
    reading.chunk = 1 + kit_below(random, 300);
    ok = ok && kit_bench_need(kit, &options, &bench);
    if (ok) {
        ok = kit_read(&bench, &reading, &one);
        reading.chunk = 1 + kit_below(random, 6000);
        reading.fill = 0xff;
        ok = ok && kit_read(&bench, &reading, &two) &&
             (one.status == SLUICE_E_DATA || kit_outcome_fine(kit, &one, "a damaged file"));
        if (ok && !kit_outcome_equal(&one, "some chunks", &two, "other chunks", &why)) {
            ok = kit_fail(kit, "records depend on how the file is cut: %s\n  seed %llu",
                          buf_str(&why), (unsigned long long)kit->seed);
        }
        kit_bench_close(&bench);
    }
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    buf_deinit(&file);
    buf_deinit(&why);
    return ok;
}

static bool fuzz_rows(struct kit *kit, struct kit_random *random)
{
    struct way other = { "batches cut at random", WAY_RANDOM, kit_next(random) };
    int64_t n = 1 + (int64_t)kit_below(random, 60);
    struct comparison c = { kit, &whole, &other,
                            kit_below(random, 2) == 0 ? KIT_ORDINARY : KIT_HOSTILE };
    uint64_t *ids = kit_ids(n);
    bool ok = ids != NULL &&
              compare(&c, ids, n, "what comes out depends on how rows are cut into batches");

    free(ids);
    return ok;
}

void check_fuzz(struct kit *kit)
{
    struct timespec start;
    struct timespec now;

    if (!kit_compares(kit)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct kit_random random = kit_random_of(kit->seed, "fuzz", 0);
        if (!(kit_reader(kit) ? fuzz_file(kit, &random) : fuzz_rows(kit, &random))) {
            return;
        }
        kit->seed++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < (time_t)kit->options.fuzz_seconds);
}
