/* sluice compact: joins the small files of a dataset's newest snapshot in a new one
 * (store/compact.h). Files come to stand as those of tasks do, and the manifest comes last. */
#include "store/compact.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/dataset/rewrite.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

#define TARGET_DEFAULT (UINT64_C(256) << 20)

static const struct arg_spec compact_specs[] = {
    { "--target", "SIZE", "stored bytes of a file (default 256MiB)" },
    { "--least", "N",
      "how many small neighbours are joined although they don't fill a file (default 5)" },
    { "--dry-run", NULL, "only say what would be done" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

struct compaction {
    struct dataset_hold hold;
    struct snapshot *from;
    struct compact_plan plan;
    uint32_t number; /* of what it made; 0 = nothing */
    bool dry;
};

static sluice_status compact(const struct args *args, struct compaction *c,
                             struct sluice_error *err)
{
    struct compact_rules rules = { .target = TARGET_DEFAULT,
                                   .join = rewrite_joined,
                                   .takes = rewrite_takes };
    uint64_t least;

    TRY(args_size(args, "--target", &rules.target, err));
    TRY(args_number(args, "--least", 2, UINT32_MAX, 5, &least, err));
    rules.least = (uint32_t)least;
    c->dry = args_get(args, "--dry-run") != NULL;
    TRY(dataset_hold(args->words[0], c->dry ? NULL : "compact", &c->hold, err));
    TRY(dataset_open_newest(&c->hold, "a compaction", &c->from, err));
    TRY(compact_plan(c->from, &rules, &c->plan, err));
    if (c->dry) {
        return SLUICE_OK;
    }
    if (c->plan.n == 0) { /* a kill may have left its folder or `latest` undone */
        return snapshot_publish(c->hold.dir, c->from, NULL, NULL, err);
    }
    return compact_snapshot(c->hold.dir, c->from, &c->plan, &session_drain, &c->number, err);
}

static json_t *facts_of(const struct compaction *c)
{
    uint32_t after = c->from->n_shards - c->plan.joined + c->plan.n;
    uint64_t bytes = 0;

    for (uint32_t g = 0; g < c->plan.n; g++) {
        for (uint32_t i = 0; i < c->plan.groups[g].n; i++) {
            bytes += c->from->shards[c->plan.groups[g].first + i].bytes;
        }
    }
    return json_pack("{s:o, s:i, s:o, s:i, s:i, s:i, s:i, s:I, s:i, s:b, s:b}", "dataset",
                     facts_text(c->hold.dir, strlen(c->hold.dir)), "from", (int)c->from->number,
                     "snapshot", c->number == 0 ? json_null() : json_integer((json_int_t)c->number),
                     "files_before", (int)c->from->n_shards, "files_after", (int)after, "joined",
                     (int)c->plan.joined, "into", (int)c->plan.n, "bytes", (json_int_t)bytes,
                     "large", (int)c->plan.large, "dry_run", c->dry, "adopted",
                     c->number != 0 && c->from->node == NULL);
}

int cmd_compact(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice compact DATASET [--target SIZE] [--least N] [--dry-run]",
        .text = "Joins small files of a dataset's newest snapshot (under 75 % of the target) with "
                "their neighbours, in a new snapshot of the\n"
                "same rows in the same order; readers of the old one are undisturbed. JSON Lines "
                "are not decoded: zstd frames and gzip\n"
                "members follow one another; Parquet and Arrow are written again as their "
                "manifest says. Not while its run is at work; a kill\n"
                "leaves the old snapshot.",
        .specs = compact_specs,
        .n_specs = sizeof compact_specs / sizeof compact_specs[0],
        .least = 1,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct compaction c;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&c, 0, sizeof c);
    session_signals();
    if (compact(&args, &c, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("compact", &args, facts_of(&c));
    }
    compact_plan_deinit(&c.plan);
    snapshot_destroy(c.from);
    dataset_release(&c.hold);
    return status;
}
