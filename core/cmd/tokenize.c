/* sluice tokenize: texts to token ids and back, with the engine that the tokenize stage has. Text goes in as files or on standard input,
 * each a text of its own, or as lines of JSON; ids come out as numbers or as bytes. Depends on cmd/tokenizer.h, store/input, jansson. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cmd/args.h"
#include "cmd/commands.h"
#include "cmd/session.h"
#include "cmd/tokenizer.h"
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

#define SOME_IDS ((size_t)1 << 20) /* a text's ids are written in portions of this many */

struct job {
    struct args args;
    struct tokenizer_library lib;
    struct sluice_tokenizer *tokenizer;
    struct sluice_encoder *encoder;
    struct sluice_tokenizer_training *training; /* of --train-head; NULL else */
    uint32_t *ids;
    uint64_t *offsets;
    size_t capacity;
    int raw; /* bits of an id, 0 = text */
    bool count, decode, bench, jsonl, with_offsets;
    uint64_t tokens, bytes;
    struct buf out;
};

static bool is_given(const struct job *job, const char *name)
{
    return args_get(&job->args, name) != NULL;
}

/* ---- in and out ---- */

static sluice_status read_standard_input(struct buf *out, struct sluice_error *err)
{
    for (;;) {
        ssize_t n;
        if (!buf_reserve(out, 1 << 16)) {
            return error_nomem(err, "the input");
        }
        n = read(STDIN_FILENO, out->data + out->size, out->capacity - out->size);
        if (n < 0 && errno != EINTR) {
            return error_errno(err, errno, "can't read standard input");
        }
        if (n == 0) {
            return SLUICE_OK;
        }
        out->size += n > 0 ? (size_t)n : 0;
    }
}

/* A whole input, "-" is standard input; compressed files are decoded. */
static sluice_status read_input(const char *path, struct buf *out, struct sluice_error *err)
{
    void *data;
    uint64_t size;
    sluice_status status;

    buf_clear(out);
    if (strcmp(path, "-") == 0) {
        return read_standard_input(out, err);
    }
    status = input_read_all(path, &data, &size, err);
    if (status == SLUICE_OK) {
        buf_append(out, data, (size_t)size);
        free(data);
        status = buf_status(out, err);
    }
    return status;
}

static sluice_status flush_out(struct job *job, size_t least, struct sluice_error *err)
{
    sluice_status status = buf_status(&job->out, err);

    if (status == SLUICE_OK && job->out.size >= least) {
        if (fwrite(job->out.data, 1, job->out.size, stdout) != job->out.size) {
            return error_errno(err, errno, "can't write the output");
        }
        buf_clear(&job->out);
    }
    return status;
}

static void put_number(struct buf *out, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buf_append(out, digits + n, sizeof digits - n);
}

static sluice_status put_ids(struct job *job, size_t n, bool first, struct sluice_error *err)
{
    for (size_t k = 0; k < n && !job->count; k++) {
        if (job->raw > 0) {
            const uint32_t id = job->ids[k];
            const unsigned char bytes[4] = { (unsigned char)id, (unsigned char)(id >> 8),
                                             (unsigned char)(id >> 16), (unsigned char)(id >> 24) };
            buf_append(&job->out, bytes, (size_t)job->raw / 8);
        } else {
            if (!first || k > 0) {
                buf_putc(&job->out, ' ');
            }
            put_number(&job->out, job->ids[k]);
        }
    }
    return flush_out(job, 1 << 20, err);
}

/* ---- encoding ---- */

static sluice_status need_ids(struct job *job, size_t n, struct sluice_error *err)
{
    if (n > job->capacity) {
        free(job->ids);
        free(job->offsets);
        job->offsets = NULL;
        job->ids = n <= SIZE_MAX / sizeof *job->ids ? malloc(n * sizeof *job->ids) : NULL;
        if (job->with_offsets) {
            job->offsets =
                n <= SIZE_MAX / sizeof *job->offsets ? malloc(n * sizeof *job->offsets) : NULL;
        }
        job->capacity = n;
        if (job->ids == NULL || (job->with_offsets && job->offsets == NULL)) {
            job->capacity = 0;
            return error_nomem(err, "token ids");
        }
    }
    return SLUICE_OK;
}

static sluice_status check_text(const char *text, size_t n, const char *name,
                                struct sluice_error *err)
{
    if (!utf8_valid(text, n)) {
        return error_set(err, SLUICE_E_DATA,
                         "%s is not UTF-8, which is what a tokenizer encodes; iconv(1) converts it",
                         name);
    }
    return SLUICE_OK;
}

