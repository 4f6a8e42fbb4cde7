/* web_lines - RefinedWeb's line rules (Penedo et al. 2023, arXiv:2306.01116, appendix G.2) as DCLM
 * and datamap-rs run them: lines are dropped or cut, and a document that loses too many words is
 * dropped. */
#include "web_lines.h"

static const struct sluice_option options[] = {
    WEB_OVER(web_lines_config, "Column that holds the text, replaced by what is left of it."),
    WEB_PEER(web_lines_config),
    WEB_SHARE(web_lines_config, max_uppercase,
              "Lines with a larger share of upper-case letters are dropped; -1 disables.", "0.5"),
    WEB_SHARE(web_lines_config, max_numeric,
              "Lines with a larger share of digits are dropped; -1 disables.", "0.999999"),
    WEB_BOOL(web_lines_config, counters,
             "Drop lines that are a counter (\"3 likes\", \"1.2K followers\").", "true"),
    WEB_INT(web_lines_config, min_line_words,
            "Lines with fewer words are dropped; -1 or 0 disables.", "2"),
    { .name = "cut",
      .doc = "Phrases that are cut out of lines; . stands for any character.",
      .def = "items in cart",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct web_lines_config, cut) },
    { .name = "cut_suffix",
      .doc = "Phrases that are cut off the end of lines.",
      .def = "Read more...",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct web_lines_config, cut_suffix) },
    { .name = "cut_prefix",
      .doc = "Phrases that are cut off the beginning of lines.",
      .def = "Sign-in",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct web_lines_config, cut_prefix) },
    WEB_INT(web_lines_config, cut_max_words,
            "Most words of a line that phrases are cut from; -1: no limit, as Olmo 3 was made.",
            "10"),
    WEB_SHARE(web_lines_config, max_removed,
              "Documents that lost a larger share of their words are dropped; -1 disables.",
              "0.05"),
};

static sluice_status edit_row(struct web_worker *worker, const struct web_doc *doc,
                              struct web_verdict *verdict, struct sluice_error *err)
{
    const struct web_lines_config *config = worker->web->config;
    struct web_edit_lines edit = {
        .worker = worker, .config = config, .doc = doc, .peer = (enum web_peer)config->common.peer
    };
    bool left = true;
    int32_t status = SLUICE_OK;

    worker->edits.len = 0;
    if (edit.peer == WEB_DATAMAP) {
        status = web_words(edit.peer, doc->text, doc->len, doc->spans, doc->n_spans, &worker->words,
                           &edit.words, &edit.n_words, err);
    }
    if (status == SLUICE_OK) {
        status = web_lines_run(&edit, &left, err);
    }
    if (status == SLUICE_OK && !left) {
        return web_drop(verdict, WEB_LINES_NONE, 0, 1);
    }
    if (status == SLUICE_OK) {
        status = web_lines_join(&edit, err);
    }
    if (status == SLUICE_OK && config->max_removed >= 0) {
        status = web_lines_judge(&edit, verdict, err);
    }
    return status;
}

static void cuts_release(void *extra)
{
    struct web_lines_cuts *cuts = extra;

    for (size_t k = 0; k < 3; k++) {
        web_cuts_close(&cuts->place[k]);
    }
    free(cuts);
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *given, void **shared, struct sluice_error *err)
{
    const struct web_lines_config *config = given;
    enum web_peer peer = (enum web_peer)config->common.peer;
    struct web_lines_cuts *cuts = calloc(1, sizeof *cuts);
    sluice_status status =
        cuts == NULL ? sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory") : SLUICE_OK;

    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[0], &config->cut, "cut", WEB_ANYWHERE, peer, err);
    }
    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[1], &config->cut_suffix, "cut_suffix", WEB_SUFFIX, peer,
                               err);
    }
    if (status == SLUICE_OK) {
        status = web_cuts_open(&cuts->place[2], &config->cut_prefix, "cut_prefix", WEB_PREFIX, peer,
                               err);
    }
    if (status == SLUICE_OK) {
        status = web_open(&web_lines_stage, api, host, given, shared, err);
    }
    if (status == SLUICE_OK) {
        struct web *web = *shared;
        web->extra = cuts;
        web->release = cuts_release;
    } else if (cuts != NULL) {
        cuts_release(cuts);
    }
    return status;
}

static bool wants_words(const struct web *web)
{
    return web->common->peer == WEB_DATAMAP;
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    const struct web *web = shared;
    sluice_status status = web_need(web, plan, wants_words(web), err);

    return status == SLUICE_OK ? plan->add(plan, web->common->over, "utf8", NULL, err) : status;
}

static sluice_status stage_process(void *state, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    struct web_worker *worker = state;

    return web_edit(worker, batch, emit, wants_words(worker->web), true, edit_row, err);
}

const struct sluice_stage web_lines_stage = {
    .size = sizeof web_lines_stage,
    .name = "web_lines",
    .version = "1.0",
    .bytes_per_batch = 6,
    .summary =
        "RefinedWeb's line rules as DCLM and Olmo 3 run them: drops shouting, numeric, counter and "
        "short lines, cuts phrases, and drops what lost too many words",
    .doc = "Penedo et al. 2023 (arXiv:2306.01116, appendix G.2), with the definitions of DCLM "
           "(baselines/mappers/modifiers.py) or of datamap-rs (src/map_fxn.rs). The steps run in "
           "the order of "
           "the options, then the words are counted and compared with those before.\n\n"
           "`peer = \"dclm\"`: the text is stripped after each step, shares are of characters, "
           "words of a line "
           "stand between white space, case is ignored in phrases. `peer = \"datamap\"`: shares "
           "are of bytes and of "
           "single precision, digits are 0 to 9, words are Unicode words, phrases are "
           "case-sensitive and "
           "leave a space in the middle of a line, and with a phrase to cut \\r\\n becomes \\n and "
           "a newline at the end is lost. "
           "Each cut also drops lines of white space.\n\n"
           "Two errors of the published configurations: Olmo 3's gives the line limit of the cuts "
           "under "
           "a name that the program doesn't read, so its cuts have none (`cut_max_words = -1` does "
           "the same; the "
           "default is what was meant, and what DCLM did); and its own counter pattern under "
           "another, so the "
           "built-in one ran, which is the one here. In the peers \"Read more...\" is a regular "
           "expression: it cuts "
           "\"Read more\" and any three characters.",
    .example = "docs | s.web_lines { max_removed = 0.1 }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct web_lines_config),
    .reasons = "no_lines_left|word_removal_ratio",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = web_worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
