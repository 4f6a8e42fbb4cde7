/* Frames around saved states of workers, and the struct sluice_io over them. See stage.h. */
#include "plugin/stage_state.h"

#include <string.h>

#include "base/hash.h"
#include "plugin/stage.h"

#define MAGIC "SLST"

static void put(struct buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
    }
}

static uint64_t get(const unsigned char *data, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++) {
        value |= (uint64_t)data[i] << (8 * i);
    }
    return value;
}

void stage_frame_begin(struct stage_frame *frame, struct buf *out, uint64_t version)
{
    frame->begin = out->size;
    frame->version = version;
    buf_append(out, MAGIC, 4);
    put(out, STAGE_STATE_FORMAT, 4);
    put(out, version, 8);
    put(out, 0, 8);
    put(out, 0, 8);
}

void stage_frame_end(const struct stage_frame *frame, struct buf *out)
{
    size_t from = frame->begin + STAGE_FRAME_HEADER;
    struct buf header = BUF_INIT;

    if (out->failed) {
        return;
    }
    put(&header, out->size - from, 8);
    put(&header, hash_bytes(out->data + from, out->size - from).lo, 8);
    if (header.failed) {
        out->failed = true;
    } else {
        memcpy(out->data + frame->begin + 16, header.data, 16);
    }
    buf_deinit(&header);
}

sluice_status stage_frame_open(const void *data, size_t n, uint64_t *version, const void **bytes,
                               size_t *size, struct sluice_error *err)
{
    const unsigned char *header = data;

    if (n < STAGE_FRAME_HEADER || memcmp(header, MAGIC, 4) != 0 ||
        get(header + 4, 4) != STAGE_STATE_FORMAT) {
        return error_set(err, SLUICE_E_DATA, "a saved state has no valid header; found %zu bytes",
                         n);
    }
    *version = get(header + 8, 8);
    *bytes = header + STAGE_FRAME_HEADER;
    *size = n - STAGE_FRAME_HEADER;
    if (get(header + 16, 8) != *size) {
        return error_set(err, SLUICE_E_DATA, "a saved state is cut: found %zu bytes, expected %llu",
                         *size, (unsigned long long)get(header + 16, 8));
    }
    if (get(header + 24, 8) != hash_bytes(*bytes, *size).lo) {
        return error_set(err, SLUICE_E_DATA, "a saved state is damaged: its checksum differs");
    }
    return SLUICE_OK;
}

/* ---- what the plugin gets ---- */

static sluice_status put_piece(struct stage_state_io *state)
{
    if (state->status == SLUICE_OK) {
        state->status = state->stream->put(state->stream->ctx, state->piece.data, state->piece.size,
                                           state->err);
    }
    buf_clear(&state->piece);
    return state->status;
}

/* The next piece, in place of one that was read. */
static sluice_status get_piece(struct stage_state_io *state)
{
    if (state->status == SLUICE_OK && !state->ended) {
        state->status = state->stream->get(state->stream->ctx, &state->piece, state->err);
        state->in = state->piece.data;
        state->left = state->status == SLUICE_OK ? state->piece.size : 0;
        state->ended = state->left == 0;
    }
    return state->status;
}

static sluice_status state_write(struct sluice_io *io, const void *data, uint64_t n)
{
    struct stage_state_io *state = io->ctx;

    if (state->out == NULL || n > SIZE_MAX / 4 || (data == NULL && n > 0)) {
        return SLUICE_E_INTERNAL;
    }
    while (state->stream != NULL && n > 0) {
        size_t room = STAGE_PIECE - state->out->size;
        size_t part = n < room ? (size_t)n : room;
        buf_append(state->out, data, part);
        data = (const char *)data + part;
        n -= part;
        if (state->out->failed) {
            return SLUICE_E_NOMEM;
        }
        if (part == room) {
            TRY(put_piece(state));
        }
    }
    if (n > 0) {
        buf_append(state->out, data, (size_t)n);
    }
    return state->out->failed ? SLUICE_E_NOMEM : SLUICE_OK;
}

static sluice_status state_read(struct sluice_io *io, void *data, uint64_t n)
{
    struct stage_state_io *state = io->ctx;

    for (;;) {
        size_t part = n < state->left ? (size_t)n : state->left;
        if (state->stream == NULL && part < n) {
            break;
        }
        if (part > 0) {
            memcpy(data, state->in, part);
            data = (char *)data + part;
            state->in += part;
            state->left -= part;
            n -= part;
        }
        if (n == 0) {
            return SLUICE_OK;
        }
        TRY(get_piece(state));
        if (state->ended) {
            break;
        }
    }
    state->short_read = true;
    return SLUICE_E_DATA;
}

/* All that is left is put together first: for who must know how much it is. */
static void gather(struct stage_state_io *state)
{
    struct buf all = BUF_INIT;

    buf_append(&all, state->in, state->left);
    while (get_piece(state) == SLUICE_OK && !state->ended) {
        buf_append(&all, state->in, state->left);
    }
    if (state->status == SLUICE_OK && all.failed) {
        state->status = error_nomem(state->err, "a saved state");
    }
    buf_deinit(&state->piece);
    state->piece = all;
    state->in = all.data;
    state->left = state->status == SLUICE_OK ? all.size : 0;
}

size_t stage_state_left(const struct sluice_io *io)
{
    struct stage_state_io *state = io->ctx;

    if (state->stream != NULL && state->out == NULL) {
        gather(state);
    }
    return state->left;
}

void stage_state_io_init(struct stage_state_io *state, struct buf *out, const void *in, size_t n)
{
    memset(state, 0, sizeof *state);
    state->io.size = sizeof state->io;
    state->io.ctx = state;
    state->io.read = state_read;
    state->io.write = state_write;
    state->out = out;
    state->in = in;
    state->left = n;
}

void stage_state_io_stream(struct stage_state_io *state, const struct stage_stream *stream,
                           bool saves, struct sluice_error *err)
{
    stage_state_io_init(state, NULL, NULL, 0);
    buf_init(&state->piece);
    state->out = saves ? &state->piece : NULL;
    state->stream = stream;
    state->err = err;
}

void stage_state_io_deinit(struct stage_state_io *state)
{
    buf_deinit(&state->piece);
}

sluice_status stage_state_io_end(struct stage_state_io *state)
{
    if (state->piece.size > 0) {
        TRY(put_piece(state));
    }
    return put_piece(state);
}
