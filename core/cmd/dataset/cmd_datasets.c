/* sluice datasets: the datasets below a folder: snapshots, rows, owners, tags, and which was made
 * of which. A manifest says of its inputs what they held (run/publish.c), and no paths: the
 * snapshot that holds the same is the one that was read. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/dataset/folder.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"
#include "store/appends.h"
#include "store/store.h"

static const struct arg_spec datasets_specs[] = {
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

struct search {
    struct folder folder;
    json_t **facts; /* of each dataset; owned */
    json_t *held;   /* {hash of what a snapshot holds: [{dataset, snapshot}]} */
};

/* ---- facts ---- */

static json_t *snapshot_json(const struct snapshot *s, const struct tag *tags, size_t n_tags)
{
    json_t *names = json_array();

    for (size_t i = 0; i < n_tags; i++) {
        if (tags[i].number == s->number) {
            json_array_append_new(names, json_string(tags[i].name));
        }
    }
    return json_pack("{s:i, s:I, s:I, s:i, s:i, s:o, s:O?}", "number", (int)s->number, "rows",
                     (json_int_t)s->rows, "bytes", (json_int_t)s->bytes, "files", (int)s->n_shards,
                     "appends", (int)appends_count(s), "tags", names, "compacts",
                     json_object_get(s->lineage, "compacts"));
}

/* Notes that a snapshot holds, or once held, what has this hash. */
static void note_held(struct search *search, const char *name, const struct snapshot *s,
                      const char *hex)
{
    json_t *holders = json_object_get(search->held, hex);

    if (holders == NULL) {
        json_object_set_new(search->held, hex, json_array());
        holders = json_object_get(search->held, hex);
    }
    json_array_append_new(holders,
                          json_pack("{s:o, s:i}", "dataset", facts_text(name, strlen(name)),
                                    "snapshot", (int)s->number));
}

/* Notes what the snapshot holds, also before rows were purged from it, and hands on what it was
 * made of. */
static sluice_status take_lineage(struct search *search, const char *name, const struct snapshot *s,
                                  json_t *facts, struct sluice_error *err)
{
    struct hash128 hash;
    json_t *made = json_array();
    json_t *input;
    json_t *note;
    size_t i;
    char hex[33];

    TRY(snapshot_holds(s, &hash, err));
    hash_hex(hash, hex);
    note_held(search, name, s, hex);
    json_array_foreach(json_object_get(s->lineage, "removals"), i, note)
    {
        const char *held = json_string_value(json_object_get(note, "held"));
        if (held != NULL) {
            note_held(search, name, s, held);
        }
    }
    json_array_foreach(json_object_get(s->lineage, "inputs"), i, input)
    {
        json_array_append_new(made, json_pack("{s:O?, s:O?, s:O?}", "reader",
                                              json_object_get(input, "reader"), "files",
                                              json_object_get(input, "files"), "holds",
                                              json_object_get(input, "holds")));
    }
    return json_object_set_new(facts, "inputs", made) == 0 ? SLUICE_OK : error_nomem(err, "facts");
}

static sluice_status collect(struct search *search, size_t at, struct sluice_error *err)
{
    const char *name = search->folder.names[at];
    char *dir = folder_dataset(&search->folder, at);
    json_t *found;
    json_t *list = json_array();
    struct tag *tags = NULL;
    uint32_t *numbers = NULL;
    size_t n_tags = 0;
    size_t n = 0;
    sluice_status status =
        dir == NULL ? error_nomem(err, "a path") : tags_list(dir, &tags, &n_tags, err);

    found = json_pack("{s:o, s:O}", "path", facts_text(name, strlen(name)), "snapshots", list);
    search->facts[at] = found;
    if (status == SLUICE_OK) {
        status = snapshot_list(dir, &numbers, &n, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct sluice_error damage = ERROR_INIT;
        struct snapshot *s = NULL;
        json_t *facts;
        if (snapshot_open(dir, numbers[i], &s, &damage) != SLUICE_OK) {
            json_array_append_new(list,
                                  json_pack("{s:i, s:o}", "number", (int)numbers[i], "damage",
                                            facts_text(damage.message, strlen(damage.message))));
            continue;
        }
        facts = snapshot_json(s, tags, n_tags);
        status =
            facts == NULL ? error_nomem(err, "facts") : take_lineage(search, name, s, facts, err);
        json_array_append_new(list, facts);
        json_object_set_new(found, "owner", dataset_owner_json(s));
        snapshot_destroy(s);
    }
    json_decref(list);
    free(numbers);
    free(tags);
    free(dir);
    return status;
}

/* Inputs that are snapshots of datasets here get their names. */
static void name_inputs(const struct search *search, const json_t *facts)
{
    size_t i;
    size_t k;
    json_t *snapshot;
    json_t *input;

    json_array_foreach(json_object_get(facts, "snapshots"), i, snapshot)
    {
        json_array_foreach(json_object_get(snapshot, "inputs"), k, input)
        {
            const char *hash = json_string_value(json_object_get(input, "holds"));
            json_t *held = hash == NULL ? NULL : json_object_get(search->held, hash);
            if (held != NULL) {
                json_object_set(input, "datasets", held);
            }
            json_object_del(input, "holds");
        }
    }
}

static sluice_status look(struct search *search, const char *path, json_t **out,
                          struct sluice_error *err)
{
    const struct folder *folder = &search->folder;
    json_t *list = json_array();

    search->folder.path = path;
    TRY(folder_find(&search->folder, err));
    search->facts = calloc(folder->n + 1, sizeof(json_t *));
    if (search->facts == NULL) {
        return error_nomem(err, "facts");
    }
    for (size_t i = 0; i < folder->n; i++) {
        TRY(collect(search, i, err));
    }
    for (size_t i = 0; i < folder->n; i++) {
        name_inputs(search, search->facts[i]);
        json_array_append(list, search->facts[i]);
    }
    *out = json_pack("{s:o, s:o}", "folder", facts_text(folder->path, strlen(folder->path)),
                     "datasets", list);
    return *out == NULL ? error_nomem(err, "facts") : SLUICE_OK;
}

int cmd_datasets(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice datasets [DIR] [--json|--view FILE.lua]",
        .text = "Lists the datasets in a folder (default: here) and in those below it: their "
                "snapshots with rows, bytes and tags, whose they are,\nand of which other ones "
                "each was made.",
        .specs = datasets_specs,
        .n_specs = sizeof datasets_specs / sizeof datasets_specs[0],
        .least = 0,
        .most = 1,
    };
    struct search search = { .held = NULL };
    struct sluice_error err = ERROR_INIT;
    json_t *facts = NULL;
    struct args args;
    char *folder = NULL;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    search.held = json_object();
    if (dataset_folder(args.n_words == 0 ? "" : args.words[0], &folder, &err) != SLUICE_OK ||
        look(&search, folder, &facts, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("datasets", &args, facts);
    }
    for (size_t i = 0; search.facts != NULL && i < search.folder.n; i++) {
        json_decref(search.facts[i]);
    }
    free(search.facts);
    folder_deinit(&search.folder);
    json_decref(search.held);
    free(folder);
    return status;
}
