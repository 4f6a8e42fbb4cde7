/* A plugin that uses everything of ABI 1.0: each role, each function of each struct, written against the header alone (sluice_arrays.h makes
 * its arrays). Compiled against the frozen header (kinds_1_0.c), and by grown.sh against one whose structs have grown. The including file
 * includes a sluice.h first and may define NEEDED. What a host must not do, the plugin notices and says in an error. */
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"
#include "tests/abi/layout.h"

#ifndef NEEDED
#define NEEDED 0
#endif

/* An error of this header's size between bytes that nobody may write to. */
struct fenced {
    unsigned char before[64];
    struct sluice_error error;
    unsigned char after[64];
};

static void fence(struct fenced *f)
{
    memset(f, 0xa5, sizeof *f);
    memset(&f->error, 0, sizeof f->error);
    f->error.size = sizeof f->error;
}

static int fence_holds(const struct fenced *f)
{
    int holds = f->error.size >= 1024 && f->error.size <= sizeof f->error && memchr(f->error.message, '\0', sizeof f->error.message) != NULL;

    for (size_t k = 0; k < sizeof f->before; k++) {
        holds = holds && f->before[k] == 0xa5 && f->after[k] == 0xa5;
    }
    return holds;
}

struct config { /* options of each kind, with a byte after each that the host must leave alone */
    uint8_t flag;
    uint8_t guard_a;
    int64_t whole;
    double real;
    const char *text;
    int32_t choice;
    uint8_t guard_b[4];
    uint64_t size;
    int64_t time;
    const char *path;
    const char *column;
    struct sluice_range range;
    uint64_t guard_c;
    struct sluice_list list;
    uint64_t guard_d;
    struct sluice_map map;
    uint64_t guard_e;
    const char *node;
};

