/* A session's children and the twins of stages that run in them: see isolate.h. */
#include "isolate/isolate.h"

#include <stdlib.h>
#include <string.h>

#include "isolate/guards.h"
#include "isolate/instanceInt.h"

#define MEMORY (UINT64_C(4) << 30)
#define TIMEOUT_NS UINT64_C(60000000000)
#define MAX_DEATHS 16u

sluice_status isolate_create(const struct isolate_options *options, struct isolate **out,
                             struct sluice_error *err)
{
    struct isolate *isolate = calloc(1, sizeof *isolate);
    sluice_status status;

    *out = NULL;
    if (isolate == NULL) {
        return error_nomem(err, "child processes");
    }
    isolate->died = options->died;
    isolate->ctx = options->ctx;
    if (options->scratch != NULL) {
        isolate->scratch = str_copy(options->scratch, strlen(options->scratch));
        if (isolate->scratch == NULL) {
            isolate_destroy(isolate);
            return error_nomem(err, "child processes");
        }
    }
    status = spawner_create(options->exe, &isolate->spawner, err);
    if (status != SLUICE_OK) {
        isolate_destroy(isolate);
        return status;
    }
    *out = isolate;
    return SLUICE_OK;
}

static void twin_destroy(struct twin *twin)
{
    free((char *)(uintptr_t)twin->target.plugin);
    free((char *)(uintptr_t)twin->target.stage);
    free((char *)(uintptr_t)twin->target.script);
    free(twin);
}

void isolate_destroy(struct isolate *isolate)
{
    if (isolate == NULL) {
        return;
    }
    while (isolate->twins != NULL) {
        struct twin *next = isolate->twins->next;
        twin_destroy(isolate->twins);
        isolate->twins = next;
    }
    spawner_destroy(isolate->spawner);
    free(isolate->scratch);
    free(isolate);
}

static bool copy_text(const char **out, const char *text)
{
    *out = text == NULL ? NULL : str_copy(text, strlen(text));
    return text == NULL || *out != NULL;
}

sluice_status isolate_wrap(struct isolate *isolate, const struct registry_entry *entry,
                           const struct isolate_target *target, const struct isolate_limits *limits,
                           const struct registry_entry **out, struct sluice_error *err)
{
    struct twin *twin = calloc(1, sizeof *twin);

    *out = NULL;
    if (twin == NULL) {
        return error_nomem(err, "a stage in a child process");
    }
    twin->isolate = isolate;
    twin->target.hash = target->hash;
    if (!copy_text(&twin->target.plugin, target->plugin) ||
        !copy_text(&twin->target.stage, target->stage) ||
        !copy_text(&twin->target.script, target->script)) {
        twin_destroy(twin);
        return error_nomem(err, "a stage in a child process");
    }
    twin->limits = *limits;
    twin->limits.memory = limits->memory > 0 ? limits->memory : MEMORY;
    twin->limits.timeout_ns = limits->timeout_ns > 0 ? limits->timeout_ns : TIMEOUT_NS;
    twin->limits.max_deaths = limits->max_deaths > 0 ? limits->max_deaths : MAX_DEATHS;
    twin->entry = *entry;
    twin_functions(&twin->entry.stage, &entry->stage);
    twin->entry.user = twin;
    twin->entry.trusted = false; /* whatever it gives back is checked in depth */
    twin->next = isolate->twins;
    isolate->twins = twin;
    *out = &twin->entry;
    return SLUICE_OK;
}

const char *isolate_guards(char *text, size_t n)
{
    return guards_describe(text, n);
}
