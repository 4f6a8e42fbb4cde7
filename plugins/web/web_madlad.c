/* web_madlad - MADLAD-400's rules on sentences (Kudugunta et al. 2023, arXiv:2309.04662, section
 * 2.3) as datamap-rs runs them for Olmo 3. */
#include "web.h"

#include <stdio.h>

#include "web_class.h"
#include "web_cursed.h"

struct config {
    struct web_common common;
    struct sluice_list rules;
    int64_t min_sentences;
    double max_suspicious, max_case;
    int64_t min_case_words, min_sentence_bytes, max_sentence_bytes;
    double max_technical;
    const char *cursed;
    int64_t cursed_regexes;
};

enum { TOO_SHORT = 1, SUSPICIOUS };

static const struct sluice_option options[] = {
    WEB_OVER(config, "Column that holds the text."),
    { .name = "rules",
      .doc = "Which rules make a sentence suspicious: 2 (list case), 3 (length), 4 (technical "
             "characters), 5 (cursed "
             "strings). Olmo 3 used 2 and 5.",
      .def = "2",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, rules) },
    WEB_INT(config, min_sentences, "Fewest sentences.", "5"),
    WEB_SHARE(config, max_suspicious,
              "Share of suspicious sentences at which a document is dropped.", "0.2"),
    WEB_SHARE(config, max_case, "Rule 2: largest share of words that begin with a capital letter.",
              "0.5"),
    WEB_INT(config, min_case_words, "Rule 2: fewest words of a sentence that is looked at.", "12"),
    WEB_INT(config, min_sentence_bytes, "Rule 3: fewest bytes of a sentence.", "20"),
    WEB_INT(config, max_sentence_bytes, "Rule 3: most bytes of a sentence.", "500"),
    WEB_SHARE(config, max_technical, "Rule 4: most of 0-9 { } + / ( ) > per byte.", "0.2"),
    { .name = "cursed",
      .doc =
          "Rule 5: the list, one string a line (banlists/madlad400_cursed.txt.gz of datamap-rs).",
      .type = SLUICE_OPT_PATH,
      .offset = offsetof(struct config, cursed) },
    { .name = "cursed_regexes",
      .doc = "Rule 5: how many of the list's last lines are regular expressions.",
      .def = "4",
      .type = SLUICE_OPT_INT,
      .min = 0,
      .max = 1e6,
      .offset = offsetof(struct config, cursed_regexes) },
};

/* Of an instance. */
struct madlad {
    bool rules[6];
    struct web_cursed *cursed;
};

static bool sentence_end(char c)
{
    return c == '.' || c == '!' || c == '?';
}

static size_t spaces_end(const char *text, size_t len, size_t at)
{
    while (at < len) {
        uint32_t cp;
        size_t n = text_utf8_decode(text, len, at, &cp);
        if (!web_rust_space(cp)) {
            break;
        }
        at += n;
    }
    return at;
}

/* Adds text[begin .. end) unless it is blank. */
static int32_t sentence_add(const char *text, size_t begin, size_t end, struct text_spans *out,
                            struct sluice_error *err)
{
    return spaces_end(text, end, begin) < end
               ? text_spans_push(out, (uint32_t)begin, (uint32_t)end, err)
               : SLUICE_OK;
}

/* Pieces between [.!?]+\s+, blank ones left out. */
static int32_t sentences_cut(const char *text, size_t len, struct text_spans *out,
                             struct sluice_error *err)
{
    size_t begin = 0;
    int32_t status = SLUICE_OK;

    out->count = 0;
    for (size_t at = 0; status == SLUICE_OK && at < len;) {
        size_t mark = at;
        size_t next;
        if (!sentence_end(text[at])) {
            at++;
            continue;
        }
        while (at < len && sentence_end(text[at])) {
            at++;
        }
        next = spaces_end(text, len, at);
        if (next > at) {
            status = sentence_add(text, begin, mark, out, err);
            begin = next;
            at = next;
        }
    }
    return status == SLUICE_OK ? sentence_add(text, begin, len, out, err) : status;
}

