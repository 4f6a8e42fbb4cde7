/* `sluice --version`: the program, the formats and behaviour it has a number for, and the libraries
 * it is linked to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/freeze/freeze.h"
#include "cmd/inspect/inspectInt.h"
#include "cmd/inspect/version.h"
#include "cmd/plan/used.h"
#include "cmd/session.h"
#include "data/frame.h"
#include "plan/plan.h"
#include "plugin/libraries.h"
#include "plugin/stage_state.h"
#include "run/chain/quarantine.h"
#include "run/edge/edge.h"
#include "store/commit.h"
#include "store/listing_frozen.h"
#include "store/saved.h"
#include "store/snapshot.h"

static const struct epoch {
    const char *name;
    uint32_t number; /* raised when what it stands for changes */
    const char *what;
} epochs[] = {
    { "output", PLAN_OUTPUT_EPOCH, "what the core makes of equal inputs; in every task's key" },
    { "snapshot", SNAPSHOT_FORMAT, "snapshots of datasets" },
    { "commit", COMMIT_FORMAT, "records of finished tasks in a run directory" },
    { "edge", EDGE_FORMAT, "rows between phases in a run directory, and their directories" },
    { "frame", FRAME_FORMAT, "blocks of such rows" },
    { "quarantine", QUARANTINE_FORMAT, "rows kept for replay" },
    { "state", STAGE_STATE_FORMAT, "saved states of stages" },
    { "saved", SAVED_FORMAT, "saved states of tasks in a run directory" },
    { "plan", PLAN_FORMAT, "frozen plans in a run directory" },
    { "listing", LISTING_FORMAT, "lists of input files in them" },
    { "lock", USED_FORMAT, "what a pipeline is made of: lock files, used.json" },
};
#define N_EPOCHS (sizeof epochs / sizeof epochs[0])

static void put_json(struct buf *out, const char *libraries)
{
    buf_printf(out, "{\"version\":\"%s\",\"abi\":\"%u.%u\",\"epochs\":{", SLUICE_VERSION,
               SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR);
    for (size_t k = 0; k < N_EPOCHS; k++) {
        buf_printf(out, "%s\"%s\":%" PRIu32, k > 0 ? "," : "", epochs[k].name, epochs[k].number);
    }
    buf_puts(out, "},\"libraries\":");
    buf_json_string(out, libraries, strlen(libraries));
    buf_puts(out, "}\n");
}

sluice_status version_json(struct buf *out, struct sluice_error *err)
{
    char *libraries = NULL;

    TRY(libraries_here(NULL, &libraries, err));
    put_json(out, libraries);
    free(libraries);
    return buf_status(out, err);
}

static void put_text(struct buf *out, const char *libraries)
{
    buf_printf(out, "sluice %s, plugin ABI %u.%u\n\n", SLUICE_VERSION, SLUICE_ABI_MAJOR,
               SLUICE_ABI_MINOR);
    for (size_t k = 0; k < N_EPOCHS; k++) {
        buf_printf(out, "  %-10s %3" PRIu32 "  %s\n", epochs[k].name, epochs[k].number,
                   epochs[k].what);
    }
    buf_printf(out, "\nwith %s\n", libraries);
}

static const struct arg_spec version_specs[] = { { "--json", NULL, "one JSON object" } };

int cmd_version(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice --version [--json]",
        .text =
            "The version of the program, the numbers of its formats and behaviours (two programs "
            "with equal numbers read each other's run directories and datasets), and the "
            "versions of the libraries that it is linked to, as they tell them.",
        .specs = version_specs,
        .n_specs = sizeof version_specs / sizeof version_specs[0],
    };
    struct args args;
    struct buf out = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    char *libraries = NULL;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    if (libraries_here(NULL, &libraries, &err) != SLUICE_OK) {
        return session_fail(&err, args_get(&args, "--json") != NULL);
    }
    if (args_get(&args, "--json") != NULL) {
        put_json(&out, libraries);
    } else {
        put_text(&out, libraries);
    }
    free(libraries);
    return inspect_print(&out, args_get(&args, "--json") != NULL);
}
