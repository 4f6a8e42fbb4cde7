/* sluice_simple.h - the common C plugin in ten lines: filters and annotators that look at one text
 * at a time. Header-only C11 over sluice_arrays.h; C++ has sluice.hpp.
 *
 *     #include <sluice_simple.h>
 *
 *     struct few_bytes { int64_t least; const char *over; };
 *     static const struct sluice_option options[] = {
 *         SLUICE_OPTION_INT(struct few_bytes, least, "100", 0, 1e9, "Fewest bytes of a document."),
 *         SLUICE_OPTION_COLUMN(struct few_bytes, over, "text", "Column that holds the text."),
 *     };
 *     static sluice_status judge(const struct few_bytes *o, const struct sluice_row *row, struct
 *     sluice_verdict *v) {
 *         sluice_judge_least(v, 1, (double)row->n, (double)o->least);
 *         return SLUICE_OK;
 *     }
 *     SLUICE_FILTER(few_bytes, judge, .version = "1.0", .summary = "Drops short documents.",
 *     .reasons = "too_short",
 *                   SLUICE_OPTIONS(struct few_bytes, options));
 *     SLUICE_PLUGIN("acme", "1.0", "MIT", &few_bytes_stage);
 *
 * SLUICE_FILTER(NAME, JUDGE, …) and SLUICE_ANNOTATOR…(NAME, …) define `static const struct
 * sluice_stage NAME_stage` with all functions but yours; what follows the named arguments are
 * designated initialisers of struct sluice_stage (version, summary and, for filters, reasons are
 * needed). Whatever they don't suit is written by hand against sluice.h: nothing here is known to
 * the host.
 *
 * The text. The stage needs one column of type utf8 (nulls are handed over as ""): the one that the
 * option `over` names, if the option table has a column option of that name, else `text`. An
 * annotator's column is called as its string option `as` says, if there is one.
 *
 * The row function gets the parsed options (read-only, valid until the stage is closed) and the
 * row. It returns SLUICE_OK, or a status with row->err filled, which fails the whole batch: the
 * host then finds the row at fault and quarantines it (SLUICE_E_DATA), or ends the run. Thread
 * rule: it is called from many threads at once with the same options; only row->state belongs to
 * one worker alone.
 *
 * Own memory. SLUICE_FILTER_WITH and SLUICE_ANNOTATOR_WITH add a STATE type: row->state points to
 * one zeroed STATE a worker, kept from row to row (results must not depend on what is in it), and
 * FREE(STATE *) is called at its end. */
#ifndef SLUICE_SIMPLE_H
#define SLUICE_SIMPLE_H

#include "sluice_arrays.h"

/* ---- the option table ---- */

/* Rows of an option table: the member of the config struct, whose name is the option's, its default
 * as a user would type it, limits, one sentence of documentation. The member's C type is in the
 * comment. */
#define SLUICE_OPTION_BOOL(config, member, standard, text) /* uint8_t: 0 or 1 */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_BOOL, NULL, 0, 0)
#define SLUICE_OPTION_INT(config, member, standard, least, most, text) /* int64_t */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_INT, NULL, least, most)
#define SLUICE_OPTION_FLOAT(config, member, standard, least, most, text) /* double */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_FLOAT, NULL, least, most)
#define SLUICE_OPTION_SIZE(config, member, standard, least, most, text) /* uint64_t: bytes */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_SIZE, NULL, least, most)
#define SLUICE_OPTION_STRING(config, member, standard, text) /* const char *, may be NULL */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_STRING, NULL, 0, 0)
#define SLUICE_OPTION_ENUM(config, member, standard, words, text) /* int32_t: place in "a|b" */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_ENUM, words, 0, 0)
#define SLUICE_OPTION_COLUMN(config, member, standard, text) /* const char * */ \
    SLUICE_OPTION_(config, member, standard, text, SLUICE_OPT_COLUMN, NULL, 0, 0)
#define SLUICE_OPTION_PATH(config, member, text) /* const char *, NULL when not given */ \
    SLUICE_OPTION_(config, member, NULL, text, SLUICE_OPT_PATH, NULL, 0, 0)
#define SLUICE_OPTION_LIST(config, member, text) /* struct sluice_list */ \
    SLUICE_OPTION_(config, member, NULL, text, SLUICE_OPT_LIST, NULL, 0, 0)

