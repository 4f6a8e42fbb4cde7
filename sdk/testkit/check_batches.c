/* Checks that put a stage through one kind of batch each: does it come through, and does what it
 * gives have the promised shape? See kitInt.h. */
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"

/* A defect found by the driver: is it about verdicts? */
static bool about_verdicts(const char *message)
{
    return strstr(message, "verdict") != NULL;
}

static bool is_defect(const struct kit_outcome *outcome)
{
    return outcome->status == SLUICE_E_INTERNAL &&
           strstr(outcome->error.message, "(a defect of the plugin)") != NULL;
}

/* A data error is an answer to odd rows, though not to ordinary ones. */
static bool fine_or_data(struct kit *kit, const struct kit_outcome *outcome, const char *of)
{
    return outcome->status == SLUICE_E_DATA || kit_outcome_fine(kit, outcome, of);
}

/* n rows in one batch. */
static bool one_batch(struct kit *kit, int64_t n, enum kit_profile profile, bool decoys,
                      const char *of)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    uint64_t *ids = kit_ids(n);
    struct kit_work work = { .ids = ids, .n = n, .profile = profile, .decoys = decoys };
    bool ok = ids != NULL && kit_bench_need(kit, &options, &bench);

    if (ok) {
        kit_what(kit, "%s", of);
        kit_outcome_init(&outcome);
        ok = kit_drive(&bench, &work, &outcome) &&
             (profile == KIT_ORDINARY ? kit_outcome_fine(kit, &outcome, of)
                                      : fine_or_data(kit, &outcome, of));
        kit_outcome_deinit(&outcome);
    }
    if (ids != NULL) {
        kit_bench_close(&bench);
    }
    free(ids);
    return ok;
}

/* An ordinary run. true = it came to an end; the outcome is the caller's to deinit. */
static bool ordinary(struct kit *kit, struct kit_bench *bench, struct kit_outcome *outcome)
{
    struct kit_bench_options options = { 0 };

    kit_outcome_init(outcome);
    return kit_bench_need(kit, &options, bench) &&
           kit_exercise(bench, 0, KIT_ORDINARY, NULL, NULL, outcome);
}

/* How many lines of what a run gave say that a function in Lua failed; *first is the first of them,
 * up to its end. */
static size_t script_failures(const struct buf *text, const char **first)
{
    static const char *const reasons[] = { "\"lua_error: ", "\"lua_memory: ", "\"lua_endless: " };
    size_t n = 0;

    for (size_t at = 0; at < text->size;) {
        const char *line = text->data + at;
        const char *end = memchr(line, '\n', text->size - at);
        size_t size = end == NULL ? text->size - at : (size_t)(end - line);
        for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
            const char *found = memmem(line, size, reasons[i], strlen(reasons[i]));
            if (found != NULL) {
                *first = n == 0 ? found : *first;
                n++;
                break;
            }
        }
        at += size + 1;
    }
    return n;
}

/* A function in Lua that fails on ordinary rows: a run would set them aside. Some may: they hold
 * nulls. */
static bool script_fine(struct kit *kit, const struct kit_outcome *outcome)
{
    const char *first = NULL;
    size_t n = kit->script == NULL ? 0 : script_failures(&outcome->text, &first);

    if (n * 2 <= outcome->n) {
        return true;
    }
    return kit_fail(kit, "its function fails on %zu of %zu ordinary rows: %.*s", n, outcome->n,
                    (int)strcspn(first, "\n"), first);
}

