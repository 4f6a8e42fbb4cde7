/* What is kept of a done task, which there may be millions of: where its files are, and what is in
 * them, for the phases that read them. Its ledger goes into the phase's sum at once. */
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/labels.h"
#include "run/runInt.h"

sluice_status phase_folder(const struct run *run, uint32_t p, char **out, struct sluice_error *err)
{
    *out = str_printf("%s/%s", run->tasks_dir, run->plan->phases[p]->name);
    return *out == NULL ? error_nomem(err, "a path") : SLUICE_OK;
}

/* Sums are the same in whatever order tasks end. */
static void keep_ledger(struct run *run, uint32_t p, struct task_state *state, json_t *ledger)
{
    if (run->keeps_ledgers) {
        state->ledger = json_dumps(ledger, JSON_COMPACT | JSON_SORT_KEYS);
        return;
    }
    pthread_mutex_lock(&run->mutex);
    if (run->sums[p] == NULL) {
        run->sums[p] = json_object();
    }
    if (!json_is_object(ledger) || !ledger_add(run->sums[p], ledger)) {
        run->sums_lack[p] = true;
    }
    pthread_mutex_unlock(&run->mutex);
}

sluice_status task_adopt(struct run *run, uint32_t p, uint32_t task, struct commit *commit,
                         bool reused, struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    struct task_state *state = &run->tasks[p][task];
    uint32_t n = 0;
    sluice_status status = SLUICE_OK;

    state->directories = calloc(run->n_stores[p] + 1u, sizeof *state->directories);
    if (state->directories == NULL) {
        commit_destroy(commit);
        return error_nomem(err, "a task");
    }
    for (uint32_t i = 0; status == SLUICE_OK && i < phase->n_ops; i++) {
        const struct commit_state *blob;
        if (phase->ops[i]->kind != OP_STORE) {
            continue;
        }
        blob = commit_find_state(commit, label_edge(i).text);
        if (blob == NULL) {
            status = error_set(err, SLUICE_E_DATA,
                               "a commit record of phase %s has no directory of '%s'", phase->name,
                               phase->ops[i]->name);
        } else {
            status = edge_directory_decode(blob->data, blob->size, &state->directories[n], err);
        }
        if (status == SLUICE_OK &&
            state->directories[n].n_partitions != op_store(phase->ops[i])->edge->n_partitions) {
            /* By split: the number of splits may have changed since; what was stored then is no
             * longer what is asked for. */
            status = error_set(err, SLUICE_E_DATA,
                               "a commit record of phase %s has another number of partitions",
                               phase->name);
        }
        n++;
    }
    if (status != SLUICE_OK) {
        for (uint32_t k = 0; k < n; k++) {
            edge_directory_deinit(&state->directories[k]);
        }
        free(state->directories);
        state->directories = NULL;
        commit_destroy(commit);
        return status;
    }
    keep_ledger(run, p, state, commit->ledger);
    commit_trim(commit, LABEL_EDGES);
    state->commit = commit;
    state->reused = reused;
    state->done = true;
    return SLUICE_OK;
}

json_t *run_ledger(const struct run *run, uint32_t p, uint32_t task)
{
    const struct task_state *state = &run->tasks[p][task];
    struct commit *commit = NULL;
    json_t *ledger = NULL;
    char *dir = NULL;

    if (state->ledger != NULL) {
        return json_loads(state->ledger, 0, NULL);
    }
    if (state->done && phase_folder(run, p, &dir, NULL) == SLUICE_OK &&
        commit_read(dir, state->key, &commit, NULL, NULL) == SLUICE_OK && commit != NULL) {
        ledger = json_incref(commit->ledger);
    }
    commit_destroy(commit);
    free(dir);
    return ledger;
}
