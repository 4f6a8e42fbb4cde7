/* Tasks that go on from a saved state: see saving.h. */
#include "run/saving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/identity.h"
#include "run/runInt.h"
#include "run/source/sources.h"
#include "store/saved.h"
#include "store/store.h"

#define COST_SHARE 20u /* saving takes one part in so many of the time between */

/* ---- names ---- */

sluice_status saving_name(const struct run *run, uint32_t p, uint32_t task, struct hash128 *of,
                          char name[40], struct sluice_error *err)
{
    const struct phase *phase = run->plan->phases[p];
    uint32_t index = 0;
    const struct lane *lane = task_reads(phase, task, &index);
    struct hasher *all = hasher_create();
    struct hasher *one = hasher_create();
    struct hash128 version = { 0, 0 };
    sluice_status status =
        all == NULL || one == NULL ? error_nomem(err, "a saved state") : SLUICE_OK;

    if (status == SLUICE_OK && lane != NULL) {
        status = identity_version(run, lane, index, &version, err);
    }
    if (status == SLUICE_OK) {
        hasher_add_u64(all, SAVED_FORMAT);
        hasher_add_string(all, SLUICE_VERSION);
        hasher_add_u64(all, run->execution);
        hasher_add_hash(all, phase->key);
        hasher_add_u64(all, p);
        hasher_add_u64(all, task);
        hasher_add_hash(all, version);
        for (uint32_t i = 0; i < phase->n_ops; i++) {
            if (phase->ops[i]->kind == OP_LOAD) {
                hasher_add_hash(all, task_load_hash(run, phase, phase->ops[i], task, one));
            }
        }
        *of = hasher_digest(all);
        hash_hex(*of, name);
        memcpy(name + 32, ".sls", 5);
    }
    hasher_destroy(all);
    hasher_destroy(one);
    return status;
}

static void say(const struct saving *saving, const char *format, uint64_t row, const char *why)
{
    const struct phase *phase = saving->run->plan->phases[saving->phase];
    char buffer[SPLIT_NAME];
    char what[1100];
    char text[1400];

    snprintf(what, sizeof what, format, (unsigned long long)row, why);
    snprintf(text, sizeof text, "%s, %.200s: %s", phase->name,
             phase_task_name(phase, saving->task, buffer), what);
    run_warn(saving->run, text);
}

/* ---- saving ---- */

static sluice_status save(struct saving *saving, struct chain *chain, bool *hurt,
                          struct sluice_error *err)
{
    struct saved *out;
    uint64_t begun = clock_ns();
    uint64_t bytes;
    uint64_t cost;
    bool ready = false;
    sluice_status status;

    *hurt = false;
    TRY(store_make_folder(saving->dir, true, err));
    TRY(saved_begin(saving->dir, saving->of, saving->attempt->cancelled, &out, err));
    status = chain_save(chain, out, &ready, hurt, err);
    if (status != SLUICE_OK || !ready) {
        saved_abort(out);
        return status;
    }
    saving->there = true; /* whatever comes of it */
    status = saved_publish(out, saving->name, &bytes, err);
    if (status == SLUICE_OK) {
        saving->attempt->saved_row = chain_rows(chain);
    }
    cost = clock_ns() - begun;
    saving->since_ns = clock_ns();
    saving->pause_ns = saving->run->options.save_ns > COST_SHARE * cost
                           ? saving->run->options.save_ns
                           : COST_SHARE * cost;
    return status;
}

/* Test hook: SLUICE_TEST_SAVE=N saves at every Nth place between two batches of the process; with
 * "N!" the task is given back there, and with "N-" the process is killed, unsaved. Places where a
 * restored task came no further are none: it would be given back there for ever. */
static enum saving_wish test_wish(const struct saving *saving, const struct chain *chain,
                                  enum saving_wish wish)
{
    static _Atomic uint64_t places;
    const char *text = hook_text("SLUICE_TEST_SAVE");
    char *end;
    uint64_t n = text == NULL ? 0 : strtoull(text, &end, 10);

    if (n == 0 || (saving->restored && chain_all_rows(chain) == saving->restored_rows) ||
        (atomic_fetch_add(&places, 1) + 1) % n != 0) {
        return wish;
    }
    if (*end == '-') {
        (void)raise(SIGKILL);
    }
    return *end == '!' ? SAVING_GO : SAVING_KEEP;
}

static sluice_status between(void *ctx, struct chain *chain, struct sluice_error *err)
{
    struct saving *saving = ctx;
    enum saving_wish wish =
        test_wish(saving, chain, (enum saving_wish)atomic_load(saving->attempt->save));
    struct sluice_error why = ERROR_INIT;
    bool hurt = false;
    sluice_status status;

    if (wish == SAVING_NONE &&
        (saving->run->options.save_ns == 0 || clock_ns() - saving->since_ns < saving->pause_ns)) {
        return SLUICE_OK;
    }
    (void)atomic_exchange(saving->attempt->save, SAVING_NONE);
    status = save(saving, chain, &hurt, &why);
    if (status == SLUICE_E_CANCELLED || hurt) {
        if (err != NULL) {
            *err = why;
        }
        return status;
    }
    if (status != SLUICE_OK) { /* the task itself is as well as before */
        say(saving, "its state at row %llu can't be saved: %s", chain_rows(chain), why.message);
        saving->since_ns = clock_ns();
    }
    return wish == SAVING_GO ? error_set(err, SLUICE_E_CANCELLED, "the run is being stopped")
                             : SLUICE_OK;
}

