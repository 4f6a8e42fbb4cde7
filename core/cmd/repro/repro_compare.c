/* What a run recorded beside what it makes now: see reproInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/repro/reproInt.h"
#include "run/facts/facts.h"
#include "store/derive.h"

/* A stored file is called KEY24-0001-HASH12.suffix: where the hash of its bytes begins, and its
 * digits. */
#define HASH_AT 30
#define HASH_DIGITS 12

/* A file as far as it can be compared. */
struct piece {
    const char *name;
    uint64_t rows, bytes;
    char hash[33]; /* all of it, or the digits that its name has */
    bool brief;    /* nothing but the hash is known */
    bool matched;
};

struct pieces {
    struct piece *items;
    size_t n, capacity;
    bool failed;
};

void repro_writer_deinit(struct repro_writer *writer)
{
    snapshot_destroy(writer->recorded);
    snapshot_destroy(writer->parent);
    snapshot_destroy(writer->made);
    memset(writer, 0, sizeof *writer);
}

/* ---- what was recorded ---- */

/* The number of the snapshot that it carried on: of the one before where rows are appended, or by
 * the writer's note. 0 = none. */
static sluice_status parent_of(const struct repro_writer *writer, uint32_t *number,
                               struct sluice_error *err)
{
    const struct node *node = writer->op->node;
    char *note = str_printf("%s.append", writer->op->name);

    if (note == NULL) {
        return error_nomem(err, "a note");
    }
    *number = (uint32_t)json_integer_value(json_object_get(writer->recorded->notes, note));
    if (node != NULL && node->mode == MODE_APPEND) {
        *number = writer->recorded->parent;
    }
    free(note);
    return SLUICE_OK;
}

static sluice_status find_parent(struct repro_writer *writer, char why[600],
                                 struct sluice_error *err)
{
    const char *dataset = op_stage(writer->op)->said;
    struct sluice_error none = ERROR_INIT;
    uint32_t number = 0;
    sluice_status status;

    TRY(parent_of(writer, &number, err));
    if (number == 0) {
        return SLUICE_OK;
    }
    status = snapshot_open(dataset, number, &writer->parent, &none);
    if (status == SLUICE_E_DATA || status == SLUICE_E_CONFIG) {
        snprintf(why, 600, "snapshot %u is gone, which snapshot %u carried on: %.400s", number,
                 writer->recorded->number, none.message);
        return SLUICE_OK;
    }
    if (status != SLUICE_OK && err != NULL) {
        *err = none;
    }
    return status;
}

/* How good a snapshot tells what the run of this plan made; NOTHING: it is not of it. */
enum told { NOTHING, LESS, JOINED, ALL };

static enum told tells(const struct snapshot *snapshot, const char *writer, const char *plan)
{
    const char *made_by = json_string_value(json_object_get(snapshot->lineage, "plan"));

    return made_by == NULL || strcmp(made_by, plan) != 0 || strcmp(snapshot->dataset, writer) != 0
               ? NOTHING
           : json_object_size(json_object_get(snapshot->lineage, "removed")) > 0 ? LESS
           : derive_stands_for(snapshot) != NULL                                 ? JOINED
                                                                                 : ALL;
}

/* The newest of those that tell most. */
static sluice_status find_best(struct repro_writer *writer, const char *plan, enum told *best,
                               uint32_t *damaged, struct sluice_error *err)
{
    const char *dataset = op_stage(writer->op)->said;
    uint32_t *numbers = NULL;
    size_t n = 0;

    TRY(snapshot_list(dataset, &numbers, &n, err));
    while (n-- > 0 && *best != ALL) {
        struct snapshot *one = NULL;
        enum told told;
        if (snapshot_open(dataset, numbers[n], &one, NULL) != SLUICE_OK) {
            *damaged = numbers[n];
            continue;
        }
        told = tells(one, writer->op->name, plan);
        if (told > *best) {
            snapshot_destroy(writer->recorded);
            writer->recorded = one;
            *best = told;
            one = NULL;
        }
        snapshot_destroy(one);
    }
    free(numbers);
    return SLUICE_OK;
}

