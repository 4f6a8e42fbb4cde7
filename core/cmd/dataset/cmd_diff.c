/* sluice diff: two snapshots, of one dataset or of two: files, why rows were dropped, and with
 * --key the rows themselves (diff_rows.c). */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "cmd/commands.h"
#include "cmd/dataset/diffInt.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

#define NAMES_MOST 1000u /* of files that are told */

static const struct arg_spec diff_specs[] = {
    { "--key", "FIELD",
      "compare the rows by this field, such as id or meta.id (JSON Lines; keys are kept in "
      "memory)" },
    { "--text", "FIELD", "with --key: the text whose lengths are told (default text)" },
    { "--json", NULL, "one JSON object" },
    PAGE_SPEC("what differs"),
    VIEW_SPEC,
};

static json_t *side_json(const struct diff_side *side)
{
    const struct snapshot *s = side->snapshot;

    return json_pack("{s:o, s:i, s:I, s:I, s:i, s:O?, s:o}", "dataset",
                     facts_text(side->dir, strlen(side->dir)), "number", (int)s->number, "rows",
                     (json_int_t)s->rows, "bytes", (json_int_t)s->bytes, "files", (int)s->n_shards,
                     "measures", s->measures, "owner", dataset_owner_json(s));
}

/* ---- files ---- */

static int by_hash(const void *a, const void *b)
{
    const struct snapshot_shard *const *x = a;
    const struct snapshot_shard *const *y = b;
    int order = memcmp(&(*x)->hash, &(*y)->hash, sizeof(*x)->hash);

    return order != 0 ? order : (*x)->bytes < (*y)->bytes ? -1 : (*x)->bytes > (*y)->bytes;
}

/* By what they hold. NULL = out of memory. Gives. */
static const struct snapshot_shard **sorted(const struct snapshot *s)
{
    const struct snapshot_shard **shards = calloc(s->n_shards + 1u, sizeof *shards);

    for (uint32_t i = 0; i < s->n_shards && shards != NULL; i++) {
        shards[i] = &s->shards[i];
    }
    if (shards != NULL && s->n_shards > 1) {
        qsort(shards, s->n_shards, sizeof(const struct snapshot_shard *), by_hash);
    }
    return shards;
}

struct sum {
    uint64_t files, bytes, rows;
    const char **names; /* room for all, or NULL: they are not told */
};

static void add(struct sum *sum, const struct snapshot_shard *shard)
{
    if (sum->names != NULL) {
        sum->names[sum->files] = shard->name;
    }
    sum->files++;
    sum->bytes += shard->bytes;
    sum->rows += shard->rows;
}

static json_t *sum_json(const struct sum *sum)
{
    json_t *names = sum->names == NULL ? NULL : json_array();

    if (sum->names != NULL && sum->files > 1) {
        qsort(sum->names, sum->files, sizeof *sum->names, order_texts);
    }
    for (uint64_t i = 0; names != NULL && i < sum->files && i < NAMES_MOST; i++) {
        json_array_append_new(names, facts_text(sum->names[i], strlen(sum->names[i])));
    }
    return json_pack("{s:I, s:I, s:I, s:o*}", "files", (json_int_t)sum->files, "bytes",
                     (json_int_t)sum->bytes, "rows", (json_int_t)sum->rows, "names", names);
}

static sluice_status diff_files(const struct snapshot *a, const struct snapshot *b, json_t **out,
                                struct sluice_error *err)
{
    const struct snapshot_shard **ours = sorted(a);
    const struct snapshot_shard **theirs = sorted(b);
    struct sum same = { .names = NULL };
    struct sum added = { .names = calloc(b->n_shards + 1u, sizeof(char *)) };
    struct sum removed = { .names = calloc(a->n_shards + 1u, sizeof(char *)) };
    bool whole = ours != NULL && theirs != NULL && added.names != NULL && removed.names != NULL;
    uint32_t i = 0;
    uint32_t k = 0;

    while (whole && (i < a->n_shards || k < b->n_shards)) {
        int order = i == a->n_shards ? 1 : k == b->n_shards ? -1 : by_hash(&ours[i], &theirs[k]);
        add(order == 0 ? &same : order < 0 ? &removed : &added, order > 0 ? theirs[k] : ours[i]);
        i += order <= 0;
        k += order >= 0;
    }
    *out = json_pack("{s:o, s:o, s:o}", "same", sum_json(&same), "added", sum_json(&added),
                     "removed", sum_json(&removed));
    free(ours);
    free(theirs);
    free(added.names);
    free(removed.names);
    return whole && *out != NULL ? SLUICE_OK : error_nomem(err, "facts");
}