/* ---- restoring ---- */

sluice_status saving_init(struct saving *saving, struct run *run, uint32_t phase, uint32_t task,
                          struct task_attempt *attempt, struct sluice_error *err)
{
    const struct op *op;

    memset(saving, 0, sizeof *saving);
    saving->run = run;
    saving->phase = phase;
    saving->task = task;
    saving->attempt = attempt;
    saving->since_ns = clock_ns();
    saving->pause_ns = run->options.save_ns;
    saving->pause = (struct chain_pause){ saving, between };
    if (attempt->save == NULL || !chain_can_save(run->plan->phases[phase], &op)) {
        return SLUICE_OK;
    }
    saving->dir = store_join(run->options.run_dir, SAVED_FOLDER);
    if (saving->dir == NULL) {
        return error_nomem(err, "a path");
    }
    saving->able = true;
    return saving_name(run, phase, task, &saving->of, saving->name, err);
}

void saving_deinit(struct saving *saving)
{
    free(saving->dir);
}

const struct chain_pause *saving_pause(const struct saving *saving)
{
    return saving->able ? &saving->pause : NULL;
}

/* What stays is swept when the run is. */
static void drop(struct saving *saving)
{
    char *path = store_join(saving->dir, saving->name);
    struct sluice_error why = ERROR_INIT;

    if (path != NULL && store_remove(path, &why) != SLUICE_OK) {
        run_warn(saving->run, why.message);
    }
    free(path);
    saving->there = false;
}

static void spoil(struct saving *saving, const char *why)
{
    say(saving, "its saved state (row %llu) is of no use: %s; it starts over",
        saving->attempt->from_row, why);
    drop(saving);
    saving->attempt->from_row = 0;
    saving->restored = false;
}

void saving_done(struct saving *saving)
{
    if (saving->there) {
        drop(saving);
    }
}

/* Whether another try to read the file may do. */
static bool may_pass(sluice_status status)
{
    return status == SLUICE_E_IO || status == SLUICE_E_NOMEM || status == SLUICE_E_CANCELLED ||
           status == SLUICE_E_RETRY;
}

/* Restores what is saved in a chain that was just created. *spoilt: it was of no use, and was
 * removed; the chain must be made anew. */
static sluice_status restore(struct saving *saving, struct chain *chain, bool *spoilt,
                             struct sluice_error *err)
{
    struct restored *in = NULL;
    struct sluice_error why = ERROR_INIT;
    char *path;
    sluice_status status;

    *spoilt = false;
    if (!saving->able || saving->run->options.fresh) {
        return SLUICE_OK;
    }
    path = store_join(saving->dir, saving->name);
    if (path == NULL) {
        return error_nomem(err, "a path");
    }
    status = restored_open(path, saving->of, &in, &saving->there, &why);
    free(path);
    if (status == SLUICE_OK && !saving->there) {
        return SLUICE_OK;
    }
    if (status == SLUICE_OK) {
        status = chain_restore(chain, in, &why);
    }
    restored_close(in);
    if (status == SLUICE_OK) {
        saving->attempt->from_row = chain_rows(chain);
        saving->restored = true;
        saving->restored_rows = chain_all_rows(chain);
        say(saving, "goes on from a saved state at row %llu%s", saving->attempt->from_row, "");
        return SLUICE_OK;
    }
    if (may_pass(status)) {
        if (err != NULL) {
            *err = why;
        }
        return status;
    }
    *spoilt = true;
    spoil(saving, why.message);
    return SLUICE_OK;
}

/* A new chain, with what is saved of the task. */
static sluice_status make_chain(const struct chain_options *options, struct saving *saving,
                                struct chain **out, struct sluice_error *err)
{
    bool spoilt = false;

    TRY(chain_create(options, out, err));
    TRY(restore(saving, *out, &spoilt, err));
    if (spoilt) {
        chain_destroy(*out);
        TRY(chain_create(options, out, err));
    }
    return SLUICE_OK;
}

sluice_status saving_drive(struct saving *saving, const struct chain_options *options,
                           const struct source_inputs *inputs, struct chain **chain,
                           struct sluice_error *err)
{
    TRY(make_chain(options, saving, chain, err));
    TRY(sources_drive(*chain, inputs, err));
    if (chain_behind(*chain)) {
        spoil(saving, "it is of more rows than there are");
        chain_destroy(*chain);
        TRY(make_chain(options, saving, chain, err));
        TRY(sources_drive(*chain, inputs, err));
    }
    return SLUICE_OK;
}

/* Whether it may be the saved state that is to blame. */
static bool is_suspect(sluice_status status)
{
    return status == SLUICE_E_INTERNAL || status == SLUICE_E_DATA || status == SLUICE_E_SCHEMA ||
           status == SLUICE_E_CONFIG;
}

void saving_failed(struct saving *saving, sluice_status status)
{
    if (saving->attempt->from_row > 0 && is_suspect(status)) {
        spoil(saving, "the task fails");
    }
}
