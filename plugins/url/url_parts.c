/* url_parts - what a URL's host is made of, as columns: by which statistics are grouped, samples
 * drawn and domains counted. */
#include <sluice_arrays.h>
#include <sluice_stage.h>

#include "text/text.h"
#include "url_names.h"
#include "url_stages.h"

struct config {
    const char *over, *fqdn, *domain, *suffix, *suffixes;
    uint8_t private_suffixes, lower;
};

#define COLUMN(member, text, value)                                            \
    {                                                                          \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_COLUMN, \
        .offset = offsetof(struct config, member)                              \
    }

static const struct sluice_option options[] = {
    COLUMN(over, "Column that holds the URL.", "url"),
    COLUMN(fqdn, "Column of the whole name (www.example.co.uk).", "fqdn"),
    COLUMN(domain, "Column of the registered domain (example.co.uk).", "registered_domain"),
    COLUMN(suffix, "Column of the public suffix (co.uk).", "suffix"),
    { .name = "suffixes",
      .doc = "Public suffix list (publicsuffix.org), which tells the registered domain.",
      .def = "/usr/share/publicsuffix/public_suffix_list.dat",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, suffixes) },
    { .name = "private_suffixes",
      .doc = "Private suffixes (github.io) count as well: a.github.io is registered then.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, private_suffixes) },
    { .name = "lower",
      .doc = "Names in lower case (datatrove keeps the URL's letters).",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, lower) },
};

struct parts {
    const struct config *config;
    struct url_suffixes *suffixes;
};

struct worker {
    const struct parts *parts;
    struct text_buffer host, lower, scratch;
};

enum { FQDN, DOMAIN, SUFFIX, COLUMNS };

struct columns {
    struct sluice_bytes offsets[COLUMNS], data[COLUMNS], there;
    int64_t n, nulls;
};

static sluice_status nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the parts of URLs");
}

static void parts_close(void *shared)
{
    struct parts *parts = shared;

    url_suffixes_destroy(parts->suffixes);
    free(parts);
}

static sluice_status parts_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    const struct config *c = config;
    struct parts *parts = calloc(1, sizeof *parts);
    const void *list;
    uint64_t size;
    sluice_status status;

    if (parts == NULL) {
        return nomem(err);
    }
    parts->config = c;
    status = api->read_file(host, c->suffixes, &list, &size, err);
    if (status == SLUICE_OK) {
        status =
            url_suffixes_build(list, (size_t)size, c->private_suffixes != 0, &parts->suffixes, err);
    }
    if (status != SLUICE_OK) {
        free(parts);
        return status;
    }
    *shared = parts;
    return SLUICE_OK;
}

static sluice_status parts_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct config *config = ((const struct parts *)shared)->config;
    const char *const names[COLUMNS] = { config->fqdn, config->domain, config->suffix };
    sluice_status status = plan->need(plan, 0, config->over, "utf8?", 0, NULL, err);

    for (int i = 0; status == SLUICE_OK && i < COLUMNS; i++) {
        status = plan->add(plan, names[i], "utf8?", NULL, err);
    }
    return status;
}

static sluice_status parts_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return sluice_worker_new(shared, sizeof(struct worker), out, err);
}

static void parts_worker_close(void *state)
{
    struct worker *worker = state;

    text_buffer_deinit(&worker->host);
    text_buffer_deinit(&worker->lower);
    text_buffer_deinit(&worker->scratch);
    free(worker);
}

static int add(struct columns *columns, int column, const char *text, size_t n)
{
    return sluice_bytes_add_text(&columns->offsets[column], &columns->data[column], text, n);
}

static sluice_status add_url(struct worker *worker, const char *url, size_t n,
                             struct columns *columns, struct sluice_error *err)
{
    struct text_buffer *host = &worker->host;
    struct url_parts p;
    size_t registered;
    sluice_status status = url_host(url, n, host, err);

