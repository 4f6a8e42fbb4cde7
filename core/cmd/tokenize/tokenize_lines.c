/* Lines of JSON for `sluice tokenize`: {"text": ...} in, {"ids": [...]} out. Depends on jansson.
 * See tokenizeInt.h. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tokenize/tokenizeInt.h"
#include "store/input.h"

#define LINE_MOST ((size_t)256 << 20) /* bytes: what reads without a bound takes all memory */

static void put_array(struct tokenizing *job, const char *name, size_t n)
{
    buf_printf(&job->out, "\"%s\":[", name);
    for (size_t k = 0; k < n; k++) {
        if (k > 0) {
            buf_putc(&job->out, ',');
        }
        tokenize_put_number(&job->out, strcmp(name, "ids") == 0 ? job->ids[k] : job->offsets[k]);
    }
    buf_putc(&job->out, ']');
}

static sluice_status encode_line(struct tokenizing *job, const char *line, size_t length,
                                 const char *name, uint64_t number, struct sluice_error *err)
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
        status = tokenize_text(job, json_string_value(text), length, err);
        json_decref(record);
        return status;
    }
    status = tokenize_need_ids(job, job->lib.tokenizer_bound(job->tokenizer, length) + 1, err);
    if (status == SLUICE_OK) {
        status = job->with_offsets
                     ? job->lib.encode_offsets(job->encoder, json_string_value(text), length,
                                               job->ids, job->offsets, job->capacity, &n, err)
                     : job->lib.encode(job->encoder, json_string_value(text), length, job->ids,
                                       job->capacity, &n, err);
        if (status != SLUICE_OK) {
            error_prefix(err, "%s, line %llu", name, (unsigned long long)number);
        }
    }
    json_decref(record);
    if (status != SLUICE_OK) {
        return status;
    }
    job->tokens += n;
    job->bytes += length;
    if (job->raw > 0) {
        return tokenize_put_ids(job, n, true, err);
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
    return tokenize_flush(job, 1 << 16, err);
}

/* Lines as they come, so that a pipe of any length needs the memory of its longest line. */
sluice_status tokenize_lines(struct tokenizing *job, const char *path, struct sluice_error *err)
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
            if (seen > LINE_MOST) {
                status = error_set(err, SLUICE_E_DATA,
                                   "%s, line %" PRIu64
                                   ": found more than %zu MiB without an end of the line, expected "
                                   "lines of JSON; without --jsonl the whole file is one text",
                                   name, number + 1, LINE_MOST >> 20);
                break;
            }
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
    return status == SLUICE_OK ? tokenize_flush(job, 1, err) : status;
}
