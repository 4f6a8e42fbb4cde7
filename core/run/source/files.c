/* Input files while they are read: see files.h. */
#include "run/source/files.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plan/splits.h"
#include "store/statcache.h"

struct known {
    uint64_t end; /* decoded bytes; INPUT_UNKNOWN */
    bool opened;  /* codec is known */
    enum codec codec;
    bool probing; /* a thread reads the file whole */
    bool probed;  /* info is there */
    struct input_info info;
};

struct source_files {
    struct source_file *files;
    struct known *known;
    size_t n;
    struct statcache *cache;
    void *beside; /* see source_files_beside */
    void (*destroy)(void *);
    source_decoding_fn decoding;
    void *ctx;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a file was probed, or could not be */
};

sluice_status source_files_create(const struct listing *listing, const struct hash128 *hashes,
                                  struct statcache *cache, struct source_files **out,
                                  struct sluice_error *err)
{
    struct source_files *all = calloc(1, sizeof *all);

    *out = NULL;
    if (all == NULL) {
        return error_nomem(err, "the list of input files");
    }
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    all->cache = cache;
    all->files = calloc(listing->n + 1, sizeof *all->files);
    all->known = calloc(listing->n + 1, sizeof *all->known);
    if (all->files == NULL || all->known == NULL) {
        source_files_destroy(all);
        return error_nomem(err, "the list of input files");
    }
    all->n = listing->n;
    for (size_t i = 0; i < listing->n; i++) {
        all->files[i] = (struct source_file){ .file = &listing->files[i],
                                              .hash = hashes == NULL ? NULL : &hashes[i],
                                              .of = all };
        all->known[i].end = INPUT_UNKNOWN;
    }
    *out = all;
    return SLUICE_OK;
}

void source_files_destroy(struct source_files *all)
{
    if (all == NULL) {
        return;
    }
    for (size_t i = 0; i < all->n; i++) {
        input_info_deinit(&all->known[i].info);
    }
    if (all->beside != NULL) {
        all->destroy(all->beside);
    }
    pthread_mutex_destroy(&all->mutex);
    pthread_cond_destroy(&all->changed);
    free(all->files);
    free(all->known);
    free(all);
}

void source_files_watch(struct source_files *all, source_decoding_fn fn, void *ctx)
{
    all->decoding = fn;
    all->ctx = ctx;
}

const struct source_file *source_files_all(const struct source_files *all)
{
    return all->files;
}

void *source_files_beside(struct source_files *all, void *(*make)(size_t n),
                          void (*destroy)(void *))
{
    void *beside;

    pthread_mutex_lock(&all->mutex);
    if (all->beside == NULL) {
        all->beside = make(all->n);
        all->destroy = destroy;
    }
    beside = all->beside;
    pthread_mutex_unlock(&all->mutex);
    return beside;
}

struct statcache *source_files_cache(const struct source_files *all)
{
    return all->cache;
}

static struct known *known_of(const struct source_file *file)
{
    return &file->of->known[file - file->of->files];
}

/* ---- reading a file whole ---- */

static sluice_status probe_compared(const struct source_file *file, enum probe_for what,
                                    struct input_info *info, struct sluice_error *err)
{
    char is[33];
    char was[33];

    TRY(probe_file(file->file, what, file->of->cache, info, err));
    if (file->hash == NULL || hash_equal(info->hash, *file->hash)) {
        return SLUICE_OK;
    }
    hash_hex(info->hash, is);
    hash_hex(*file->hash, was);
    input_info_deinit(info);
    return error_set(err, SLUICE_E_DATA,
                     "%s has hash %s, the snapshot's manifest says %s: it was damaged; run the "
                     "pipeline that made it again, or put a copy back",
                     file->file->path, is, was);
}

/* One thread reads; the others wait for what it finds. A failure is met by each anew. */
sluice_status source_file_compare(const struct source_file *file, enum probe_for what,
                                  struct sluice_error *err)
{
    struct source_files *all = file->of;
    struct known *known = known_of(file);
    struct input_info info;
    sluice_status status;

    pthread_mutex_lock(&all->mutex);
    while (known->probing) {
        pthread_cond_wait(&all->changed, &all->mutex);
    }
    if (known->probed) {
        pthread_mutex_unlock(&all->mutex);
        return SLUICE_OK;
    }
    known->probing = true;
    pthread_mutex_unlock(&all->mutex);
    status = probe_compared(file, what, &info, err);
    pthread_mutex_lock(&all->mutex);
    known->probing = false;
    if (status == SLUICE_OK) {
        known->info = info;
        known->probed = true;
    }
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
    return status;
}

/* ---- opening ---- */

static sluice_status window_found(void *ctx, uint64_t window, struct sluice_error *err)
{
    const struct source_file *file = ctx;
    sluice_status status = file->of->decoding(file->of->ctx, window, err);

    return status == SLUICE_OK ? status : error_prefix(err, "%s", file->file->path);
}