sluice_status repro_find(struct repro_writer *writer, struct hash128 plan, char why[600],
                         struct sluice_error *err)
{
    enum told best = NOTHING;
    uint32_t damaged = 0;
    char hex[33];

    why[0] = '\0';
    hash_hex(plan, hex);
    TRY(find_best(writer, hex, &best, &damaged, err));
    if (best == NOTHING && damaged > 0) {
        snprintf(why, 600, "no snapshot of this plan can be read; that of number %u is damaged",
                 damaged);
    } else if (best == NOTHING) {
        snprintf(why, 600,
                 "no snapshot of this plan is there: the run did not end, or the snapshot was "
                 "forgotten");
    } else if (best == LESS) {
        snprintf(why, 600,
                 "rows were removed from what the run made; snapshot %u is what is left of it",
                 writer->recorded->number);
    }
    return best == NOTHING || best == LESS ? SLUICE_OK : find_parent(writer, why, err);
}

/* ---- files ---- */

static struct piece *add(struct pieces *pieces)
{
    if (pieces->n == pieces->capacity) {
        size_t capacity = pieces->capacity == 0 ? 64 : 2 * pieces->capacity;
        struct piece *more = realloc(pieces->items, capacity * sizeof *more);
        if (more == NULL) {
            pieces->failed = true;
            return NULL;
        }
        pieces->items = more;
        pieces->capacity = capacity;
    }
    memset(&pieces->items[pieces->n], 0, sizeof *pieces->items);
    return &pieces->items[pieces->n++];
}

static void add_brief(struct pieces *pieces, const char *file)
{
    struct piece *piece = file == NULL ? NULL : add(pieces);

    if (piece != NULL) {
        size_t from = strlen(file) > HASH_AT ? HASH_AT : 0;
        piece->name = file;
        piece->brief = true;
        snprintf(piece->hash, sizeof piece->hash, "%.*s", HASH_DIGITS, file + from);
    }
}

static bool has(const struct snapshot *snapshot, const char *file)
{
    bool found = false;

    for (uint32_t i = 0; snapshot != NULL && i < snapshot->n_shards && !found; i++) {
        found = strcmp(snapshot->shards[i].file, file) == 0;
    }
    return found;
}

static const json_t *joined_of(const struct snapshot *snapshot)
{
    return json_object_get(snapshot->lineage, "joined");
}

/* joined: what files were joined from is listed in their place. */
static void list(const struct snapshot *snapshot, const struct snapshot *parent, bool joined,
                 struct pieces *pieces)
{
    for (uint32_t i = 0; i < snapshot->n_shards; i++) {
        const struct snapshot_shard *shard = &snapshot->shards[i];
        const json_t *members = json_object_get(joined_of(snapshot), shard->file);
        struct piece *piece;
        if (has(parent, shard->file)) {
            continue;
        }
        for (size_t k = 0; joined && k < json_array_size(members); k++) {
            add_brief(pieces, json_string_value(json_array_get(json_array_get(members, k), 0)));
        }
        if (joined && members == NULL) {
            add_brief(pieces, shard->file);
        }
        piece = joined ? NULL : add(pieces);
        if (piece != NULL) {
            piece->name = shard->name;
            piece->rows = shard->rows;
            piece->bytes = shard->bytes;
            hash_hex(shard->hash, piece->hash);
        }
    }
}

static int compare_hashes(const void *a, const void *b)
{
    return strcmp((*(struct piece *const *)a)->hash, (*(struct piece *const *)b)->hash);
}

/* Where the numbers of files differ, places say nothing: those with the same bytes are matched. */
static bool match(struct pieces *then, struct pieces *now)
{
    struct piece **left = calloc(then->n + 1, sizeof *left);
    struct piece **right = calloc(now->n + 1, sizeof *right);
    bool whole = left != NULL && right != NULL;

    for (size_t i = 0; whole && i < then->n; i++) {
        left[i] = &then->items[i];
    }
    for (size_t i = 0; whole && i < now->n; i++) {
        right[i] = &now->items[i];
    }
    if (whole) {
        qsort(left, then->n, sizeof *left, compare_hashes);
        qsort(right, now->n, sizeof *right, compare_hashes);
    }
    for (size_t i = 0, k = 0; whole && i < then->n && k < now->n;) {
        int order = strcmp(left[i]->hash, right[k]->hash);
        left[i]->matched = right[k]->matched = order == 0;
        i += order <= 0;
        k += order >= 0;
    }
    free(left);
    free(right);
    return whole;
}

