/* What was made of a dataset: see below.h. */
#include "cmd/dataset/below.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/folder.h"
#include "run/facts/facts.h"

/* A snapshot of a dataset of the folder. */
struct kin {
    struct snapshot *snapshot; /* owned */
    size_t dataset;            /* of the folder's */
    char holds[33];
    bool ours;  /* of the dataset itself */
    bool below; /* made of it, by way of others too, or by the same pipeline */
    bool made;  /* the first */
};

struct family {
    struct below *below;
    struct folder folder;
    struct kin *kin;
    size_t n, capacity;
    const char *pipeline; /* that writes the dataset; borrowed, or NULL */
    json_t *held;         /* {hash: true} of what was in ours and in those below */
    struct bytesearch bytes;
};

static sluice_status add_kin(struct family *family, size_t dataset, struct snapshot *snapshot,
                             bool ours, struct sluice_error *err)
{
    struct hash128 hash;
    struct kin *kin;

    if (family->n == family->capacity) {
        size_t capacity = family->capacity == 0 ? 64 : family->capacity * 2;
        struct kin *more = realloc(family->kin, capacity * sizeof *more);
        if (more == NULL) {
            snapshot_destroy(snapshot);
            return error_nomem(err, "snapshots");
        }
        family->kin = more;
        family->capacity = capacity;
    }
    kin = &family->kin[family->n++];
    *kin = (struct kin){ .snapshot = snapshot, .dataset = dataset, .ours = ours };
    TRY(snapshot_holds(snapshot, &hash, err));
    hash_hex(hash, kin->holds);
    return SLUICE_OK;
}

static sluice_status add_dataset(struct family *family, size_t at, const char *dir,
                                 struct sluice_error *err)
{
    const bool ours = strcmp(dir, family->below->search->dir) == 0;
    uint32_t *numbers = NULL;
    size_t n = 0;
    sluice_status status = snapshot_list(dir, &numbers, &n, err);

    for (size_t i = 0; status == SLUICE_OK && i < n; i++) {
        struct sluice_error damage = ERROR_INIT; /* `verify` tells of it */
        struct snapshot *s = NULL;
        if (snapshot_open(dir, numbers[i], &s, &damage) == SLUICE_OK) {
            status = add_kin(family, at, s, ours, err);
            family->pipeline = status == SLUICE_OK && ours ? s->pipeline : family->pipeline;
        }
    }
    free(numbers);
    return status;
}

/* What it holds, and held before rows were purged. */
static void hold(struct family *family, const struct kin *kin)
{
    json_t *note;
    size_t i;

    json_object_set_new(family->held, kin->holds, json_true());
    json_array_foreach(json_object_get(kin->snapshot->lineage, "removals"), i, note)
    {
        const char *held = json_string_value(json_object_get(note, "held"));
        if (held != NULL) {
            json_object_set_new(family->held, held, json_true());
        }
    }
}

