/* Commit records: see commit.h. Their text form is in commit_text.c. */
#include "store/commit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/commitInt.h"
#include "store/pending.h"

/* ---- building ---- */

struct commit *commit_create(struct hash128 key, const char *phase, const char *task)
{
    struct commit *commit = calloc(1, sizeof *commit);

    if (commit == NULL) {
        return NULL;
    }
    commit->key = key;
    commit->phase = arena_copy(&commit->arena, phase, strlen(phase));
    commit->task = arena_copy(&commit->arena, task, strlen(task));
    if (commit->arena.failed) {
        commit_destroy(commit);
        return NULL;
    }
    return commit;
}

void commit_destroy(struct commit *commit)
{
    if (commit == NULL) {
        return;
    }
    for (uint32_t i = 0; i < commit->n_states; i++) {
        free(commit->states[i].data);
    }
    json_decref(commit->ledger);
    json_decref(commit->notes);
    arena_deinit(&commit->arena);
    arena_deinit(&commit->parts_arena);
    free(commit);
}

void commit_trim(struct commit *commit, const char *prefix)
{
    arena_deinit(&commit->parts_arena);
    commit->parts = NULL;
    commit->n_parts = 0;
    commit->parts_capacity = 0;
    for (uint32_t i = 0; i < commit->n_states; i++) {
        if (strncmp(commit->states[i].name, prefix, strlen(prefix)) == 0) {
            free(commit->states[i].data);
            commit->states[i].data = NULL;
            commit->states[i].size = 0;
        }
    }
    json_decref(commit->ledger);
    json_decref(commit->notes);
    commit->ledger = NULL;
    commit->notes = NULL;
}

sluice_status commit_add_part(struct commit *commit, const char *name, const char *value,
                              struct sluice_error *err)
{
    struct arena *arena = &commit->parts_arena;
    struct commit_part *parts =
        arena_more(arena, commit->parts, commit->n_parts, &commit->parts_capacity, sizeof *parts);

    if (parts != NULL) {
        commit->parts = parts;
        parts[commit->n_parts++] =
            (struct commit_part){ .name = arena_copy(arena, name, strlen(name)),
                                  .value = arena_copy(arena, value, strlen(value)) };
    }
    return arena_status(arena, err, "a commit record");
}

sluice_status commit_add_output(struct commit *commit, const struct commit_output *given,
                                struct sluice_error *err)
{
    struct arena *arena = &commit->arena;
    struct commit_output *outputs;

    if (given->file[0] != '\0' && !disk_name_valid(given->file)) {
        return error_set(err, SLUICE_E_INTERNAL, "\"%s\" can't be the name of an output file",
                         given->file);
    }
    outputs = arena_more(arena, commit->outputs, commit->n_outputs, &commit->outputs_capacity,
                         sizeof *outputs);
    if (outputs != NULL) {
        struct commit_output *output = &outputs[commit->n_outputs++];
        commit->outputs = outputs;
        *output = *given;
        output->port = arena_copy(arena, given->port, strlen(given->port));
        output->file = arena_copy(arena, given->file, strlen(given->file));
    }
    return arena_status(arena, err, "a commit record");
}

sluice_status commit_add_state(struct commit *commit, const char *name, const void *data,
                               size_t size, struct sluice_error *err)
{
    struct arena *arena = &commit->arena;
    struct commit_state *states = arena_more(arena, commit->states, commit->n_states,
                                             &commit->states_capacity, sizeof *states);
    void *copy = malloc(size + 1);

    if (states == NULL || copy == NULL) {
        free(copy);
        return error_nomem(err, "a commit record");
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    commit->states = states;
    states[commit->n_states++] = (struct commit_state){
        .name = arena_copy(arena, name, strlen(name)), .data = copy, .size = size
    };
    return arena_status(arena, err, "a commit record");
}

const struct commit_state *commit_find_state(const struct commit *commit, const char *name)
{
    for (uint32_t i = 0; i < commit->n_states; i++) {
        if (strcmp(commit->states[i].name, name) == 0) {
            return &commit->states[i];
        }
    }
    return NULL;
}

const struct commit_output *commit_find_output(const struct commit *commit, const char *port)
{
    for (uint32_t i = 0; i < commit->n_outputs; i++) {
        if (strcmp(commit->outputs[i].port, port) == 0) {
            return &commit->outputs[i];
        }
    }
    return NULL;
}

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
    if (strcmp(a->phase, b->phase) != 0 || strcmp(a->task, b->task) != 0) {
        snprintf(text, size, "the task's name: '%s %s' and '%s %s'", a->phase, a->task, b->phase,
                 b->task);
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
    return disk_join(dir, name);
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
    status = disk_read_file(path, COMMIT_MAX_BYTES, &text, &found, err);
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
                                      struct sluice_error *err)
{
    struct commit *theirs;
    struct commit *ours;
    struct published published;
    char what[256];
    bool damaged;
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
    commit_destroy(theirs);
    commit_destroy(ours);
    return error_set(err, SLUICE_E_INTERNAL,
                     "task '%s' of phase '%s' was committed before with another result: %s differs "
                     "(record %s/%s). A stage of this "
                     "phase is not deterministic: find it with `sluice why`, declare it recorded "
                     "or repair it, and run with --fresh",
                     commit->task, commit->phase, what[0] != '\0' ? what : "the text form", dir,
                     name);
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
            status = resolve_conflict(commit, dir, name, &text, loose, err);
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
    TRY(disk_list(dir, &names, err));
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
    char *path = disk_join(folder, output->file);
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
