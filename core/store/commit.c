/* Commit records: see commit.h. Their text form is in commit_text.c, their files are in
 * commit_file.c. */
#include "store/commit.h"

#include <stdlib.h>
#include <string.h>

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
    free(commit->packed);
    free(commit);
}

/* Appends a text; returns the copy. */
static const char *pack_text(char **at, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = memcpy(*at, text, n);

    *at += n;
    return copy;
}

/* Moves outputs and states into one block of just their size: of a run's tasks there may be
 * millions. Without memory for it they stay where they are. */
static void pack(struct commit *commit)
{
    size_t size =
        commit->n_outputs * sizeof *commit->outputs + commit->n_states * sizeof *commit->states;
    struct commit_output *outputs;
    struct commit_state *states;
    char *at;

    for (uint32_t i = 0; i < commit->n_outputs; i++) {
        size += strlen(commit->outputs[i].port) + strlen(commit->outputs[i].file) + 2;
    }
    for (uint32_t i = 0; i < commit->n_states; i++) {
        size += strlen(commit->states[i].name) + 1;
    }
    outputs = malloc(size + 1);
    if (outputs == NULL) {
        return;
    }
    states = (struct commit_state *)(void *)(outputs + commit->n_outputs);
    at = (char *)(states + commit->n_states);
    for (uint32_t i = 0; i < commit->n_outputs; i++) {
        outputs[i] = commit->outputs[i];
        outputs[i].port = pack_text(&at, outputs[i].port);
        outputs[i].file = pack_text(&at, outputs[i].file);
    }
    for (uint32_t i = 0; i < commit->n_states; i++) {
        states[i] = commit->states[i];
        states[i].name = pack_text(&at, states[i].name);
    }
    arena_deinit(&commit->arena);
    commit->packed = outputs;
    commit->outputs = outputs;
    commit->states = states;
    commit->outputs_capacity = commit->n_outputs;
    commit->states_capacity = commit->n_states;
    commit->phase = commit->task = NULL;
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
    if (commit->packed == NULL) {
        pack(commit);
    }
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
