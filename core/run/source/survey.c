/* Surveys: see survey.h. */
#include "run/source/survey.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plan/plan.h"
#include "run/edge/rowcodec.h"
#include "store/statcache.h"

#define MARK_EVERY 256u
#define WORDS_MAX 64u /* reasons to skip a unit */

struct mark { /* where every MARK_EVERYth unit stands */
    uint64_t begin, behind, at;
};

/* Of units: begin minus the end of the one before, size, bytes, rows + 1, reason to skip it (0 =
 * none), all varints. Kept as: number of units, of words, then the words; flag and size of the
 * description, its bytes; the units. */
struct survey {
    struct buf stored;
    const uint8_t *units; /* within stored, to its end */
    uint64_t n;
    const char *words[WORDS_MAX];
    uint64_t n_words;
    const char *description; /* within stored; NULL = none */
    uint64_t description_size;
    struct hash128 described;
    struct mark *marks;
    size_t n_marks;
    uint32_t refs; /* under the lock of all */
    uint64_t used; /* when it was given back */
};

struct slot {
    struct survey *survey; /* NULL = not in memory */
    bool busy;             /* a thread looks for it, or makes it */
};

struct surveys { /* of all files of a lane */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct slot *slots;
    size_t n;
    uint64_t clock, idle; /* idle: bytes of those that nobody uses */
};

static void *surveys_create(size_t n)
{
    struct surveys *all = calloc(1, sizeof *all);

    if (all == NULL || (all->slots = calloc(n + 1, sizeof *all->slots)) == NULL) {
        free(all);
        return NULL;
    }
    all->n = n;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, NULL);
    return all;
}

static void survey_destroy(struct survey *survey)
{
    if (survey != NULL) {
        buf_deinit(&survey->stored);
        free(survey->marks);
        free(survey);
    }
}

static void surveys_destroy(void *ctx)
{
    struct surveys *all = ctx;

    for (size_t i = 0; i < all->n; i++) {
        survey_destroy(all->slots[i].survey);
    }
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    free(all->slots);
    free(all);
}

static struct surveys *surveys_of(const struct source_file *file)
{
    return source_files_beside(file->of, surveys_create, surveys_destroy);
}

/* ---- the stored form ---- */

static uint64_t word_of(const char *skip, const char **words, uint64_t *n)
{
    if (skip == NULL) {
        return 0;
    }
    for (uint64_t k = 0; k < *n; k++) {
        if (strcmp(words[k], skip) == 0) {
            return k + 1;
        }
    }
    words[(*n)++] = skip;
    return *n;
}

static sluice_status store(const struct stage_result *result, struct buf *out,
                           struct sluice_error *err)
{
    const char *words[WORDS_MAX + 1];
    struct buf units = BUF_INIT;
    uint64_t n_words = 0;
    uint64_t behind = 0;

    for (uint32_t k = 0; k < result->n_units; k++) {
        const struct stage_unit *unit = &result->units[k];
        varint_put(&units, unit->begin - behind);
        varint_put(&units, unit->end - unit->begin);
        varint_put(&units, unit->bytes);
        varint_put(&units, (uint64_t)(unit->rows + 1));
        varint_put(&units, word_of(stage_unit_skip(result, k), words, &n_words));
        behind = unit->end;
        if (n_words > WORDS_MAX) {
            buf_deinit(&units);
            return error_set(err, SLUICE_E_INTERNAL,
                             "(a defect of the plugin) it skips units for more than %u different "
                             "reasons",
                             WORDS_MAX);
        }
    }
    varint_put(out, result->n_units);
    varint_put(out, n_words);
    for (uint64_t k = 0; k < n_words; k++) {
        buf_append(out, words[k], strlen(words[k]) + 1);
    }
    varint_put(out, result->described);
    varint_put(out, result->description.size);
    if (result->description.size > 0) {
        buf_append(out, result->description.data, result->description.size);
    }
    if (units.size > 0) {
        buf_append(out, units.data, units.size);
    }
    out->failed = out->failed || units.failed;
    buf_deinit(&units);
    return buf_status(out, err);
}

