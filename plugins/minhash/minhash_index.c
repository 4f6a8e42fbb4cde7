/* Reading an index; see minhash_index.h. */
#include "minhash_index.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "minhash_stages.h"

#define WINDOW ((uint64_t)4 << 20) /* pages that stay mapped in while passing over a file */

struct shard {
    char *path;
    struct minhash_file file;
};

struct minhash_index {
    struct shard *shards;
    size_t n;
};

void minhash_index_close(struct minhash_index *index)
{
    if (index == NULL) {
        return;
    }
    for (size_t i = 0; i < index->n; i++) {
        free(index->shards[i].path);
    }
    free(index->shards);
    free(index);
}

static sluice_status about(const char *path, sluice_status code, const char *what,
                           struct sluice_error *err)
{
    char message[900];

    snprintf(message, sizeof message, "%.400s: %.400s", path, what);
    return sluice_fail(err, code, "index", message);
}

static sluice_status about_file(const struct shard *shard, sluice_status status,
                                struct sluice_error *err)
{
    char what[400];

    if (status == SLUICE_OK || err == NULL) {
        return status;
    }
    snprintf(what, sizeof what, "%.390s", err->message);
    return about(shard->path, status, what, err);
}

/* The first parameter that differs, as "found ..., expected ...". */
static sluice_status compare_parameters(const struct shard *shard, const char *wanted,
                                        struct sluice_error *err)
{
    const char *a = shard->file.parameters;
    const char *a_end = a + shard->file.n_parameters;
    const char *b = wanted;

    for (;;) {
        size_t n = 0;
        size_t m = strcspn(b, " ");
        while (a + n < a_end && a[n] != ' ') {
            n++;
        }
        if (n != m || memcmp(a, b, n) != 0) {
            char what[380];
            snprintf(what, sizeof what,
                     "the index was built with %.*s, this pipeline has %.*s; use the same "
                     "parameters, or build the index again",
                     n > 0 ? (int)(n > 100 ? 100 : n) : 14, n > 0 ? a : "fewer of them",
                     m > 0 ? (int)(m > 100 ? 100 : m) : 14, m > 0 ? b : "fewer of them");
            return about(shard->path, SLUICE_E_CONFIG, what, err);
        }
        a += n;
        b += m;
        if (a == a_end && *b == '\0') {
            return SLUICE_OK;
        }
        a += a < a_end;
        b += *b == ' ';
    }
}

/* The mapping is the host's, until the stage is closed. */
static sluice_status map_shard(const struct sluice_host_api *api, struct sluice_host *host,
                               struct shard *shard, uint64_t bytes, struct sluice_error *err)
{
    const void *data;
    uint64_t size;
    sluice_status status = api->map(host, shard->path, &data, &size, err);

