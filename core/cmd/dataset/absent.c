/* What is left of ids: see absent.h. */
#include "cmd/dataset/absent.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/dataset.h"
#include "cmd/dataset/reach.h"
#include "run/facts/facts.h"

struct absence {
    struct dataset_hold hold;
    struct ids ids;
    struct idsearch search;
    struct reach reach;
    json_t *places;
    char *run; /* directory; NULL: it is not here */
};

static sluice_status on_place(void *ctx, const struct reach_place *place, struct sluice_error *err)
{
    return json_array_append_new(ctx, reach_json(place)) == 0 ? SLUICE_OK
                                                              : error_nomem(err, "facts");
}

static sluice_status search(const struct args *args, struct absence *a, struct sluice_error *err)
{
    const char *column = args_get(args, "--column");

    TRY(ids_read(args_get(args, "--absent"), &a->ids, err));
    TRY(dataset_hold(args->words[0], NULL, &a->hold, err));
    TRY(bytesearch_init(&a->reach.bytes, &a->ids, err));
    a->search = (struct idsearch){ .ids = &a->ids,
                                   .column = column == NULL ? "id" : column,
                                   .dir = a->hold.dir,
                                   .stop = &session_drain };
    a->places = json_array();
    a->reach.search = &a->search;
    a->reach.found = on_place;
    a->reach.ctx = a->places;
    TRY(dataset_run(&a->hold, args_get(args, "--run"), &a->run, err));
    TRY(reach_dataset(&a->reach, err));
    TRY(idsearch_check(&a->search, a->search.counted, a->search.lacking, err));
    return a->run == NULL ? SLUICE_OK : reach_run(&a->reach, a->run, err);
}

static json_t *facts_of(const struct absence *a)
{
    return json_pack("{s:o, s:s, s:I, s:s, s:o, s:I, s:b, s:O}", "dataset",
                     facts_text(a->hold.dir, strlen(a->hold.dir)), "column", a->search.column,
                     "ids", (json_int_t)a->ids.n, "sha256", a->ids.sha256, "run",
                     a->run == NULL ? json_null() : facts_text(a->run, strlen(a->run)), "files",
                     (json_int_t)a->reach.files, "absent", a->reach.places == 0, "places",
                     a->places);
}

int absent_show(const struct args *args)
{
    struct sluice_error err = ERROR_INIT;
    struct absence a;
    int status;

    memset(&a, 0, sizeof a);
    session_signals();
    if (search(args, &a, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(args, "--json") != NULL);
    } else {
        status = dataset_show("absent", args, facts_of(&a));
        status = status == 0 && a.reach.places > 0 ? 1 : status;
    }
    json_decref(a.places);
    free(a.run);
    bytesearch_deinit(&a.reach.bytes);
    idsearch_deinit(&a.search);
    ids_deinit(&a.ids);
    dataset_release(&a.hold);
    return status;
}