static bool is_made(const struct family *family, const struct kin *kin)
{
    json_t *input;
    size_t i;

    json_array_foreach(json_object_get(kin->snapshot->lineage, "inputs"), i, input)
    {
        const char *holds = json_string_value(json_object_get(input, "holds"));
        if (holds != NULL && json_object_get(family->held, holds) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_beside(const struct family *family, const struct kin *kin)
{
    const char *pipeline = kin->snapshot->pipeline;

    return family->pipeline != NULL && pipeline != NULL && strcmp(family->pipeline, pipeline) == 0;
}

/* Until no snapshot more is made of one that counts. */
static void follow(struct family *family)
{
    bool more = true;

    for (size_t i = 0; i < family->n; i++) {
        if (family->kin[i].ours) {
            hold(family, &family->kin[i]);
        }
    }
    while (more) {
        more = false;
        for (size_t i = 0; i < family->n; i++) {
            struct kin *kin = &family->kin[i];
            if (kin->ours || kin->below) {
                continue;
            }
            kin->made = is_made(family, kin);
            if (kin->made || is_beside(family, kin)) {
                kin->below = more = true;
                hold(family, kin);
            }
        }
    }
}

/* ---- what is in them ---- */

struct tally {
    uint64_t rows, with_rows, with_bytes, unknown;
    const char *index; /* of what kind; NULL: it is none */
};

/* Indexes keep hashes of texts, which ids can't be searched by: no row can be taken out of them. */
static const char *index_of(const char *file)
{
    const char *suffix = derive_suffix(file);

    return strcmp(suffix, ".docs") == 0 || strcmp(suffix, ".keys") == 0 ? "minhash"
           : strcmp(suffix, ".bloom") == 0                              ? "bloom"
                                                                        : NULL;
}

static sluice_status look_shard(struct family *family, struct idsearch *search,
                                const struct snapshot_shard *shard, struct tally *tally,
                                struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    enum bytesearch_hit hit = BYTESEARCH_NONE;
    bool found = false;
    uint64_t rows = 0;
    char *path = snapshot_shard_path(search->dir, shard);
    sluice_status status = path == NULL ? SLUICE_E_NOMEM
                           : idsearch_takes(shard->file)
                               ? idsearch_count(search, path, &rows, &why)
                               : bytesearch_file(&family->bytes, path, &found, &hit, &why);

    free(path);
    if (status == SLUICE_E_NOMEM || status == SLUICE_E_CANCELLED) {
        return error_set(err, status, "%s", path == NULL ? "out of memory" : why.message);
    }
    tally->index = tally->index != NULL ? tally->index : index_of(shard->file);
    tally->rows += rows;
    tally->with_rows += rows > 0;
    tally->with_bytes += hit != BYTESEARCH_NONE;
    tally->unknown +=
        status != SLUICE_OK || (hit == BYTESEARCH_NONE && !idsearch_takes(shard->file));
    return SLUICE_OK;
}

/* One dataset: its snapshots that count, each file once. */
static sluice_status look_dataset_at(struct family *family, size_t at, json_t *list,
                                     struct sluice_error *err)
{
    struct idsearch search = *family->below->search;
    char *dir = folder_dataset(&family->folder, at);
    json_t *numbers = json_array();
    json_t *seen = json_object();
    struct tally tally = { .rows = 0 };
    bool made = false;
    sluice_status status = dir == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    search.dir = dir;
    for (size_t i = 0; status == SLUICE_OK && i < family->n; i++) {
        const struct kin *kin = &family->kin[i];
        const struct snapshot *s = kin->snapshot;
        if (kin->dataset != at || !kin->below) {
            continue;
        }
        made = made || kin->made;
        json_array_append_new(numbers, json_integer((json_int_t)s->number));
        for (uint32_t k = 0; status == SLUICE_OK && k < s->n_shards; k++) {
            if (json_object_get(seen, s->shards[k].file) == NULL) {
                json_object_set_new(seen, s->shards[k].file, json_true());
                status = look_shard(family, &search, &s->shards[k], &tally, err);
            }
        }
    }
    if (status == SLUICE_OK && json_array_size(numbers) > 0) {
        family->below->holders += tally.with_rows + tally.with_bytes > 0;
        json_array_append_new(
            list, json_pack("{s:o, s:O, s:I, s:{s:I, s:I, s:I}, s:s?, s:b}", "dataset",
                            facts_text(dir, strlen(dir)), "snapshots", numbers, "rows",
                            (json_int_t)tally.rows, "files", "rows", (json_int_t)tally.with_rows,
                            "bytes", (json_int_t)tally.with_bytes, "none",
                            (json_int_t)tally.unknown, "index", tally.index, "made", made));
    }
    family->below->search->columns = search.columns; /* it may have been opened here */
    json_decref(numbers);
    json_decref(seen);
    free(dir);
    return status;
}

sluice_status below_find(struct below *below, json_t **out, struct sluice_error *err)
{
    const char *dir = below->search->dir;
    const char *slash = strrchr(dir, '/');
    char *parent = slash == NULL ? str_copy(".", 1) : str_copy(dir, (size_t)(slash - dir));
    struct family family = { .below = below, .held = json_object() };
    sluice_status status = parent == NULL ? error_nomem(err, "a path") : SLUICE_OK;

    *out = json_array();
    family.folder.path = below->folder != NULL ? below->folder : parent;
    if (status == SLUICE_OK && (status = folder_find(&family.folder, err)) == SLUICE_OK) {
        status = bytesearch_init(&family.bytes, below->search->ids, err);
    }
    for (size_t i = 0; status == SLUICE_OK && i < family.folder.n; i++) {
        char *path = folder_dataset(&family.folder, i);
        status = path == NULL ? error_nomem(err, "a path") : add_dataset(&family, i, path, err);
        free(path);
    }
    if (status == SLUICE_OK) {
        follow(&family);
    }
    for (size_t i = 0; status == SLUICE_OK && i < family.folder.n; i++) {
        status = look_dataset_at(&family, i, *out, err);
    }
    for (size_t i = 0; i < family.n; i++) {
        snapshot_destroy(family.kin[i].snapshot);
    }
    free(family.kin);
    json_decref(family.held);
    bytesearch_deinit(&family.bytes);
    folder_deinit(&family.folder);
    free(parent);
    return status;
}
