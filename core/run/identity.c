/* What input splits hold: see identity.h. It is remembered in the cache of input files, under the
 * name of the split: a hash of its files' paths, its ranges and how it is cut, with a hash of the
 * files' versions in place of a time. */
#include "run/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "run/runInt.h"
#include "run/source/scanner.h"
#include "run/source/sources.h"

#define SPLIT_WHAT "split "

struct held {
    struct hash128 hash;
    bool known;
    bool young; /* one of its files was, when that was looked at first */
    bool looked;
};

struct identities {
    const struct plan *plan;
    struct statcache *inputs;
    bool lost;           /* nothing was remembered when the cache was opened */
    struct held **lanes; /* [lane][split] */
};

/* Is nothing remembered, although tasks were done? */
static bool is_lost(const struct run *run)
{
    bool lost = false;

    for (uint32_t p = 0; run->options.inputs != NULL && statcache_empty(run->options.inputs) &&
                         !lost && p < run->plan->n_phases;
         p++) {
        lost = run_records(run, p) > 0;
    }
    return lost;
}

sluice_status identities_create(const struct run *run, struct identities **out,
                                struct sluice_error *err)
{
    const struct plan *plan = run->plan;
    struct identities *all = calloc(1, sizeof *all);

    *out = all;
    if (all == NULL || (all->lanes = calloc(plan->n_lanes + 1u, sizeof *all->lanes)) == NULL) {
        return error_nomem(err, "the run");
    }
    all->plan = plan;
    all->inputs = run->options.inputs;
    all->lost = is_lost(run);
    for (uint32_t i = 0; i < plan->n_lanes; i++) {
        const struct lane *lane = plan->lanes[i];
        size_t n = lane->planned ? lane->splits.n : 0;
        all->lanes[i] = calloc(n + 1, sizeof **all->lanes);
        if (all->lanes[i] == NULL) {
            return error_nomem(err, "the run");
        }
    }
    return SLUICE_OK;
}

void identities_destroy(struct identities *all)
{
    for (uint32_t i = 0; all != NULL && all->lanes != NULL && i < all->plan->n_lanes; i++) {
        free(all->lanes[i]);
    }
    if (all != NULL) {
        free(all->lanes);
        free(all);
    }
}

static struct held *held_of(const struct identities *all, const struct lane *lane, size_t split)
{
    return &all->lanes[lane->index][split];
}

const struct hash128 *identity_of(const struct run *run, const struct lane *lane, size_t split)
{
    const struct held *held = held_of(run->identities, lane, split);
    return held->known ? &held->hash : NULL;
}

/* ---- remembering ---- */

/* The split as the cache names it. execution != 0: what is found holds for that one only. */
static sluice_status entry_of(const struct identities *all, const struct lane *lane, size_t number,
                              uint32_t execution, char path[40], struct listing_file *entry,
                              struct sluice_error *err)
{
    const struct split *split = &lane->splits.items[number];
    struct source_options how = sources_options(all->plan, lane->node, 0);
    const struct op *reader = plan_find_op(all->plan, lane->node->name, NULL);
    struct hasher *name = hasher_create();
    struct hasher *version = hasher_create();

    if (name == NULL || version == NULL) {
        hasher_destroy(name);
        hasher_destroy(version);
        return error_nomem(err, "an input split");
    }
    *entry = (struct listing_file){ .path = path };
    hasher_add_hash(name, split->layout);
    hasher_add_u64(name, how.cut);
    hasher_add_u64(name, how.max_record);
    if (splits_random(how.cut) && reader != NULL) {
        hasher_add_hash(name, reader->key); /* what is read is for the stage to say */
    }
    hasher_add_u64(version, execution);
    for (size_t k = 0; k < split->n_ranges; k++) {
        const struct listing_file *file = &lane->files.files[split->ranges[k].file];
        hasher_add_string(name, file->path);
        hasher_add_u64(version, file->version.size);
        hasher_add_u64(version, (uint64_t)file->version.mtime_ns);
        hasher_add_u64(version, (uint64_t)file->version.ctime_ns);
        hasher_add_string(version, file->version.tag);
        entry->version.size += file->version.size;
    }
    entry->version.mtime_ns = (int64_t)hasher_digest(version).lo;
    entry->version.ctime_ns = (int64_t)hasher_digest(version).hi;
    memcpy(path, SPLIT_WHAT, strlen(SPLIT_WHAT));
    path[strlen(SPLIT_WHAT) - 1] = ':';
    hash_hex(hasher_digest(name), path + strlen(SPLIT_WHAT));
    hasher_destroy(name);
    hasher_destroy(version);
    return SLUICE_OK;
}

