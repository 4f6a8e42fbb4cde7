/* The policies of a pipeline while it runs: see policies.h. */
#include "cmd/policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/report.h"

/* Policies in the order of their making. */
enum { DEFAULT_RETRY, DEFAULT_SPECULATE };
static const char defaults_text[] = "require \"policies.retry\" {}\n"
                                    "require \"policies.speculate\" {}\n";

sluice_status policies_judge(struct policies *policies, const struct run *run, uint32_t phase,
                             double seconds, struct sluice_error *err)
{
    struct session *session = policies->session;
    json_t *report;
    char *text;
    sluice_status status = SLUICE_OK;

    if (session->graph->n_policies == 0) {
        return SLUICE_OK;
    }
    report = report_collect(session->run, NULL, 0, seconds, NULL, NULL);
    json_object_set(report, "core_seconds", json_object_get(report, "work_seconds"));
    json_object_set_new(report, "phase", json_string(run->plan->phases[phase]->name));
    json_object_set_new(report, "phases_left",
                        json_integer((json_int_t)(run->plan->n_phases - phase - 1)));
    text = json_dumps(report, JSON_SORT_KEYS);
    json_decref(report);
    for (uint32_t k = 0; text != NULL && status == SLUICE_OK && k < session->graph->n_policies;
         k++) {
        char message[1000];
        int outcome = 0;
        status = script_judge(session->script, (uint32_t)session->graph->policies[k].reference,
                              text, &outcome, message, err);
        if (status == SLUICE_OK && outcome == 2) {
            status = error_set(err, SLUICE_E_HALT, "policy '%s' halts the run: %s",
                               session->graph->policies[k].name, message);
        } else if (status == SLUICE_OK && outcome == 1) {
            char warning[1200];
            snprintf(warning, sizeof warning, "policy '%s': %s", session->graph->policies[k].name,
                     message);
            policies->warn(policies->ctx, warning);
        }
    }
    free(text);
    return status;
}

/* A script of its own: what a pipeline is made of stays what it was. */
static sluice_status load_defaults(struct policies *policies, struct sluice_error *err)
{
    const struct session *session = policies->session;
    char *path = policies->script != NULL ? NULL : disk_join(session->module_dir, "policies");
    struct script_options options = { .path = path,
                                      .base_dir = session->module_dir,
                                      .cwd = session->cwd,
                                      .module_dir = session->module_dir,
                                      .registry = session->registry,
                                      .text = defaults_text,
                                      .testing = true };
    sluice_status status = SLUICE_OK;

    if (policies->script == NULL) {
        status = path == NULL ? error_nomem(err, "a policy")
                              : script_load(&options, &policies->script, &policies->graph, err);
    }
    free(path);
    return status;
}

sluice_status policies_retry(struct policies *policies, const char *facts, double *seconds,
                             struct sluice_error *err)
{
    const struct graph *graph = policies->session->graph;
    bool said = false;

    *seconds = SCRIPT_GIVE_UP;
    for (uint32_t k = 0; k < graph->n_policies && !said; k++) {
        TRY(script_retry(policies->session->script, (uint32_t)graph->policies[k].reference, facts,
                         &said, seconds, err));
    }
    if (!said) {
        TRY(load_defaults(policies, err));
        TRY(script_retry(policies->script, DEFAULT_RETRY, facts, &said, seconds, err));
    }
    if (!said) {
        *seconds = SCRIPT_GIVE_UP;
    }
    return SLUICE_OK;
}

sluice_status policies_speculate(struct policies *policies, const char *facts, bool *wanted,
                                 struct sluice_error *err)
{
    const struct graph *graph = policies->session->graph;
    bool said = false;

    *wanted = false;
    for (uint32_t k = 0; k < graph->n_policies && !said; k++) {
        TRY(script_speculate(policies->session->script, (uint32_t)graph->policies[k].reference,
                             facts, &said, wanted, err));
    }
    if (!said) {
        TRY(load_defaults(policies, err));
        TRY(script_speculate(policies->script, DEFAULT_SPECULATE, facts, &said, wanted, err));
    }
    return SLUICE_OK;
}

void policies_close(struct policies *policies)
{
    graph_destroy(policies->graph);
    script_destroy(policies->script);
    policies->graph = NULL;
    policies->script = NULL;
}
