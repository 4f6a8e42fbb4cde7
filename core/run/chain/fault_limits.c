/* How many rows may fail, judged while a task runs: max_bad where it is a count, and stages that
 * fail from the first row on. Whether a run ends does not depend on workers or batches: the count
 * of a phase only grows, and the first rows of a task come in one order. A share of the records is
 * judged at the barrier, when their number is known. */
#include <stdio.h>

#include "run/chain/chainInt.h"

/* Shares from here on say that many failures are expected. */
#define SHARE_EXPECTED 0.1

/* "lua_error in row 7: q.lua:2: boom" */
static void describe(const struct bad_record *bad, char *text, size_t size)
{
    char row[40] = "";

    if (bad->has_row) {
        snprintf(row, sizeof row, " in row %llu", (unsigned long long)bad->row);
    } else if (bad->has_place) {
        snprintf(row, sizeof row, " at byte %llu", (unsigned long long)bad->begin);
    }
    snprintf(text, size, "%s%s: %.300s", bad->reason, row, bad->detail);
}

static sluice_status too_many(struct chain *chain, uint64_t n, const struct bad_record *bad,
                              struct sluice_error *err)
{
    char fault[512];

    describe(bad, fault, sizeof fault);
    return error_field(
        err, SLUICE_E_DATA, ERROR_MAX_BAD,
        "%llu record%s quarantined, max_bad = %lld; the last is of stage '%s': %s. Mend "
        "the input or the stage, or raise max_bad",
        (unsigned long long)n, n == 1 ? " is" : "s are",
        (long long)chain->options.plan->graph->max_bad_count, bad->stage, fault);
}

static sluice_status all_fail(struct chain *chain, uint32_t op, struct sluice_error *err)
{
    struct bad_record first = { .reason = "", .detail = "" };
    char fault[512];

    for (size_t i = chain->bad.n;
         i-- > 0;) { /* in order of adding: the last one found is the first */
        const struct note *note = &chain->bad.items[i];
        if (note->op == op) {
            first = (struct bad_record){ .reason = notes_text(&chain->bad, note),
                                         .detail = notes_more(&chain->bad, note),
                                         .has_row = true,
                                         .row = note->row };
        }
    }
    describe(&first, fault, sizeof fault);
    return error_field(
        err, SLUICE_E_DATA, ERROR_MAX_BAD,
        "the first %u rows of this task all fail in stage '%s'; the first is %s. Mend "
        "the stage, or say max_bad = \"100%%\" if that is how it should be",
        CHAIN_FIRST_ROWS, chain->phase->ops[op]->name, fault);
}

/* Do only rows that fail count so far, and does nobody expect that? */
static bool first_rows_count(const struct chain *chain, uint32_t op)
{
    const struct graph *graph = chain->options.plan->graph;

    return chain->phase->ops[op]->kind == OP_STAGE && !chain->states[op].took &&
           graph->max_bad_share >= 0 && graph->max_bad_share < SHARE_EXPECTED;
}

/* Of the whole process, where the chain's task is one of many. */
static uint64_t count_bad(struct phase_metrics *metrics, uint64_t more)
{
    uint64_t n = METRIC_ADD(metrics->bad, more) + more;

    return metrics->whole == NULL ? n : METRIC_ADD(metrics->whole->bad, more) + more;
}

sluice_status chain_judge_fault(struct chain *chain, uint32_t op, const struct bad_record *bad,
                                struct sluice_error *err)
{
    const struct graph *graph = chain->options.plan->graph;
    uint64_t n = count_bad(chain->options.metrics, 1);

    if (graph->max_bad_count >= 0) {
        return n > (uint64_t)graph->max_bad_count ? too_many(chain, n, bad, err) : SLUICE_OK;
    }
    return first_rows_count(chain, op) && chain->ledger.ops[op].quarantined == CHAIN_FIRST_ROWS
               ? all_fail(chain, op, err)
               : SLUICE_OK;
}

void chain_count_bad(struct chain *chain, uint64_t more)
{
    (void)count_bad(chain->options.metrics, more);
}

bool chain_faults_suffice(const struct chain *chain, uint32_t op, uint64_t more)
{
    const struct graph *graph = chain->options.plan->graph;

    if (graph->max_bad_count >= 0) {
        uint64_t n = count_bad(chain->options.metrics, 0);
        return n + more > (uint64_t)graph->max_bad_count;
    }
    return first_rows_count(chain, op) &&
           chain->ledger.ops[op].quarantined + more >= CHAIN_FIRST_ROWS;
}