/* ---- ledgers ---- */

static json_int_t dropped_in(const json_t *ledger, const char *stage, const char *reason)
{
    return json_integer_value(
        json_object_get(json_object_get(json_object_get(ledger, stage), "dropped"), reason));
}

/* Adds [{stage, reason, a, b}] of those that `from` has and, where it is given, `but` has not. */
static void add_reasons(const json_t *from, const json_t *but, const json_t *a, const json_t *b,
                        json_t *list)
{
    const char *stage;
    const char *reason;
    json_t *entry;
    json_t *count;

    json_object_foreach((json_t *)(uintptr_t)from, stage, entry)
    {
        json_t *others = json_object_get(json_object_get(but, stage), "dropped");
        json_object_foreach(json_object_get(entry, "dropped"), reason, count)
        {
            if (json_object_get(others, reason) == NULL) {
                json_array_append_new(list,
                                      json_pack("{s:s, s:s, s:I, s:I}", "stage", stage, "reason",
                                                reason, "a", dropped_in(a, stage, reason), "b",
                                                dropped_in(b, stage, reason)));
            }
        }
    }
}

/* ---- the command ---- */

static sluice_status open_side(const char *reference, struct diff_side *side,
                               struct sluice_error *err)
{
    uint32_t number = 0;

    TRY(look_dataset(reference, &side->dir, &number, err));
    return snapshot_open(side->dir, number, &side->snapshot, err);
}

static sluice_status diff(const struct args *args, struct diff_side side[2], json_t **out,
                          struct sluice_error *err)
{
    const char *key = args_get(args, "--key");
    const char *text = args_get(args, "--text");
    json_t *reasons = json_array();
    json_t *files = NULL;
    json_t *rows = NULL;
    json_t *lengths = NULL;

    if (text != NULL && key == NULL) {
        json_decref(reasons);
        return error_set(err, SLUICE_E_CONFIG, "found --text without --key");
    }
    *out = json_pack("{s:o}", "reasons", reasons);
    for (int i = 0; i < 2; i++) {
        TRY(open_side(args->words[i], &side[i], err));
        json_object_set_new(*out, i == 0 ? "a" : "b", side_json(&side[i]));
    }
    TRY(diff_files(side[0].snapshot, side[1].snapshot, &files, err));
    json_object_set_new(*out, "files", files);
    add_reasons(side[0].snapshot->ledger, NULL, side[0].snapshot->ledger, side[1].snapshot->ledger,
                reasons);
    add_reasons(side[1].snapshot->ledger, side[0].snapshot->ledger, side[0].snapshot->ledger,
                side[1].snapshot->ledger, reasons);
    if (key != NULL) {
        TRY(diff_rows(&side[0], &side[1], key, text == NULL ? "text" : text, &rows, &lengths, err));
        json_object_set_new(*out, "rows", rows);
        json_object_set_new(*out, "lengths", lengths);
    }
    return SLUICE_OK;
}

int cmd_diff(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice diff A[@N] B[@N] [--key FIELD] [options]",
        .text = "Compares two snapshots, of one dataset or of two: rows, bytes and files that they "
                "share by what these hold, and how many rows\n"
                "were dropped for each reason. With --key the rows are read: which are new, gone "
                "or changed, and how long their texts are.",
        .specs = diff_specs,
        .n_specs = sizeof diff_specs / sizeof diff_specs[0],
        .least = 2,
        .most = 2,
    };
    struct sluice_error err = ERROR_INIT;
    struct diff_side side[2];
    json_t *facts = NULL;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    memset(side, 0, sizeof side);
    if (diff(&args, side, &facts, &err) != SLUICE_OK) {
        json_decref(facts);
        status = session_fail(&err, args_get(&args, "--json") != NULL);
    } else {
        status = dataset_show("diff", &args, facts);
    }
    for (int i = 0; i < 2; i++) {
        snapshot_destroy(side[i].snapshot);
        free(side[i].dir);
    }
    return status;
}
