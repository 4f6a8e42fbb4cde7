/* Is a stage's descriptor sane? Everything the host later relies on without looking is checked
 * here, once, when a plugin is loaded or a stage is added. See registry.h. */
#include <math.h>
#include <string.h>

#include "plugin/option_table.h"
#include "plugin/registry.h"

static sluice_status broken(const struct sluice_stage *stage, const char *what,
                            struct sluice_error *err)
{
    return error_set(err, SLUICE_E_INTERNAL, "stage '%s': %s", stage->name, what);
}

/* "a|b|c": words [a-z][a-z0-9_]*, each once. */
static bool words_valid(const char *words)
{
    const char *at = words;

    for (;;) {
        char word[64];
        size_t n = strcspn(at, "|");
        if (n == 0 || n >= sizeof word) {
            return false;
        }
        memcpy(word, at, n);
        word[n] = '\0';
        if (!option_name_valid(word)) {
            return false;
        }
        for (const char *before = words; before < at; before += strcspn(before, "|") + 1) {
            if (strcspn(before, "|") == n && memcmp(before, word, n) == 0) {
                return false;
            }
        }
        if (at[n] == '\0') {
            return true;
        }
        at += n + 1;
    }
}

static sluice_status check_reader(const struct sluice_stage *stage, struct sluice_error *err)
{
    const char *cut = stage->cut == NULL ? "" : stage->cut;
    bool own = strcmp(cut, "own") == 0;
    bool random = own || strcmp(cut, "sync") == 0;

    if (!random && stage->read == NULL) {
        return broken(stage, "a reader needs the function read", err);
    }
    if (!random && strcmp(cut, "newline") != 0 && strcmp(cut, "none") != 0) {
        return broken(stage, "a reader's cut must be \"newline\", \"none\", \"own\" or \"sync\"",
                      err);
    }
    if (random && (stage->scan == NULL || stage->resume == NULL)) {
        return broken(stage, "a reader with this cut needs the functions scan and resume", err);
    }
    if (own && stage->survey == NULL) {
        return broken(stage, "a reader with the cut \"own\" needs the function survey", err);
    }
    return stage->mode == SLUICE_MODE_STATELESS || (stage->mode == SLUICE_MODE_ORDERED && !random)
               ? SLUICE_OK
               : broken(stage,
                        random ? "a reader that reads at random is stateless"
                               : "a reader is stateless or ordered",
                        err);
}

static sluice_status check_role(const struct sluice_stage *stage, struct sluice_error *err)
{
    bool reader = stage->role == SLUICE_ROLE_READER;

    if (stage->role < SLUICE_ROLE_READER || stage->role > SLUICE_ROLE_WRITER) {
        return broken(stage, "its role is unknown; expected one of SLUICE_ROLE_*", err);
    }
    if (stage->mode > SLUICE_MODE_GLOBAL) {
        return broken(stage, "its mode is unknown; expected one of SLUICE_MODE_*", err);
    }
    if (reader) {
        TRY(check_reader(stage, err));
    } else if (stage->process == NULL) {
        return broken(stage, "it needs the function process", err);
    }
    if (stage->role == SLUICE_ROLE_FILTER && stage->reasons == NULL) {
        return broken(stage, "a filter needs reasons (\"too_short|too_long\")", err);
    }
    if (stage->reasons != NULL && stage->role != SLUICE_ROLE_FILTER &&
        stage->role != SLUICE_ROLE_ANNOTATOR) {
        return broken(stage, "only filters and annotators have reasons", err);
    }
    if (stage->reasons != NULL && !words_valid(stage->reasons)) {
        return broken(stage,
                      "its reasons must be different words [a-z][a-z0-9_]*, separated by '|'", err);
    }
    if (stage->provides != NULL &&
        (stage->role != SLUICE_ROLE_ANNOTATOR || !option_name_valid(stage->provides))) {
        return broken(stage, "only annotators provide a derived column, named [a-z][a-z0-9_]*",
                      err);
    }
    if (stage->conserves != NULL &&
        (stage->role != SLUICE_ROLE_TRANSFORM || !option_name_valid(stage->conserves))) {
        return broken(stage, "only transforms conserve a measure, named [a-z][a-z0-9_]*", err);
    }
    return SLUICE_OK;
}

/* What a pipeline says to any stage can't be an option of one. */
static sluice_status check_reserved(const struct sluice_stage *stage,
                                    const struct option_table *table, struct sluice_error *err)
{
    struct sluice_option option;

    for (uint64_t k = 0; option_at(table, k, &option); k++) {
        if (strcmp(option.name, "side") == 0 || strcmp(option.name, "isolate") == 0) {
            return broken(stage,
                          "an option can't be called 'side' or 'isolate', which mean something to "
                          "every stage",
                          err);
        }
    }
    return SLUICE_OK;
}

sluice_status registry_check_stage(const struct sluice_stage *stage, struct sluice_error *err)
{
    struct option_table table = option_table_of(stage);

    if (!option_name_valid(stage->name)) {
        return error_set(
            err, SLUICE_E_INTERNAL,
            "a stage has the name \"%.40s\"; expected [a-z][a-z0-9_]*, at most 63 bytes",
            stage->name != NULL ? stage->name : "");
    }
    if (stage->version == NULL || stage->version[0] == '\0') {
        return broken(stage, "it has no version", err);
    }
    if (stage->summary == NULL || stage->summary[0] == '\0' ||
        strchr(stage->summary, '\n') != NULL) {
        return broken(stage, "it needs a summary of one line", err);
    }
    TRY(check_role(stage, err));
    if ((stage->flags & SLUICE_STAGE_SIDE_BY_SPLIT) != 0 &&
        (stage->flags & SLUICE_STAGE_SIDE_INPUT) == 0) {
        return broken(stage, "SIDE_BY_SPLIT needs SIDE_INPUT", err);
    }
    if ((stage->flags & SLUICE_STAGE_CONSUMES) != 0 && stage->role != SLUICE_ROLE_TRANSFORM &&
        !(stage->role == SLUICE_ROLE_FILTER && (stage->flags & SLUICE_STAGE_HIDDEN) != 0)) {
        return broken(stage, "only transforms, and filters inside of a composite, consume rows",
                      err);
    }
    if ((stage->save == NULL) != (stage->load == NULL && stage->merge == NULL)) {
        return broken(stage, "save goes with load or merge", err);
    }
    if (!isfinite(stage->bytes_per_input) || stage->bytes_per_input < 0) {
        return broken(stage, "bytes_per_input must be a number >= 0", err);
    }
    if ((stage->options == NULL) != (stage->n_options == 0)) {
        return broken(stage, "options and n_options contradict each other", err);
    }
    TRY(option_table_check(&table, err));
    return check_reserved(stage, &table, err);
}
