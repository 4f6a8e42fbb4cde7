/* c4_badwords, c4_badwords_datatrove - drop documents with a word of their language's list (Raffel
 * et al. 2020); datatrove's C4BadWordsFilter. */
#include <stdio.h>

#include "quality.h"
#include "text/text_list.h"
#include "text/text_patterns.h"
#include "text/text_sample.h"

/* The languages of the lists that C4 used (LDNOOBW). Option names have _ for -. */
/* clang-format off */
#define LANGUAGES(X)                                                                               \
    X(ar) X(cs) X(da) X(de) X(en) X(eo) X(es) X(fa) X(fi) X(fil) X(fr) X(fr_ca_u_sd_caqc) X(hi)    \
    X(hu) X(it) X(ja) X(kab) X(ko) X(nl) X(no) X(pl) X(pt) X(ru) X(sv) X(th) X(tlh) X(tr) X(zh)
/* clang-format on */

#define NAME(code) #code,
static const char *const languages[] = { LANGUAGES(NAME) };
#define N_LANGUAGES (sizeof languages / sizeof languages[0])

struct config {
    const char *over, *language, *default_language, *id;
    double keep_fraction;
    int64_t seed;
    uint8_t fail_on_missing_language, skip_empty;
    const char *lists[N_LANGUAGES];
};

enum {
#define NUMBER(code) LANGUAGE_##code,
    LANGUAGES(NUMBER)
};

#define LIST(code)                                                         \
    { .name = #code,                                                       \
      .doc = "List of the language " #code ", one word or phrase a line.", \
      .type = SLUICE_OPT_PATH,                                             \
      .offset = offsetof(struct config, lists) + LANGUAGE_##code * sizeof(const char *) },

#define COMMON                                                                             \
    { .name = "over",                                                                      \
      .doc = "Column that holds the text.",                                                \
      .def = "text",                                                                       \
      .type = SLUICE_OPT_COLUMN,                                                           \
      .offset = offsetof(struct config, over) },                                           \
        { .name = "language",                                                              \
          .doc = "Column that holds the document's language; need not be there.",          \
          .def = "language",                                                               \
          .type = SLUICE_OPT_COLUMN,                                                       \
          .offset = offsetof(struct config, language) },                                   \
        { .name = "default_language",                                                      \
          .doc = "Language of documents that have none.",                                  \
          .def = "en",                                                                     \
          .type = SLUICE_OPT_STRING,                                                       \
          .offset = offsetof(struct config, default_language) },                           \
        { .name = "keep_fraction",                                                         \
          .doc = "Share of the documents with a listed word that is kept all the same.",   \
          .def = "0",                                                                      \
          .type = SLUICE_OPT_FLOAT,                                                        \
          .min = 0,                                                                        \
          .max = 1,                                                                        \
          .offset = offsetof(struct config, keep_fraction) },                              \
        { .name = "seed",                                                                  \
          .doc = "Another seed keeps others.",                                             \
          .def = "0",                                                                      \
          .type = SLUICE_OPT_INT,                                                          \
          .min = 0,                                                                        \
          .max = 1e15,                                                                     \
          .offset = offsetof(struct config, seed) },                                       \
        QUALITY_BOOL(config, fail_on_missing_language,                                     \
                     "A document of a language without a list is set aside as bad (the "   \
                     "peer ends); false keeps it.",                                        \
                     "true"),                                                              \
        QUALITY_BOOL(config, skip_empty,                                                   \
                     "Empty lines of lists mean nothing; to datatrove (false) they are a " \
                     "word that stands between any two characters that are no letters.",   \
                     "false"),                                                             \
        LANGUAGES(LIST)

static const struct sluice_option hash_options[] = {
    { .name = "id",
      .doc = "Column whose hash chooses the documents of keep_fraction; not needed when that is 0.",
      .def = "id",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, id) },
    COMMON
};
static const struct sluice_option peer_options[] = { COMMON };

/* ---- lists ---- */

struct words {
    struct text_patterns *patterns; /* NULL: no word in the list */
    int has_list, flanked, has_empty;
};

struct badwords {
    const struct config *config;
    struct words words[N_LANGUAGES];
    int in_order;               /* the peer's choice of what is kept */
    int32_t text, language, id; /* columns, -1 = not there */
};

