/* The policies of a pipeline while it runs: see policies.h. */
#include "cmd/policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/facts/report.h"

static const char retry_text[] = "local retry = require \"policies.retry\"\nretry {}\n";

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
static sluice_status load_retry(struct policies *policies, struct sluice_error *err)
{
    const struct session *session = policies->session;
    char *path = disk_join(session->module_dir, "policies/retry.lua");
    struct script_options options = { .path = path,
                                      .base_dir = session->module_dir,
                                      .cwd = session->cwd,
                                      .module_dir = session->module_dir,
                                      .registry = session->registry,
                                      .text = retry_text,
                                      .testing = true };
    sluice_status status = path == NULL
                               ? error_nomem(err, "a policy")
                               : script_load(&options, &policies->retry, &policies->graph, err);

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
        if (policies->retry == NULL) {
            TRY(load_retry(policies, err));
        }
        TRY(script_retry(policies->retry, 0, facts, &said, seconds, err));
    }
    if (!said) {
        *seconds = SCRIPT_GIVE_UP;
    }
    return SLUICE_OK;
}

void policies_close(struct policies *policies)
{
    graph_destroy(policies->graph);
    script_destroy(policies->retry);
    policies->graph = NULL;
    policies->retry = NULL;
}