/* A text of any length, its ids in portions. */
static sluice_status encode_text(struct job *job, const char *text, size_t length,
                                 struct sluice_error *err)
{
    const size_t bound = job->lib.tokenizer_bound(job->tokenizer, length);
    size_t done = 0;
    sluice_status status;

    if (job->training != NULL) {
        job->bytes += length;
        return job->lib.tokenizer_training_add(job->training, text, length, err);
    }
    status = need_ids(job, bound < SOME_IDS ? bound + 1 : SOME_IDS, err);

    while (status == SLUICE_OK && done < length) {
        size_t n;
        size_t used;
        status = job->lib.encode_some(job->encoder, text + done, length - done, job->ids,
                                      job->capacity, &n, &used, err);
        if (status == SLUICE_E_CONFIG &&
            job->capacity < bound) { /* it can't be taken in portions */
            status = need_ids(job, bound, err);
            continue;
        }
        if (status == SLUICE_OK) {
            status = put_ids(job, n, done == 0, err);
            done += used;
            job->tokens += n;
        }
    }
    job->bytes += length;
    return status;
}

static sluice_status encode_file(struct job *job, const char *path, struct buf *text,
                                 struct sluice_error *err)
{
    const uint64_t before = job->tokens;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    sluice_status status = read_input(path, text, err);

    if (status == SLUICE_OK) {
        status = check_text(text->data, text->size, name, err);
    }
    if (status == SLUICE_OK) {
        status = encode_text(job, text->data, text->size, err);
    }
    if (status == SLUICE_OK && job->count) {
        buf_printf(&job->out, "%llu %s\n", (unsigned long long)(job->tokens - before),
                   strcmp(path, "-") == 0 ? "-" : path);
    } else if (status == SLUICE_OK && job->raw == 0 && job->training == NULL) {
        buf_putc(&job->out, '\n');
    }
    return status == SLUICE_OK ? flush_out(job, 1, err) : status;
}

/* ---- lines of JSON ---- */

static void put_array(struct job *job, const char *name, size_t n)
{
    buf_printf(&job->out, "\"%s\":[", name);
    for (size_t k = 0; k < n; k++) {
        if (k > 0) {
            buf_putc(&job->out, ',');
        }
        put_number(&job->out, strcmp(name, "ids") == 0 ? job->ids[k] : job->offsets[k]);
    }
    buf_putc(&job->out, ']');
}

static sluice_status encode_line(struct job *job, const char *line, size_t length, const char *name,
                                 uint64_t number, struct sluice_error *err)
{
    json_error_t why;
    json_t *record = json_loadb(line, length, JSON_ALLOW_NUL, &why);
    json_t *text = json_object_get(record, "text");
    size_t n = 0;
    sluice_status status;

    if (record == NULL) {
        return error_set(err, SLUICE_E_DATA, "%s, line %llu: %s", name, (unsigned long long)number,
                         why.text);
    }
    if (!json_is_string(text)) {
        json_decref(record);
        return error_set(err, SLUICE_E_DATA,
                         "%s, line %llu: expected an object with a string \"text\", found %s", name,
                         (unsigned long long)number,
                         text == NULL ? "none" : "another type of value");
    }
    length = json_string_length(text);
    if (job->training != NULL) {
        status = encode_text(job, json_string_value(text), length, err);
        json_decref(record);
        return status;
    }
    status = need_ids(job, job->lib.tokenizer_bound(job->tokenizer, length) + 1, err);
    if (status == SLUICE_OK) {
        status = job->with_offsets
                     ? job->lib.encode_offsets(job->encoder, json_string_value(text), length,
                                               job->ids, job->offsets, job->capacity, &n, err)
                     : job->lib.encode(job->encoder, json_string_value(text), length, job->ids,
                                       job->capacity, &n, err);
        if (status != SLUICE_OK && err != NULL) {
            char cause[sizeof err->message];
            memcpy(cause, err->message, sizeof cause);
            error_set(err, status, "%s, line %llu: %.800s", name, (unsigned long long)number,
                      cause);
        }
    }
    json_decref(record);
    if (status != SLUICE_OK) {
        return status;
    }
    job->tokens += n;
    job->bytes += length;
    if (job->raw > 0) {
        return put_ids(job, n, true, err);
    }
    if (job->count) {
        buf_printf(&job->out, "{\"count\":%zu}\n", n);
    } else {
        buf_putc(&job->out, '{');
        put_array(job, "ids", n);
        if (job->with_offsets) {
            buf_putc(&job->out, ',');
            put_array(job, "offsets", n);
        }
        buf_puts(&job->out, "}\n");
    }
    return flush_out(job, 1 << 16, err);
}