#define SLUICE_OPTION_(config, member, standard, text, kind, words, least, most)       \
    {                                                                                  \
        .name = #member, .doc = text, .def = standard, .choices = words, .min = least, \
        .max = most, .type = kind, .offset = offsetof(config, member)                  \
    }

/* The members of struct sluice_stage that belong to an option table. */
#define SLUICE_OPTIONS(config, table)                                \
    .options = table, .n_options = sizeof(table) / sizeof(table)[0], \
    .option_stride = sizeof(table)[0], .config_size = sizeof(config)

/* The exported descriptor: name of the plugin, its version, its licence, and pointers to its
 * stages. */
#define SLUICE_PLUGIN(plugin_name, plugin_version, plugin_license, ...)            \
    const struct sluice_plugin *sluice_plugin_v1(void)                             \
    {                                                                              \
        static const struct sluice_stage *const stages_[] = { __VA_ARGS__, NULL }; \
        static const struct sluice_plugin plugin_ = {                              \
            .size = sizeof plugin_,                                                \
            .abi_major = SLUICE_ABI_MAJOR,                                         \
            .abi_minor_built = SLUICE_ABI_MINOR,                                   \
            .verdict_stride = sizeof(struct sluice_verdict),                       \
            .name = plugin_name,                                                   \
            .version = plugin_version,                                             \
            .license = plugin_license,                                             \
            .stages = stages_,                                                     \
        };                                                                         \
        return &plugin_;                                                           \
    }                                                                              \
    _Static_assert(sizeof(plugin_name) > 1, "a plugin needs a name")

/* ---- rows ---- */

struct sluice_row {
    const char *text; /* n bytes of UTF-8, not NUL-terminated; "" for a null */
    size_t n;
    const struct sluice_batch *batch;
    int64_t row; /* in batch->array: for views of further columns */
    void *state; /* STATE of the …_WITH forms, else NULL */
    struct sluice_error *err;
};

/* A verdict that keeps the row when value >= limit (or <= limit), and else drops it for the k-th of
 * the stage's reasons, from 1. A value that is not a number drops. */
SLUICE_INLINE void sluice_judge_least(struct sluice_verdict *v, int32_t reason, double value,
                                      double limit)
{
    v->reason = value >= limit ? 0 : reason;
    v->value = value;
    v->limit = limit;
}
SLUICE_INLINE void sluice_judge_most(struct sluice_verdict *v, int32_t reason, double value,
                                     double limit)
{
    v->reason = value <= limit ? 0 : reason;
    v->value = value;
    v->limit = limit;
}

/* ---- the stage's functions, for the macros below ---- */

typedef sluice_status (*sluice_row_judge)(const void *options, const struct sluice_row *,
                                          struct sluice_verdict *);
typedef sluice_status (*sluice_row_value)(const void *options, const struct sluice_row *,
                                          struct sluice_bytes *);

/* What `open` gives. */
struct sluice_simple {
    const struct sluice_host_api *api;
    struct sluice_host *host;
    const struct sluice_stage *stage;
    const void *options; /* the host's, until close */
};

struct sluice_simple_worker {
    const struct sluice_simple *shared;
    struct sluice_verdict *verdicts; /* from api->alloc, grown as batches do */
    int64_t capacity;
    void *state;
};

/* The value of the option of that name and type, a text; standard when the table has none. */
SLUICE_INLINE const char *sluice_simple_text(const struct sluice_simple *shared, const char *name,
                                             int32_t type, const char *standard)
{
    const char *at = (const char *)shared->stage->options;
    const char *value = standard;
    uint64_t k;
    for (k = 0; k < shared->stage->n_options; k++) {
        const struct sluice_option *option =
            (const struct sluice_option *)(const void *)(at + k * shared->stage->option_stride);
        if (option->type == type && strcmp(option->name, name) == 0) {
            memcpy(&value, (const char *)shared->options + option->offset, sizeof value);
        }
    }
    return value != NULL && value[0] != '\0' ? value : standard;
}

SLUICE_INLINE sluice_status sluice_simple_open(const struct sluice_stage *stage,
                                               const struct sluice_host_api *api,
                                               struct sluice_host *host, const void *options,
                                               void **out, struct sluice_error *err)
{
    struct sluice_simple *shared = (struct sluice_simple *)api->alloc(host, sizeof *shared);
    if (shared == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a stage");
    }
    shared->api = api;
    shared->host = host;
    shared->stage = stage;
    shared->options = options;
    *out = shared;
    return SLUICE_OK;
}

