/* sluice remove: takes rows out of a dataset by their ids, in a new snapshot in which only the
 * files that held one are written again (store/removal.h). The ids themselves are kept nowhere:
 * the manifest tells how many there were, how many rows went, and the hash of the list. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/dataset/below.h"
#include "cmd/dataset/purge.h"
#include "cmd/dataset/rewrite.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

static const struct arg_spec remove_specs[] = {
    { "--ids", "FILE", "the ids, one a line, exactly as they are in the rows (required)" },
    { "--column", "NAME", "the field that has them (default id); meta.id is one inside of meta" },
    { "--purge", NULL,
      "also from all older snapshots, tagged ones too, and from what its run keeps; this can't be "
      "undone" },
    { "--run", "RUN", "of --purge: the run that wrote it (default: that of its pipeline's name)" },
    { "--in", "DIR",
      "where datasets that were made of it are looked for (default: the folder that it is in)" },
    { "--dry-run", NULL, "only say what would be removed" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

struct removing {
    struct dataset_hold hold;
    struct ids ids;
    struct idsearch search;
    struct snapshot *from;
    struct removal_shard *shards;
    uint64_t rows;    /* that have an id of the list */
    uint64_t without; /* rows that have none at all */
    uint32_t touched; /* shards */
    uint32_t gone;    /* of these, of which no row stays */
    uint64_t bytes;   /* of the shards that are touched */
    uint32_t number;  /* of what it made; 0 = nothing */
    bool dry;
    struct purge purge; /* with --purge */
    char *run;
    struct crew *crew; /* of a run that is named */
    json_t *below;     /* datasets that were made of it */
};

static sluice_status open_all(const struct args *args, struct removing *r, struct sluice_error *err)
{
    const char *ids = args_get(args, "--ids");
    const char *column = args_get(args, "--column");

    if (ids == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--ids FILE is missing: the ids whose rows are to be removed, one a line");
    }
    r->dry = args_get(args, "--dry-run") != NULL;
    TRY(ids_read(ids, &r->ids, err));
    TRY(dataset_hold(args->words[0], r->dry ? NULL : "remove", &r->hold, err));
    TRY(dataset_open_newest(&r->hold, "a removal", &r->from, err));
    r->search = (struct idsearch){ .ids = &r->ids,
                                   .column = column == NULL ? "id" : column,
                                   .dir = r->hold.dir,
                                   .stop = &session_drain };
    return SLUICE_OK;
}

static void count(struct removing *r)
{
    for (uint32_t i = 0; i < r->from->n_shards; i++) {
        const struct snapshot_shard *shard = &r->from->shards[i];
        r->rows += r->shards[i].n;
        r->touched += r->shards[i].n > 0;
        r->gone += r->shards[i].n > 0 && r->shards[i].n == shard->rows;
        r->bytes += r->shards[i].n > 0 ? shard->bytes : 0;
    }
}

static sluice_status take_out(struct removing *r, struct sluice_error *err)
{
    struct removal_terms terms = {
        .shards = r->shards, .copy = rewrite_without, .takes = rewrite_takes, .stop = &session_drain
    };
    struct snapshot *next = NULL;
    sluice_status status;

    if (r->rows == 0) { /* a kill may have left its folder or `latest` undone */
        return snapshot_publish(r->hold.dir, r->from, NULL, NULL, err);
    }
    TRY(derive_sweep(r->hold.dir, err));
    status = removal_make(r->hold.dir, r->from, &terms, &next, err);
    if (status == SLUICE_OK) {
        status = purge_note(&r->search, r->rows, NULL, next, err);
    }
    if (status == SLUICE_OK) {
        status = derive_stand(r->hold.dir, r->from, next, &r->number, err);
    }
    snapshot_destroy(next);
    return status;
}

static sluice_status take_out_everywhere(const struct args *args, struct removing *r,
                                         struct sluice_error *err)
{
    const char *named = args_get(args, "--run");

    TRY(dataset_run(&r->hold, named, &r->run, err));
    if (named != NULL && r->hold.crew == NULL) {
        TRY(look_alone(r->run, "remove", &r->crew, err));
    }
    TRY(take_out(r, err));
    r->purge = (struct purge){ .search = &r->search, .run = r->run, .rows = r->rows };
    return purge(&r->purge, err);
}