static const uint8_t *end_of(const struct survey *survey)
{
    return (const uint8_t *)survey->stored.data + survey->stored.size;
}

static bool load_head(struct survey *survey, const uint8_t **at)
{
    const uint8_t *end = end_of(survey);
    uint64_t described = 0;

    if (!varint_get(at, end, &survey->n) || !varint_get(at, end, &survey->n_words) ||
        survey->n_words > WORDS_MAX) {
        return false;
    }
    for (uint64_t k = 0; k < survey->n_words; k++) {
        const uint8_t *nul = memchr(*at, '\0', (size_t)(end - *at));
        if (nul == NULL) {
            return false;
        }
        survey->words[k] = (const char *)*at;
        *at = nul + 1;
    }
    if (!varint_get(at, end, &described) || !varint_get(at, end, &survey->description_size) ||
        survey->description_size > (uint64_t)(end - *at)) {
        return false;
    }
    survey->description = described != 0 ? (const char *)*at : NULL;
    survey->described = hash_bytes(*at, (size_t)survey->description_size);
    *at += survey->description_size;
    survey->units = *at;
    return true;
}

static bool unit_get(const struct survey *survey, const uint8_t **at, uint64_t *behind,
                     struct survey_unit *unit)
{
    const uint8_t *end = end_of(survey);
    uint64_t gap;
    uint64_t size;
    uint64_t rows;
    uint64_t word;

    if (!varint_get(at, end, &gap) || !varint_get(at, end, &size) ||
        !varint_get(at, end, &unit->bytes) || !varint_get(at, end, &rows) ||
        !varint_get(at, end, &word) || word > survey->n_words) {
        return false;
    }
    unit->begin = *behind + gap;
    unit->end = unit->begin + size;
    unit->rows = (int64_t)rows - 1;
    unit->skip = word == 0 ? NULL : survey->words[word - 1];
    *behind = unit->end;
    return true;
}

/* Takes the bytes, which may be damaged: then NULL, and they are gone. */
static struct survey *load(struct buf *stored, uint64_t file_bytes)
{
    struct survey *survey = calloc(1, sizeof *survey);
    const uint8_t *at;
    uint64_t behind = 0;
    bool good = survey != NULL;

    if (good) {
        survey->stored = *stored;
        buf_init(stored);
        at = (const uint8_t *)survey->stored.data;
        good = load_head(survey, &at) && survey->n <= survey->stored.size;
    }
    if (good) {
        survey->marks = calloc((size_t)(survey->n / MARK_EVERY) + 1, sizeof *survey->marks);
        good = survey->marks != NULL;
    }
    for (uint64_t k = 0; good && k < survey->n; k++) {
        struct survey_unit unit;
        struct mark mark = { .behind = behind, .at = (uint64_t)(at - survey->units) };
        good = unit_get(survey, &at, &behind, &unit) && unit.end > unit.begin &&
               unit.end <= file_bytes;
        if (good && k % MARK_EVERY == 0) {
            mark.begin = unit.begin;
            survey->marks[survey->n_marks++] = mark;
        }
    }
    if (!good || at != end_of(survey)) {
        buf_deinit(stored);
        survey_destroy(survey);
        return NULL;
    }
    return survey;
}

/* ---- finding and making ---- */

/* A reader may look at the name that the file has in the listing, which depends on the pattern. */
static struct hash128 key_of(struct hash128 stage, const struct listing_file *file)
{
    struct hash128 name = hash_bytes(file->name, strlen(file->name));

    return (struct hash128){ stage.lo ^ name.lo, stage.hi ^ name.hi };
}

static struct survey *recall(struct statcache *cache, const struct listing_file *file,
                             struct hash128 key)
{
    struct buf stored = BUF_INIT;
    struct survey *survey = NULL;

