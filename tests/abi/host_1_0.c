/* A host of ABI 1.0, as small as one can be: what the frozen header says and nothing later. `host FILE URL TEXT...` loads the plugin and puts the
 * texts through its stage, a filter with the option url; a line a text says its verdict. asks.sh builds it; as a library it is not used. */
#include "tests/abi/sluice_1_0.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE_1_0 40

static int64_t given;

/* What an earlier or a later plugin's struct has in common with ours; the rest is zero. */
static void take(void *ours, size_t n, const void *theirs)
{
    uint64_t size;

    memcpy(&size, theirs, sizeof size);
    memset(ours, 0, n);
    memcpy(ours, theirs, size < n ? (size_t)size : n);
}

static sluice_status need(struct sluice_plan *plan, uint32_t port, const char *name, const char *type, int32_t optional, int32_t *index,
                          struct sluice_error *err)
{
    (void)plan;
    (void)type;
    (void)optional;
    (void)err;
    *index = 0;
    return port == 0 && strcmp(name, "text") == 0 ? SLUICE_OK : SLUICE_E_SCHEMA;
}

static sluice_status verdicts(struct sluice_emit *emit, const struct sluice_verdict *items, int64_t n)
{
    uint32_t stride = *(const uint32_t *)emit->ctx;

    for (int64_t k = 0; k < n; k++) {
        const struct sluice_verdict *verdict = (const struct sluice_verdict *)((const char *)items + (size_t)k * stride);
        printf("%d %g\n", verdict->reason, verdict->value);
    }
    given += n;
    return SLUICE_OK;
}

static int fail(const char *what, sluice_status status)
{
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    return 1;
}

static int put(const struct sluice_stage *stage, uint32_t stride, const char *url, char **texts, int n)
{
    const struct sluice_host_api api = { .size = sizeof api };
    struct sluice_plan plan = { .size = sizeof plan, .need = need };
    struct sluice_emit emit = { .size = sizeof emit, .ctx = &stride, .verdicts = verdicts };
    struct sluice_error err = { .size = sizeof err };
    int32_t offsets[64] = { 0 };
    char bytes[4096];
    const void *buffers[3] = { NULL, offsets, bytes };
    const void *no_buffers[1] = { NULL };
    struct ArrowArray text = { .length = n, .n_buffers = 3, .buffers = buffers };
    struct ArrowArray *children[1] = { &text };
    struct ArrowArray rows = { .length = n, .n_buffers = 1, .buffers = no_buffers, .n_children = 1, .children = children };
    struct sluice_batch batch = { .size = sizeof batch, .array = &rows, .n = n };
    const char **config = calloc(1, (size_t)stage->config_size + sizeof *config);
    void *shared = NULL;
    sluice_status status;

    for (int k = 0; k < n && k < 63; k++) {
        size_t size = strlen(texts[k]);
        memcpy(bytes + offsets[k], texts[k], size);
        offsets[k + 1] = offsets[k] + (int32_t)size;
    }
    config[0] = url; /* the first option, the only one */
    status = stage->open(&api, NULL, config, &shared, &err);
    if (status != SLUICE_OK) {
        return fail("open", status);
    }
    status = stage->prepare(shared, &plan, &err);
    if (status != SLUICE_OK) {
        return fail("prepare", status);
    }
    status = stage->process(shared, &batch, &emit, &err);
    if (status != SLUICE_OK || given != n) {
        return fail("process", status);
    }
    stage->close(shared);
    free(config);
    return 0;
}

int main(int argc, char **argv)
{
    struct sluice_plugin plugin;
    struct sluice_stage stage;
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *entry = library != NULL ? dlsym(library, "sluice_plugin_v1") : NULL;
    sluice_plugin_fn describe;

    if (entry == NULL) {
        fprintf(stderr, "%s is no plugin: %s\n", argc > 1 ? argv[1] : "", library != NULL ? "no entry point" : dlerror());
        return 2;
    }
    memcpy(&describe, &entry, sizeof describe);
    take(&plugin, sizeof plugin, describe());
    if (plugin.abi_major != SLUICE_ABI_MAJOR || plugin.abi_minor_needed > SLUICE_ABI_MINOR) {
        fprintf(stderr, "%s needs plugin ABI %u.%u, this program has %u.%u\n", argv[1], plugin.abi_major, plugin.abi_minor_needed,
                SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR);
        return 2;
    }
    take(&stage, sizeof stage, plugin.stages[0]);
    return put(&stage, plugin.verdict_stride != 0 ? plugin.verdict_stride : STRIDE_1_0, argv[2], argv + 3, argc - 3);
}
