/* Commit records as files: put, read, compared with one that is there, and held against the files
 * that they name. See commit.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/commitInt.h"
#include "store/pending.h"
#include "store/store.h"

/* ---- comparing ---- */

static const char *difference_output(const struct commit_output *a, const struct commit_output *b)
{
    if (strcmp(a->file, b->file) != 0) {
        return "name of the file";
    }
    if (a->rows != b->rows) {
        return "number of rows";
    }
    if (a->bytes != b->bytes) {
        return "number of bytes";
    }
    if (!hash_equal(a->hash, b->hash)) {
        return "hash";
    }
    return NULL;
}

static bool json_differs(const json_t *a, const json_t *b)
{
    return a == NULL || b == NULL ? a != b : !json_equal(a, b);
}

/* From what was asked to what came of it: where two records differ early, the rest follows from
 * that. */
static void commit_difference(const struct commit *a, const struct commit *b, char *text,
                              size_t size)
{
    text[0] = '\0';
    if (strcmp(a->phase, b->phase) != 0) {
        snprintf(text, size, "the phase's name: '%s' and '%s'", a->phase, b->phase);
        return;
    }
    if (a->n_parts != b->n_parts || a->n_outputs != b->n_outputs || a->n_states != b->n_states) {
        snprintf(text, size, "%s",
                 a->n_parts != b->n_parts       ? "the number of key parts"
                 : a->n_outputs != b->n_outputs ? "the number of outputs"
                                                : "the number of states");
        return;
    }
    for (uint32_t i = 0; i < a->n_parts; i++) {
        if (strcmp(a->parts[i].name, b->parts[i].name) != 0 ||
            strcmp(a->parts[i].value, b->parts[i].value) != 0) {
            snprintf(text, size, "key part '%s'", a->parts[i].name);
            return;
        }
    }
    for (uint32_t i = 0; i < a->n_outputs; i++) {
        const char *what = strcmp(a->outputs[i].port, b->outputs[i].port) != 0
                               ? "port"
                               : difference_output(&a->outputs[i], &b->outputs[i]);
        if (what != NULL) {
            snprintf(text, size, "output '%s': %s", a->outputs[i].port, what);
            return;
        }
    }
    for (uint32_t i = 0; i < a->n_states; i++) {
        const struct commit_state *p = &a->states[i];
        const struct commit_state *q = &b->states[i];
        if (strcmp(p->name, q->name) != 0 || p->size != q->size ||
            memcmp(p->data, q->data, p->size) != 0) {
            snprintf(text, size, "state '%s'", p->name);
            return;
        }
    }
    if (json_differs(a->ledger, b->ledger)) {
        snprintf(text, size, "the ledger");
    } else if (json_differs(a->notes, b->notes)) {
        snprintf(text, size, "the notes");
    }
}

/* ---- files ---- */

static char *record_path(const char *dir, struct hash128 key)
{
    char name[40];

    hash_hex(key, name);
    memcpy(name + 32, ".json", 6);
    return store_join(dir, name);
}

sluice_status commit_read(const char *dir, struct hash128 key, struct commit **out, bool *damaged,
                          struct sluice_error *err)
{
    char *path = record_path(dir, key);
    struct buf text = BUF_INIT;
    bool found = false;
    sluice_status status;

    *out = NULL;
    if (damaged != NULL) {
        *damaged = false;
    }
    status = store_read_all(path, COMMIT_MAX_BYTES, &text, &found, err);
    if (status == SLUICE_OK && found) {
        status = commit_parse(text.data, text.size, out, err);
        if (status == SLUICE_OK && !hash_equal((*out)->key, key)) {
            commit_destroy(*out);
            *out = NULL;
            status = error_set(err, SLUICE_E_DATA, "it is the record of another key");
        }
        if (status == SLUICE_E_DATA) {
            error_prefix(err, "commit record %s", path);
        }
    }
    /* A record that cannot be believed is no record: the task runs again. That it cannot be read
     * at all is an error. */
    if (status == SLUICE_E_DATA) {
        if (damaged != NULL) {
            *damaged = true;
        }
        status = SLUICE_OK;
    }
    buf_deinit(&text);
    free(path);
    return status;
}