static void badwords_close(void *shared)
{
    struct badwords *badwords = shared;

    for (size_t i = 0; i < N_LANGUAGES; i++) {
        text_patterns_destroy(badwords->words[i].patterns);
    }
    free(badwords);
}

static int is_allowed(const char *word, size_t n)
{
    /* Common parts of words, left out of all lists by C4: each would drop over a tenth of its
     * language. */
    static const char *const allowed[] = { "sm", "\xE3\x82\xB0\xE3\x83\xAD",
                                           "\xE5\xA5\xB3\xE3\x81\xAE\xE5\xAD\x90", "\xE6\x80\xA7" };

    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strlen(allowed[i]) == n && memcmp(allowed[i], word, n) == 0) {
            return 1;
        }
    }
    return 0;
}

static sluice_status read_words(const char *list, size_t n, int skip_empty, struct words *words,
                                struct sluice_error *err)
{
    struct text_list lines = { list, n, 0, 0 };
    struct text_string entry;
    struct text_string *found = NULL;
    size_t count = 0;
    size_t bad_at = 0;
    char message[200];
    sluice_status status = SLUICE_OK;

    if (!text_utf8_valid(list, n, &bad_at)) {
        snprintf(
            message, sizeof message,
            "found bytes that are no UTF-8 at byte %zu, expected a text file of one word a line",
            bad_at);
        return sluice_fail(err, SLUICE_E_CONFIG, "", message);
    }
    found = calloc(n / 2 + 2, sizeof *found); /* an entry and its line's end are two bytes */
    if (found == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a list");
    }
    while (text_list_next(&lines, NULL, &entry)) {
        if (entry.len == 0) {
            words->has_empty = !skip_empty;
        } else if (!is_allowed(entry.data, entry.len)) {
            found[count++] = entry;
        }
    }
    words->has_list = 1;
    if (count == 0 && !skip_empty) {
        words->has_empty = 1; /* an expression without alternatives matches the empty word */
    }
    if (count > 0) {
        status = text_patterns_build(found, count, 0, 0, &words->patterns, err);
    }
    free(found);
    return status;
}

/* The number of a language, in the peer's writing, or -1. */
static int language_find(const char *name, size_t n)
{
    if (n == strlen("fr-CA-u-sd-caqc") && memcmp(name, "fr-CA-u-sd-caqc", n) == 0) {
        return LANGUAGE_fr_ca_u_sd_caqc;
    }
    for (size_t i = 0; i < N_LANGUAGES; i++) {
        if (i != LANGUAGE_fr_ca_u_sd_caqc && strlen(languages[i]) == n &&
            memcmp(languages[i], name, n) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static sluice_status badwords_open(const struct sluice_host_api *api, struct sluice_host *host,
                                   const void *config, int in_order, void **shared,
                                   struct sluice_error *err)
{
    struct badwords *badwords = calloc(1, sizeof *badwords);
    size_t lists = 0;
    sluice_status status = SLUICE_OK;

    if (badwords == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    badwords->config = config;
    badwords->in_order = in_order;
    for (size_t i = 0; status == SLUICE_OK && i < N_LANGUAGES; i++) {
        const void *data;
        uint64_t n;
        badwords->words[i].flanked =
            i != LANGUAGE_ja && i != LANGUAGE_th && i != LANGUAGE_zh; /* no spaces between words */
        if (badwords->config->lists[i] == NULL) {
            continue;
        }
        lists++;
        status = api->read_file(host, badwords->config->lists[i], &data, &n, err);
        if (status == SLUICE_OK) {
            status = read_words(data, (size_t)n, badwords->config->skip_empty != 0,
                                &badwords->words[i], err);
        }
        if (status == SLUICE_E_CONFIG && err != NULL) {
            snprintf(err->field, sizeof err->field, "%s", languages[i]);
        }
    }
    if (status == SLUICE_OK && lists == 0) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "en",
                             "found no list, expected one for a language at least: en = \"FILE\"");
    }
    if (status != SLUICE_OK) {
        badwords_close(badwords);
        return status;
    }
    *shared = badwords;
    return SLUICE_OK;
}

static sluice_status hash_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    return badwords_open(api, host, config, 0, shared, err);
}

static sluice_status peer_open(const struct sluice_host_api *api, struct sluice_host *host,
                               const void *config, void **shared, struct sluice_error *err)
{
    return badwords_open(api, host, config, 1, shared, err);
}

static sluice_status badwords_prepare(void *shared, struct sluice_plan *plan,
                                      struct sluice_error *err)
{
    struct badwords *badwords = shared;
    const struct config *config = badwords->config;
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, &badwords->text, err);

    badwords->id = -1;
    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, config->language, "utf8?", 1, &badwords->language, err);
    }
    if (status == SLUICE_OK && !badwords->in_order && config->keep_fraction > 0) {
        status = plan->need(plan, 0, config->id, "utf8?", 0, &badwords->id, err);
    }
    return status;
}

