/* Checks of stages that ask servers: whatever is answered first, however late, and whoever is
 * closed while it waits, the same rows come out. See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"

/* May it ask servers? */
static bool asks(const struct kit *kit)
{
    return kit->kind->resume != NULL && kit->kind->role != SLUICE_ROLE_READER;
}

bool kit_compares(struct kit *kit)
{
    return (kit->kind->flags & SLUICE_STAGE_RECORDED) == 0 || asks(kit) ||
           kit_skip(kit, "its results are recorded: it need not give the same twice");
}

struct asking_way {
    const char *name;
    struct kit_answering answering;
    uint32_t beside; /* workers; 0 = one, batch after batch */
    uint64_t seed;   /* of cuts and order; 0 = one batch */
    bool single;     /* a row a batch */
    bool abandoned;
};

/* The rows of ids put in one way. Instances are fresh, so that nothing lingers. */
static bool drive(struct kit *kit, const struct asking_way *way, const uint64_t *ids, int64_t n,
                  struct kit_outcome *out, uint64_t *asks)
{
    struct kit_bench_options options = { 0 };
    struct kit_random random = kit_random_of(way->seed, "asks", 0);
    struct kit_bench bench;
    int64_t *cuts = malloc(((size_t)n + 1) * sizeof *cuts);
    struct kit_work work = { .ids = ids,
                             .n = n,
                             .cuts = cuts,
                             .fill = way->answering.fill,
                             .beside = way->beside,
                             .seed = way->seed,
                             .abandoned = way->abandoned,
                             .answering = way->answering };
    uint64_t held;
    bool ok = cuts != NULL;

    kit_what(kit, "%s", way->name);
    for (int64_t at = 0; ok && at < n;) {
        at += way->single ? 1 : way->seed == 0 ? n : 1 + (int64_t)kit_below(&random, 9);
        cuts[work.n_cuts++] = at < n ? at : n;
    }
    ok = ok && kit_bench_need(kit, &options, &bench);
    if (ok) {
        ok = kit_drive(&bench, &work, out);
        *asks += atomic_load(&bench.asks);
        held = kit_bench_close(&bench);
        if (ok && held > 0) {
            ok = kit_fail(kit,
                          "%llu bytes of the host's memory are still held after %s: worker_close "
                          "frees a worker whatever it waits for",
                          (unsigned long long)held, way->name);
        }
    }
    free(cuts);
    return ok;
}

static bool refuses_all(const struct kit_outcome *outcome)
{
    size_t n = 0;

    for (size_t k = 0; k < outcome->n; k++) {
        n += outcome->records[k].size > 15 && memcmp(outcome->text.data + outcome->records[k].begin,
                                                     "refused alone: ", 15) == 0
                 ? 1
                 : 0;
    }
    return outcome->n > 0 && n == outcome->n;
}

/* Rows that are the same give the same, whoever asked first. */
static bool same_twice(struct kit *kit, const struct kit_outcome *outcome, int64_t n)
{
    if (outcome->n != (size_t)n * 2) {
        return true; /* a transform: rows have no owner */
    }
    for (int64_t k = 0; k < n; k++) {
        const struct kit_record *a = &outcome->records[k];
        const struct kit_record *b = &outcome->records[n + k];
        if (a->owner == UINT64_MAX || a->owner != b->owner) {
            return true;
        }
        if (a->size != b->size ||
            memcmp(outcome->text.data + a->begin, outcome->text.data + b->begin, a->size) != 0) {
            return kit_fail(kit,
                            "two rows that are the same, and get the same answer, give different "
                            "results (generated row %llu)",
                            (unsigned long long)a->owner);
        }
    }
    return true;
}

static bool compare(struct kit *kit, const struct asking_way *a, const struct asking_way *b,
                    const uint64_t *ids, int64_t n)
{
    struct kit_outcome one;
    struct kit_outcome two;
    struct buf why = BUF_INIT;
    uint64_t asks = 0;
    bool ok;

    kit_outcome_init(&one);
    kit_outcome_init(&two);
    ok = drive(kit, a, ids, n, &one, &asks) && kit_outcome_fine(kit, &one, a->name) &&
         drive(kit, b, ids, n, &two, &asks) && kit_outcome_fine(kit, &two, b->name);
    if (ok && asks == 0) {
        ok = kit_skip(kit, "it asks nothing about the generated rows; give rows that it asks about "
                           "with --data");
    } else if (ok && refuses_all(&one) && !a->answering.refused && !a->answering.empty) {
        ok = kit_skip(kit,
                      "it takes none of the answers that are made up; give bodies that its server "
                      "answers with, one a line, with --answers (%.300s)",
                      one.error.message);
    } else if (ok && !kit_outcome_equal(&one, a->name, &two, b->name, &why)) {
        ok = kit_fail(kit, "what comes out depends on when answers come: %s\n  seed %llu",
                      buf_str(&why), (unsigned long long)kit->seed);
    }
    ok = ok && same_twice(kit, &one, n / 2) && same_twice(kit, &two, n / 2);
    kit_outcome_deinit(&one);
    kit_outcome_deinit(&two);
    buf_deinit(&why);
    return ok;
}

void check_asks(struct kit *kit)
{
    static const struct asking_way whole = { .name = "all rows in one batch" };
    static const struct asking_way ways[] = {
        { .name = "batches answered one after the other",
          .seed = 1,
          .answering = { .fill = 0xa5 } },
        { .name = "7 workers that wait, answered in any order",
          .beside = 7,
          .seed = 2,
          .answering = { .fill = 0xff } },
        { .name = "16 workers that wait, a row each, answered in any order",
          .beside = KIT_BESIDE_MAX,
          .seed = 3,
          .single = true },
        { .name = "calls closed while they wait, and made again by another worker",
          .seed = 4,
          .abandoned = true },
    };
    static const struct asking_way refused = { .name = "every ask refused",
                                               .answering = { .refused = true } };
    static const struct asking_way refused_beside = { .name = "every ask refused, 7 workers that "
                                                              "wait",
                                                      .beside = 7,
                                                      .seed = 5,
                                                      .answering = { .refused = true } };
    static const struct asking_way empty = { .name = "answers without a byte",
                                             .answering = { .empty = true } };
    static const struct asking_way empty_beside = { .name = "answers without a byte, 7 workers "
                                                            "that wait",
                                                    .beside = 7,
                                                    .seed = 6,
                                                    .answering = { .empty = true } };
    int64_t n = kit->options.thorough ? 400 : 60;
    uint64_t *ids = kit_ids(2 * n);
    bool ok = ids != NULL && kit_not_for_readers(kit);

    if (ok && !asks(kit)) {
        ok = kit_skip(kit, "it has no function resume: it asks nobody");
    } else if (ok && kit->kind->mode != SLUICE_MODE_STATELESS) {
        ok = kit_skip(kit, "only calls of stateless stages wait side by side");
    }
    for (int64_t k = 0; ok && k < n; k++) {
        ids[n + k] = ids[k]; /* each row once more */
    }
    for (size_t k = 0; ok && k < sizeof ways / sizeof ways[0]; k++) {
        ok = compare(kit, &whole, &ways[k], ids, 2 * n);
    }
    if (ok && compare(kit, &refused, &refused_beside, ids, 2 * n)) {
        (void)compare(kit, &empty, &empty_beside, ids, 2 * n);
    }
    free(ids);
}