/* The text is column 0; type is NULL for stages that add no column. */
SLUICE_INLINE sluice_status sluice_simple_prepare(void *state, struct sluice_plan *plan,
                                                  const char *column, const char *type,
                                                  struct sluice_error *err)
{
    const struct sluice_simple *shared = (const struct sluice_simple *)state;
    int32_t index;
    sluice_status status =
        plan->need(plan, 0, sluice_simple_text(shared, "over", SLUICE_OPT_COLUMN, "text"), "utf8?",
                   0, &index, err);
    if (status != SLUICE_OK || type == NULL) {
        return status;
    }
    return plan->add(plan, sluice_simple_text(shared, "as", SLUICE_OPT_STRING, column), type, NULL,
                     err);
}

SLUICE_INLINE sluice_status sluice_simple_worker_open(void *state, size_t state_size, void **out,
                                                      struct sluice_error *err)
{
    const struct sluice_simple *shared = (const struct sluice_simple *)state;
    struct sluice_simple_worker *worker =
        (struct sluice_simple_worker *)shared->api->alloc(shared->host, sizeof *worker);
    void *own = NULL;
    if (worker != NULL && state_size > 0) {
        own = shared->api->alloc(shared->host, state_size);
    }
    if (worker == NULL || (state_size > 0 && own == NULL)) {
        shared->api->free(shared->host, worker);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a worker");
    }
    if (own != NULL) {
        memset(own, 0, state_size);
    }
    worker->shared = shared;
    worker->verdicts = NULL;
    worker->capacity = 0;
    worker->state = own;
    *out = worker;
    return SLUICE_OK;
}

SLUICE_INLINE void sluice_simple_worker_close(void *state)
{
    struct sluice_simple_worker *worker = (struct sluice_simple_worker *)state;
    const struct sluice_simple *shared = worker->shared;
    shared->api->free(shared->host, worker->verdicts);
    shared->api->free(shared->host, worker->state);
    shared->api->free(shared->host, worker);
}

SLUICE_INLINE void sluice_simple_close(void *state)
{
    struct sluice_simple *shared = (struct sluice_simple *)state;
    shared->api->free(shared->host, shared);
}

SLUICE_INLINE struct sluice_row sluice_simple_row(const struct sluice_simple_worker *worker,
                                                  const struct sluice_batch *batch, int64_t k,
                                                  struct sluice_error *err)
{
    struct sluice_row row;
    row.row = sluice_row(batch, k);
    row.text = sluice_text(batch->array->children[0], row.row, &row.n);
    row.batch = batch;
    row.state = worker->state;
    row.err = err;
    return row;
}