/* ---- rows ---- */

struct worker {
    const struct badwords *badwords;
    struct text_buffer lower;
    struct text_pcg64 rng;
};

static sluice_status badwords_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->badwords = shared;
    text_pcg64_init(&worker->rng, (uint64_t)worker->badwords->config->seed);
    *out = worker;
    return SLUICE_OK;
}

static void badwords_worker_close(void *state)
{
    struct worker *worker = state;

    text_buffer_deinit(&worker->lower);
    free(worker);
}

/* re's \w. */
static int is_word(uint32_t point)
{
    return point == '_' || (text_classes(point) & TEXT_ALNUM) != 0;
}

static int begins_word(const char *text, size_t at)
{
    uint32_t before;

    if (at == 0) {
        return 1;
    }
    (void)text_utf8_prev(text, at, &before);
    return !is_word(before);
}

static int ends_word(const char *text, size_t n, size_t at)
{
    uint32_t after;

    if (at == n) {
        return 1;
    }
    (void)text_utf8_decode(text, n, at, &after);
    return !is_word(after);
}

/* (?:\W|^)(w1|w2|...)(?:\W|$), or w1|w2|... */
static int has_word(const struct words *words, const char *text, size_t n)
{
    struct text_patterns_scan scan;
    struct text_pattern_match match;

    if (words->has_empty) {
        if (!words->flanked) {
            return 1;
        }
        for (size_t at = 0; at <= n; at = at == n ? n + 1 : text_utf8_next(text, n, at)) {
            if (begins_word(text, at) && ends_word(text, n, at)) {
                return 1;
            }
        }
    }
    if (words->patterns == NULL) {
        return 0;
    }
    if (!words->flanked) {
        return text_patterns_any(words->patterns, text, n, NULL);
    }
    text_patterns_scan(&scan, words->patterns, text, n);
    while (text_patterns_next(&scan, &match)) {
        if (begins_word(text, match.begin) && ends_word(text, n, match.end)) {
            return 1;
        }
    }
    return 0;
}

static sluice_status judge(void *state, const struct sluice_batch *batch, int64_t row,
                           struct sluice_verdict *verdict, struct sluice_error *err)
{
    struct worker *worker = state;
    const struct badwords *badwords = worker->badwords;
    const struct config *config = badwords->config;
    struct ArrowArray **columns = batch->array->children;
    size_t n;
    size_t n_name = strlen(config->default_language);
    const char *text = sluice_text(columns[badwords->text], row, &n);
    const char *name = config->default_language;
    int language;
    sluice_status status;

    if (badwords->language >= 0 && !sluice_is_null(columns[badwords->language], row)) {
        name = sluice_text(columns[badwords->language], row, &n_name);
    }
    language = language_find(name, n_name);
    if (language < 0 || !badwords->words[language].has_list) {
        if (config->fail_on_missing_language != 0) {
            sluice_judge_bad(verdict,
                             "no_badwords_list: there is no list for the document's language; give "
                             "one, or fail_on_missing_language = false to keep such documents");
        }
        return SLUICE_OK;
    }
    status = text_lower(text, n, &worker->lower, err);
    if (status != SLUICE_OK ||
        !has_word(&badwords->words[language], worker->lower.data, worker->lower.len)) {
        return status;
    }
    verdict->reason = 1;
    verdict->value = 1;
    verdict->limit = config->keep_fraction;
    if (config->keep_fraction > 0) {
        if (badwords->in_order) {
            verdict->value = text_pcg64_double(&worker->rng);
        } else if (sluice_is_null(columns[badwords->id], row)) {
            sluice_judge_bad(verdict, "no_id: the column that decides is null");
            return SLUICE_OK;
        } else {
            size_t n_id;
            const char *id = sluice_text(columns[badwords->id], row, &n_id);
            verdict->value = text_sample_id(id, n_id, (uint64_t)config->seed);
        }
        verdict->reason = verdict->value < config->keep_fraction ? 0 : 1;
    }
    return SLUICE_OK;
}