static json_t *piece_json(const struct piece *piece)
{
    return piece->brief ? json_pack("{s:s}", "hash", piece->hash)
                        : json_pack("{s:I, s:I, s:s}", "rows", (json_int_t)piece->rows, "bytes",
                                    (json_int_t)piece->bytes, "hash", piece->hash);
}

static json_t *unmatched(const struct pieces *pieces)
{
    json_t *names = json_array();

    for (size_t i = 0; i < pieces->n; i++) {
        const char *name = pieces->items[i].name;
        if (!pieces->items[i].matched) {
            json_array_append_new(names, facts_text(name, strlen(name)));
        }
    }
    return names;
}

static bool compare_files(struct pieces *then, struct pieces *now, json_t *out)
{
    json_t *different = json_array();
    bool pairs = then->n == now->n;
    bool whole = pairs || match(then, now);

    for (size_t i = 0; pairs && i < then->n; i++) {
        struct piece *a = &then->items[i];
        struct piece *b = &now->items[i];
        a->matched = b->matched = true;
        if (strcmp(a->hash, b->hash) != 0 || a->rows != b->rows) {
            json_array_append_new(different, json_pack("{s:o, s:o, s:o}", "file",
                                                       facts_text(a->name, strlen(a->name)), "then",
                                                       piece_json(a), "now", piece_json(b)));
        }
    }
    return json_object_set_new(out, "different", different) == 0 &&
           json_object_set_new(out, "gone", unmatched(then)) == 0 &&
           json_object_set_new(out, "new", unmatched(now)) == 0 && whole;
}

/* ---- the rest of the manifests ---- */

/* Readers that read other bytes than they did. */
static json_t *other_inputs(const struct snapshot *then, const struct snapshot *now)
{
    const json_t *inputs = json_object_get(then->lineage, "inputs");
    const json_t *others = json_object_get(now->lineage, "inputs");
    json_t *readers = json_array();
    json_t *input;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)inputs, i, input)
    {
        if (!json_equal(input, json_array_get(others, i))) {
            json_array_append(readers, json_object_get(input, "reader"));
        }
    }
    return readers;
}

static bool none(const json_t *facts, const char *name)
{
    return json_array_size(json_object_get(facts, name)) == 0;
}

json_t *repro_compare(const struct repro_writer *writer, bool *equal)
{
    const struct snapshot *then = writer->recorded;
    const struct snapshot *now = writer->made;
    const char *dataset = op_stage(writer->op)->said;
    const json_t *joined = joined_of(then);
    bool compaction = joined != NULL && !json_equal(joined, joined_of(now));
    /* Of rows that were appended the ledger and inputs tell of all before them, too. */
    bool ledger = writer->parent != NULL || json_equal(then->ledger, now->ledger);
    struct pieces a = { .items = NULL };
    struct pieces b = { .items = NULL };
    json_t *facts =
        json_pack("{s:s, s:o, s:i, s:i, s:I, s:I, s:b, s:o}", "writer", writer->op->name, "dataset",
                  facts_text(dataset, strlen(dataset)), "snapshot", (int)then->number, "files",
                  (int)now->n_shards, "rows", (json_int_t)now->rows, "bytes",
                  (json_int_t)now->bytes, "ledger", ledger, "inputs",
                  writer->parent != NULL ? json_array() : other_inputs(then, now));
    bool whole;

    list(then, writer->parent, compaction, &a);
    list(now, NULL, compaction, &b);
    whole = facts != NULL && !a.failed && !b.failed && compare_files(&a, &b, facts);
    *equal = whole && ledger && none(facts, "different") && none(facts, "gone") &&
             none(facts, "new") && none(facts, "inputs");
    if (whole) {
        whole = json_object_set_new(facts, "equal", json_boolean(*equal)) == 0;
    }
    free(a.items);
    free(b.items);
    if (!whole) {
        json_decref(facts);
        return NULL;
    }
    return facts;
}
