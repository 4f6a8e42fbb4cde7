/* url - url_filter: drops documents by their URL (datatrove's URLFilter). The lists are assets of
 * the user's. */
#include <stddef.h>
#include <stdio.h>

#include <sluice_verdicts.h>
#include <sluice_stage.h>

#include "text/text.h"
#include "url_list.h"
#include "url_names.h"
#include "url_stages.h"
#include "url_suffix.h"
#include "url_words.h"
#include "sluice_simple.h"

struct config {
    const char *over, *domains, *urls, *banned_words, *soft_banned_words, *banned_subwords,
        *suffixes;
    struct sluice_list extra_domains, extra_urls, extra_words, extra_soft_words, extra_subwords;
    int64_t soft_word_threshold;
    int32_t missing;
    uint8_t private_suffixes, lower_host, lower_words, skip_empty;
};

#define LIST_FILE(member, text)                                \
    {                                                          \
        .name = #member, .doc = text, .type = SLUICE_OPT_PATH, \
        .offset = offsetof(struct config, member)              \
    }
#define LIST_MORE(member, text)                                \
    {                                                          \
        .name = #member, .doc = text, .type = SLUICE_OPT_LIST, \
        .offset = offsetof(struct config, member)              \
    }
#define SWITCH(member, text, value)                                          \
    {                                                                        \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_BOOL, \
        .offset = offsetof(struct config, member)                            \
    }

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the URL.",
      .def = "url",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    LIST_FILE(domains, "File of domains, one a line: a document is dropped when its registered "
                       "domain or its whole host is one."),
    LIST_FILE(urls, "File of URLs, one a line, compared byte by byte."),
    LIST_FILE(banned_words, "File of words of which none may stand in the URL."),
    LIST_FILE(soft_banned_words,
              "File of words of which soft_word_threshold may not stand in the URL."),
    LIST_FILE(banned_subwords, "File of strings that may be no part of the URL's letters and "
                               "digits, taken together."),
    LIST_MORE(extra_domains, "Domains beside those of the file."),
    LIST_MORE(extra_urls, "URLs beside those of the file."),
    LIST_MORE(extra_words, "Words beside those of banned_words."),
    LIST_MORE(extra_soft_words, "Words beside those of soft_banned_words."),
    LIST_MORE(extra_subwords, "Strings beside those of banned_subwords."),
    { .name = "soft_word_threshold",
      .doc = "So many different soft words drop a document.",
      .def = "2",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e9,
      .offset = offsetof(struct config, soft_word_threshold) },
    { .name = "suffixes",
      .doc = "Public suffix list (publicsuffix.org), which tells the registered domain.",
      .def = "/usr/share/publicsuffix/public_suffix_list.dat",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, suffixes) },
    SWITCH(private_suffixes,
           "Private suffixes (github.io) count as well: a.github.io is registered then.", "false"),
    SWITCH(lower_host, "Compare the host in lower case (datatrove does not).", "false"),
    SWITCH(lower_words, "Compare the URL's words in lower case (datatrove does not).", "false"),
    SWITCH(
        skip_empty,
        "Empty lines of lists mean nothing; to datatrove (false) they are the empty entry, which "
        "hosts without a registered domain and URLs that end in / have.",
        "false"),
    { .name = "missing",
      .doc = "What becomes of a document without a URL: set aside as bad (datatrove's task dies), "
             "dropped, or kept.",
      .def = "bad",
      .choices = "bad|drop|keep",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, missing) },
};

enum {
    REASON_DOMAIN = 1,
    REASON_SUBDOMAIN,
    REASON_URL,
    REASON_HARD,
    REASON_SOFT,
    REASON_PIECE,
    REASON_MISSING
};

struct url {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct config *config;
    struct url_set domains[2], urls[2]; /* of the file, of the option */
    struct sluice_bytes joined[2];      /* the options' items as lists */
    struct url_suffixes *suffixes;      /* NULL: no domain is listed */
    struct url_words *words;
};

struct worker {
    const struct url *url;
    struct url_seen seen;
    struct text_buffer host, lower, scratch;
};

/* ---- lists ---- */

static void url_close(void *shared)
{
    struct url *url = shared;

    for (int i = 0; i < 2; i++) {
        url_set_free(&url->domains[i], url->api, url->host);
        url_set_free(&url->urls[i], url->api, url->host);
        sluice_bytes_free(&url->joined[i]);
    }
    url_suffixes_destroy(url->suffixes);
    url_words_destroy(url->words);
    free(url);
}

static sluice_status read_list(struct url *url, const char *option, const char *path,
                               const char **data, size_t *n, struct sluice_error *err)
{
    const void *bytes;
    uint64_t size;
    size_t bad_at;
    char message[256];
    sluice_status status = url->api->read_file(url->host, path, &bytes, &size, err);

    if (status == SLUICE_OK && !text_utf8_valid(bytes, (size_t)size, &bad_at)) {
        snprintf(message, sizeof message,
                 "found bytes that are no UTF-8 at byte %zu of the file, expected a text file of "
                 "one entry a line",
                 bad_at);
        status = sluice_fail(err, SLUICE_E_CONFIG, option, message);
    }
    *data = bytes;
    *n = (size_t)size;
    return status;
}

