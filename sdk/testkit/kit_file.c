/* Driving readers: files cut into chunks as the engine cuts them. See kitInt.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testkit/kitInt.h"
#include "store/input.h"

#define FILE_BYTES_MAX ((size_t)16 << 20)

/* ---- files ---- */

static void json_string(struct kit *kit, struct buf *out, const char *column, uint64_t id)
{
    struct kit_random random = kit_random_of(kit->seed, column, id);
    struct buf text = BUF_INIT;

    kit_text(&text, &random, KIT_ORDINARY);
    buf_json_string(out, buf_str(&text), text.size);
    buf_deinit(&text);
}

static void json_row(struct kit *kit, struct buf *out, uint64_t id)
{
    struct kit_random random = kit_random_of(kit->seed, "record", id);

    buf_printf(out, "{\"id\": \"doc-%llu\", \"text\": ", (unsigned long long)id);
    json_string(kit, out, "text", id);
    if (kit_below(&random, 3) == 0) {
        buf_printf(out, ", \"score\": %llu.5, \"tags\": [\"a\", {\"b\": null}]",
                   (unsigned long long)kit_below(&random, 100));
    }
    buf_putc(out, '}');
}

static bool read_data(struct kit *kit, struct buf *out)
{
    struct input *input = NULL;
    struct sluice_error err = ERROR_INIT;
    sluice_status status = input_open(kit->options.data, &input, &err);
    size_t got = 1;

    while (status == SLUICE_OK && got > 0 && out->size < FILE_BYTES_MAX) {
        if (!buf_reserve(out, 1u << 20)) {
            status = error_nomem(&err, "a file");
            break;
        }
        status = input_read(input, out->data + out->size, 1u << 20, &got, &err);
        out->size += status == SLUICE_OK ? got : 0;
    }
    input_close(input);
    return status == SLUICE_OK || kit_fail(kit, "--data: %s", err.message);
}

bool kit_file_make(struct kit *kit, uint32_t which, size_t n, struct buf *out)
{
    if (kit->options.data != NULL) {
        return kit_random(kit) ? kit_file_stored(kit, out) : read_data(kit, out);
    }
    if (which == 1) {
        buf_puts(out, "[\n");
    }
    for (uint64_t id = 0; out->size < n && !out->failed; id++) {
        struct kit_random random = kit_random_of(kit->seed, "line", id);
        uint64_t choice = kit_below(&random, 40);
        if (which == 1) {
            buf_puts(out, id > 0 ? ",\n" : "");
            json_row(kit, out, id);
        } else if (which == 2) {
            kit_text(out, &random, choice < 3 ? KIT_HOSTILE : KIT_ORDINARY);
            buf_puts(out, choice < 10 ? "\n\n\n" : "\n");
        } else if (choice == 0) {
            buf_puts(out, "{\"text\": \"cut off\n");
        } else if (choice == 1) {
            buf_puts(out, "{\"id\":1,\"text\":\"\xff\xfe\"}\n");
        } else if (choice == 2) {
            buf_puts(out, "\n");
        } else {
            json_row(kit, out, id);
            buf_puts(out, choice == 3 ? "\r\n" : "\n");
        }
    }
    buf_puts(out, which == 1 ? "\n]\n" : "");
    return !out->failed || kit_fail(kit, "out of memory for a file");
}

/* ---- reading ---- */

struct reader {
    struct kit_bench *bench;
    const struct kit_reading *reading;
    struct kit_outcome *out;
    struct stage_worker *worker;
    struct stage_result result;
    bool broken;
};

static bool answer(struct reader *reader, const char *call, sluice_status status)
{
    kit_leave(reader->bench->kit);
    if (status != SLUICE_OK && reader->out->status == SLUICE_OK) {
        reader->out->status = status;
        reader->out->failed_call = call;
    }
    if (reader->reading->each != NULL) {
        reader->reading->each(reader->reading->ctx, reader->bench->kit, call);
    }
    return status == SLUICE_OK;
}

