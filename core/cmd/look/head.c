/* sluice head: rows of a dataset, the first ones, those with certain values, or some at random (the
 * same ones for the same seed). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/headInt.h"
#include "cmd/look/rowsof.h"

#define COLUMNS_ELSE 100u /* where there is no terminal */

static const struct arg_spec head_specs[] = {
    { "-n", "N", "rows to show (default 10)" },
    { "--where", "EXPRESSION",
      "only rows for which it holds: \"lang == 'en' and meta.n > 50\", or FIELD=VALUE; may be "
      "repeated" },
    { "--random", NULL, "rows chosen at random instead of the first ones" },
    { "--seed", "S", "number that chooses them (default 1)" },
    { "--schema", NULL, "columns and their types instead (Parquet, Arrow, CSV)" },
    { "--tokens", NULL, "token rows: as text, decoded with the tokenizer that made them" },
    { "--tokenizer", "FILE", "that tokenizer, when its run is not here" },
    { "--run", "RUN", "the run that wrote the dataset, to find the tokenizer" },
    { "--json", NULL, "whole rows as JSON lines" },
};
#define N_HEAD_SPECS (sizeof head_specs / sizeof head_specs[0])

/* ---- the command ---- */

static bool is_tokens(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_shards; i++) {
        size_t n = strlen(snapshot->shards[i].file);
        if (n > 4 && strcmp(snapshot->shards[i].file + n - 4, ".bin") == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status show(struct head *head, const struct args *args, struct conditions *conditions,
                          struct sluice_error *err)
{
    uint32_t number = 0;
    const char *reader;

    TRY(args_number(args, "-n", 0, 100000000, 10, &head->n, err));
    TRY(args_number(args, "--seed", 0, INT64_MAX, 1, &head->seed, err));
    TRY(conditions_parse(args, conditions, err));
    if (head_is_file(args->words[0])) {
        return head_columns(head, args->words[0], rowsof_reader(args->words[0]), conditions, err);
    }
    TRY(look_dataset(args->words[0], &head->dir, &number, err));
    TRY(snapshot_open(head->dir, number, &head->snapshot, err));
    reader = head->snapshot->n_shards == 0 ? NULL : rowsof_reader(head->snapshot->shards[0].name);
    if (reader != NULL && !head->tokens) {
        return head_columns(head, NULL, reader, conditions, err);
    }
    if (head->schema) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--schema is for Parquet, Arrow and CSV; %s has none of them",
                         args->words[0]);
    }
    if (is_tokens(head->snapshot)) {
        return conditions->n > 0
                   ? error_set(err, SLUICE_E_CONFIG, "--where is for JSON Lines; %s has token rows",
                               args->words[0])
                   : head_tokens(head, err);
    }
    if (head->tokens) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--tokens is for token rows (.bin and .idx); %s has none", args->words[0]);
    }
    return head_lines(head, conditions, err);
}

int cmd_head(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice head DATASET[@N]|FILE [options]",
        .text = "Shows rows of a dataset, numbered from 0: JSON Lines, Parquet, Arrow, CSV, or "
                "token rows (.bin and .idx); or of a FILE whose\n"
                "name ends in .parquet, .arrow, .feather, .csv or .tsv. No more is read than what "
                "the rows that are shown need.",
        .specs = head_specs,
        .n_specs = N_HEAD_SPECS,
        .least = 1,
        .most = 1,
    };
    struct conditions conditions;
    struct args args;
    int ended;
    struct head head;
    struct sluice_error err = ERROR_INIT;
    int status = 0;

    memset(&head, 0, sizeof head);
    memset(&conditions, 0, sizeof conditions);
    ended = command_args(&command, argc, argv, &args);
    if (ended >= 0) {
        return ended;
    }
    head.run = args_get(&args, "--run");
    head.tokenizer = args_get(&args, "--tokenizer");
    head.random = args_get(&args, "--random") != NULL;
    head.tokens = args_get(&args, "--tokens") != NULL;
    head.json = args_get(&args, "--json") != NULL;
    head.schema = args_get(&args, "--schema") != NULL;
    head.columns = look_columns() > 0 ? look_columns() : COLUMNS_ELSE;
    if (show(&head, &args, &conditions, &err) != SLUICE_OK) {
        status = session_fail(&err, head.json);
    }
    conditions_deinit(&conditions);
    snapshot_destroy(head.snapshot);
    free(head.dir);
    return status;
}