#define OPTION(member, kind, standard, ...) \
    { .name = #member, .doc = "An option.", .def = standard, .type = kind, .offset = offsetof(struct config, member), __VA_ARGS__ }

static const struct sluice_option options[] = {
    OPTION(flag, SLUICE_OPT_BOOL, "true", .flags = SLUICE_OPTF_NO_OUTPUT),
    OPTION(whole, SLUICE_OPT_INT, "-7", .min = -10, .max = 10, .flags = SLUICE_OPTF_POSITIONAL),
    OPTION(real, SLUICE_OPT_FLOAT, "0.25", .min = 0, .max = 1),
    OPTION(text, SLUICE_OPT_STRING, "blue", .since = "1.0"),
    OPTION(choice, SLUICE_OPT_ENUM, "c", .choices = "a|b|c"),
    OPTION(size, SLUICE_OPT_SIZE, "2KiB", .flags = SLUICE_OPTF_DEPRECATED),
    OPTION(time, SLUICE_OPT_DURATION, "3s", .flags = 0),
    OPTION(path, SLUICE_OPT_PATH, NULL, .flags = 0),
    OPTION(column, SLUICE_OPT_COLUMN, "text", .flags = 0),
    OPTION(range, SLUICE_OPT_RANGE, "1..5", .flags = 0),
    OPTION(list, SLUICE_OPT_LIST, NULL, .flags = 0),
    OPTION(map, SLUICE_OPT_MAP, NULL, .flags = 0),
    OPTION(node, SLUICE_OPT_NODE, NULL, .flags = SLUICE_OPTF_NO_OUTPUT),
};

static int config_is_default(const struct config *c)
{
    return c->flag == 1 && c->guard_a == 0 && c->whole == -7 && c->real == 0.25 && strcmp(c->text, "blue") == 0 && c->choice == 2 &&
           c->guard_b[0] == 0 && c->size == 2048 && c->time == 3000000000 && c->path == NULL && strcmp(c->column, "text") == 0 &&
           c->range.lo == 1 && c->range.hi == 5 && c->guard_c == 0 && c->list.n == 0 && c->guard_d == 0 && c->map.n == 0 &&
           c->guard_e == 0 && c->node == NULL;
}

struct shared {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    uint64_t seed;
    int32_t text, row;
};

static sluice_status say(struct sluice_error *err, const char *message)
{
    return sluice_fail(err, SLUICE_E_INTERNAL, "", message);
}

/* ---- open: options and host services ---- */

static sluice_status use_host(const struct sluice_host_api *api, struct sluice_host *host, uint64_t *seed, struct sluice_error *err)
{
    struct fenced f;
    const void *data = err;
    uint64_t size = 1;
    char *memory;

    if (!SLUICE_HAS(api, alloc) || !SLUICE_HAS(api, realloc) || !SLUICE_HAS(api, free) || !SLUICE_HAS(api, log) ||
        !SLUICE_HAS(api, read_file) || !SLUICE_HAS(api, seed) || !SLUICE_HAS(api, scratch_dir) || !SLUICE_HAS(api, memory_share) ||
        !SLUICE_HAS(api, cancelled) || api->abi_major != 1) {
        return say(err, "the host lacks a service of ABI 1.0");
    }
    memory = api->alloc(host, 100);
    if (memory == NULL) {
        return SLUICE_E_NOMEM;
    }
    memset(memory, 7, 100);
    memory = api->realloc(host, memory, 100000);
    if (memory == NULL || memory[99] != 7) {
        return say(err, "realloc lost what was there");
    }
    api->free(host, memory);
    api->free(host, NULL);
    api->log(host, SLUICE_LOG_INFO, "hello from a plugin");
    *seed = api->seed(host, 3);
    if (*seed != api->seed(host, 3) || *seed == api->seed(host, 4)) {
        return say(err, "seed is no function of the salt");
    }
    if (api->memory_share(host) == 0 || api->cancelled(host) != 0) {
        return say(err, "memory_share or cancelled answer nonsense");
    }
    (void)api->scratch_dir(host);
    /* The host fills an error of this header's size, and no more. */
    fence(&f);
    if (api->read_file(host, "/no/such/file/anywhere", &data, &size, &f.error) == SLUICE_OK || data != NULL || size != 0) {
        return say(err, "read_file read a file that is not there");
    }
    if (f.error.message[0] == '\0' || !fence_holds(&f)) {
        return say(err, "read_file did not keep to the size of the plugin's error");
    }
    return SLUICE_OK;
}

static sluice_status kinds_open(const struct sluice_host_api *api, struct sluice_host *host, const void *config, void **shared,
                                struct sluice_error *err)
{
    uint64_t seed = 0;
    sluice_status status = config_is_default(config) ? use_host(api, host, &seed, err)
                                                     : say(err, "the options don't have their defaults");
    struct shared *s;

    if (status != SLUICE_OK) {
        return status;
    }
    s = api->alloc(host, sizeof *s);
    if (s == NULL) {
        return SLUICE_E_NOMEM;
    }
    *s = (struct shared){ .api = api, .host = host, .seed = seed, .text = -1, .row = -1 };
    *shared = s;
    return SLUICE_OK;
}

static void kinds_close(void *shared)
{
    struct shared *s = shared;

    s->api->free(s->host, s);
}

/* ---- prepare: what is refused fills an error of this header's size; what is asked for comes ---- */

static sluice_status need_text(struct shared *s, struct sluice_plan *plan, struct sluice_error *err)
{
    struct fenced f;
    int32_t index = 5;
    const char *name;
    const char *type;

    fence(&f);
    if (plan->need(plan, 0, "surely_absent", "int64", 1, &index, &f.error) != SLUICE_OK || index != -1 || !fence_holds(&f)) {
        return say(err, "an optional column that is absent is no error");
    }
    if (plan->column(plan, 0, 0, &name, &type) != SLUICE_OK || name[0] == '\0' || type[0] == '\0') {
        return say(err, "the first column has no name or type");
    }
    return plan->need(plan, 0, "text", "utf8?", 0, &s->text, err);
}

static sluice_status text_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return need_text(shared, plan, err);
}

/* Asks for what is not there, with an error of its own, and hands it on. */
static sluice_status refused_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct fenced f;
    sluice_status status;

    (void)shared;
    fence(&f);
    status = plan->need(plan, 0, "surely_absent", "int64", 0, NULL, &f.error);
    if (status != SLUICE_E_SCHEMA || f.error.code != SLUICE_E_SCHEMA || !fence_holds(&f)) {
        return say(err, "need did not keep to the size of the plugin's error");
    }
    return sluice_fail(err, status, f.error.field, "handed on");
}

