/* Host services for plugins (struct sluice_host_api). Every function may be called from any thread.
 * See stageInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plugin/stageInt.h"

#define ERROR_SIZE_1_0 \
    (uint32_t)(offsetof(struct sluice_error, message) + sizeof((struct sluice_error *)0)->message)
#define MEMORY_SHARE (UINT64_C(64) << 20)

static bool allowed(struct sluice_host *host, uint64_t bytes)
{
    return host->services.allow == NULL || host->services.allow(host->services.ctx, bytes);
}

void error_give(struct sluice_error *to, const struct sluice_error *from)
{
    uint32_t size = to != NULL ? to->size : 0;

    if (to == NULL) {
        return;
    }
    /* One that was never initialised has at least the size of ABI 1.0. */
    size = size < ERROR_SIZE_1_0 ? ERROR_SIZE_1_0 : size;
    size = size > sizeof *from ? (uint32_t)sizeof *from : size;
    memcpy(to, from, size);
    to->size = size;
}

static void *host_alloc(struct sluice_host *host, uint64_t bytes)
{
    if (!allowed(host, bytes)) {
        return NULL;
    }
    return budget_alloc(&host->budget, bytes);
}

static void *host_realloc(struct sluice_host *host, void *memory, uint64_t bytes)
{
    return allowed(host, bytes) ? budget_realloc(&host->budget, memory, bytes) : NULL;
}

static void host_free(struct sluice_host *host, void *memory)
{
    budget_free(&host->budget, memory);
}

static void host_log(struct sluice_host *host, int32_t level, const char *message)
{
    char clean[1024];

    if (host->services.log == NULL || message == NULL) {
        return;
    }
    if (level < SLUICE_LOG_DEBUG) {
        level = SLUICE_LOG_DEBUG;
    } else if (level > SLUICE_LOG_ERROR) {
        level = SLUICE_LOG_ERROR;
    }
    snprintf(clean, sizeof clean, "%s", message);
    utf8_clean(clean);
    host->services.log(host->services.ctx, level, host->stage->name, clean);
}

static sluice_status read_file(struct sluice_host *host, const char *path, const void **data,
                               uint64_t *size, struct sluice_error *err)
{
    const void **files;

    *data = NULL;
    *size = 0;
    if (path == NULL || host->services.read_file == NULL) {
        return error_set(err, SLUICE_E_INTERNAL,
                         path == NULL ? "read_file was called without a path"
                                      : "no files can be read here");
    }
    TRY(host->services.read_file(host->services.ctx, path, data, size, err));
    pthread_mutex_lock(&host->lock);
    files = realloc(host->files, (host->n_files + 1) * sizeof *files);
    if (files != NULL) {
        host->files = files;
        files[host->n_files++] = *data;
    }
    pthread_mutex_unlock(&host->lock);
    if (files == NULL) {
        if (host->services.release_file != NULL) {
            host->services.release_file(host->services.ctx, *data);
        }
        *data = NULL;
        return error_nomem(err, "a file");
    }
    return SLUICE_OK;
}

static sluice_status host_read_file(struct sluice_host *host, const char *path, const void **data,
                                    uint64_t *size, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = read_file(host, path, data, size, &error);

    if (status != SLUICE_OK) {
        error_give(err, &error);
    }
    return status;
}

static sluice_status map_file(struct sluice_host *host, const char *path, const void **data,
                              uint64_t *size, struct sluice_error *err)
{
    struct host_map *maps;

    *data = NULL;
    *size = 0;
    if (path == NULL || host->services.map_file == NULL) {
        return error_set(err, SLUICE_E_INTERNAL,
                         path == NULL ? "map was called without a path"
                                      : "no files can be mapped here");
    }
    TRY(host->services.map_file(host->services.ctx, path, data, size, err));
    pthread_mutex_lock(&host->lock);
    maps = realloc(host->maps, (host->n_maps + 1) * sizeof *maps);
    if (maps != NULL) {
        host->maps = maps;
        maps[host->n_maps++] = (struct host_map){ *data, *size };
    }
    pthread_mutex_unlock(&host->lock);
    if (maps == NULL) {
        host->services.unmap_file(host->services.ctx, *data, *size);
        *data = NULL;
        return error_nomem(err, "a file");
    }
    return SLUICE_OK;
}