sluice_status identity_version(const struct run *run, const struct lane *lane, size_t split,
                               struct hash128 *out, struct sluice_error *err)
{
    struct listing_file entry;
    char path[40];
    struct hasher *hasher = hasher_create();
    sluice_status status = hasher == NULL
                               ? error_nomem(err, "an input split")
                               : entry_of(run->identities, lane, split, 0, path, &entry, err);

    if (status == SLUICE_OK) {
        hasher_add_string(hasher, path);
        hasher_add_u64(hasher, (uint64_t)entry.version.mtime_ns);
        hasher_add_u64(hasher, (uint64_t)entry.version.ctime_ns);
        *out = hasher_digest(hasher);
    }
    hasher_destroy(hasher);
    return status;
}

static bool is_young(const struct lane *lane, const struct split *split)
{
    for (size_t k = 0; k < split->n_ranges; k++) {
        if (statcache_young(&lane->files.files[split->ranges[k].file])) {
            return true;
        }
    }
    return false;
}

static bool recalled(struct statcache *inputs, const struct listing_file *entry,
                     struct hash128 *hash)
{
    struct buf what = BUF_INIT;
    bool found = statcache_find(inputs, entry, &what) && what.size == strlen(SPLIT_WHAT) + 32 &&
                 memcmp(what.data, SPLIT_WHAT, strlen(SPLIT_WHAT)) == 0 &&
                 hash_parse(buf_str(&what) + strlen(SPLIT_WHAT), hash);

    buf_deinit(&what);
    return found;
}

sluice_status identity_recall(struct run *run, const struct lane *lane, size_t split, bool *doubt,
                              struct sluice_error *err)
{
    const struct identities *all = run->identities;
    struct held *held = held_of(all, lane, split);
    struct listing_file entry;
    char path[40];

    *doubt = false;
    if (held->known) {
        return SLUICE_OK;
    }
    if (!held->looked) { /* before anybody reads: a change from now on is to be seen */
        held->looked = true;
        held->young = is_young(lane, &lane->splits.items[split]);
    }
    if (all->inputs == NULL) {
        return SLUICE_OK;
    }
    TRY(entry_of(all, lane, split, 0, path, &entry, err));
    held->known = recalled(all->inputs, &entry, &held->hash);
    if (!held->known && run->execution != 0) {
        TRY(entry_of(all, lane, split, run->execution, path, &entry, err));
        held->known = recalled(all->inputs, &entry, &held->hash);
    }
    *doubt = !held->known && (all->lost || statcache_knows(all->inputs, path));
    return SLUICE_OK;
}

static sluice_status remember(const struct identities *all, const struct lane *lane, size_t split,
                              uint32_t execution, struct sluice_error *err)
{
    const struct held *held = held_of(all, lane, split);
    struct listing_file entry;
    char path[40];
    char what[64] = SPLIT_WHAT;
    sluice_status status;

    if (all->inputs == NULL || (held->young && execution == 0)) {
        return SLUICE_OK;
    }
    TRY(entry_of(all, lane, split, held->young ? execution : 0, path, &entry, err));
    hash_hex(held->hash, what + strlen(SPLIT_WHAT));
    status = statcache_add(all->inputs, &entry, what, true, err);
    /* At once: a task's record is never there without it. */
    statcache_exchange(all->inputs);
    return status;
}

/* Of a dataset's split it is the manifest's word for its files, which was compared with them. */
static sluice_status make_hash(const struct lane *lane, const struct split *split,
                               struct hash128 digest, struct hash128 *out, struct sluice_error *err)
{
    struct hasher *hasher = hasher_create();

    if (hasher == NULL) {
        return error_nomem(err, "an input split");
    }
    hasher_add_hash(hasher, split->layout);
    for (size_t k = 0; lane->hashes != NULL && k < split->n_ranges; k++) {
        hasher_add_hash(hasher, lane->hashes[split->ranges[k].file]);
    }
    if (lane->hashes == NULL) {
        hasher_add_hash(hasher, digest);
    }
    *out = hasher_digest(hasher);
    hasher_destroy(hasher);
    return SLUICE_OK;
}

