/* What the commands on datasets share: see dataset.h. */
#include "cmd/dataset/dataset.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/paths.h"
#include "store/store.h"

json_t *dataset_owner_json(const struct snapshot *s)
{
    return s->node == NULL
               ? json_null()
               : json_pack("{s:o, s:o}", "pipeline", facts_text(s->pipeline, strlen(s->pipeline)),
                           "node", facts_text(s->node, strlen(s->node)));
}

sluice_status dataset_hold(const char *reference, const char *kind, struct dataset_hold *hold,
                           struct sluice_error *err)
{
    struct sluice_error none = ERROR_INIT;
    char *run = NULL;
    sluice_status status;

    memset(hold, 0, sizeof *hold);
    TRY(look_dataset(reference, &hold->dir, &hold->number, err));
    if (kind == NULL) {
        return SLUICE_OK;
    }
    status = look_dataset_run(hold->dir, 0, &run, &none);
    if (status == SLUICE_OK) {
        status = look_alone(run, kind, &hold->crew, err);
    } else if (status == SLUICE_E_CONFIG) { /* its run is somewhere else, or nowhere any more */
        status = SLUICE_OK;
    } else {
        status = error_set(err, status, "%s", none.message);
    }
    free(run);
    return status;
}

void dataset_release(struct dataset_hold *hold)
{
    crew_leave(hold->crew);
    free(hold->dir);
    memset(hold, 0, sizeof *hold);
}

sluice_status dataset_open_newest(const struct dataset_hold *hold, const char *what,
                                  struct snapshot **out, struct sluice_error *err)
{
    uint32_t number = hold->number;

    TRY(snapshot_open(hold->dir, 0, out, err));
    if (number != 0 && number != (*out)->number) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found snapshot %u, expected the newest, which is %u: %s stands behind "
                         "what it is made of",
                         (unsigned)number, (unsigned)(*out)->number, what);
    }
    return SLUICE_OK;
}

sluice_status dataset_run(const struct dataset_hold *hold, const char *named, char **run,
                          struct sluice_error *err)
{
    struct sluice_error none = ERROR_INIT;
    sluice_status status;

    *run = NULL;
    if (named != NULL) {
        *run = look_is_run(named) ? session_run_dir(named) : NULL;
        return *run != NULL
                   ? SLUICE_OK
                   : error_set(err, SLUICE_E_CONFIG,
                               "--run: found '%s', which is no run (it has no plan.json)", named);
    }
    status = look_dataset_run(hold->dir, 0, run, &none);
    return status == SLUICE_OK || (status == SLUICE_E_CONFIG && dataset_there(hold->dir))
               ? SLUICE_OK
               : error_set(err, status, "%s", none.message);
}

sluice_status dataset_folder(const char *named, char **folder, struct sluice_error *err)
{
    char cwd[PATH_MAX];

    *folder = named == NULL || getcwd(cwd, sizeof cwd) == NULL ? NULL : store_absolute(cwd, named);
    for (size_t n = *folder == NULL ? 0 : strlen(*folder); n > 1 && (*folder)[n - 1] == '/'; n--) {
        (*folder)[n - 1] = '\0';
    }
    return named == NULL || *folder != NULL ? SLUICE_OK : error_nomem(err, "a path");
}

int dataset_show(const char *event, const struct args *args, json_t *facts)
{
    struct sluice_error err = ERROR_INIT;
    int status = 0;

    if (facts == NULL) {
        error_nomem(&err, "facts");
        return session_fail(&err, args_get(args, "--json") != NULL);
    }
    if (args_get(args, "--html") != NULL) {
        char page[64];
        snprintf(page, sizeof page, "%s_page", event);
        if (view_page(page, args_get(args, "--html"), facts, NULL, &err) != SLUICE_OK) {
            status = session_fail(&err, false);
        }
    } else if (args_get(args, "--json") != NULL) {
        look_print(event, json_incref(facts));
    } else if (view_once(event, args_get(args, "--view"), facts, NULL, &err) != SLUICE_OK) {
        status = session_fail(&err, false);
    }
    json_decref(facts);
    return status;
}