/* The items as a list, one a line; a break inside of one can't be told apart and is refused. */
static sluice_status join(const struct sluice_list *items, const char *option,
                          struct sluice_bytes *out, struct sluice_error *err)
{
    for (uint64_t i = 0; i < items->n; i++) {
        size_t n = strlen(items->items[i]);
        if (strpbrk(items->items[i], "\r\n") != NULL) {
            return sluice_fail(err, SLUICE_E_CONFIG, option,
                               "found a line break in an item, expected one entry an item");
        }
        if (n > 0 &&
            (!sluice_bytes_add(out, items->items[i], n) || !sluice_bytes_add(out, "\n", 1))) {
            return sluice_fail(err, SLUICE_E_NOMEM, option, "out of memory for a list");
        }
    }
    return SLUICE_OK;
}

static sluice_status open_set(struct url *url, const char *option, const char *path,
                              const struct sluice_list *items, struct sluice_bytes *joined,
                              struct url_set sets[2], struct sluice_error *err)
{
    int skip = url->config->skip_empty != 0;
    const char *data = "";
    size_t n = 0;
    sluice_status status = SLUICE_OK;

    if (path != NULL) {
        status = read_list(url, option, path, &data, &n, err);
        if (status == SLUICE_OK) {
            status = url_set_build(&sets[0], data, n, skip, url->api, url->host, err);
        }
    }
    if (status == SLUICE_OK && items->n > 0) {
        status = join(items, option, joined, err);
        if (status == SLUICE_OK) {
            status = url_set_build(&sets[1], joined->size == 0 ? "" : joined->data,
                                   (size_t)joined->size, skip, url->api, url->host, err);
        }
    }
    return status;
}

static sluice_status open_words(struct url *url, const char *option, enum url_word_kind kind,
                                const char *path, const struct sluice_list *items,
                                struct sluice_error *err)
{
    int skip = url->config->skip_empty != 0;
    struct sluice_bytes joined = { 0 };
    const char *data;
    size_t n;
    sluice_status status = SLUICE_OK;

    if (path != NULL) {
        status = read_list(url, option, path, &data, &n, err);
        if (status == SLUICE_OK) {
            status = url_words_add(url->words, kind, data, n, skip, err);
        }
    }
    if (status == SLUICE_OK && items->n > 0) {
        status = join(items, option, &joined, err);
        if (status == SLUICE_OK && joined.size > 0) {
            status = url_words_add(url->words, kind, joined.data, (size_t)joined.size, skip, err);
        }
        sluice_bytes_free(&joined);
    }
    return status;
}

static sluice_status open_lists(struct url *url, struct sluice_error *err)
{
    const struct config *c = url->config;
    const char *data;
    size_t n;
    sluice_status status =
        open_set(url, "domains", c->domains, &c->extra_domains, &url->joined[0], url->domains, err);

    if (status == SLUICE_OK) {
        status = open_set(url, "urls", c->urls, &c->extra_urls, &url->joined[1], url->urls, err);
    }
    if (status == SLUICE_OK) {
        status = url_words_create(&url->words, err);
    }
    if (status == SLUICE_OK) {
        status = open_words(url, "banned_words", URL_HARD, c->banned_words, &c->extra_words, err);
    }
    if (status == SLUICE_OK) {
        status = open_words(url, "soft_banned_words", URL_SOFT, c->soft_banned_words,
                            &c->extra_soft_words, err);
    }
    if (status == SLUICE_OK) {
        status = open_words(url, "banned_subwords", URL_PIECE, c->banned_subwords,
                            &c->extra_subwords, err);
    }
    if (status == SLUICE_OK) {
        status = url_words_finish(url->words, err);
    }
    if (status == SLUICE_OK && (c->domains != NULL || c->extra_domains.n > 0)) {
        status = read_list(url, "suffixes", c->suffixes, &data, &n, err);
        if (status == SLUICE_OK) {
            status = url_suffixes_build(data, n, c->private_suffixes != 0, &url->suffixes, err);
        }
    }
    return status;
}

static sluice_status url_open(const struct sluice_host_api *api, struct sluice_host *host,
                              const void *config, void **shared, struct sluice_error *err)
{
    const struct config *c = config;
    struct url *url;
    sluice_status status;

    if (c->domains == NULL && c->urls == NULL && c->banned_words == NULL &&
        c->soft_banned_words == NULL && c->banned_subwords == NULL && c->extra_domains.n == 0 &&
        c->extra_urls.n == 0 && c->extra_words.n == 0 && c->extra_soft_words.n == 0 &&
        c->extra_subwords.n == 0) {
        return sluice_fail(err, SLUICE_E_CONFIG, "domains",
                           "found no list at all, expected one of domains, urls, banned_words, "
                           "soft_banned_words, banned_subwords or their extra_ options");
    }
    url = calloc(1, sizeof *url);
    if (url == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    url->api = api;
    url->host = host;
    url->config = c;
    status = open_lists(url, err);
    if (status != SLUICE_OK) {
        url_close(url);
        return status;
    }
    *shared = url;
    return SLUICE_OK;
}

/* ---- rows ---- */

static sluice_status url_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct url *url = shared;
    int32_t index;

    return plan->need(plan, 0, url->config->over, "utf8?", 0, &index, err);
}