    if (status == SLUICE_OK && worker->parts->config->lower != 0) {
        status = text_lower(host->data, host->len, &worker->lower, err);
        host = &worker->lower;
    }
    if (status == SLUICE_OK) {
        status =
            url_split(worker->parts->suffixes, host->data, host->len, &worker->scratch, &p, err);
    }
    if (status == SLUICE_OK) {
        status = url_fqdn(host->data, &p, &worker->scratch, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    registered = url_registered(&p, host->len);
    return add(columns, FQDN, worker->scratch.data, worker->scratch.len) &&
                   add(columns, DOMAIN, host->data + registered, host->len - registered) &&
                   add(columns, SUFFIX, host->data + p.suffix.begin, p.suffix.end - p.suffix.begin)
               ? SLUICE_OK
               : nomem(err);
}

static sluice_status add_row(struct worker *worker, const struct ArrowArray *urls, int64_t row,
                             struct columns *columns, struct sluice_error *err)
{
    size_t n;
    const char *url = sluice_text(urls, row, &n);
    int null = n == 0;
    sluice_status status = SLUICE_OK;

    if (!sluice_bytes_add_bit(&columns->there, columns->n, !null)) {
        return nomem(err);
    }
    columns->n++;
    columns->nulls += null;
    if (!null) {
        return add_url(worker, url, n, columns, err);
    }
    for (int i = 0; status == SLUICE_OK && i < COLUMNS; i++) {
        status = add(columns, i, "", 0) ? SLUICE_OK : nomem(err);
    }
    return status;
}

static sluice_status emit_columns(struct columns *columns, struct sluice_emit *emit,
                                  struct sluice_error *err)
{
    struct ArrowArray arrays[COLUMNS] = { 0 };
    struct ArrowArray out;
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < COLUMNS; i++) {
        struct sluice_bytes there = { 0 };
        if (!sluice_bytes_add(&there, columns->there.data, columns->there.size)) {
            status = SLUICE_E_NOMEM;
            break;
        }
        status = sluice_make_text(&arrays[i], columns->n, &columns->offsets[i], &columns->data[i],
                                  &there, columns->nulls);
    }
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, columns->n, COLUMNS, arrays);
        return status == SLUICE_OK ? emit->batch(emit, &out) : nomem(err);
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (arrays[i].release != NULL) {
            arrays[i].release(&arrays[i]);
        }
    }
    return nomem(err);
}

static sluice_status parts_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct columns columns = { 0 };
    sluice_status status = SLUICE_OK;

    for (int64_t k = 0; status == SLUICE_OK && k < batch->n; k++) {
        status = add_row(state, batch->array->children[0], sluice_row(batch, k), &columns, err);
    }
    if (status == SLUICE_OK && batch->n > 0) {
        status = emit_columns(&columns, emit, err);
    }
    for (int i = 0; i < COLUMNS; i++) {
        sluice_bytes_free(&columns.offsets[i]);
        sluice_bytes_free(&columns.data[i]);
    }
    sluice_bytes_free(&columns.there);
    return status;
}

const struct sluice_stage url_parts_stage = {
    .size = sizeof url_parts_stage,
    .name = "url_parts",
    .version = "1.0",
    .bytes_per_batch = 3,
    .summary = "Host, registered domain and public suffix of a URL as columns",
    .doc =
        "What tldextract 5 makes of a URL, in a lenient reading (no scheme is needed): `fqdn` and "
        "`suffix` are the groups of datatrove's statistics (pipeline/stats). The whole name and "
        "the "
        "registered domain are empty for an address and for a bare suffix; all three are null "
        "without a URL. The letters stay as they are (`lower`).",
    .example = "docs | s.url_parts {} | s.statistics { groups = { \"summary\", \"fqdn\", "
               "\"suffix\" } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_shared = 4 << 20,
    .bytes_worker = 1 << 20,
    .open = parts_open,
    .prepare = parts_prepare,
    .worker_open = parts_worker_open,
    .process = parts_process,
    .worker_close = parts_worker_close,
    .close = parts_close,
};