    if (cache != NULL && statcache_find_bytes(cache, file, key_of(key, file), &stored)) {
        survey = load(&stored, file->version.size);
    }
    buf_deinit(&stored);
    return survey;
}

static sluice_status make(const struct source_file *file, struct hash128 key,
                          const struct fetch *with, struct survey **out, uint64_t *read,
                          struct sluice_error *err)
{
    const struct sluice_file named = { .size = sizeof named,
                                       .uri = file->file->name,
                                       .bytes = file->file->version.size };
    struct statcache *cache = source_files_cache(file->of);
    struct fetch fetch = *with;
    struct stage_result result;
    struct buf stored = BUF_INIT;
    sluice_status status;

    fetch.hasher = NULL;
    fetch.call = NULL;
    fetch.buffer = NULL;
    fetch.capacity = 0;
    TRY(extents_open(file, &fetch.file, err));
    stage_result_init(&result);
    status = fetch_survey(&fetch, &named, &result, err);
    if (status == SLUICE_OK) {
        status = extents_unchanged(fetch.file, err);
    }
    if (status == SLUICE_OK) {
        status = store(&result, &stored, err);
    }
    if (status == SLUICE_OK && cache != NULL) {
        statcache_add_bytes(cache, file->file, key_of(key, file->file), stored.data, stored.size);
    }
    if (status == SLUICE_OK && (*out = load(&stored, file->file->version.size)) == NULL) {
        status = error_nomem(err, "the units of a file");
    }
    *read += extents_bytes(fetch.file);
    buf_deinit(&stored);
    stage_result_deinit(&result);
    fetch_deinit(&fetch);
    extents_close(fetch.file);
    return status == SLUICE_OK ? status : error_prefix(err, "%s", file->file->name);
}

static uint64_t weight(const struct survey *survey)
{
    return survey->stored.capacity + survey->n_marks * sizeof *survey->marks + sizeof *survey;
}

/* Of those that nobody uses the ones that were used last stay. */
static void trim(struct surveys *all)
{
    while (all->idle > SURVEYS_IDLE) {
        struct slot *oldest = NULL;
        for (size_t i = 0; i < all->n; i++) {
            struct slot *slot = &all->slots[i];
            if (slot->survey != NULL && slot->survey->refs == 0 && !slot->busy &&
                (oldest == NULL || slot->survey->used < oldest->survey->used)) {
                oldest = slot;
            }
        }
        if (oldest == NULL) {
            break;
        }
        all->idle -= weight(oldest->survey);
        survey_destroy(oldest->survey);
        oldest->survey = NULL;
    }
}

sluice_status survey_take(const struct source_file *file, struct hash128 key,
                          const struct fetch *fetch, const struct survey **out, uint64_t *read,
                          struct sluice_error *err)
{
    struct surveys *all = surveys_of(file);
    struct slot *slot;
    struct survey *survey = NULL;
    uint64_t ignored = 0;
    sluice_status status = SLUICE_OK;

    *out = NULL;
    if (all == NULL) {
        return error_nomem(err, "the units of files");
    }
    slot = &all->slots[file - source_files_all(file->of)];
    pthread_mutex_lock(&all->mutex);
    while (slot->busy) {
        pthread_cond_wait(&all->changed, &all->mutex);
    }
    if (slot->survey == NULL) {
        slot->busy = true;
        pthread_mutex_unlock(&all->mutex);
        survey = recall(source_files_cache(file->of), file->file, key);
        if (survey == NULL) {
            status = make(file, key, fetch, &survey, read == NULL ? &ignored : read, err);
        }
        pthread_mutex_lock(&all->mutex);
        slot->busy = false;
        slot->survey = survey;
        pthread_cond_broadcast(&all->changed);
    } else if (slot->survey->refs == 0) {
        all->idle -= weight(slot->survey);
    }
    if (status == SLUICE_OK) {
        slot->survey->refs++;
        *out = slot->survey;
    }
    pthread_mutex_unlock(&all->mutex);
    return status;
}