/* Lines as they come, so that a pipe of any length needs the memory of its longest line. */
static sluice_status encode_lines(struct job *job, const char *path, struct sluice_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    struct input *input = NULL;
    struct buf text = BUF_INIT;
    size_t begin = 0;
    size_t seen = 0; /* what is known to hold no end of the line: a long one is looked at once */
    uint64_t number = 0;
    bool ended = false;
    sluice_status status = standard ? SLUICE_OK : input_open(path, &input, err);

    while (status == SLUICE_OK && !(ended && begin == text.size)) {
        char *line = text.size > begin ? text.data + begin : NULL;
        char *end = line == NULL ? NULL : memchr(line + seen, '\n', text.size - begin - seen);
        size_t got = 0;
        if (end == NULL && !ended) {
            seen = text.size - begin;
            if (begin > 0) {
                memmove(text.data, text.data + begin, seen);
                text.size = seen;
                begin = 0;
            }
            if (!buf_reserve(&text, text.size + (1 << 16))) {
                status = error_nomem(err, "a line");
            } else if (standard) {
                ssize_t n = read(STDIN_FILENO, text.data + text.size, 1 << 16);
                got = n > 0 ? (size_t)n : 0;
                if (n < 0 && errno != EINTR) {
                    status = error_errno(err, errno, "can't read standard input");
                }
                ended = n == 0;
            } else {
                status = input_read(input, text.data + text.size, 1 << 16, &got, err);
                ended = got == 0;
            }
            text.size += got;
            continue;
        }
        if (end == NULL) {
            end = text.data + text.size;
        }
        number++;
        seen = 0;
        if (end > line) {
            status = encode_line(job, line, (size_t)(end - line), name, number, err);
        }
        begin = (size_t)(end - text.data) + (end < text.data + text.size);
    }
    if (input != NULL) {
        input_close(input);
    }
    buf_deinit(&text);
    return status == SLUICE_OK ? flush_out(job, 1, err) : status;
}

/* ---- the other way ---- */

static sluice_status decode_file(struct job *job, const char *path, struct buf *text,
                                 struct sluice_error *err)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    sluice_status status = read_input(path, text, err);
    const char *p = status == SLUICE_OK ? buf_str(text) : "";
    const char *last = p + (status == SLUICE_OK ? text->size : 0);

    while (status == SLUICE_OK) {
        const char *bytes;
        size_t length;
        char *end;
        unsigned long long id;
        p += strspn(p, " \t\r\n,[]");
        if (p == last) {
            break;
        }
        id = strtoull(p, &end, 10);
        if (end == p || *p == '-' || *p == '+' || strchr(" \t\r\n,[]", *end) == NULL) {
            return error_set(err, SLUICE_E_DATA,
                             "%s: found '%.*s', expected token ids separated by white space", name,
                             (int)strcspn(p, " \t\r\n"), p);
        }
        if (id > UINT32_MAX ||
            job->lib.tokenizer_token(job->tokenizer, (uint32_t)id, &bytes, &length) != SLUICE_OK) {
            return error_set(err, SLUICE_E_DATA,
                             "%s: no token has the id %.*s; the vocabulary has ids below %u", name,
                             (int)(end - p), p, job->lib.tokenizer_vocab_size(job->tokenizer));
        }
        buf_append(&job->out, bytes, length);
        status = flush_out(job, 1 << 20, err);
        p = end;
    }
    return status == SLUICE_OK ? flush_out(job, 1, err) : status;
}

/* ---- speed ---- */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static sluice_status bench_file(struct job *job, const char *path, struct buf *text,
                                struct sluice_error *err)
{
    struct sluice_encoder_counts counts = { .size = sizeof counts };
    double first = 0;
    double start;
    double took = 0;
    unsigned passes = 0;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    sluice_status status = read_input(path, text, err);