static sluice_status url_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void url_worker_close(void *state)
{
    struct worker *worker = state;

    url_seen_deinit(&worker->seen);
    text_buffer_deinit(&worker->host);
    text_buffer_deinit(&worker->lower);
    text_buffer_deinit(&worker->scratch);
    free(worker);
}

static int listed(const struct url_set sets[2], const char *key, size_t n)
{
    return url_set_has(&sets[0], key, n) || url_set_has(&sets[1], key, n);
}

/* 0, REASON_DOMAIN or REASON_SUBDOMAIN. */
static sluice_status judge_host(struct worker *worker, const char *text, size_t n, int32_t *reason,
                                struct sluice_error *err)
{
    const struct url *url = worker->url;
    struct text_buffer *host = &worker->host;
    struct url_parts parts;
    size_t registered;
    sluice_status status = url_host(text, n, host, err);

    *reason = 0;
    if (status == SLUICE_OK && url->config->lower_host != 0) {
        status = text_lower(host->data, host->len, &worker->lower, err);
        host = &worker->lower;
    }
    if (status == SLUICE_OK) {
        status = url_split(url->suffixes, host->data, host->len, &worker->scratch, &parts, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    registered = url_registered(&parts, host->len);
    if (listed(url->domains, host->data + registered, host->len - registered)) {
        *reason = REASON_DOMAIN;
        return SLUICE_OK;
    }
    status = url_fqdn(host->data, &parts, &worker->scratch, err);
    if (status == SLUICE_OK && listed(url->domains, worker->scratch.data, worker->scratch.len)) {
        *reason = REASON_SUBDOMAIN;
    }
    return status;
}

static sluice_status judge(void *state, const char *text, size_t n, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    struct worker *worker = state;
    const struct url *url = worker->url;
    const struct config *config = url->config;
    struct url_found found;
    sluice_status status = SLUICE_OK;

    if (n == 0) {
        verdict->reason = config->missing == 0   ? SLUICE_VERDICT_BAD
                          : config->missing == 1 ? REASON_MISSING
                                                 : 0;
        if (config->missing == 0) {
            verdict->dup_of =
                "no_url: the document has no URL; option missing says what becomes of "
                "such ones";
            verdict->dup_of_length = (int32_t)strlen(verdict->dup_of);
        }
        return SLUICE_OK;
    }
    if (url->suffixes != NULL) {
        status = judge_host(worker, text, n, &verdict->reason, err);
    }
    if (status != SLUICE_OK || verdict->reason != 0) {
        return status;
    }
    if (listed(url->urls, text, n)) {
        verdict->reason = REASON_URL;
        return SLUICE_OK;
    }
    status =
        url_words_find(url->words, text, n, config->lower_words != 0, &worker->seen, &found, err);
    if (status == SLUICE_OK) {
        verdict->value = (double)found.soft;
        verdict->limit = (double)config->soft_word_threshold;
        verdict->reason = found.hard                                  ? REASON_HARD
                          : found.soft >= config->soft_word_threshold ? REASON_SOFT
                          : found.piece                               ? REASON_PIECE
                                                                      : 0;
    }
    return status;
}

static sluice_status url_process(void *state, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_texts(batch, emit, judge, state, err);
}

static const struct sluice_stage url_filter_stage = {
    .size = sizeof url_filter_stage,
    .name = "url_filter",
    .version = "1.0",
    .summary = "Drops documents whose URL is on a list of domains, URLs or words",
    .doc =
        "datatrove 0.10's URLFilter (filters/url_filter.py) with tldextract's reading of hosts. "
        "Tests run in the order of the reasons; the first that fails decides.\n\n"
        "Lists are files of the user's own, one entry a line, # at the beginning of a line makes a "
        "comment; gzip and zstd are undone. datatrove ships its lists (banned words of "
        "RefinedWeb's "
        "kind, domains and URLs of the UT1 blacklists of the university of Toulouse, CC-BY-SA 4.0, "
        "in datatrove/assets of its package); nothing is fetched here. Words are normalised: "
        "letters and digits only, in lower case; those of the URL are not lower-cased, so `Sex` "
        "passes where `sex` does not (`lower_words`), nor is the host (`lower_host`). An empty "
        "line "
        "is the empty entry (`skip_empty`). A document without a URL ends datatrove's task "
        "(`missing`).",
    .example = "docs | s.url_filter { extra_domains = { \"example.com\" } }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "domain|subdomain|url|hard_blacklisted|soft_blacklisted|blacklisted_subword|no_url",
    .bytes_worker = 1 << 20,
    .open = url_open,
    .prepare = url_prepare,
    .worker_open = url_worker_open,
    .process = url_process,
    .worker_close = url_worker_close,
    .close = url_close,
};

SLUICE_PLUGIN("url", "1.0", "MIT", &url_filter_stage, &url_parts_stage);