/* One verdict a row. */
SLUICE_INLINE sluice_status sluice_simple_filter(void *state, const struct sluice_batch *batch,
                                                 struct sluice_emit *emit, sluice_row_judge judge,
                                                 struct sluice_error *err)
{
    struct sluice_simple_worker *worker = (struct sluice_simple_worker *)state;
    const struct sluice_simple *shared = worker->shared;
    int64_t k;
    if (batch->n > worker->capacity) {
        void *more = shared->api->realloc(shared->host, worker->verdicts,
                                          (uint64_t)batch->n * sizeof *worker->verdicts);
        if (more == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for verdicts");
        }
        worker->verdicts = (struct sluice_verdict *)more;
        worker->capacity = batch->n;
    }
    for (k = 0; k < batch->n; k++) {
        struct sluice_row row = sluice_simple_row(worker, batch, k, err);
        sluice_status status;
        memset(&worker->verdicts[k], 0, sizeof worker->verdicts[k]);
        status = judge(shared->options, &row, &worker->verdicts[k]);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return emit->verdicts(emit, worker->verdicts, batch->n);
}

/* One value a row; text: they are of any length, else all of one width. */
SLUICE_INLINE sluice_status sluice_simple_annotate(void *state, const struct sluice_batch *batch,
                                                   struct sluice_emit *emit, sluice_row_value value,
                                                   int text, struct sluice_error *err)
{
    struct sluice_simple_worker *worker = (struct sluice_simple_worker *)state;
    struct sluice_bytes values = { NULL, 0, 0 };
    struct sluice_bytes offsets = { NULL, 0, 0 };
    struct ArrowArray column;
    struct ArrowArray out;
    int32_t end = 0;
    int room = !text || sluice_bytes_add(&offsets, &end, sizeof end);
    sluice_status status = SLUICE_OK;
    int64_t k;
    for (k = 0; status == SLUICE_OK && room && k < batch->n; k++) {
        struct sluice_row row = sluice_simple_row(worker, batch, k, err);
        status = value(worker->shared->options, &row, &values);
        end = (int32_t)values.size;
        room = values.size <= INT32_MAX && (!text || sluice_bytes_add(&offsets, &end, sizeof end));
    }
    if (status != SLUICE_OK || !room) {
        sluice_bytes_free(&values);
        sluice_bytes_free(&offsets);
        return status != SLUICE_OK
                   ? status
                   : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a column");
    }
    status = text ? sluice_make_text(&column, batch->n, &offsets, &values, NULL, 0)
                  : sluice_make_fixed(&column, batch->n, &values, NULL, 0);
    if (status == SLUICE_OK) {
        status = sluice_make_struct(&out, batch->n, 1, &column);
    }
    return status == SLUICE_OK ? emit->batch(emit, &out)
                               : sluice_fail(err, status, "", "out of memory for a column");
}

/* ---- the macros ---- */

/* A filter: sluice_status JUDGE(const CONFIG *, const struct sluice_row *, struct sluice_verdict
 * *). The verdict comes zeroed, which is "keep". */
#define SLUICE_FILTER(NAME, JUDGE, ...)      \
    SLUICE_FILTER_(NAME, JUDGE, __VA_ARGS__) \
    SLUICE_WORKER_(NAME, 0, sluice_simple_worker_close(worker_))
#define SLUICE_FILTER_WITH(NAME, STATE, FREE, JUDGE, ...) \
    SLUICE_FILTER_(NAME, JUDGE, __VA_ARGS__)              \
    SLUICE_WORKER_(NAME, sizeof(STATE), SLUICE_FREE_(STATE, FREE))

/* An annotator that adds (or replaces) one column of a fixed width: type is the column's ("int64"),
 * CTYPE what a value is in C (int64_t): sluice_status MEASURE(const CONFIG *, const struct
 * sluice_row *, CTYPE *value). */
#define SLUICE_ANNOTATOR(NAME, column, type, CTYPE, MEASURE, ...) \
    SLUICE_MEASURE_(NAME, CTYPE, MEASURE)                         \
    SLUICE_ANNOTATOR_(NAME, column, type, 0, __VA_ARGS__)         \
    SLUICE_WORKER_(NAME, 0, sluice_simple_worker_close(worker_))
#define SLUICE_ANNOTATOR_WITH(NAME, STATE, FREE, column, type, CTYPE, MEASURE, ...) \
    SLUICE_MEASURE_(NAME, CTYPE, MEASURE)                                           \
    SLUICE_ANNOTATOR_(NAME, column, type, 0, __VA_ARGS__)                           \
    SLUICE_WORKER_(NAME, sizeof(STATE), SLUICE_FREE_(STATE, FREE))

/* The same with a column of text (utf8, which must be well-formed): sluice_status WRITE(const
 * CONFIG *, const struct sluice_row *, struct sluice_bytes *out) appends the value to out with
 * sluice_bytes_add. */
#define SLUICE_ANNOTATOR_TEXT(NAME, column, WRITE, ...)     \
    SLUICE_TEXT_(NAME, WRITE)                               \
    SLUICE_ANNOTATOR_(NAME, column, "utf8", 1, __VA_ARGS__) \
    SLUICE_WORKER_(NAME, 0, sluice_simple_worker_close(worker_))
#define SLUICE_ANNOTATOR_TEXT_WITH(NAME, STATE, FREE, column, WRITE, ...) \
    SLUICE_TEXT_(NAME, WRITE)                                             \
    SLUICE_ANNOTATOR_(NAME, column, "utf8", 1, __VA_ARGS__)               \
    SLUICE_WORKER_(NAME, sizeof(STATE), SLUICE_FREE_(STATE, FREE))

#define SLUICE_FREE_(STATE, FREE)                                   \
    FREE((STATE *)((struct sluice_simple_worker *)worker_)->state); \
    sluice_simple_worker_close(worker_)

#define SLUICE_FILTER_(NAME, JUDGE, ...)                                                      \
    static sluice_status NAME##_row(const void *options_, const struct sluice_row *row_,      \
                                    struct sluice_verdict *verdict_)                          \
    {                                                                                         \
        return JUDGE(options_, row_, verdict_);                                               \
    }                                                                                         \
    static sluice_status NAME##_process(void *worker_, const struct sluice_batch *batch_,     \
                                        struct sluice_emit *emit_, struct sluice_error *err_) \
    {                                                                                         \
        return sluice_simple_filter(worker_, batch_, emit_, NAME##_row, err_);                \
    }                                                                                         \
    SLUICE_STAGE_(NAME, SLUICE_ROLE_FILTER, NULL, NULL, __VA_ARGS__)

#define SLUICE_MEASURE_(NAME, CTYPE, MEASURE)                                                  \
    static sluice_status NAME##_row(const void *options_, const struct sluice_row *row_,       \
                                    struct sluice_bytes *out_)                                 \
    {                                                                                          \
        CTYPE value_ = 0;                                                                      \
        sluice_status status_ = MEASURE(options_, row_, &value_);                              \
        return status_ != SLUICE_OK || sluice_bytes_add(out_, &value_, sizeof value_)          \
                   ? status_                                                                   \
                   : sluice_fail(row_->err, SLUICE_E_NOMEM, "", "out of memory for a column"); \
    }