    if (status == SLUICE_E_CONFIG) {
        return about(shard->path, SLUICE_E_DATA,
                     "the manifest names this file, and it is not there; put it back, or build the "
                     "index again",
                     err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    if (size != bytes || bytes == 0) {
        return about(shard->path, SLUICE_E_DATA,
                     "its size is not that of the manifest; `sluice verify` tells more", err);
    }
    return about_file(shard, minhash_file_parse(data, bytes, &shard->file, err), err);
}

static sluice_status open_shards(const struct sluice_host_api *api, struct sluice_host *host,
                                 struct minhash_index *index, const char *manifest,
                                 const json_t *list, const char *parameters,
                                 struct sluice_error *err)
{
    const char *slash = strrchr(manifest, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - manifest);
    size_t i;
    json_t *item;
    sluice_status status = SLUICE_OK;

    while (folder > 0 && manifest[folder - 1] != '/') { /* behind "snapshots" */
        folder--;
    }
    index->shards = calloc(json_array_size(list) + 1, sizeof *index->shards);
    if (index->shards == NULL) {
        return sluice_nomem(err);
    }
    json_array_foreach(list, i, item)
    {
        const char *file = json_string_value(json_object_get(item, "file"));
        json_int_t bytes = json_integer_value(json_object_get(item, "bytes"));
        struct shard *shard = &index->shards[index->n];
        size_t room;
        if (file == NULL || strchr(file, '/') != NULL || bytes < 0) {
            return about(manifest, SLUICE_E_DATA, "it names no files", err);
        }
        room = folder + strlen(file) + 8;
        shard->path = malloc(room);
        if (shard->path == NULL) {
            return sluice_nomem(err);
        }
        index->n++;
        snprintf(shard->path, room, "%.*sdata/%s", (int)folder, manifest, file);
        status = map_shard(api, host, shard, (uint64_t)bytes, err);
        if (status == SLUICE_OK) {
            status = compare_parameters(shard, parameters, err);
        }
        if (status == SLUICE_OK && shard->file.docs) {
            status = about_file(shard, minhash_file_check(&shard->file, err), err);
        }
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

sluice_status minhash_index_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const char *manifest, const struct minhash_parameters *parameters,
                                 struct minhash_index **out, struct sluice_error *err)
{
    const void *data;
    uint64_t size;
    json_t *json;
    struct minhash_index *index;
    sluice_status status = api->read_file(host, manifest, &data, &size, err);

    if (status != SLUICE_OK) {
        return status;
    }
    json = json_loadb(data, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_array(json_object_get(json, "shards"))) {
        json_decref(json);
        return about(manifest, SLUICE_E_DATA, "it is not the manifest of a snapshot", err);
    }
    index = calloc(1, sizeof *index);
    status = index == NULL ? sluice_nomem(err)
                           : open_shards(api, host, index, manifest,
                                         json_object_get(json, "shards"), parameters->text, err);
    json_decref(json);
    if (status != SLUICE_OK) {
        minhash_index_close(index);
        return status;
    }
    *out = index;
    return SLUICE_OK;
}

sluice_status minhash_index_document(const struct minhash_index *index, uint64_t reference,
                                     struct minhash_document *out, struct sluice_error *err)
{
    for (size_t i = 0; i < index->n; i++) {
        bool found = false;
        sluice_status status;
        if (!index->shards[i].file.docs) {
            continue;
        }
        status = minhash_file_document(&index->shards[i].file, reference, out, &found, err);
        if (status != SLUICE_OK || found) {
            return about_file(&index->shards[i], status, err);
        }
    }
    return sluice_fail(err, SLUICE_E_DATA, "index",
                       "the index has a key of a document that it does not hold; build it again");
}

/* ---- cursor ---- */

struct place {
    const struct shard *shard;
    uint64_t at;    /* next entry */
    uint64_t given; /* bytes from the file's start whose pages were given back */
    bool checked;
};

struct minhash_cursor {
    struct place *places;
    size_t n;
};

void minhash_cursor_close(struct minhash_cursor *cursor)
{
    if (cursor != NULL) {
        free(cursor->places);
        free(cursor);
    }
}

sluice_status minhash_cursor_open(const struct minhash_index *index, struct minhash_cursor **out,
                                  struct sluice_error *err)
{
    struct minhash_cursor *cursor = calloc(1, sizeof *cursor);

    if (cursor == NULL) {
        return sluice_nomem(err);
    }
    cursor->places = calloc(index->n + 1, sizeof *cursor->places);
    if (cursor->places == NULL) {
        minhash_cursor_close(cursor);
        return sluice_nomem(err);
    }
    for (size_t i = 0; i < index->n; i++) {
        if (!index->shards[i].file.docs && index->shards[i].file.count > 0) {
            cursor->places[cursor->n++].shard = &index->shards[i];
        }
    }
    *out = cursor;
    return SLUICE_OK;
}

/* Gives back the pages of [from, to) of a file: they are clean. */
static void pass_over(const struct minhash_file *file, uint64_t from, uint64_t to)
{
    uintptr_t page = 4096;
    uintptr_t begin = ((uintptr_t)file->data + from) & ~(page - 1);
    uintptr_t end = ((uintptr_t)file->data + to) & ~(page - 1);

    if (begin < end) {
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
}

/* minhash_file_check, in pieces. */
static sluice_status check_entries(const struct shard *shard, struct sluice_error *err)
{
    const struct minhash_file *file = &shard->file;
    uint64_t end = file->size - MINHASH_FOOT;
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (uint64_t at = file->checked; at < end; at += WINDOW) {
        uint64_t n = end - at < WINDOW ? end - at : WINDOW;
        XXH3_64bits_update(&state, file->data + at, (size_t)n);
        pass_over(file, at, at + n);
    }
    return XXH3_64bits_digest(&state) == file->hash
               ? SLUICE_OK
               : about(shard->path, SLUICE_E_DATA,
                       "its content does not fit its checksum; build the index again", err);
}

sluice_status minhash_cursor_find(struct minhash_cursor *cursor, const void *key,
                                  uint64_t *reference, bool *found, struct sluice_error *err)
{
    *found = false;
    for (size_t i = 0; i < cursor->n; i++) {
        struct place *place = &cursor->places[i];
        const struct minhash_file *file = &place->shard->file;
        uint64_t offset;
        if (place->at == file->count || memcmp(key, minhash_entry(file, place->at), 16) < 0 ||
            (!place->checked && memcmp(minhash_entry(file, file->count - 1), key, 16) < 0)) {
            continue;
        }
        if (!place->checked) {
            sluice_status status = check_entries(place->shard, err);
            if (status != SLUICE_OK) {
                return status;
            }
            place->checked = true;
        }
        place->at = minhash_entry_seek(file, place->at, key);
        offset = file->begin + MINHASH_ENTRY * place->at;
        if (offset - place->given > WINDOW) {
            pass_over(file, place->given, offset);
            place->given = offset;
        }
        if (place->at < file->count && memcmp(minhash_entry(file, place->at), key, 16) == 0) {
            memcpy(reference, minhash_entry(file, place->at) + 16, 8);
            *found = true;
            if (!minhash_is_reference(*reference)) {
                return about(place->shard->path, SLUICE_E_DATA, "an entry is damaged", err);
            }
            return SLUICE_OK;
        }
    }
    return SLUICE_OK;
}