/* Rule 2: sentences of many capitalised words. The words of the document that lie in a sentence are
 * the sentence's. */
static void mark_case(const struct config *config, const struct web_doc *doc,
                      const struct text_span *words, size_t n_words,
                      const struct text_spans *sentences, bool *hits)
{
    size_t word = 0;

    for (size_t i = 0; i < sentences->count; i++) {
        size_t count = 0;
        size_t capitals = 0;
        for (; word < n_words && words[word].begin < sentences->data[i].end; word++) {
            if (words[word].begin >= sentences->data[i].begin) {
                uint32_t cp;
                text_utf8_decode(doc->text, doc->len, words[word].begin, &cp);
                count++;
                capitals += web_upper(cp);
            }
        }
        if ((int64_t)count >= config->min_case_words &&
            (float)capitals > (float)count * (float)config->max_case) {
            hits[i] = true;
        }
    }
}

static bool is_technical(const struct config *config, const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        count += text[i] != '\0' && strchr("0123456789{}+/()>", text[i]) != NULL;
    }
    return (float)count > (float)len * (float)config->max_technical;
}

static void mark_lengths(const struct config *config, const bool rules[6],
                         const struct web_doc *doc, const struct text_spans *sentences, bool *hits)
{
    for (size_t i = 0; i < sentences->count; i++) {
        size_t len = sentences->data[i].end - sentences->data[i].begin;
        hits[i] = hits[i] ||
                  (rules[3] && ((int64_t)len < config->min_sentence_bytes ||
                                (int64_t)len > config->max_sentence_bytes)) ||
                  (rules[4] && is_technical(config, doc->text + sentences->data[i].begin, len));
    }
}

static int32_t hits_find(struct web_worker *worker, const struct web_doc *doc, bool *hits,
                         struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    const struct madlad *madlad = worker->web->extra;
    const struct text_spans *sentences = &worker->lines;
    int32_t status = SLUICE_OK;

    if (madlad->rules[2]) {
        const struct text_span *words;
        size_t n_words;
        status = web_words(WEB_DATAMAP, doc->text, doc->len, doc->spans, doc->n_spans,
                           &worker->words, &words, &n_words, err);
        if (status == SLUICE_OK) {
            mark_case(config, doc, words, n_words, sentences, hits);
        }
    }
    if (status == SLUICE_OK && (madlad->rules[3] || madlad->rules[4])) {
        mark_lengths(config, madlad->rules, doc, sentences, hits);
    }
    if (status == SLUICE_OK && madlad->rules[5]) {
        status = web_cursed_find(madlad->cursed, worker->extra, doc->text, doc->len,
                                 sentences->data, sentences->count, hits, err);
    }
    return status;
}

static sluice_status judge(struct web_worker *worker, const struct web_doc *doc,
                           struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    struct text_spans *sentences = &worker->lines;
    size_t suspicious = 0;
    bool *hits;
    int32_t status = sentences_cut(doc->text, doc->len, sentences, err);

    if (status == SLUICE_OK && (int64_t)sentences->count < config->min_sentences) {
        return web_drop(verdict, TOO_SHORT, (double)sentences->count,
                        (double)config->min_sentences);
    }
    if (status == SLUICE_OK) {
        worker->text.len = 0;
        status = text_buffer_reserve(&worker->text, sentences->count + 1, err);
    }
    if (status != SLUICE_OK) {
        return status;
    }
    hits = (bool *)(void *)worker->text.data;
    memset(hits, 0, sentences->count + 1);
    status = hits_find(worker, doc, hits, err);
    for (size_t i = 0; status == SLUICE_OK && i < sentences->count; i++) {
        suspicious += hits[i];
    }
    if (status == SLUICE_OK &&
        (double)suspicious >= (double)sentences->count * config->max_suspicious) {
        web_drop(verdict, SUSPICIOUS,
                 sentences->count == 0 ? 0 : (double)suspicious / (double)sentences->count,
                 config->max_suspicious);
    }
    return status;
}

static void madlad_release(void *extra)
{
    struct madlad *madlad = extra;

    if (madlad->cursed != NULL) {
        web_cursed_close(madlad->cursed);
    }
    free(madlad);
}