static sluice_status added_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = need_text(shared, plan, err);

    return status == SLUICE_OK ? plan->add(plan, "bytes", "int64", "unit=byte", err) : status;
}

static sluice_status rows_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    struct shared *s = shared;
    sluice_status status = need_text(s, plan, err);

    if (status == SLUICE_OK) {
        status = plan->need(plan, 0, "_row", "uint64", 0, &s->row, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "text", "utf8", NULL, err);
    }
    if (status == SLUICE_OK) {
        status = plan->add(plan, "_origin", "uint64", NULL, err);
    }
    return status == SLUICE_OK ? plan->note(plan, "copies", "2", err) : status;
}

static sluice_status lines_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    (void)shared;
    return plan->wanted(plan, "text") ? plan->add(plan, "text", "utf8", NULL, err) : say(err, "text is not wanted");
}

static sluice_status files_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    sluice_status status = need_text(shared, plan, err);

    return status == SLUICE_OK ? plan->output(plan, ".txt", "zstd", 3, err) : status;
}

/* ---- rows ---- */

/* The verdicts lie as far apart as this header says. */
static sluice_status judge_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct shared *s = worker;
    struct sluice_verdict *verdicts = calloc((size_t)batch->n + 1, sizeof *verdicts);
    sluice_status status;

    if (verdicts == NULL) {
        return SLUICE_E_NOMEM;
    }
    (void)err;
    memset(verdicts, 0xff, ((size_t)batch->n + 1) * sizeof *verdicts);
    for (int64_t k = 0; k < batch->n; k++) {
        struct sluice_verdict *v = &verdicts[k];
        size_t n;
        const char *text = sluice_text(batch->array->children[s->text], sluice_row(batch, k), &n);
        v->reason = n > 0 && text[0] == 'b' ? SLUICE_VERDICT_BAD : n < 3 ? 1 : n > 10 ? 2 : 0;
        v->value = (double)n;
        v->limit = v->reason == 2 ? 10 : 3;
        v->dup_of = v->reason == 2 ? text : v->reason < 0 ? "broken: it begins with b" : NULL;
        v->dup_of_length = v->reason == 2 ? 4 : v->reason < 0 ? 24 : 0;
        v->similarity = v->reason == 2 ? 0.5 : 0;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    free(verdicts);
    return status;
}

static sluice_status bytes_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct shared *s = worker;
    struct sluice_bytes values = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    sluice_status status;

    (void)err;
    for (int64_t k = 0; k < batch->n; k++) {
        size_t n;
        int64_t length;
        sluice_text(batch->array->children[s->text], sluice_row(batch, k), &n);
        length = (int64_t)n;
        if (!sluice_bytes_add(&values, &length, sizeof length)) {
            sluice_bytes_free(&values);
            return SLUICE_E_NOMEM;
        }
    }
    status = sluice_make_fixed(&column, batch->n, &values, NULL, 0);
    status = status == SLUICE_OK ? sluice_make_struct(&out, batch->n, 1, &column) : status;
    return status == SLUICE_OK ? emit->batch(emit, &out) : status;
}

/* Each row twice; what is left comes at the end. */
static sluice_status give_rows(struct sluice_emit *emit, const char *text, size_t n, uint64_t origin, int copies)
{
    struct sluice_bytes b[3] = { { 0 } };
    struct ArrowArray columns[2];
    struct ArrowArray out;

    for (int k = 0; k < copies; k++) {
        if (!sluice_bytes_add_text(&b[0], &b[1], text, n) || !sluice_bytes_add(&b[2], &origin, sizeof origin)) {
            return SLUICE_E_NOMEM; /* a test's leak */
        }
    }
    if (sluice_make_text(&columns[0], copies, &b[0], &b[1], NULL, 0) != SLUICE_OK ||
        sluice_make_fixed(&columns[1], copies, &b[2], NULL, 0) != SLUICE_OK || sluice_make_struct(&out, copies, 2, columns) != SLUICE_OK) {
        return SLUICE_E_NOMEM;
    }
    return emit->batch(emit, &out);
}