sluice_status identity_found(struct run *run, const struct lane *lane, size_t number,
                             struct hash128 digest, struct sluice_error *err)
{
    const struct split *split = &lane->splits.items[number];
    struct held *held = held_of(run->identities, lane, number);
    struct hash128 hash;
    char name[SPLIT_NAME];

    TRY(make_hash(lane, split, digest, &hash, err));
    if (held->known) {
        return hash_equal(held->hash, hash)
                   ? SLUICE_OK
                   : error_set(err, SLUICE_E_DATA,
                               "%s: the input is not what it was when it was read before; run "
                               "again when nobody writes to it",
                               lane_split_name(lane, number, name));
    }
    held->hash = hash;
    held->known = true;
    return remember(run->identities, lane, number, run->execution, err);
}

/* ---- reading for nothing else ---- */

static int32_t is_cancelled(void *ctx)
{
    return run_cancelled(ctx);
}

/* What a reader asks for is known only by asking it. */
static sluice_status scan_digest(struct run *run, const struct lane *lane, size_t split,
                                 struct hash128 *digest, struct sluice_error *err)
{
    const struct op *reader = plan_find_op(run->plan, lane->node->name, NULL);
    struct scanner_options options = { .cut = splits_cut(lane->node->entry->stage.cut),
                                       .digest = true,
                                       .cancelled = is_cancelled,
                                       .ctx = run };
    struct scanner *scanner = NULL;
    struct stage_result result;
    bool more = true;
    sluice_status status;

    if (reader == NULL || reader->kind != OP_READ) {
        char name[SPLIT_NAME];
        return error_set(err, SLUICE_E_INTERNAL, "nothing reads %s",
                         lane_split_name(lane, split, name));
    }
    options.key = op_read(reader)->stage_key;
    TRY(stage_worker_open(op_code(reader)->stage, &options.worker, err));
    stage_result_init(&result);
    status = scanner_open(source_files_all(run->lane_files[lane->index]),
                          &lane->splits.items[split], &options, &scanner, err);
    while (status == SLUICE_OK && more) {
        struct scanned scanned;
        status = scanner_next(scanner, &result, &scanned, &more, err);
    }
    if (status == SLUICE_OK) {
        *digest = scanner_digest(scanner);
    }
    scanner_close(scanner);
    stage_result_deinit(&result);
    stage_worker_close(options.worker);
    return status;
}

static sluice_status read_digest(struct run *run, const struct lane *lane, size_t split,
                                 struct hash128 *digest, struct sluice_error *err)
{
    struct source_options options =
        sources_options(run->plan, lane->node, run->options.batch_bytes);
    const struct source_file *files = source_files_all(run->lane_files[lane->index]);
    struct source *source;
    bool more = true;
    sluice_status status;

    if (splits_random(options.cut)) {
        return scan_digest(run, lane, split, digest, err);
    }
    options.digest = true;
    TRY(source_open(run->feeder, files, &lane->splits.items[split], &options, &source, err));
    do {
        struct sluice_chunk chunk = { .size = sizeof chunk };
        status = run_cancelled(run) ? run_stopped(err) : source_next(source, &chunk, &more, err);
    } while (status == SLUICE_OK && more);
    if (status == SLUICE_OK) {
        *digest = source_digest(source);
    }
    source_close(source);
    return status;
}

sluice_status identity_read(struct run *run, const struct lane *lane, size_t number,
                            struct sluice_error *err)
{
    const struct split *split = &lane->splits.items[number];
    const struct source_file *files = source_files_all(run->lane_files[lane->index]);
    const struct source_options how =
        sources_options(run->plan, lane->node, run->options.batch_bytes);
    const enum probe_for what = splits_random(how.cut) ? PROBE_STORED : PROBE_DECODING;
    struct hash128 digest = { 0, 0 };

    if (lane->hashes == NULL) {
        TRY(read_digest(run, lane, number, &digest, err));
    }
    for (size_t k = 0; lane->hashes != NULL && k < split->n_ranges; k++) {
        TRY(source_file_compare(&files[split->ranges[k].file], what, err));
    }
    return identity_found(run, lane, number, digest, err);
}
