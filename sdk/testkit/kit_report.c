/* Results of the conformance kit for people (text), programs (JSON) and build servers (JUnit). See
 * kit.h. */
#include <string.h>

#include "testkit/kitInt.h"

static const char *const verdicts[] = { "passed", "warned", "failed", "skipped" };

/* A word of a shell command. */
static void print_word(struct buf *out, const char *word)
{
    bool plain = word[0] != '\0';

    for (const char *c = word; *c != '\0'; c++) {
        plain = plain && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                          (*c >= '0' && *c <= '9') || strchr("_-./=,:+%@", *c) != NULL);
    }
    if (plain) {
        buf_puts(out, word);
        return;
    }
    buf_putc(out, '\'');
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'') {
            buf_puts(out, "'\\''");
        } else {
            buf_putc(out, *c);
        }
    }
    buf_putc(out, '\'');
}

/* The command that runs one check again. */
static void print_again(const struct kit_options *options, const struct kit_result *result,
                        struct buf *out)
{
    buf_puts(out, "sluice test-plugin ");
    print_word(out, options->path);
    if (result->stage[0] != '\0') {
        buf_printf(out, " %s", result->stage);
    }
    for (size_t i = 0; i < options->n_options; i++) {
        buf_puts(out, " --option ");
        print_word(out, options->options[i]);
    }
    if (options->data != NULL) {
        buf_puts(out, " --data ");
        print_word(out, options->data);
    }
    if (options->answers != NULL) {
        buf_puts(out, " --answers ");
        print_word(out, options->answers);
    }
    buf_printf(out, " --only %s --seed %llu", result->check, (unsigned long long)options->seed);
    if (options->thorough) {
        buf_puts(out, " --thorough");
    }
    if (strcmp(result->check, "fuzz") == 0) {
        buf_printf(out, " --fuzz %u", options->fuzz_seconds);
    }
}

void kit_print(const struct kit_options *options, const struct kit_result *result, struct buf *out)
{
    const char *stage = result->stage[0] != '\0' ? result->stage : "(the file)";

    switch (result->verdict) {
    case KIT_PASSED:
        buf_printf(out, "passed  %s: %s\n", stage, result->check);
        break;
    case KIT_SKIPPED:
        buf_printf(out, "skipped %s: %s (%s)\n", stage, result->check, result->message);
        break;
    case KIT_WARNED:
        buf_printf(out, "warning %s: %s: %s\n", stage, result->check, result->message);
        break;
    case KIT_FAILED:
        buf_printf(out, "FAILED  %s: %s: %s\n  means: %s\n  again: ", stage, result->check,
                   result->message, result->doc);
        print_again(options, result, out);
        buf_putc(out, '\n');
        break;
    }
}

void kit_print_summary(const struct kit_results *results, struct buf *out)
{
    for (size_t k = 0, first = 1; k < results->n; k++) {
        const struct kit_result *result = &results->items[k];
        if (result->verdict == KIT_FAILED) {
            buf_printf(out, "%s%s%s%s", first ? "failed: " : ", ", result->stage,
                       result->stage[0] != '\0' ? " " : "", result->check);
            first = 0;
        }
    }
    buf_printf(out, "%s%u passed, %u failed, %u skipped", results->failed > 0 ? "\n" : "",
               results->passed, results->failed, results->skipped);
    if (results->warned > 0) {
        buf_printf(out, " (%u with a warning)", results->warned);
    }
    buf_putc(out, '\n');
}

static void json_text(struct buf *out, const char *text)
{
    buf_json_string(out, text, strlen(text));
}

void kit_print_json(const struct kit_options *options, const struct kit_results *results,
                    struct buf *out)
{
    buf_puts(out, "{\"file\":");
    json_text(out, options->path);
    buf_printf(out,
               ",\"seed\":%llu,\"passed\":%u,\"failed\":%u,\"skipped\":%u,\"warned\":%u,\n"
               "\"results\":[",
               (unsigned long long)options->seed, results->passed, results->failed,
               results->skipped, results->warned);
    for (size_t k = 0; k < results->n; k++) {
        const struct kit_result *result = &results->items[k];
        struct buf again = BUF_INIT;
        buf_printf(out, "%s\n{\"stage\":", k > 0 ? "," : "");
        json_text(out, result->stage);
        buf_printf(out,
                   ",\"check\":\"%s\",\"verdict\":\"%s\",\"ms\":%u,\"message\":", result->check,
                   verdicts[result->verdict], result->ms);
        json_text(out, result->message);
        if (result->verdict == KIT_FAILED) {
            buf_puts(out, ",\"means\":");
            json_text(out, result->doc);
            print_again(options, result, &again);
            buf_puts(out, ",\"again\":");
            json_text(out, buf_str(&again));
        }
        buf_putc(out, '}');
        buf_deinit(&again);
    }
    buf_puts(out, "]}\n");
}

static void xml_text(struct buf *out, const char *text)
{
    for (;;) {
        size_t line = strcspn(text, "\n");
        buf_markup(out, text, line);
        if (text[line] == '\0') {
            return;
        }
        buf_puts(out, "&#10;");
        text += line + 1;
    }
}

void kit_print_junit(const struct kit_options *options, const struct kit_results *results,
                     struct buf *out)
{
    double seconds = 0;

    for (size_t k = 0; k < results->n; k++) {
        seconds += results->items[k].ms / 1000.0;
    }
    buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"");
    xml_text(out, options->path);
    buf_printf(out, "\" tests=\"%zu\" failures=\"%u\" errors=\"0\" skipped=\"%u\" time=\"%.3f\">\n",
               results->n, results->failed, results->skipped, seconds);
    for (size_t k = 0; k < results->n; k++) {
        const struct kit_result *result = &results->items[k];
        buf_puts(out, "  <testcase classname=\"");
        xml_text(out, result->stage[0] != '\0' ? result->stage : "file");
        buf_printf(out, "\" name=\"%s\" time=\"%.3f\"", result->check, result->ms / 1000.0);
        if (result->verdict == KIT_PASSED) {
            buf_puts(out, "/>\n");
            continue;
        }
        buf_puts(out, ">\n    ");
        if (result->verdict == KIT_FAILED) {
            buf_puts(out, "<failure message=\"");
            xml_text(out, result->message);
            buf_puts(out, "\">");
            xml_text(out, result->doc);
            buf_puts(out, "</failure>");
        } else if (result->verdict == KIT_SKIPPED) {
            buf_puts(out, "<skipped message=\"");
            xml_text(out, result->message);
            buf_puts(out, "\"/>");
        } else {
            buf_puts(out, "<system-out>");
            xml_text(out, result->message);
            buf_puts(out, "</system-out>");
        }
        buf_puts(out, "\n  </testcase>\n");
    }
    buf_puts(out, "</testsuite>\n");
}