static sluice_status rows_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct shared *s = worker;
    sluice_status status = SLUICE_OK;

    (void)err;
    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        int64_t row = sluice_row(batch, k);
        size_t n;
        const char *text = sluice_text(batch->array->children[s->text], row, &n);
        status = give_rows(emit, text, n, sluice_uint64(batch->array->children[s->row], row), 2);
    }
    return status == SLUICE_OK ? emit->measure(emit, "copies", 2 * batch->n) : status;
}

static sluice_status rows_flush(void *worker, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)worker;
    (void)err;
    return give_rows(emit, "the end", 7, 0, 1);
}

static sluice_status lines_read(void *worker, struct sluice_chunk *chunk, struct sluice_emit *emit, struct sluice_error *err)
{
    struct sluice_bytes offsets = { 0 };
    struct sluice_bytes data = { 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    const char *stop;
    uint64_t at = 0;
    int64_t n = 0;
    sluice_status status = SLUICE_OK;

    (void)worker;
    if (chunk->size < sizeof(struct sluice_chunk) && NEEDED > 0) {
        return say(err, "a chunk of an earlier header");
    }
    while (status == SLUICE_OK && (stop = memchr(chunk->data + at, ';', (size_t)(chunk->n - at))) != NULL) {
        uint64_t end = (uint64_t)(stop - chunk->data);
        if (end == at) {
            status = emit->bad(emit, chunk->offset + at, chunk->offset + end, "empty_record", chunk->uri);
        } else if (sluice_bytes_add_text(&offsets, &data, chunk->data + at, end - at)) {
            n++;
        } else {
            status = SLUICE_E_NOMEM;
        }
        at = end + 1;
    }
    chunk->consumed = at;
    if (status == SLUICE_OK && sluice_make_text(&column, n, &offsets, &data, NULL, 0) == SLUICE_OK &&
        sluice_make_struct(&out, n, 1, &column) == SLUICE_OK) {
        return emit->batch(emit, &out);
    }
    return status == SLUICE_OK ? SLUICE_E_NOMEM : status;
}

static sluice_status files_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    const struct shared *s = worker;
    sluice_status status = SLUICE_OK;

    (void)err;
    for (int64_t k = 0; k < batch->n && status == SLUICE_OK; k++) {
        size_t n;
        const char *text = sluice_text(batch->array->children[s->text], sluice_row(batch, k), &n);
        status = emit->write(emit, 0, text, n);
        status = status == SLUICE_OK && k == 1 ? emit->roll(emit, 2) : status;
    }
    return status;
}

/* ---- a gate with a state ---- */

struct counter {
    const struct shared *shared;
    int64_t rows;
};

static sluice_status count_worker_open(void *shared, void **worker, struct sluice_error *err)
{
    struct counter *c = calloc(1, sizeof *c);

    (void)err;
    if (c == NULL) {
        return SLUICE_E_NOMEM;
    }
    c->shared = shared;
    *worker = c;
    return SLUICE_OK;
}

static sluice_status count_process(void *worker, const struct sluice_batch *batch, struct sluice_emit *emit, struct sluice_error *err)
{
    (void)err;
    ((struct counter *)worker)->rows += batch->n;
    return emit->measure(emit, "seen", batch->n);
}

static sluice_status count_save(void *worker, struct sluice_io *io, struct sluice_error *err)
{
    (void)err;
    return io->write(io, &((struct counter *)worker)->rows, sizeof(int64_t));
}

static sluice_status count_merge(void *worker, struct sluice_io *io, uint64_t version, struct sluice_error *err)
{
    int64_t rows;
    sluice_status status = io->read(io, &rows, sizeof rows);

    if (status != SLUICE_OK || version != 3) {
        return sluice_fail(err, SLUICE_E_DATA, "", "a state of another version");
    }
    ((struct counter *)worker)->rows += rows;
    return SLUICE_OK;
}