/* Gives [offset, offset + n) to the stage; *consumed is its answer. */
static bool give(struct reader *reader, size_t offset, size_t n, uint32_t flags, size_t *consumed)
{
    const struct kit_reading *reading = reader->reading;
    struct sluice_chunk chunk = {
        .size = sizeof chunk, .n = n, .offset = offset, .uri = "kit/file", .flags = flags
    };
    struct sluice_error err = ERROR_INIT;
    struct kit_view view;
    sluice_status status = kit_view_bytes(reading->data + offset, n, reading->read_only,
                                          reading->fill, &view, &chunk.data, &err);

    if (status != SLUICE_OK) {
        reader->broken = true;
        kit_view_deinit(&view);
        return kit_fail(reader->bench->kit, "the kit could not make a chunk: %s", err.message);
    }
    kit_enter(reader->bench->kit, "read");
    status = stage_read(reader->worker, &chunk, &reader->result, &reader->out->error);
    if (status == SLUICE_OK) {
        kit_outcome_add(reader->out, reader->bench, &reader->result, NULL, 0);
    }
    kit_view_deinit(&view);
    *consumed = (size_t)chunk.consumed;
    return answer(reader, "read", status);
}

/* Where the line that holds byte `at` or begins there ends; n at the end of the file. */
static size_t line_end(const struct kit_reading *reading, size_t at)
{
    const char *newline =
        at < reading->n ? memchr(reading->data + at, '\n', reading->n - at) : NULL;

    return newline != NULL ? (size_t)(newline - reading->data) + 1 : reading->n;
}

static bool read_lines(struct reader *reader)
{
    const struct kit_reading *reading = reader->reading;
    size_t to = reading->to > 0 && reading->to < reading->n ? (size_t)reading->to : reading->n;
    size_t at = reading->from > 0 ? line_end(reading, (size_t)reading->from - 1) : 0;
    size_t end = to > 0 ? line_end(reading, to - 1) : 0;
    uint32_t flags = at == 0 ? SLUICE_CHUNK_FIRST : 0;

    while (at < to) {
        size_t next = at + reading->chunk < end ? line_end(reading, at + reading->chunk) : end;
        size_t consumed;
        if (!give(reader, at, next - at, flags | (next == end ? SLUICE_CHUNK_LAST : 0),
                  &consumed)) {
            return false;
        }
        if (consumed != next - at) {
            snprintf(reader->out->error.message, sizeof reader->out->error.message,
                     "it consumed %zu of %zu bytes of whole lines", consumed, next - at);
            return answer(reader, "read", SLUICE_E_DATA);
        }
        at = next;
        flags = 0;
    }
    return true;
}

static bool read_whole(struct reader *reader)
{
    const struct kit_reading *reading = reader->reading;
    size_t window = reading->chunk;
    size_t at = 0;
    uint32_t flags = SLUICE_CHUNK_FIRST;

    for (;;) {
        size_t left = reading->n - at;
        size_t n = left < window ? left : window;
        size_t consumed;
        bool last = n == left;
        if (!give(reader, at, n, flags | (last ? SLUICE_CHUNK_LAST : 0), &consumed)) {
            return false;
        }
        if (last && consumed < n) {
            error_set(&reader->out->error, SLUICE_E_DATA,
                      "the file ends inside a record that begins at byte %zu", at + consumed);
            return answer(reader, "read", SLUICE_E_DATA);
        }
        if (last) {
            return true;
        }
        at += consumed;
        window = consumed == 0 ? window * 2 : window;
        flags = 0;
    }
}

bool kit_read(struct kit_bench *bench, const struct kit_reading *reading, struct kit_outcome *out)
{
    struct reader reader = { .bench = bench, .reading = reading, .out = out };
    bool lines = bench->kind->cut != NULL && strcmp(bench->kind->cut, "newline") == 0;
    bool ok;

    if (bench->kind->scan != NULL && bench->kind->read == NULL) {
        return kit_scan(bench, reading, out);
    }
    kit_outcome_init(out);
    stage_result_init(&reader.result);
    kit_enter(bench->kit, "worker_open");
    ok = answer(&reader, "worker_open",
                stage_worker_open(bench->stage, &reader.worker, &out->error)) &&
         (lines ? read_lines(&reader) : read_whole(&reader));
    if (ok) {
        sluice_status status;
        kit_enter(bench->kit, "flush");
        status = stage_flush(reader.worker, &reader.result, &out->error);
        if (status == SLUICE_OK) {
            kit_outcome_add(out, bench, &reader.result, NULL, 0);
        }
        answer(&reader, "flush", status);
    }
    if (reader.worker != NULL) {
        kit_enter(bench->kit, "worker_close");
        stage_worker_close(reader.worker);
        answer(&reader, "worker_close", SLUICE_OK);
    }
    stage_result_deinit(&reader.result);
    return !reader.broken && !out->text.failed;
}
