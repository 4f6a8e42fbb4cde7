/* What is left of ids: see absent.h. */
#include "cmd/dataset/absent.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/below.h"
#include "cmd/dataset/dataset.h"
#include "cmd/dataset/reach.h"
#include "run/facts/facts.h"

struct absence {
    struct dataset_hold hold;
    struct ids ids;
    struct idsearch search;
    struct reach reach;
    struct below below;
    json_t *places, *made; /* of the dataset and its run; datasets that were made of it */
    char *folder;          /* of --in, or NULL */
    char *run;             /* directory; NULL: it is not here */
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
    if (a->run != NULL) {
        TRY(reach_run(&a->reach, a->run, err));
    }
    TRY(dataset_folder(args_get(args, "--in"), &a->folder, err));
    a->below = (struct below){ .search = &a->search, .folder = a->folder };
    return below_find(&a->below, &a->made, err);
}

static bool is_absent(const struct absence *a)
{
    return a->reach.places == 0 && a->below.holders == 0;
}

static json_t *facts_of(const struct absence *a)
{
    return json_pack("{s:o, s:s, s:I, s:s, s:o, s:I, s:b, s:O, s:O}", "dataset",
                     facts_text(a->hold.dir, strlen(a->hold.dir)), "column", a->search.column,
                     "ids", (json_int_t)a->ids.n, "sha256", a->ids.sha256, "run",
                     a->run == NULL ? json_null() : facts_text(a->run, strlen(a->run)), "files",
                     (json_int_t)a->reach.files, "absent", is_absent(a), "places", a->places,
                     "below", a->made);
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
        status = status == 0 && !is_absent(&a) ? 1 : status;
    }
    json_decref(a.places);
    json_decref(a.made);
    free(a.folder);
    free(a.run);
    bytesearch_deinit(&a.reach.bytes);
    idsearch_deinit(&a.search);
    ids_deinit(&a.ids);
    dataset_release(&a.hold);
    return status;
}