void survey_release(const struct source_file *file, const struct survey *survey)
{
    struct surveys *all = survey == NULL ? NULL : surveys_of(file);
    struct survey *mine;

    if (all == NULL) {
        return;
    }
    pthread_mutex_lock(&all->mutex);
    mine = all->slots[file - source_files_all(file->of)].survey;
    mine->refs--;
    mine->used = ++all->clock;
    if (mine->refs == 0) {
        all->idle += weight(mine);
        trim(all);
    }
    pthread_mutex_unlock(&all->mutex);
}

static sluice_status describe(struct source_files *files, struct stage *stage, struct buf *out,
                              bool *said, struct sluice_error *err)
{
    const struct source_file *file = source_files_all(files);
    struct fetch fetch = { .worker = NULL };
    const struct survey *survey = NULL;
    struct hash128 key;
    uint64_t n;
    sluice_status status;

    TRY(plan_stage_key(stage, &key, err));
    TRY(stage_worker_open(stage, &fetch.worker, err));
    status = survey_take(file, key, &fetch, &survey, NULL, err);
    stage_worker_close(fetch.worker);
    TRY(status);
    *said = survey_description(survey, &n) != NULL;
    if (n > 0) {
        buf_append(out, survey_description(survey, &n), (size_t)n);
    }
    survey_release(file, survey);
    return buf_status(out, err);
}

sluice_status survey_first(struct statcache *cache, struct stage *stage,
                           const struct listing *listing, const struct hash128 *hashes,
                           struct buf *out, bool *said, struct sluice_error *err)
{
    struct listing first = { .files = listing->files, .n = listing->n > 0 ? 1 : 0 };
    struct source_files *files = NULL;
    sluice_status status;

    *said = false;
    if (first.n == 0) {
        return SLUICE_OK;
    }
    TRY(source_files_create(&first, hashes, cache, &files, err));
    status = describe(files, stage, out, said, err);
    source_files_destroy(files);
    return status;
}

/* ---- looking ---- */

void survey_remembered(struct statcache *cache, const struct listing *listing, struct hash128 key,
                       struct survey_sums *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < listing->n; i++) {
        struct survey *survey = recall(cache, &listing->files[i], key);
        struct survey_cursor cursor;
        struct survey_unit unit;
        if (survey == NULL) {
            continue;
        }
        out->files++;
        survey_seek(survey, 0, &cursor);
        while (survey_next(&cursor, &unit)) {
            uint64_t bytes = unit.end - unit.begin;
            out->units++;
            out->bytes += bytes;
            out->skipped_units += unit.skip != NULL;
            out->skipped_bytes += unit.skip != NULL ? bytes : 0;
        }
        survey_destroy(survey);
    }
}

const void *survey_description(const struct survey *survey, uint64_t *n)
{
    *n = survey->description_size;
    return survey->description;
}

struct hash128 survey_described(const struct survey *survey)
{
    return survey->described;
}

void survey_seek(const struct survey *survey, uint64_t begin, struct survey_cursor *cursor)
{
    size_t lo = 0;
    size_t hi = survey->n_marks;
    struct survey_unit unit;

    /* The last mark that begins before it, then one by one. */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (survey->marks[mid].begin < begin) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *cursor = (struct survey_cursor){ .survey = survey, .at = survey->units };
    if (lo > 0) {
        cursor->at = survey->units + survey->marks[lo - 1].at;
        cursor->behind = survey->marks[lo - 1].behind;
        cursor->number = (uint64_t)(lo - 1) * MARK_EVERY;
    }
    for (;;) {
        struct survey_cursor next = *cursor;
        if (!survey_next(&next, &unit) || unit.begin >= begin) {
            return;
        }
        *cursor = next;
    }
}

bool survey_next(struct survey_cursor *cursor, struct survey_unit *out)
{
    if (cursor->number >= cursor->survey->n) {
        return false;
    }
    out->number = cursor->number++;
    return unit_get(cursor->survey, &cursor->at, &cursor->behind, out);
}