#define SLUICE_TEXT_(NAME, WRITE)                                                        \
    static sluice_status NAME##_row(const void *options_, const struct sluice_row *row_, \
                                    struct sluice_bytes *out_)                           \
    {                                                                                    \
        return WRITE(options_, row_, out_);                                              \
    }

#define SLUICE_ANNOTATOR_(NAME, column, type, text, ...)                                      \
    static sluice_status NAME##_process(void *worker_, const struct sluice_batch *batch_,     \
                                        struct sluice_emit *emit_, struct sluice_error *err_) \
    {                                                                                         \
        return sluice_simple_annotate(worker_, batch_, emit_, NAME##_row, text, err_);        \
    }                                                                                         \
    SLUICE_STAGE_(NAME, SLUICE_ROLE_ANNOTATOR, column, type, __VA_ARGS__)

#define SLUICE_STAGE_(NAME, ROLE, column, type, ...)                                       \
    static const struct sluice_stage NAME##_stage;                                         \
    static sluice_status NAME##_open(const struct sluice_host_api *api_,                   \
                                     struct sluice_host *host_, const void *options_,      \
                                     void **shared_, struct sluice_error *err_)            \
    {                                                                                      \
        return sluice_simple_open(&NAME##_stage, api_, host_, options_, shared_, err_);    \
    }                                                                                      \
    static sluice_status NAME##_prepare(void *shared_, struct sluice_plan *plan_,          \
                                        struct sluice_error *err_)                         \
    {                                                                                      \
        return sluice_simple_prepare(shared_, plan_, column, type, err_);                  \
    }                                                                                      \
    static sluice_status NAME##_worker_open(void *shared_, void **worker_,                 \
                                            struct sluice_error *err_);                    \
    static void NAME##_worker_close(void *worker_);                                        \
    static const struct sluice_stage NAME##_stage = { .size = sizeof NAME##_stage,         \
                                                      .name = #NAME,                       \
                                                      .role = ROLE,                        \
                                                      .open = NAME##_open,                 \
                                                      .prepare = NAME##_prepare,           \
                                                      .worker_open = NAME##_worker_open,   \
                                                      .process = NAME##_process,           \
                                                      .worker_close = NAME##_worker_close, \
                                                      .close = sluice_simple_close,        \
                                                      __VA_ARGS__ };

#define SLUICE_WORKER_(NAME, bytes, ...)                                   \
    static sluice_status NAME##_worker_open(void *shared_, void **worker_, \
                                            struct sluice_error *err_)     \
    {                                                                      \
        return sluice_simple_worker_open(shared_, bytes, worker_, err_);   \
    }                                                                      \
    static void NAME##_worker_close(void *worker_)                         \
    {                                                                      \
        __VA_ARGS__;                                                       \
    }                                                                      \
    _Static_assert(sizeof #NAME > 1, "a stage needs a name")

#endif