void check_runs(struct kit *kit)
{
    struct kit_bench bench;
    struct kit_outcome outcome;

    kit_what(kit, "ordinary rows");
    if (ordinary(kit, &bench, &outcome)) {
        if (kit_reader(kit) && outcome.status == SLUICE_E_DATA && kit->options.data == NULL) {
            kit_skip(kit,
                     "it refuses the generated JSON; give a file in its format with --data (%s)",
                     outcome.error.message);
        } else if (kit_outcome_fine(kit, &outcome, kit_reader(kit) ? "a file" : "ordinary rows")) {
            script_fine(kit, &outcome);
        }
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

/* The same for checks that only look at what the driver finds: other failures are for 'runs'. */
static bool look(struct kit *kit, struct kit_bench *bench, struct kit_outcome *outcome)
{
    struct kit_bench_options options = { 0 };

    kit_what(kit, "ordinary rows");
    kit_outcome_init(outcome);
    if (kit_option_wanted(kit, kit->kind) != NULL) {
        memset(bench, 0, sizeof *bench);
        bench->kit = kit;
        return kit_bench_need(kit, &options, bench);
    }
    if (!kit_bench_open(kit, &options, bench)) {
        return kit_skip(kit, "the stage does not open, see 'runs'");
    }
    kit_exercise(bench, 0, KIT_ORDINARY, NULL, NULL, outcome);
    return is_defect(outcome);
}

void check_schema(struct kit *kit)
{
    struct kit_bench bench;
    struct kit_outcome outcome;
    bool columns = kit->kind->role == SLUICE_ROLE_READER ||
                   kit->kind->role == SLUICE_ROLE_ANNOTATOR ||
                   kit->kind->role == SLUICE_ROLE_TRANSFORM;

    if (!columns) {
        kit_skip(kit, "it has no output columns");
        return;
    }
    if (look(kit, &bench, &outcome) && !about_verdicts(outcome.error.message)) {
        kit_fail(kit, "%s", outcome.error.message);
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

void check_verdicts(struct kit *kit)
{
    struct kit_bench bench;
    struct kit_outcome outcome;

    if (kit->kind->role != SLUICE_ROLE_FILTER && kit->kind->role != SLUICE_ROLE_ANNOTATOR) {
        kit_skip(kit, "it judges no rows");
        return;
    }
    if (look(kit, &bench, &outcome) && about_verdicts(outcome.error.message)) {
        kit_fail(kit, "%s", outcome.error.message);
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

static int64_t sum_of(const struct kit_outcome *outcome, const char *name, const char *end)
{
    size_t n = strlen(name);

    for (uint32_t k = 0; k < outcome->n_sums; k++) {
        if (strncmp(outcome->sums[k].name, name, n) == 0 &&
            strcmp(outcome->sums[k].name + n, end) == 0) {
            return outcome->sums[k].value;
        }
    }
    return -1;
}

void check_measures(struct kit *kit)
{
    struct kit_bench bench;
    struct kit_outcome outcome;
    const char *name = kit->kind->conserves;

    if (name == NULL) {
        kit_skip(kit, "it says to conserve no measure");
        return;
    }
    kit_what(kit, "ordinary rows");
    if (ordinary(kit, &bench, &outcome) && kit_outcome_fine(kit, &outcome, "ordinary rows")) {
        int64_t in = sum_of(&outcome, name, ".in");
        int64_t out = sum_of(&outcome, name, ".out");
        if (in < 0 || out < 0) {
            kit_fail(kit,
                     "it says to conserve '%s' and does not add to the measures %s.in and "
                     "%s.out",
                     name, name, name);
        } else if (in != out) {
            kit_fail(kit, "%lld %s go in and %lld come out", (long long)in, name, (long long)out);
        }
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

/* Does it ask what the rows of its input were made of? */
static bool needs_origin(const struct stage_prepared *prepared)
{
    for (uint32_t k = 0; k < prepared->n_needs[0]; k++) {
        const char *name = prepared->needs[0][k].name;
        if (name != NULL && strcmp(name, SLUICE_ORIGIN) == 0) {
            return true;
        }
    }
    return false;
}

void check_origin(struct kit *kit)
{
    struct kit_bench bench;
    struct kit_outcome outcome;
    bool seen[60] = { false };

    if (kit->kind->role != SLUICE_ROLE_TRANSFORM) {
        kit_skip(kit, "only transforms name the rows that theirs come from");
        return;
    }
    kit_what(kit, "ordinary rows");
    if (!ordinary(kit, &bench, &outcome) || !kit_outcome_fine(kit, &outcome, "ordinary rows")) {
    } else if (schema_find(&bench.prepared.added, SLUICE_ORIGIN) < 0) {
        if ((kit->kind->flags & SLUICE_STAGE_HIDDEN) != 0) {
            kit_skip(kit, "a hidden part of a composite without _origin");
        } else {
            kit_warn(kit, "it declares no column _origin (uint64 or list<uint64>): rows behind it "
                          "can't be traced to their sources");
        }
    } else if (needs_origin(&bench.prepared)) {
        kit_skip(kit, "it hands on the _origin of its input, which is no row of it");
    } else {
        for (size_t k = 0; k < outcome.n_origins; k++) {
            if (outcome.origins[k] >= 60) {
                kit_fail(kit, "_origin names the row %llu, which was not among the input (0 to 59)",
                         (unsigned long long)outcome.origins[k]);
                break;
            }
            seen[outcome.origins[k]] = true;
        }
        for (uint32_t row = 0; row < 60; row++) {
            if (!seen[row] && (kit->kind->flags & SLUICE_STAGE_CONSUMES) == 0) {
                kit_fail(kit,
                         "no output row names the input row %u in _origin; a transform that "
                         "may take rows in silence sets SLUICE_STAGE_CONSUMES",
                         row);
                break;
            }
        }
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

/* ---- kinds of batches ---- */

void check_empty(struct kit *kit)
{
    if (kit_not_for_readers(kit) && one_batch(kit, 0, KIT_ORDINARY, false, "a batch of no rows")) {
        one_batch(kit, 0, KIT_ORDINARY, true, "a batch of rows none of which is selected");
    }
}

void check_one_row(struct kit *kit)
{
    if (kit_not_for_readers(kit)) {
        one_batch(kit, 1, KIT_ORDINARY, false, "a batch of one row");
    }
}

void check_nulls(struct kit *kit)
{
    if (kit_not_for_readers(kit)) {
        one_batch(kit, 9, KIT_NULLS, false, "rows whose nullable columns are all null");
    }
}

void check_huge(struct kit *kit)
{
    if (kit_not_for_readers(kit)) {
        one_batch(kit, 4, KIT_HUGE, false,
                  kit->options.thorough ? "a row with 48 MiB of text" : "a row with 4 MiB of text");
    }
}

void check_hostile(struct kit *kit)
{
    if (kit_not_for_readers(kit)) {
        one_batch(kit, kit->options.thorough ? 2000 : 150, KIT_HOSTILE, false,
                  "rows of odd but valid text and numbers");
    }
}

static bool has_binary(const struct type *type)
{
    if (type->kind == TYPE_BINARY || type->kind == TYPE_FIXED) {
        return true;
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        if (has_binary(type->children[k])) {
            return true;
        }
    }
    return false;
}

void check_bad_utf8(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    bool binary = false;

    if (!kit_not_for_readers(kit)) {
        return;
    }
    if (kit_bench_need(kit, &options, &bench)) {
        for (uint32_t k = 0; k < bench.prepared.n_needs[0]; k++) {
            int32_t at = bench.prepared.needs[0][k].field;
            binary = binary || (at >= 0 && bench.makers[0][at].by == NULL &&
                                has_binary(bench.schemas[0].fields[at].type));
        }
        if (!binary) {
            kit_skip(kit, "it takes no binary column; text is always valid UTF-8");
        }
    }
    kit_bench_close(&bench);
    if (binary) {
        one_batch(kit, 60, KIT_BAD_UTF8, false, "binary rows that are no UTF-8");
    }
}

void check_selection(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome plain;
    struct kit_outcome chosen;
    struct buf why = BUF_INIT;
    uint64_t *ids = kit_ids(40);
    struct kit_work work = { .ids = ids, .n = 40 };

    if (!kit_not_for_readers(kit) || ids == NULL) {
        free(ids);
        return;
    }
    kit_outcome_init(&plain);
    kit_outcome_init(&chosen);
    kit_what(kit, "40 rows, and the same rows selected among others");
    if (kit_bench_need(kit, &options, &bench) && kit_drive(&bench, &work, &plain) &&
        kit_outcome_fine(kit, &plain, "rows that are all selected")) {
        work.decoys = true;
        if (kit_drive(&bench, &work, &chosen) &&
            !kit_outcome_equal(&plain, "all rows selected", &chosen,
                               "the same rows selected among others", &why)) {
            kit_fail(kit, "rows that are not selected make a difference: %s", buf_str(&why));
        }
    }
    kit_outcome_deinit(&plain);
    kit_outcome_deinit(&chosen);
    kit_bench_close(&bench);
    buf_deinit(&why);
    free(ids);
}

/* Columns in each of the types that the stage says to take, and without those it can do without. */
void check_types(struct kit *kit)
{
    if (!kit_not_for_readers(kit)) {
        return;
    }
    for (uint32_t variant = 0; variant < 4 && !kit_failed(kit); variant++) {
        struct kit_bench_options options = { .alternative = variant < 3 ? variant : 0,
                                             .without_optional = variant == 3 };
        struct kit_bench bench;
        struct kit_outcome outcome;
        kit_outcome_init(&outcome);
        kit_what(kit, "%s",
                 variant == 3 ? "rows without the optional columns"
                              : "columns of another type that it says to take");
        if (kit_bench_need(kit, &options, &bench) &&
            kit_exercise(&bench, 30, KIT_ORDINARY, NULL, NULL, &outcome)) {
            kit_outcome_fine(kit, &outcome,
                             variant == 3 ? "rows without the optional columns"
                                          : "columns of another type");
        }
        kit_outcome_deinit(&outcome);
        kit_bench_close(&bench);
    }
}