static sluice_status host_map(struct sluice_host *host, const char *path, const void **data,
                              uint64_t *size, struct sluice_error *err)
{
    struct sluice_error error = ERROR_INIT;
    sluice_status status = map_file(host, path, data, size, &error);

    if (status != SLUICE_OK) {
        error_give(err, &error);
    }
    return status;
}

/* The low half of XXH3-128 over (pipeline seed, hash of the stage's name, salt), each
 * little-endian. */
static uint64_t host_seed(struct sluice_host *host, uint64_t salt)
{
    const uint64_t words[] = { host->services.seed, host->name_hash.lo, host->name_hash.hi, salt };
    unsigned char bytes[sizeof words];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(words[i / 8] >> (8 * (i % 8)));
    }
    return hash_bytes(bytes, sizeof bytes).lo;
}

static const char *host_scratch_dir(struct sluice_host *host)
{
    const char *folder;

    pthread_mutex_lock(&host->lock);
    if (host->scratch == NULL && host->services.scratch_dir != NULL) {
        host->scratch = host->services.scratch_dir(host->services.ctx, host->stage->name);
    }
    folder = host->scratch;
    pthread_mutex_unlock(&host->lock);
    return folder;
}

static uint64_t host_memory_share(struct sluice_host *host)
{
    return host->services.memory_share > 0 ? host->services.memory_share : MEMORY_SHARE;
}

static int32_t host_cancelled(struct sluice_host *host)
{
    const _Atomic int *flag = host->services.cancelled;

    return flag != NULL && atomic_load_explicit(flag, memory_order_relaxed) != 0 ? 1 : 0;
}

const struct sluice_host_api stage_host_api = {
    .size = sizeof(struct sluice_host_api),
    .abi_major = SLUICE_ABI_MAJOR,
    .abi_minor = SLUICE_ABI_MINOR,
    .alloc = host_alloc,
    .realloc = host_realloc,
    .free = host_free,
    .log = host_log,
    .read_file = host_read_file,
    .seed = host_seed,
    .scratch_dir = host_scratch_dir,
    .memory_share = host_memory_share,
    .cancelled = host_cancelled,
    .map = host_map,
};

sluice_status stage_host_init(struct sluice_host *host, struct stage *stage,
                              const struct stage_services *services, struct sluice_error *err)
{
    memset(host, 0, sizeof *host);
    host->stage = stage;
    host->services = *services;
    budget_init(&host->budget, services->budget, UINT64_MAX);
    host->name_hash = hash_bytes(stage->name, strlen(stage->name));
    if (pthread_mutex_init(&host->lock, NULL) != 0) {
        host->stage = NULL;
        return error_nomem(err, "a stage");
    }
    return SLUICE_OK;
}

void *stage_user(struct sluice_host *host)
{
    return host->stage->entry->user;
}

void stage_set_remote(struct sluice_host *host)
{
    host->stage->remote = true;
    host->stage->verdict_stride = sizeof(struct sluice_verdict); /* made here, not by the plugin */
}

const struct stage *stage_of(struct sluice_host *host)
{
    return host->stage;
}

const struct stage_services *stage_services(const struct stage *stage)
{
    return &stage->host.services;
}

void stage_host_deinit(struct sluice_host *host)
{
    if (host->stage == NULL) {
        return;
    }
    for (size_t k = 0; k < host->n_files && host->services.release_file != NULL; k++) {
        host->services.release_file(host->services.ctx, host->files[k]);
    }
    for (size_t k = 0; k < host->n_maps; k++) {
        host->services.unmap_file(host->services.ctx, host->maps[k].data, host->maps[k].size);
    }
    free(host->files);
    free(host->maps);
    pthread_mutex_destroy(&host->lock);
    host->stage = NULL;
}