static sluice_status rules_parse(const struct config *config, struct madlad *madlad,
                                 struct sluice_error *err)
{
    for (uint64_t i = 0; i < config->rules.n; i++) {
        const char *rule = config->rules.items[i];
        if (rule[0] < '2' || rule[0] > '5' || rule[1] != '\0') {
            char message[200];
            snprintf(
                message, sizeof message,
                "rule '%.60s' is not there; the rules are 2, 3, 4 and 5 (1, the language of each "
                "sentence, is not offered)",
                rule);
            return sluice_fail(err, SLUICE_E_CONFIG, "rules", message);
        }
        madlad->rules[rule[0] - '0'] = true;
    }
    if (madlad->rules[5] && config->cursed == NULL) {
        return sluice_fail(err, SLUICE_E_CONFIG, "cursed",
                           "rule 5 has no list: give cursed a file (madlad400_cursed.txt of "
                           "datamap-rs), or leave 5 out of rules");
    }
    return SLUICE_OK;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;
    struct madlad *madlad = calloc(1, sizeof *madlad);
    const void *data;
    uint64_t size;
    sluice_status status = madlad == NULL ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory")
                                          : rules_parse(config, madlad, err);

    if (status == SLUICE_OK && madlad->rules[5]) {
        status = api->read_file(host, config->cursed, &data, &size, err);
        if (status == SLUICE_OK) {
            status = web_cursed_open(data, (size_t)size, (size_t)config->cursed_regexes,
                                     &madlad->cursed, err);
        }
    }
    if (status == SLUICE_OK) {
        status = web_open(&web_madlad_stage, api, host, given, shared, err);
    }
    if (status == SLUICE_OK) {
        struct web *web = *shared;
        web->extra = madlad;
        web->release = madlad_release;
    } else if (madlad != NULL) {
        madlad_release(madlad);
    }
    return status;
}

static bool wants_words(const struct web *web)
{
    return ((const struct madlad *)web->extra)->rules[2];
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return web_need(shared, plan, wants_words(shared), err);
}

static void matcher_release(void *matcher)
{
    if (matcher != NULL) {
        web_cursed_matcher_close(matcher);
    }
}

static sluice_status worker_open(void *shared, void **out, struct sluice_error *err)
{
    const struct web *web = shared;
    const struct madlad *madlad = web->extra;
    struct web_cursed_matcher *matcher = NULL;
    sluice_status status =
        madlad->cursed == NULL ? SLUICE_OK : web_cursed_matcher_open(madlad->cursed, &matcher, err);

    if (status == SLUICE_OK) {
        status = web_worker_open(shared, out, err);
    }
    if (status == SLUICE_OK) {
        struct web_worker *worker = *out;
        worker->extra = matcher;
        worker->release = matcher_release;
    } else {
        matcher_release(matcher);
    }
    return status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct web_worker *worker = state;

    return web_judge(worker, batch, emit, wants_words(worker->web), judge, err);
}

const struct sluice_stage web_madlad_stage = {
    .size = sizeof web_madlad_stage,
    .name = "web_madlad",
    .version = "1.0",
    .summary = "MADLAD-400's rules on sentences, as Olmo 3 ran them: too few sentences, too many "
               "suspicious ones",
    .doc =
        "Kudugunta et al. 2023 (arXiv:2309.04662, section 2.3), with the definitions of datamap-rs "
        "(madlad400_sentence_annotator and madlad400_rule_filter): sentences stand between runs of "
        ". ! ? with "
        "white space behind; a document is dropped when the share of its sentences that some rule "
        "finds "
        "reaches the limit (at the limit, too). Olmo 3 used rules 2 and 5: "
        "`rules = { \"2\", \"5\" }, cursed = \"madlad400_cursed.txt\"`. The list's last four lines "
        "are regular "
        "expressions (PCRE2 here, Rust's regex there).",
    .example = "docs | s.web_madlad { rules = { \"2\", \"3\" } }",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons = "too_few_sentences|suspicious_sentences",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