/* A record of this key with other bytes stands there. */
static sluice_status resolve_conflict(const struct commit *commit, const char *dir,
                                      const char *name, const struct buf *text, unsigned loose,
                                      bool *existed, struct sluice_error *err)
{
    struct commit *theirs;
    struct commit *ours;
    struct published published;
    char what[256];
    bool damaged;
    bool twin;
    sluice_status status;

    TRY(commit_read(dir, commit->key, &theirs, &damaged, err));
    if (theirs == NULL) {
        /* Damaged, or removed meanwhile: nobody relies on it. */
        return pending_put(dir, name, text->data, text->size, loose, &published, err);
    }
    /* Compare what a reader gets from either text. */
    status = commit_parse(text->data, text->size, &ours, err);
    if (status != SLUICE_OK) {
        commit_destroy(theirs);
        return status;
    }
    commit_difference(theirs, ours, what, sizeof what);
    /* Tasks with one key do one work, whoever of them is first: several that have no rows, say. */
    twin = what[0] == '\0' && strcmp(theirs->task, ours->task) != 0;
    commit_destroy(theirs);
    commit_destroy(ours);
    if (twin) {
        *existed = true;
        return SLUICE_OK;
    }
    return error_set(err, SLUICE_E_INTERNAL,
                     "a task of phase '%s' was committed before with another result: %s differs "
                     "(record %s/%s). A stage of this "
                     "phase is not deterministic: find it with `sluice why`, declare it recorded "
                     "or repair it, and run with --fresh",
                     commit->phase, what[0] != '\0' ? what : "the text form", dir, name);
}

sluice_status commit_write(const struct commit *commit, const char *dir, bool durable,
                           bool *existed, struct sluice_error *err)
{
    unsigned loose = durable ? 0 : PENDING_LOOSE;
    struct buf text = BUF_INIT;
    struct published published;
    char name[40];
    sluice_status status;

    memset(&published, 0, sizeof published);
    if (existed != NULL) {
        *existed = false;
    }
    hash_hex(commit->key, name);
    memcpy(name + 32, ".json", 6);
    status = commit_print(commit, &text, err);
    if (status == SLUICE_OK) {
        status =
            pending_put(dir, name, text.data, text.size, PENDING_VOUCHED | loose, &published, err);
        if (status == SLUICE_E_INTERNAL) {
            status = resolve_conflict(commit, dir, name, &text, loose, &published.existed, err);
        }
    }
    if (existed != NULL) {
        *existed = status == SLUICE_OK && published.existed;
    }
    buf_deinit(&text);
    return status;
}

sluice_status commit_list(const char *dir, struct hash128 **keys, size_t *n,
                          struct sluice_error *err)
{
    struct disk_names names;
    char hex[33];

    *keys = NULL;
    *n = 0;
    TRY(store_names(dir, &names, err));
    *keys = calloc(names.n + 1, sizeof **keys);
    if (*keys == NULL) {
        disk_names_deinit(&names);
        return error_nomem(err, "a list of commit records");
    }
    for (size_t i = 0; i < names.n; i++) {
        if (strlen(names.names[i]) == 37 && strcmp(names.names[i] + 32, ".json") == 0) {
            memcpy(hex, names.names[i], 32);
            hex[32] = '\0';
            if (hash_parse(hex, &(*keys)[*n])) {
                ++*n;
            }
        }
    }
    disk_names_deinit(&names);
    return SLUICE_OK;
}

/* One output: *valid, and why not. */
static sluice_status output_valid(const struct commit_output *output, const char *folder,
                                  struct vouch *vouch, bool *valid, struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    char *path = store_join(folder, output->file);
    sluice_status status =
        vouch_check(vouch, path, output->bytes, output->hash, "its commit", valid, &why);

    if (status != SLUICE_OK) {
        error_set(err, status, "%s", why.message);
    } else if (status == SLUICE_OK && !*valid) {
        error_set(err, SLUICE_E_DATA, "%s; its task runs again", why.message);
    }
    free(path);
    return status;
}

sluice_status commit_outputs_valid(const struct commit *commit, commit_folder_fn folder, void *ctx,
                                   struct vouch *vouch, bool *valid, struct sluice_error *err)
{
    *valid = true;
    for (uint32_t i = 0; i < commit->n_outputs && *valid; i++) {
        const struct commit_output *output = &commit->outputs[i];
        const char *dir;
        if (output->file[0] == '\0') {
            continue;
        }
        dir = folder(ctx, output);
        if (dir == NULL) {
            error_set(err, SLUICE_E_DATA,
                      "output '%s' of the commit has no place in this plan; its task runs again",
                      output->port);
            *valid = false;
            return SLUICE_OK;
        }
        TRY(output_valid(output, dir, vouch, valid, err));
    }
    return SLUICE_OK;
}