static sluice_status count_load(void *worker, struct sluice_io *io, uint64_t version, struct sluice_error *err)
{
    ((struct counter *)worker)->rows = 0;
    return count_merge(worker, io, version, err);
}

static sluice_status count_judge(void *worker, struct sluice_verdict_io *io, struct sluice_error *err)
{
    const struct counter *c = worker;

    (void)err;
    io->outcome = c->rows == io->count(io, "docs") ? SLUICE_GATE_WARN : SLUICE_GATE_HALT;
    memcpy(io->message, "all of them", 12);
    return SLUICE_OK;
}

static void count_worker_close(void *worker)
{
    free(worker);
}

/* ---- descriptors ---- */

#define COMMON(stage, title, what, is, runs)                                                                                      \
    .size = sizeof stage, .name = title, .version = "1", .summary = what, .doc = "*Doc.*", .example = "s." title " {}", .role = is, \
    .mode = runs, .options = options, .n_options = sizeof options / sizeof options[0], .option_stride = sizeof options[0],        \
    .config_size = sizeof(struct config), .bytes_shared = 1, .bytes_worker = 2, .bytes_per_input = 0.5, .open = kinds_open,        \
    .close = kinds_close

static const struct sluice_stage judge_stage = { COMMON(judge_stage, "k_judge", "Judges", SLUICE_ROLE_FILTER, SLUICE_MODE_STATELESS),
                                                 .reasons = "short|twin",
                                                 .prepare = text_prepare,
                                                 .process = judge_process };
static const struct sluice_stage refused_stage = { COMMON(refused_stage, "k_refused", "Is refused", SLUICE_ROLE_FILTER,
                                                          SLUICE_MODE_STATELESS),
                                                   .reasons = "never",
                                                   .prepare = refused_prepare,
                                                   .process = judge_process };
static const struct sluice_stage bytes_stage = { COMMON(bytes_stage, "k_bytes", "Adds lengths", SLUICE_ROLE_ANNOTATOR,
                                                        SLUICE_MODE_STATELESS),
                                                 .prepare = added_prepare,
                                                 .process = bytes_process };
static const struct sluice_stage rows_stage = { COMMON(rows_stage, "k_rows", "Copies rows", SLUICE_ROLE_TRANSFORM, SLUICE_MODE_ORDERED),
                                                .prepare = rows_prepare,
                                                .process = rows_process,
                                                .flush = rows_flush };
static const struct sluice_stage lines_stage = { COMMON(lines_stage, "k_lines", "Reads records", SLUICE_ROLE_READER, SLUICE_MODE_STATELESS),
                                                 .cut = "none",
                                                 .prepare = lines_prepare,
                                                 .read = lines_read };
static const struct sluice_stage files_stage = { COMMON(files_stage, "k_files", "Writes", SLUICE_ROLE_WRITER, SLUICE_MODE_ORDERED),
                                                 .prepare = files_prepare,
                                                 .process = files_process };
static const struct sluice_stage count_stage = { COMMON(count_stage, "k_count", "Counts", SLUICE_ROLE_GATE, SLUICE_MODE_ORDERED),
                                                 .state_version = 3,
                                                 .prepare = text_prepare,
                                                 .worker_open = count_worker_open,
                                                 .process = count_process,
                                                 .save = count_save,
                                                 .load = count_load,
                                                 .merge = count_merge,
                                                 .judge = count_judge,
                                                 .worker_close = count_worker_close };

static const struct sluice_stage *const kinds_stages[] = { &judge_stage, &refused_stage, &bytes_stage, &rows_stage,
                                                           &lines_stage, &files_stage,   &count_stage, NULL };

const struct sluice_plugin *sluice_plugin_v1(void)
{
    static const struct sluice_plugin plugin = {
        .size = sizeof plugin,
        .abi_major = 1,
        .abi_minor_built = SLUICE_ABI_MINOR,
        .abi_minor_needed = NEEDED,
        .verdict_stride = sizeof(struct sluice_verdict),
        .name = "kinds",
        .version = "1.0",
        .license = "MIT",
        .stages = kinds_stages,
        .libraries = "none 1.0",
    };

    return &plugin;
}
