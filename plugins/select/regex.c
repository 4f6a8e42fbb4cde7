/* regex - drops the documents in which a regular expression matches (or keeps only those), with
 * PCRE2's just-in-time compiler. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <sluice_verdicts.h>
#include <stddef.h>
#include <stdio.h>

#include "select.h"

struct config {
    const char *regex;
    const char *over;
    int64_t match_limit;
    uint8_t keep, jit;
};

static const struct sluice_option options[] = {
    { .name = "regex",
      .doc =
          "Regular expression in PCRE2's syntax; \\w, \\d, \\s and \\b are Unicode's, (?i) at the "
          "beginning ignores case.",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct config, regex) },
    { .name = "over",
      .doc = "Column that is searched.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "keep",
      .doc = "Keep only documents that match (false, as the peer: drop them).",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, keep) },
    { .name = "match_limit",
      .doc =
          "Steps of backtracking after which a document can't be judged and is set aside; a step "
          "is PCRE2's, counted differently with and without jit.",
      .def = "10000000",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 4294967295.0,
      .offset = offsetof(struct config, match_limit) },
    { .name = "jit",
      .doc = "Use the just-in-time compiler; an error where the machine has none, since the limit "
             "would mean something else.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, jit) },
};

#define JIT_STACK (1 << 20) /* fixed, so that a machine's memory never decides */

struct regex {
    const struct config *config;
    pcre2_code *code;
};

struct worker {
    const struct regex *regex;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static void regex_close(void *shared)
{
    struct regex *regex = shared;

    pcre2_code_free(regex->code);
    free(regex);
}

static sluice_status regex_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    struct regex *regex = calloc(1, sizeof *regex);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    char message[512];
    int code = 0;
    PCRE2_SIZE at = 0;
    sluice_status status = SLUICE_OK;

    (void)api;
    (void)host;
    if (regex == NULL || context == NULL) {
        free(regex);
        pcre2_compile_context_free(context);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for a regular expression");
    }
    regex->config = config;
    (void)pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    regex->code =
        pcre2_compile((PCRE2_SPTR)regex->config->regex, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &at, context);
    pcre2_compile_context_free(context);
    if (regex->code == NULL) {
        PCRE2_UCHAR reason[256] = "";
        (void)pcre2_get_error_message(code, reason, sizeof reason);
        snprintf(message, sizeof message,
                 "found no regular expression in PCRE2's syntax: %s at byte %zu", (char *)reason,
                 (size_t)at);
        status = sluice_fail(err, SLUICE_E_CONFIG, "regex", message);
    } else if (regex->config->jit != 0 && pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) != 0) {
        status = sluice_fail(
            err, SLUICE_E_CONFIG, "jit",
            "the just-in-time compiler does not work here (no executable memory, or the expression "
            "is beyond it); give jit = false, which is slower");
    }
    if (status != SLUICE_OK) {
        regex_close(regex);
        return status;
    }
    *shared = regex;
    return SLUICE_OK;
}

static sluice_status regex_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct regex *regex = shared;
    int32_t index;

    return plan->need(plan, 0, regex->config->over, "utf8?", 0, &index, err);
}

static void regex_worker_close(void *state)
{
    struct worker *worker = state;

    pcre2_match_data_free(worker->data);
    pcre2_match_context_free(worker->context);
    if (worker->stack != NULL) {
        pcre2_jit_stack_free(worker->stack);
    }
    free(worker);
}

static sluice_status regex_worker_open(void *shared, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->regex = shared;
    worker->data = pcre2_match_data_create_from_pattern(worker->regex->code, NULL);
    worker->context = pcre2_match_context_create(NULL);
    if (worker->regex->config->jit != 0) {
        worker->stack = pcre2_jit_stack_create(JIT_STACK, JIT_STACK, NULL);
    }
    if (worker->data == NULL || worker->context == NULL ||
        (worker->stack == NULL && worker->regex->config->jit != 0)) {
        regex_worker_close(worker);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for matching");
    }
    if (worker->stack != NULL) {
        pcre2_jit_stack_assign(worker->context, NULL, worker->stack);
    }
    (void)pcre2_set_match_limit(worker->context, (uint32_t)worker->regex->config->match_limit);
    *out = worker;
    return SLUICE_OK;
}

static sluice_status judge(void *state, const char *text, size_t n, struct sluice_verdict *verdict,
                           struct sluice_error *err)
{
    struct worker *worker = state;
    const struct regex *regex = worker->regex;
    uint32_t how = PCRE2_NO_UTF_CHECK | (regex->config->jit != 0 ? 0 : PCRE2_NO_JIT);
    int found =
        pcre2_match(regex->code, (PCRE2_SPTR)text, n, 0, how, worker->data, worker->context);

    if (found >= 0 || found == PCRE2_ERROR_NOMATCH) {
        verdict->value = found >= 0;
        verdict->limit = 0.5;
        verdict->reason = (found >= 0) != (regex->config->keep != 0);
        return SLUICE_OK;
    }
    if (found == PCRE2_ERROR_NOMEMORY) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for matching");
    }
    sluice_judge_bad(
        verdict,
        found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_JIT_STACKLIMIT ||
                found == PCRE2_ERROR_DEPTHLIMIT || found == PCRE2_ERROR_HEAPLIMIT
            ? "regex_limit: the expression backtracks too much on this text; raise match_limit or "
              "write it with less choice"
            : "regex_error: PCRE2 can't match this text");
    return SLUICE_OK;
}

static sluice_status regex_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return sluice_judge_texts(batch, emit, judge, state, err);
}

const struct sluice_stage select_regex_stage = {
    .size = sizeof select_regex_stage,
    .name = "regex",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary = "Drops documents in which a regular expression matches, or keeps only those",
    .doc =
        "datatrove's RegexFilter (filters/regex_filter.py) with PCRE2 instead of Python's re: the "
        "same for what both languages have; \\s leaves out U+001C to U+001F here and has U+180E, "
        "possessive and recursive patterns are there as well. The peer drops without a reason; "
        "here it is "
        "`regex`. A text on which the expression needs more than `match_limit` steps is set "
        "aside, never passed.",
    .example = "docs | s.regex { \"(?i)all rights reserved\" }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "regex",
    .bytes_worker = JIT_STACK,
    .open = regex_open,
    .prepare = regex_prepare,
    .worker_open = regex_worker_open,
    .process = regex_process,
    .worker_close = regex_worker_close,
    .close = regex_close,
};
