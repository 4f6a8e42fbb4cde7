/* sluice tokenize: texts to token ids and back, with the engine that the tokenize stage has. Text
 * goes in as files or on standard input, each a text of its own, or as lines of JSON; ids come out
 * as numbers or as bytes. Depends on tokenizeInt.h, cmd/tokenize/tokenizer.h, store/input. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/session.h"
#include "cmd/tokenize/tokenizeInt.h"
#include "store/input.h"

static const struct arg_spec specs[] = {
    { "--tokenizer", "FILE", "the vocabulary: .tiktoken, tokenizer.json or .model (needed)" },
    { "--jsonl", "FILE",
      "read lines of {\"text\": ...}, - for standard input; write lines of {\"ids\": [...]}" },
    { "--count", NULL, "write how many tokens there are, not which" },
    { "--decode", NULL, "the other way: ids separated by white space in, their bytes out" },
    { "--bench", NULL,
      "encode the input again and again for two seconds and say how fast that is" },
    { "--raw", "u16|u32", "write ids as little-endian numbers of 16 or 32 bits, nothing between" },
    { "--offsets", NULL,
      "with --jsonl: also {\"offsets\": [...]}, the byte of the text where each token begins" },
    { "--pattern", "REGEX", "how the text is cut, for a .tiktoken file that is not known" },
    { "--specials", "HOW",
      "what <|endoftext|> and the like in the text are: ordinary text (default), allow: those "
      "tokens, refuse: an error" },
    { "--cache", "SIZE", "at most this much memory for pieces it met (default 32MiB)" },
    { "--head", "FILE",
      "look for pieces in this trained head first; the ids are the same, and come faster" },
    { "--train-head", "FILE",
      "write a trained head of the input instead of ids: what its frequent pieces become" },
};
#define N_SPECS (sizeof specs / sizeof specs[0])

static bool is_given(const struct tokenizing *job, const char *name)
{
    return args_get(&job->args, name) != NULL;
}

static sluice_status parse_options(struct tokenizing *job, struct sluice_tokenizer_options *options,
                                   uint64_t *cache, struct sluice_error *err)
{
    static const char *const kinds[] = { "ordinary", "allow", "refuse" };
    const char *raw = args_get(&job->args, "--raw");
    const char *specials = args_get(&job->args, "--specials");

    job->count = is_given(job, "--count");
    job->decode = is_given(job, "--decode");
    job->bench = is_given(job, "--bench");
    job->jsonl = is_given(job, "--jsonl");
    job->with_offsets = is_given(job, "--offsets");
    options->size = sizeof *options;
    options->pattern = args_get(&job->args, "--pattern");
    if (!is_given(job, "--tokenizer")) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "no tokenizer: give --tokenizer FILE: .tiktoken, tokenizer.json or .model");
    }
    if (raw != NULL && strcmp(raw, "u16") != 0 && strcmp(raw, "u32") != 0) {
        return error_set(err, SLUICE_E_CONFIG, "found --raw %s, expected u16 or u32", raw);
    }
    job->raw = raw == NULL ? 0 : strcmp(raw, "u16") == 0 ? 16 : 32;
    for (int k = 0; specials != NULL && k < 4; k++) {
        if (k == 3) {
            return error_set(err, SLUICE_E_CONFIG,
                             "found --specials %s, expected ordinary, allow or refuse", specials);
        }
        if (strcmp(specials, kinds[k]) == 0) {
            options->specials = k;
            break;
        }
    }
    TRY(args_size(&job->args, "--cache", cache, err));
    if (is_given(job, "--train-head") && (job->count || job->decode || job->bench || job->raw > 0 ||
                                          job->with_offsets || is_given(job, "--head"))) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--train-head writes a head of the input and no ids: it goes with files "
                         "or --jsonl FILE alone");
    }
    if (job->count + job->decode + job->bench + (job->raw > 0) > 1) {
        return error_set(err, SLUICE_E_CONFIG,
                         "give one of --count, --decode, --bench and --raw, not several");
    }
    if (job->jsonl && (job->decode || job->bench || job->args.n_words > 0)) {
        return error_set(err, SLUICE_E_CONFIG, "--jsonl takes no %s",
                         job->decode  ? "--decode"
                         : job->bench ? "--bench"
                                      : "other files; give one file, or - for standard input");
    }
    if (job->with_offsets && (!job->jsonl || job->raw > 0 || job->count)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "--offsets goes with --jsonl FILE and its lines of ids");
    }
    return SLUICE_OK;
}

static sluice_status load(struct tokenizing *job, struct sluice_error *err)
{
    struct sluice_tokenizer_options options = { 0 };
    const char *path = args_get(&job->args, "--tokenizer");
    uint64_t cache = 0;
    void *data = NULL;
    uint64_t size = 0;
    sluice_status status = parse_options(job, &options, &cache, err);

    if (status == SLUICE_OK) {
        status = tokenizer_library_load(&job->lib, err);
    }
    if (status == SLUICE_OK) {
        status = input_read_all(path, &data, &size, err);
    }
    if (status == SLUICE_OK) {
        status = job->lib.tokenizer_load(data, (size_t)size, &options, &job->tokenizer, err);
        free(data);
        if (status != SLUICE_OK) {
            return error_prefix(err, "%s", path);
        }
    }
    if (status == SLUICE_OK && job->raw == 16 &&
        job->lib.tokenizer_vocab_size(job->tokenizer) > 65536) {
        return error_set(
            err, SLUICE_E_CONFIG,
            "the vocabulary has ids up to %u, which do not fit 16 bits; give --raw u32",
            job->lib.tokenizer_vocab_size(job->tokenizer) - 1);
    }
    if (status == SLUICE_OK && is_given(job, "--head")) {
        path = args_get(&job->args, "--head");
        status = job->lib.tokenizer_head_open(job->tokenizer, path, err);
        if (status == SLUICE_E_CONFIG) {
            return error_prefix(err, "%s", path);
        }
    }
    if (status == SLUICE_OK && is_given(job, "--train-head")) {
        return job->lib.tokenizer_training_create(job->tokenizer, &job->training, err);
    }
    return status == SLUICE_OK
               ? job->lib.encoder_create(job->tokenizer, (size_t)cache, &job->encoder, err)
               : status;
}

static sluice_status write_head(struct tokenizing *job, struct sluice_error *err)
{
    const char *path = args_get(&job->args, "--train-head");
    sluice_status status = job->lib.tokenizer_training_write(job->training, 0, path, err);

    if (status == SLUICE_OK) {
        buf_printf(&job->out, "%s: a head of %.1f MB of text\n", path, 1e-6 * (double)job->bytes);
        status = tokenize_flush(job, 1, err);
    }
    return status;
}

static sluice_status go(struct tokenizing *job, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status = SLUICE_OK;

    if (job->jsonl) {
        status = tokenize_lines(job, args_get(&job->args, "--jsonl"), err);
        return status == SLUICE_OK && job->training != NULL ? write_head(job, err) : status;
    }
    for (size_t i = 0; status == SLUICE_OK && (i < job->args.n_words || i == 0); i++) {
        const char *path = job->args.n_words > 0 ? job->args.words[i] : "-";
        status = job->decode  ? tokenize_decode(job, path, &text, err)
                 : job->bench ? tokenize_bench(job, path, &text, err)
                              : tokenize_file(job, path, &text, err);
    }
    if (status == SLUICE_OK && job->count && !job->bench && job->args.n_words > 1) {
        buf_printf(&job->out, "%llu total\n", (unsigned long long)job->tokens);
        status = tokenize_flush(job, 1, err);
    }
    buf_deinit(&text);
    return status == SLUICE_OK && job->training != NULL ? write_head(job, err) : status;
}

int cmd_tokenize(int argc, char **argv)
{
    struct tokenizing job;
    struct sluice_error err = ERROR_INIT;
    sluice_status status;

    memset(&job, 0, sizeof job);
    status = args_parse(argc, argv, specs, N_SPECS, &job.args, &err);
    if (status == SLUICE_OK && job.args.help) {
        args_help(
            "sluice tokenize --tokenizer FILE [FILE ...] [options]",
            "Writes the token ids of each text file (standard input without one), a line a file, "
            "as tiktoken and Hugging Face\ntokenizers would. Compressed files are read as "
            "they are.\n\n"
            "  echo 'Hello world' | sluice tokenize --tokenizer cl100k_base.tiktoken\n"
            "  sluice tokenize --tokenizer tokenizer.json --count *.txt\n"
            "  sluice tokenize --tokenizer tokenizer.json --jsonl docs.jsonl.zst > ids.jsonl\n"
            "  echo 9906 1917 | sluice tokenize --tokenizer cl100k_base.tiktoken --decode\n"
            "  sluice tokenize --tokenizer tokenizer.json --train-head my.head sample/*.txt\n",
            specs, N_SPECS);
        return 0;
    }
    if (status == SLUICE_OK) {
        status = load(&job, &err);
    }
    if (status == SLUICE_OK) {
        status = go(&job, &err);
    }
    if (job.encoder != NULL) {
        job.lib.encoder_destroy(job.encoder);
    }
    if (job.training != NULL) {
        job.lib.tokenizer_training_destroy(job.training);
    }
    if (job.tokenizer != NULL) {
        job.lib.tokenizer_destroy(job.tokenizer);
    }
    free(job.ids);
    free(job.offsets);
    buf_deinit(&job.out);
    return status == SLUICE_OK ? 0 : session_fail(&err, false);
}
