/* sluice tag: names for snapshots. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

static const struct arg_spec tag_specs[] = {
    { "--move", NULL, "also if another snapshot has the name" },
    { "--remove", NULL, "take the name away" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

/* {dataset, tags: [{name, snapshot}]} */
static sluice_status tags_json(const char *dir, json_t **out, struct sluice_error *err)
{
    json_t *list = json_array();
    struct tag *tags;
    size_t n;
    sluice_status status = tags_list(dir, &tags, &n, err);

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(
            list, json_pack("{s:s, s:i}", "name", tags[i].name, "snapshot", (int)tags[i].number));
    }
    free(tags);
    *out = json_pack("{s:o, s:o}", "dataset", facts_text(dir, strlen(dir)), "tags", list);
    return status;
}

static sluice_status change(const struct args *args, const char *dir, uint32_t number,
                            struct sluice_error *err)
{
    bool move = args_get(args, "--move") != NULL;
    bool remove = args_get(args, "--remove") != NULL;

    if ((move || remove) && (args->n_words < 2 || move == remove)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found %s, expected a NAME and either --move or --remove",
                         args->n_words < 2 ? "no name" : "both --move and --remove");
    }
    if (args->n_words < 2) {
        return SLUICE_OK;
    }
    return remove ? tags_remove(dir, args->words[1], err)
                  : tags_put(dir, args->words[1], number, move, err);
}

int cmd_tag(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice tag DATASET[@N] NAME [--move]\n       sluice tag DATASET NAME --remove\n"
                 "       sluice tag DATASET",
        .text = "Gives a snapshot (the newest, or N) a name: DATASET@NAME means it from now on, "
                "here and in s.dataset, and `sluice retain`\nkeeps it. Without NAME: shows the "
                "names there are.",
        .specs = tag_specs,
        .n_specs = sizeof tag_specs / sizeof tag_specs[0],
        .least = 1,
        .most = 2,
    };
    struct sluice_error err = ERROR_INIT;
    struct dataset_hold hold;
    json_t *facts = NULL;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    if (dataset_hold(args.words[0], NULL, &hold, &err) != SLUICE_OK ||
        change(&args, hold.dir, hold.number, &err) != SLUICE_OK ||
        tags_json(hold.dir, &facts, &err) != SLUICE_OK) {
        json_decref(facts);
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("tag", &args, facts);
    }
    dataset_release(&hold);
    return status;
}