static sluice_status changed(const struct source_file *file, uint64_t size,
                             struct sluice_error *err)
{
    return error_set(err, SLUICE_E_DATA,
                     "%s changed since the run was planned (%" PRIu64 " bytes then, %" PRIu64
                     " now); run again to plan with what is there now",
                     file->file->path, file->file->version.size, size);
}

sluice_status source_file_gone(const struct source_file *file, sluice_status status,
                               struct sluice_error *err)
{
    struct store_version now;
    bool found;

    /* What opening said is what counts; that something else has the name now is another matter. */
    if (status == SLUICE_E_CONFIG &&
        store_stat(file->file->path, &now, &found, NULL) == SLUICE_OK && !found) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is gone since the run was planned (%" PRIu64
                         " bytes then); put it back, or run again to plan with what is there now",
                         file->file->path, file->file->version.size);
    }
    return status;
}

sluice_status source_file_same(const struct source_file *file, const struct store_version *now,
                               struct sluice_error *err)
{
    return store_version_holds(&file->file->version, now) ? SLUICE_OK
                                                          : changed(file, now->size, err);
}

static sluice_status opened(const struct source_file *file, struct input *in,
                            struct sluice_error *err)
{
    struct source_files *all = file->of;
    struct known *known = known_of(file);
    bool first;

    TRY(source_file_same(file, input_version(in), err));
    pthread_mutex_lock(&all->mutex);
    first = !known->opened;
    known->opened = true;
    known->codec = input_codec(in);
    pthread_mutex_unlock(&all->mutex);
    if (all->decoding == NULL || input_codec(in) == CODEC_PLAIN) {
        return SLUICE_OK;
    }
    input_watch_window(in, window_found, (void *)(uintptr_t)file);
    return first && !splits_compressed(file->file->name)
               ? window_found((void *)(uintptr_t)file, 0, err)
               : SLUICE_OK;
}

sluice_status source_file_open(const struct source_file *file, struct input **out,
                               struct sluice_error *err)
{
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (file->hash != NULL) {
        status = source_file_compare(file, PROBE_DECODING, err);
    }
    if (status == SLUICE_OK) {
        status = input_open(file->file->path, out, err);
    }
    if (status != SLUICE_OK) {
        return source_file_gone(file, status, err);
    }
    status = opened(file, *out, err);
    if (status != SLUICE_OK) {
        input_close(*out);
        *out = NULL;
    }
    return status;
}

sluice_status source_file_unchanged(const struct source_file *file, const struct input *in,
                                    struct sluice_error *err)
{
    return input_touched(in) ? changed(file, input_size(in), err) : SLUICE_OK;
}

sluice_status source_file_codec(const struct source_file *file, enum codec *codec,
                                struct sluice_error *err)
{
    struct known *known = known_of(file);
    struct input *in;
    bool known_already;

    pthread_mutex_lock(&file->of->mutex);
    known_already = known->opened;
    *codec = known->codec;
    pthread_mutex_unlock(&file->of->mutex);
    if (known_already) {
        return SLUICE_OK;
    }
    TRY(source_file_open(file, &in, err));
    *codec = input_codec(in);
    input_close(in);
    return SLUICE_OK;
}

/* ---- places and the end ---- */

/* The last frame that begins at or before offset (0, 0 if none does). */
static struct input_frame frame_before(const struct input_info *info, uint64_t offset)
{
    struct input_frame best = { 0, 0 };
    size_t lo = 0;
    size_t hi = info->n_frames;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (info->frames[mid].decoded <= offset) {
            best = info->frames[mid];
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return best;
}

sluice_status source_file_place(const struct source_file *file, uint64_t at,
                                struct input_frame *frame, struct sluice_error *err)
{
    enum codec codec;

    *frame = (struct input_frame){ 0, 0 };
    if (at == 0) {
        return SLUICE_OK;
    }
    TRY(source_file_codec(file, &codec, err));
    if (codec == CODEC_PLAIN) {
        *frame = (struct input_frame){ at, at };
    } else if (codec == CODEC_ZSTD) {
        TRY(source_file_compare(file, PROBE_DECODING, err));
        *frame = frame_before(&known_of(file)->info, at);
    }
    return SLUICE_OK;
}

uint64_t source_file_end(const struct source_file *file)
{
    uint64_t end;

    pthread_mutex_lock(&file->of->mutex);
    end = known_of(file)->end;
    pthread_mutex_unlock(&file->of->mutex);
    return end;
}

sluice_status source_file_ended(const struct source_file *file, uint64_t decoded,
                                struct sluice_error *err)
{
    struct known *known = known_of(file);
    uint64_t before;

    pthread_mutex_lock(&file->of->mutex);
    before = known->end;
    known->end = decoded;
    pthread_mutex_unlock(&file->of->mutex);
    return before == INPUT_UNKNOWN || before == decoded
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "%s changed while it was read (%" PRIu64 " bytes before, %" PRIu64
                           " now); run again when nobody writes to it",
                           file->file->path, before, decoded);
}