    if (status == SLUICE_OK) {
        status = check_text(text->data, text->size, name, err);
    }
    if (status == SLUICE_OK && text->size == 0) {
        status = error_set(err, SLUICE_E_DATA, "%s is empty: there is nothing to measure", name);
    }
    job->count = true;
    job->tokens = 0;
    start = seconds();
    while (status == SLUICE_OK && took < 2) {
        status = encode_text(job, text->data, text->size, err);
        took = seconds() - start;
        first = passes++ == 0 ? took : first;
    }
    if (status != SLUICE_OK) {
        return status;
    }
    job->lib.encoder_count(job->encoder, &counts);
    buf_printf(&job->out,
               "%s: %.1f MB, %.2f bytes a token; the first pass %.1f MB/s, %u passes %.1f MB/s, "
               "%.1f million tokens/s of processor time\n"
               "pieces: %.1f%% in the vocabulary's table, %.1f%% in the cache, %.1f%% merged; "
               "cache %.1f of at most %.1f MiB\n",
               name, 1e-6 * (double)text->size,
               (double)text->size * passes / (double)(job->tokens > 0 ? job->tokens : 1),
               1e-6 * (double)text->size / first, passes, 1e-6 * (double)text->size * passes / took,
               1e-6 * (double)job->tokens / took,
               100.0 * (double)counts.head_hits / (double)counts.pieces,
               100.0 * (double)counts.tail_hits / (double)counts.pieces,
               100.0 * (double)(counts.pieces - counts.head_hits - counts.tail_hits) /
                   (double)counts.pieces,
               (double)counts.cache_bytes / (1 << 20), (double)counts.cache_bytes_most / (1 << 20));
    return flush_out(job, 1, err);
}

/* ---- the command ---- */

static sluice_status parse_options(struct job *job, struct sluice_tokenizer_options *options,
                                   uint64_t *cache, struct sluice_error *err)
{
    static const char *const kinds[] = { "ordinary", "allow", "refuse" };
    const char *raw = args_get(&job->args, "--raw");
    const char *specials = args_get(&job->args, "--specials");
    const char *size = args_get(&job->args, "--cache");

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
    if (size != NULL && (!size_parse(size, cache) || *cache == 0)) {
        return error_set(err, SLUICE_E_CONFIG, "found --cache %s, expected a size such as 64MiB",
                         size);
    }
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

static sluice_status load(struct job *job, struct sluice_error *err)
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
        if (status != SLUICE_OK && err != NULL) {
            char cause[sizeof err->message];
            memcpy(cause, err->message, sizeof cause);
            return error_set(err, status, "%s: %.800s", path, cause);
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
        if (status == SLUICE_E_CONFIG && err != NULL) {
            char cause[sizeof err->message];
            memcpy(cause, err->message, sizeof cause);
            return error_set(err, status, "%s: %.800s", path, cause);
        }
    }
    if (status == SLUICE_OK && is_given(job, "--train-head")) {
        return job->lib.tokenizer_training_create(job->tokenizer, &job->training, err);
    }
    return status == SLUICE_OK
               ? job->lib.encoder_create(job->tokenizer, (size_t)cache, &job->encoder, err)
               : status;
}

static sluice_status write_head(struct job *job, struct sluice_error *err)
{
    const char *path = args_get(&job->args, "--train-head");
    sluice_status status = job->lib.tokenizer_training_write(job->training, 0, path, err);

    if (status == SLUICE_OK) {
        buf_printf(&job->out, "%s: a head of %.1f MB of text\n", path, 1e-6 * (double)job->bytes);
        status = flush_out(job, 1, err);
    }
    return status;
}

static sluice_status go(struct job *job, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    sluice_status status = SLUICE_OK;

    if (job->jsonl) {
        status = encode_lines(job, args_get(&job->args, "--jsonl"), err);
        return status == SLUICE_OK && job->training != NULL ? write_head(job, err) : status;
    }
    for (size_t i = 0; status == SLUICE_OK && (i < job->args.n_words || i == 0); i++) {
        const char *path = job->args.n_words > 0 ? job->args.words[i] : "-";
        status = job->decode  ? decode_file(job, path, &text, err)
                 : job->bench ? bench_file(job, path, &text, err)
                              : encode_file(job, path, &text, err);
    }
    if (status == SLUICE_OK && job->count && !job->bench && job->args.n_words > 1) {
        buf_printf(&job->out, "%llu total\n", (unsigned long long)job->tokens);
        status = flush_out(job, 1, err);
    }
    buf_deinit(&text);
    return status == SLUICE_OK && job->training != NULL ? write_head(job, err) : status;
}

int cmd_tokenize(int argc, char **argv)
{
    struct job job;
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