/* The others are named, and left to who owns them. */
static sluice_status find_below(const struct args *args, struct removing *r,
                                struct sluice_error *err)
{
    struct below below = { .search = &r->search };
    char *folder = NULL;
    sluice_status status;

    TRY(dataset_folder(args_get(args, "--in"), &folder, err));
    below.folder = folder;
    status = below_find(&below, &r->below, err);
    free(folder);
    return status;
}

static sluice_status remove_ids(const struct args *args, struct removing *r,
                                struct sluice_error *err)
{
    TRY(open_all(args, r, err));
    TRY(idsearch_snapshot(&r->search, r->from, &r->shards, &r->without, err));
    count(r);
    if (!r->dry) {
        TRY(args_get(args, "--purge") != NULL ? take_out_everywhere(args, r, err)
                                              : take_out(r, err));
    }
    return find_below(args, r, err);
}

/* {ID: rows} and [ID] of those that are nowhere. */
static json_t *ids_json(const struct ids *ids, bool missing)
{
    json_t *json = missing ? json_array() : json_object();

    for (size_t i = 0; i < ids->n; i++) {
        if (missing && ids->found[i] == 0) {
            json_array_append_new(json, facts_text(ids->items[i], strlen(ids->items[i])));
        } else if (!missing && ids->found[i] > 0) {
            json_object_set_new(json, ids->items[i], json_integer((json_int_t)ids->found[i]));
        }
    }
    return json;
}

/* null without --purge. */
static json_t *purge_json(const struct removing *r)
{
    return r->purge.search == NULL
               ? json_null()
               : json_pack("{s:O, s:I, s:I, s:I, s:I, s:O, s:o}", "snapshots", r->purge.snapshots,
                           "rows", (json_int_t)r->purge.rows, "files", (json_int_t)r->purge.files,
                           "run_files", (json_int_t)r->purge.run_files, "bytes",
                           (json_int_t)r->purge.bytes, "left", r->purge.left, "run",
                           r->run == NULL ? json_null() : facts_text(r->run, strlen(r->run)));
}

static json_t *facts_of(const struct removing *r)
{
    return json_pack(
        "{s:o, s:i, s:o, s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:b, s:o, "
        "s:O}",
        "dataset", facts_text(r->hold.dir, strlen(r->hold.dir)), "from", (int)r->from->number,
        "snapshot", r->number == 0 ? json_null() : json_integer((json_int_t)r->number), "column",
        r->search.column, "files", (int)r->from->n_shards, "touched", (int)r->touched, "gone",
        (int)r->gone, "bytes", (json_int_t)r->bytes, "rows", (json_int_t)r->rows, "rows_before",
        (json_int_t)r->from->rows, "without", (json_int_t)r->without, "ids", (json_int_t)r->ids.n,
        "sha256", r->ids.sha256, "removed", ids_json(&r->ids, false), "missing",
        ids_json(&r->ids, true), "dry_run", r->dry, "purge", purge_json(r), "below", r->below);
}

int cmd_remove(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice remove DATASET --ids FILE [--column NAME] [--purge] [--dry-run]",
        .text = "Takes the rows that have one of the ids out of a dataset, in a new snapshot: "
                "files that hold one are written again, all others\n"
                "are named as they are. Later runs of its pipeline don't bring the rows back, as "
                "long as the files that they stood in are made of\n"
                "the same input. Older snapshots still have them, but with --purge. Not while its "
                "run is at work; a kill leaves the old snapshot.",
        .specs = remove_specs,
        .n_specs = sizeof remove_specs / sizeof remove_specs[0],
        .least = 1,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct removing r;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&r, 0, sizeof r);
    session_signals();
    if (remove_ids(&args, &r, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("remove", &args, facts_of(&r));
    }
    free(r.shards);
    json_decref(r.below);
    purge_deinit(&r.purge);
    crew_leave(r.crew);
    free(r.run);
    idsearch_deinit(&r.search);
    ids_deinit(&r.ids);
    snapshot_destroy(r.from);
    dataset_release(&r.hold);
    return status;
}