static sluice_status badwords_process(void *state, const struct sluice_batch *batch,
                                      struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_rows(batch, emit, judge, state, err);
}

static sluice_status peer_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;

    (void)err;
    return io->write(io, &worker->rng, sizeof worker->rng);
}

static sluice_status peer_load(void *state, struct sluice_io *io, uint64_t version,
                               struct sluice_error *err)
{
    struct worker *worker = state;

    (void)version;
    (void)err;
    return io->read(io, &worker->rng, sizeof worker->rng);
}

#define SUMMARY "Drops documents that hold a word of their language's list"

const struct sluice_stage c4_badwords_stage = {
    .size = sizeof c4_badwords_stage,
    .name = "c4_badwords",
    .version = "1.0",
    .summary = SUMMARY,
    .doc =
        "Raffel et al. 2020 (arXiv:1910.10683), with the definitions of datatrove 0.10's "
        "C4BadWordsFilter (filters/c4_filters.py): the text in lower case holds a listed word with "
        "no letter, digit or _ beside it (Japanese, Thai, Chinese: anywhere). Lists are taken as "
        "they are: an entry with a capital letter never matches. Four entries that C4 allows are "
        "left out of every list.\n\n"
        "C4 used the List of Dirty, Naughty, Obscene, and Otherwise Bad Words (LDNOOBW, CC-BY 4.0: "
        "`en` at commit 25e679f, the others at 5faf2ba); the files are the user's, one for each "
        "language, and nothing is fetched. What `keep_fraction` keeps is chosen by a hash of the "
        "id here; datatrove draws in the order of documents: `c4_badwords_datatrove`.",
    .example = "docs | s.c4_badwords { en = \"ldnoobw/en\", fail_on_missing_language = false }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = hash_options,
    .n_options = sizeof hash_options / sizeof hash_options[0],
    .option_stride = sizeof hash_options[0],
    .config_size = sizeof(struct config),
    .reasons = "document_removed_with_badwords",
    .bytes_worker = 1 << 20,
    .open = hash_open,
    .prepare = badwords_prepare,
    .worker_open = badwords_worker_open,
    .process = badwords_process,
    .worker_close = badwords_worker_close,
    .close = badwords_close,
};

const struct sluice_stage c4_badwords_datatrove_stage = {
    .size = sizeof c4_badwords_datatrove_stage,
    .name = "c4_badwords_datatrove",
    .version = "1.0",
    .summary = SUMMARY ", keeping the share that datatrove keeps",
    .doc =
        "As `c4_badwords`, but what keep_fraction keeps is drawn from numpy's default_rng(seed), "
        "one "
        "number for each document with a listed word in the order of rows, so that it depends on "
        "how the input is split. datatrove's seed is random unless given; here it is 0.",
    .example =
        "docs | s.c4_badwords_datatrove { en = \"ldnoobw/en\", keep_fraction = 0.1, seed = 1 }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_ORDERED,
    .options = peer_options,
    .n_options = sizeof peer_options / sizeof peer_options[0],
    .option_stride = sizeof peer_options[0],
    .config_size = sizeof(struct config),
    .reasons = "document_removed_with_badwords",
    .bytes_worker = 1 << 20,
    .state_version = 1,
    .open = peer_open,
    .prepare = badwords_prepare,
    .worker_open = badwords_worker_open,
    .process = badwords_process,
    .save = peer_save,
    .load = peer_load,
    .worker_close = badwords_worker_close,
    .close = badwords_close,
};
