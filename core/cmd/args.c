/* Command lines: see args.h. */
#include "cmd/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cmd/session.h"
#include "plugin/option_text.h"

sluice_status args_parse(int argc, char **argv, const struct arg_spec *specs, size_t n,
                         struct args *out, struct sluice_error *err)
{
    bool only_words = false;

    memset(out, 0, sizeof *out);
    out->specs = specs;
    out->n_specs = n;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *equals = strchr(word, '=');
        size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
        size_t k;
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
            continue;
        }
        if (!only_words && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            out->help = true;
            continue;
        }
        if (only_words || word[0] != '-' || word[1] == '\0') {
            if (out->n_words == ARGS_MAX) {
                return error_set(err, SLUICE_E_CONFIG, "more than %d arguments", ARGS_MAX);
            }
            out->words[out->n_words++] = word;
            continue;
        }
        for (k = 0; k < n; k++) {
            if (strlen(specs[k].name) == length && memcmp(specs[k].name, word, length) == 0) {
                break;
            }
        }
        if (k == n) {
            const char *names[64];
            char given[100];
            const char *near;
            for (size_t j = 0; j < n && j < 64; j++) {
                names[j] = specs[j].name;
            }
            snprintf(given, sizeof given, "%.*s", (int)length, word);
            near = error_suggest(given, names, n < 64 ? n : 64);
            return error_set(err, SLUICE_E_CONFIG, "unknown option %s%s%s%s; see sluice %s --help",
                             given, near == NULL ? "" : ", did you mean ", near == NULL ? "" : near,
                             near == NULL ? "" : "?", argv[0]);
        }
        if (specs[k].value == NULL) {
            if (equals != NULL) {
                return error_set(err, SLUICE_E_CONFIG, "%s takes no value, found %s", specs[k].name,
                                 word);
            }
            out->values[k] = "";
            continue;
        }
        if (equals == NULL && i + 1 >= argc) {
            return error_set(err, SLUICE_E_CONFIG, "%s needs a value: %s %s", specs[k].name,
                             specs[k].name, specs[k].value);
        }
        out->values[k] = equals == NULL ? argv[++i] : equals + 1;
        if (out->n_repeated < ARGS_MAX) {
            out->repeated[out->n_repeated] = out->values[k];
            out->repeated_spec[out->n_repeated++] = k;
        }
    }
    return SLUICE_OK;
}

const char *args_get(const struct args *args, const char *name)
{
    for (size_t k = 0; k < args->n_specs; k++) {
        if (strcmp(args->specs[k].name, name) == 0) {
            return args->values[k];
        }
    }
    return NULL;
}

size_t args_all(const struct args *args, const char *name, const char *out[ARGS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < args->n_repeated; i++) {
        if (strcmp(args->specs[args->repeated_spec[i]].name, name) == 0) {
            out[n++] = args->repeated[i];
        }
    }
    return n;
}

/* Usage of several lines on one: "sluice show RUN, or sluice show ..." */
static void one_line(const char *usage, char *out, size_t size)
{
    size_t n = 0;

    for (const char *at = usage; *at != '\0' && n + 8 < size; at++) {
        if (*at != '\n') {
            out[n++] = *at;
            continue;
        }
        memcpy(out + n, ", or ", 5);
        n += 5;
        while (at[1] == ' ') {
            at++;
        }
    }
    out[n] = '\0';
}

int command_args(const struct command *command, int argc, char **argv, struct args *out)
{
    struct sluice_error err = ERROR_INIT;
    char usage[600];
    sluice_status status = args_parse(argc, argv, command->specs, command->n_specs, out, &err);

    one_line(command->usage, usage, sizeof usage);
    if (status == SLUICE_OK && out->help) {
        args_help(command->usage, command->text, command->specs, command->n_specs);
        return 0;
    }
    if (status == SLUICE_OK && out->n_words < command->least) {
        status = error_set(
            &err, SLUICE_E_CONFIG, "%s is missing: %s",
            out->n_words == 0 && command->least == 1 ? "the argument" : "an argument", usage);
    } else if (status == SLUICE_OK && out->n_words > command->most) {
        status = error_set(&err, SLUICE_E_CONFIG, "found the argument '%s' too many: %s",
                           out->words[command->most], usage);
    }
    if (status == SLUICE_OK && args_get(out, "--json") != NULL && args_get(out, "--view") != NULL) {
        status = error_set(&err, SLUICE_E_CONFIG, ARGS_TWO_SHOWS);
    }
    return status == SLUICE_OK ? -1 : session_fail(&err, args_get(out, "--json") != NULL);
}

void args_help(const char *usage, const char *text, const struct arg_spec *specs, size_t n)
{
    say("usage: %s\n\n%s\n", usage, text);
    if (n > 0) {
        say("\noptions:\n");
    }
    for (size_t k = 0; k < n; k++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", specs[k].name, specs[k].value == NULL ? "" : " ",
                 specs[k].value == NULL ? "" : specs[k].value);
        say("  %-22s %s\n", left, specs[k].doc);
    }
}

/* "64MiB", "2G", "1000" to bytes, by the grammar of the options of stages; false = not a size. */
static bool size_parse(const char *text, uint64_t *out)
{
    return text_size(text, strlen(text), out);
}

bool whole_parse(const char *text, uint64_t *out)
{
    uint64_t n = 0;

    if (text[0] == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n)) {
            return false;
        }
    }
    *out = n;
    return true;
}

sluice_status args_number(const struct args *args, const char *option, uint64_t least,
                          uint64_t most, uint64_t fallback, uint64_t *out, struct sluice_error *err)
{
    const char *text = args_get(args, option);

    *out = fallback;
    if (text != NULL && (!whole_parse(text, out) || *out < least || *out > most)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: found '%s', expected a number from %llu to %llu", option, text,
                         (unsigned long long)least, (unsigned long long)most);
    }
    return SLUICE_OK;
}

sluice_status args_word_number(const char *word, const char *what, uint64_t most, uint64_t *out,
                               struct sluice_error *err)
{
    if (!whole_parse(word, out) || *out > most) {
        return error_set(err, SLUICE_E_CONFIG, "found '%s' as %s, expected a number from 0 to %llu",
                         word, what, (unsigned long long)most);
    }
    return SLUICE_OK;
}

sluice_status args_size(const struct args *args, const char *option, uint64_t *out,
                        struct sluice_error *err)
{
    const char *text = args_get(args, option);

    if (text != NULL && (!size_parse(text, out) || *out == 0)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s: found '%s', expected a size such as 64MiB or 2G", option, text);
    }
    return SLUICE_OK;
}
