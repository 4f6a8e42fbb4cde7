/* sluice label: what people say of documents, before any stage judges them: asked for at the
 * terminal, or on a page that needs no program. */
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/try/try.h"
#include "cmd/view/view.h"
#include "run/facts/facts.h"

#define PAGE_MOST 500u   /* documents of a page */
#define PAGE_TEXT 4000u  /* bytes of each that are shown */
#define PAGE_ALL 1500000 /* bytes of all */

static const struct arg_spec label_specs[] = {
    { "--labels", "FILE", "where labels stand, one a line; new ones are added" },
    PAGE_SPEC("the documents without a label"),
    { "-n", "N", "with --html: how many documents at most (default 500)" },
};

/* The documents without a label, in an order that has nothing to do with the file's. */
static sluice_status page_facts(const struct sample *sample, const struct labels *labels,
                                const char *file, uint64_t most, json_t **out,
                                struct sluice_error *err)
{
    struct outcome none = { .n = sample->n_rows,
                            .fates = calloc(sample->n_rows + 1, sizeof *none.fates) };
    json_t *documents = json_array();
    uint64_t *rows = NULL;
    uint64_t n = 0;
    uint64_t left = 0;
    size_t bytes = 0;
    sluice_status status = none.fates == NULL ? error_nomem(err, "documents")
                                              : outcome_pick(&none, 0, UINT64_MAX, &rows, &n, err);

    for (uint64_t i = 0; i < n; i++) {
        char buffer[64];
        size_t n_id;
        size_t n_text;
        const char *id = sample_id(sample, rows[i], &n_id, buffer);
        const char *text = sample_text(sample, rows[i], &n_text);
        if (labels->of[rows[i]] != 0) {
            continue;
        }
        if (json_array_size(documents) == most || bytes > PAGE_ALL) {
            left++;
            continue;
        }
        bytes += n_text < PAGE_TEXT ? n_text : PAGE_TEXT;
        json_array_append_new(documents,
                              json_pack("{s:o, s:o, s:b}", "id", facts_text(id, n_id), "text",
                                        facts_text(text, n_text < PAGE_TEXT ? n_text : PAGE_TEXT),
                                        "cut", n_text > PAGE_TEXT));
    }
    *out = json_pack("{s:o, s:o, s:I, s:I}", "documents", documents, "file",
                     facts_text(file, strlen(file)), "labelled", (json_int_t)labels->n, "left",
                     (json_int_t)left);
    free(rows);
    free(none.fates);
    return status == SLUICE_OK && *out == NULL ? error_nomem(err, "documents") : status;
}

static sluice_status label(const struct args *args, struct sluice_error *err)
{
    const char *file = args_get(args, "--labels");
    const char *page = args_get(args, "--html");
    struct sample sample;
    struct labels labels = { 0 };
    uint64_t most;
    json_t *facts = NULL;
    sluice_status status;

    TRY(args_number(args, "-n", 1, PAGE_MOST, PAGE_MOST, &most, err));
    if (file == NULL && page == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "labels need a file to stand in: give --labels FILE");
    }
    status = sample_open(args->words[0], &sample, err);
    if (status == SLUICE_OK) {
        status = labels_read(file == NULL ? "" : file, &sample, true, &labels, err);
    }
    if (status == SLUICE_OK && page == NULL) {
        status = labels_ask(file, &sample, NULL, &labels, err);
    }
    if (status == SLUICE_OK && page != NULL) {
        status =
            page_facts(&sample, &labels, file == NULL ? "labels.jsonl" : file, most, &facts, err);
    }
    if (status == SLUICE_OK && page != NULL) {
        status = view_page("label_page", page, facts, NULL, err);
    }
    json_decref(facts);
    labels_deinit(&labels);
    sample_close(&sample);
    return status;
}

int cmd_label(int argc, char **argv)
{
    static const struct command command = {
        .usage = "sluice label SAMPLE.jsonl --labels FILE\n"
                 "       sluice label SAMPLE.jsonl --html PAGE [--labels FILE] [-n N]",
        .text = "Asks of each document of a sample (see `sluice sample`) whether to keep or to "
                "drop it, with one key at the terminal,\n"
                "and adds the answers to FILE at once. With --html it writes a page that asks the "
                "same in a browser and saves the\n"
                "answers as a file. `sluice try --labels FILE` says how well a stage agrees.",
        .specs = label_specs,
        .n_specs = sizeof label_specs / sizeof label_specs[0],
        .least = 1,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct args args;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    session_signals();
    return label(&args, &err) == SLUICE_OK ? 0 : session_fail(&err, false);
}
