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

static sluice_status state_write(struct sluice_io *io, const void *data, uint64_t n)
{
    struct stage_state_io *state = io->ctx;

    if (state->out == NULL || n > SIZE_MAX / 4 || (data == NULL && n > 0)) {
        return SLUICE_E_INTERNAL;
    }
    buf_append(state->out, data, (size_t)n);
    return state->out->failed ? SLUICE_E_NOMEM : SLUICE_OK;
}

static sluice_status state_read(struct sluice_io *io, void *data, uint64_t n)
{
    struct stage_state_io *state = io->ctx;

    if (n > state->left) {
        state->short_read = true;
        return SLUICE_E_DATA;
    }
    if (n > 0) {
        memcpy(data, state->in, (size_t)n);
        state->in += n;
        state->left -= (size_t)n;
    }
    return SLUICE_OK;
}

size_t stage_state_left(const struct sluice_io *io)
{
    return ((const struct stage_state_io *)io->ctx)->left;
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
