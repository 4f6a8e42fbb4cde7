/* sluice explain: what a word of messages and reports means, from scripts/terms.md: a section a
 * term, whose heading has the words for it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/say.h"
#include "cmd/commands.h"
#include "cmd/look/look.h"
#include "cmd/program.h"
#include "store/store.h"

#define MOST_WORDS 512

struct term {
    const char *words, *body; /* "exit 2, 2, config"; borrowed from the file's text */
    size_t n_words, n_body;
};

/* The next section; *at goes behind it. */
static bool next_term(const char **at, struct term *term)
{
    const char *begin = strncmp(*at, "## ", 3) == 0 ? *at : strstr(*at, "\n## ");
    const char *end;

    if (begin == NULL) {
        return false;
    }
    begin += *begin == '\n' ? 4 : 3;
    term->words = begin;
    term->n_words = strcspn(begin, "\n");
    begin += term->n_words;
    begin += *begin == '\n';
    end = strstr(begin, "\n## ");
    term->body = begin;
    term->n_body = end == NULL ? strlen(begin) : (size_t)(end + 1 - begin);
    *at = end == NULL ? begin + term->n_body : end;
    return true;
}

/* The next of a heading's words, separated by commas; *at goes behind it. */
static bool next_word(const struct term *term, size_t *at, const char **word, size_t *n)
{
    const char *end;

    if (*at >= term->n_words) {
        return false;
    }
    *word = term->words + *at;
    end = memchr(*word, ',', term->n_words - *at);
    *n = end == NULL ? term->n_words - *at : (size_t)(end - *word);
    *at += *n + 1;
    while (*at < term->n_words && term->words[*at] == ' ') {
        ++*at;
    }
    return true;
}

static bool is_called(const struct term *term, const char *name)
{
    const char *word;
    size_t at = 0;
    size_t n;

    while (next_word(term, &at, &word, &n)) {
        if (strlen(name) == n && strncasecmp(name, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static sluice_status read_terms(struct buf *text, struct sluice_error *err)
{
    struct arena arena = ARENA_INIT;
    struct program program;
    sluice_status status = program_find(&arena, &program, err);

    if (status == SLUICE_OK) {
        const char *path = arena_printf(&arena, "%s/terms.md", program.scripts);
        status = arena_status(&arena, err, "a path");
        if (status == SLUICE_OK) {
            status = store_read_all(path, 1u << 20, text, NULL, err);
        }
    }
    arena_deinit(&arena);
    return status;
}

static void print_term(const struct term *term, bool json)
{
    if (json) {
        look_print("explain", json_pack("{s:s%, s:s%}", "term", term->words, term->n_words, "text",
                                        term->body, term->n_body));
        return;
    }
    say_text(stdout, term->words, term->n_words);
    say("\n");
    say_text(stdout, term->body, term->n_body);
}

static sluice_status unknown(const char *text, const char *name, struct sluice_error *err)
{
    const char *words[MOST_WORDS];
    const char *near;
    const char *at = text;
    struct term term;
    size_t n = 0;
    sluice_status status;

    while (next_term(&at, &term)) {
        const char *word;
        size_t place = 0;
        size_t size;
        while (n < MOST_WORDS && next_word(&term, &place, &word, &size)) {
            words[n] = str_copy(word, size);
            n += words[n] != NULL;
        }
    }
    near = error_suggest(name, words, n);
    status = error_set(err, SLUICE_E_CONFIG,
                       "no term '%s' is explained%s%s%s; `sluice explain` lists all, and `sluice "
                       "inspect %s` shows a stage",
                       name, near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                       near == NULL ? "" : "'?", name);
    for (size_t k = 0; k < n; k++) {
        free((char *)(uintptr_t)words[k]);
    }
    return status;
}

static sluice_status explain(const char *text, const char *name, bool json,
                             struct sluice_error *err)
{
    const char *at = text;
    struct term term;
    bool found = false;

    while (next_term(&at, &term)) {
        if (name == NULL && !json) {
            say("  ");
            say_text(stdout, term.words, term.n_words);
            say("\n");
        } else if (name == NULL || is_called(&term, name)) {
            print_term(&term, json);
            found = true;
        }
    }
    return found || name == NULL ? SLUICE_OK : unknown(text, name, err);
}

int cmd_explain(int argc, char **argv)
{
    static const struct arg_spec specs[] = {
        { "--json", NULL, "a JSON object a term" },
    };
    static const struct command command = {
        .usage = "sluice explain [WORD]",
        .text = "What a word of messages, reports and documents means: an exit status (sluice "
                "explain 4), a reason, a term.\nWithout a word: all that are explained.",
        .specs = specs,
        .n_specs = sizeof specs / sizeof specs[0],
        .least = 0,
        .most = 1,
    };
    struct sluice_error err = ERROR_INIT;
    struct buf text = BUF_INIT;
    struct args args;
    bool json;
    int status = command_args(&command, argc, argv, &args);

    if (status >= 0) {
        return status;
    }
    json = args_get(&args, "--json") != NULL;
    status = 0;
    if (read_terms(&text, &err) != SLUICE_OK ||
        explain(buf_str(&text), args.n_words > 0 ? args.words[0] : NULL, json, &err) != SLUICE_OK) {
        status = session_fail(&err, json);
    }
    buf_deinit(&text);
    return status;
}
