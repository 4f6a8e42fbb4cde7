/* sluice retain: forgets old snapshots of a dataset (store/retain.h). */
#include "store/retain.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/commands.h"
#include "cmd/dataset/dataset.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

static const struct arg_spec retain_specs[] = {
    { "--keep", "N", "how many of the newest snapshots stay (required)" },
    { "--older", "TIME",
      "only snapshots behind which a newer one stands for so long: 90s, 30m, 12h, 7d (default 1d); "
      "longer than any task that reads the dataset" },
    { "--dry-run", NULL, "only say what would be removed" },
    { "--json", NULL, "one JSON object" },
    VIEW_SPEC,
};

/* "12h" in seconds. */
static sluice_status parse_time(const char *text, uint64_t *seconds, struct sluice_error *err)
{
    static const char units[] = "smhd";
    static const uint64_t sizes[] = { 1, 60, 3600, 86400 };
    size_t n = strlen(text);
    const char *unit = n < 2 || n > 9 ? NULL : strchr(units, text[n - 1]);
    char digits[16];

    if (unit != NULL) {
        memcpy(digits, text, n - 1);
        digits[n - 1] = '\0';
        if (whole_parse(digits, seconds)) {
            *seconds *= sizes[unit - units];
            return SLUICE_OK;
        }
    }
    return error_set(err, SLUICE_E_CONFIG,
                     "--older: found '%s', expected a number with s, m, h or d, such as 12h", text);
}

static json_t *numbers_json(const uint32_t *numbers, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_integer((json_int_t)numbers[i]));
    }
    return list;
}

static json_t *facts_of(const struct dataset_hold *hold, const struct retained *out, bool dry)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:I, s:I, s:b}", "dataset",
                     facts_text(hold->dir, strlen(hold->dir)), "forgotten",
                     numbers_json(out->forgotten, out->n_forgotten), "kept",
                     numbers_json(out->kept, out->n_kept), "young", (int)out->n_young, "files",
                     (json_int_t)out->files, "bytes", (json_int_t)out->bytes, "dry_run", dry);
}

static sluice_status rules_of(const struct args *args, struct retain_rules *rules,
                              struct sluice_error *err)
{
    const char *older = args_get(args, "--older");
    uint64_t seconds = 86400;
    uint64_t keep;

    if (args_get(args, "--keep") == NULL) {
        return error_set(err, SLUICE_E_CONFIG, "--keep N is missing: how many snapshots stay");
    }
    TRY(args_number(args, "--keep", 1, SNAPSHOT_MAX, 1, &keep, err));
    if (older != NULL) {
        TRY(parse_time(older, &seconds, err));
    }
    rules->keep = (uint32_t)keep;
    rules->before_ns =
        seconds == 0 ? INT64_MAX : ((int64_t)time(NULL) - (int64_t)seconds) * INT64_C(1000000000);
    rules->dry = args_get(args, "--dry-run") != NULL;
    return SLUICE_OK;
}

static sluice_status forget(const struct args *args, struct dataset_hold *hold,
                            struct retain_rules *rules, struct retained *out,
                            struct sluice_error *err)
{
    TRY(rules_of(args, rules, err));
    TRY(dataset_hold(args->words[0], rules->dry ? NULL : "retain", hold, err));
    if (hold->number != 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "found the snapshot %u of a dataset, expected the dataset: %s",
                         (unsigned)hold->number, hold->dir);
    }
    return retain(hold->dir, rules, out, err);
}

int cmd_retain(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice retain DATASET --keep N [--older TIME] [--dry-run]",
        .text = "Forgets old snapshots: all but the newest N and those that have a tag, and the "
                "files that no other snapshot names. What a\n"
                "later run of the pipeline would have taken over of them it makes again. Not "
                "while its run is at work.",
        .specs = retain_specs,
        .n_specs = sizeof retain_specs / sizeof retain_specs[0],
        .least = 1,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct retain_rules rules;
    struct dataset_hold hold;
    struct retained out;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(&hold, 0, sizeof hold);
    memset(&out, 0, sizeof out);
    if (forget(&args, &hold, &rules, &out, &err) != SLUICE_OK) {
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("retain", &args, facts_of(&hold, &out, rules.dry));
    }
    retained_deinit(&out);
    dataset_release(&hold);
    return status;
}
