/* Whole texts for `sluice tokenize`: read, encoded in portions, decoded, measured; and how ids are
 * written. See tokenizeInt.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/say.h"
#include "base/utf8.h"
#include "cmd/tokenize/tokenizeInt.h"
#include "store/input.h"

#define SOME_IDS ((size_t)1 << 20) /* a text's ids are written in portions of this many */

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
    if (status == SLUICE_OK) { /* taken, not copied: it may be half of all memory */
        buf_deinit(out);
        *out = (struct buf){ data, (size_t)size, (size_t)size + 1, false }; /* with its NUL */
    }
    return status;
}

sluice_status tokenize_flush(struct tokenizing *job, size_t least, struct sluice_error *err)
{
    sluice_status status = buf_status(&job->out, err);

    if (status == SLUICE_OK && job->out.size >= least) {
        if (!say_data(job->out.data, job->out.size)) {
            return error_errno(err, errno, "can't write the output");
        }
        buf_clear(&job->out);
    }
    return status;
}

void tokenize_put_number(struct buf *out, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buf_append(out, digits + n, sizeof digits - n);
}

sluice_status tokenize_put_ids(struct tokenizing *job, size_t n, bool first,
                               struct sluice_error *err)
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
            tokenize_put_number(&job->out, job->ids[k]);
        }
    }
    return tokenize_flush(job, 1 << 20, err);
}

/* ---- encoding ---- */

sluice_status tokenize_need_ids(struct tokenizing *job, size_t n, struct sluice_error *err)
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

sluice_status tokenize_text(struct tokenizing *job, const char *text, size_t length,
                            struct sluice_error *err)
{
    const size_t bound = job->lib.tokenizer_bound(job->tokenizer, length);
    size_t done = 0;
    sluice_status status;

    if (job->training != NULL) {
        job->bytes += length;
        return job->lib.tokenizer_training_add(job->training, text, length, err);
    }
    status = tokenize_need_ids(job, bound < SOME_IDS ? bound + 1 : SOME_IDS, err);

    while (status == SLUICE_OK && done < length) {
        size_t n;
        size_t used;
        status = job->lib.encode_some(job->encoder, text + done, length - done, job->ids,
                                      job->capacity, &n, &used, err);
        if (status == SLUICE_E_CONFIG &&
            job->capacity < bound) { /* it can't be taken in portions */
            status = tokenize_need_ids(job, bound, err);
            continue;
        }
        if (status == SLUICE_OK) {
            status = tokenize_put_ids(job, n, done == 0, err);
            done += used;
            job->tokens += n;
        } else if (status == SLUICE_E_DATA && done > 0) { /* its places are of what was left */
            const struct sluice_error was = *err;
            (void)error_set(err, status, "behind the first %zu bytes: %s", done, was.message);
        }
    }
    job->bytes += length;
    return status;
}

sluice_status tokenize_file(struct tokenizing *job, const char *path, struct buf *text,
                            struct sluice_error *err)
{
    const uint64_t before = job->tokens;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    sluice_status status = read_input(path, text, err);

    if (status == SLUICE_OK) {
        status = check_text(text->data, text->size, name, err);
    }
    if (status == SLUICE_OK) {
        status = tokenize_text(job, text->data, text->size, err);
    }
    if (status == SLUICE_OK && job->count) {
        buf_printf(&job->out, "%llu %s\n", (unsigned long long)(job->tokens - before),
                   strcmp(path, "-") == 0 ? "-" : path);
    } else if (status == SLUICE_OK && job->raw == 0 && job->training == NULL) {
        buf_putc(&job->out, '\n');
    }
    return status == SLUICE_OK ? tokenize_flush(job, 1, err) : status;
}

/* ---- the other way ---- */

sluice_status tokenize_decode(struct tokenizing *job, const char *path, struct buf *text,
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
        status = tokenize_flush(job, 1 << 20, err);
        p = end;
    }
    return status == SLUICE_OK ? tokenize_flush(job, 1, err) : status;
}

/* ---- speed ---- */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

sluice_status tokenize_bench(struct tokenizing *job, const char *path, struct buf *text,
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
        status = tokenize_text(job, text->data, text->size, err);
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
    return tokenize_flush(job, 1, err);
}
