/* Ids in files: see bytesearch.h. */
#include <stdlib.h>
#include <string.h>

#include "cmd/dataset/bytesearch.h"
#include "data/frame.h"
#include "store/input.h"
#include "store/store.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define FILE_MOST (UINT64_C(1) << 32) /* of one that has frames behind a line */

/* Frames one behind the other, up to what is none. */
static sluice_status search_frames(const struct bytesearch *search, const char *data, uint64_t n,
                                   enum bytesearch_hit *hit, struct sluice_error *err)
{
    struct frame_codec *codec = frame_codec_create();
    struct buf raw = BUF_INIT;
    sluice_status status = codec == NULL ? error_nomem(err, "rows") : SLUICE_OK;

    while (status == SLUICE_OK && *hit == BYTESEARCH_NONE && n >= FRAME_HEADER_BYTES) {
        uint64_t total;
        uint32_t rows;
        status = frame_size(data, &total, &rows, err);
        if (status == SLUICE_OK && total > n) {
            total = n; /* it is cut, which is told below */
        }
        buf_clear(&raw);
        if (status == SLUICE_OK) {
            status = frame_bytes(codec, data, (size_t)total, 0, &raw, err);
        }
        if (status == SLUICE_OK &&
            bytesearch_piece(search, raw.data, raw.size, false, false, false)) {
            *hit = BYTESEARCH_ROWS;
        }
        data += status == SLUICE_OK ? total : 0;
        n -= status == SLUICE_OK ? total : 0;
    }
    frame_codec_destroy(codec);
    buf_deinit(&raw);
    return status;
}

/* Bytes as a stream; an id may stand over the border of two pieces. */
static sluice_status search_stream(const struct bytesearch *search, struct input *input,
                                   enum bytesearch_hit *hit, struct sluice_error *err)
{
    const size_t longest = search->sizes[search->n_sizes - 1] + 1; /* and what is beside it */
    char *piece = malloc(PIECE_BYTES + longest);
    bool inside = false;
    size_t kept = 0;
    size_t got = 1;
    sluice_status status = piece == NULL ? error_nomem(err, "a piece of a file") : SLUICE_OK;

    while (status == SLUICE_OK && *hit == BYTESEARCH_NONE && got > 0) {
        status = input_read(input, piece + kept, PIECE_BYTES, &got, err);
        if (status == SLUICE_OK) {
            size_t n = kept + got;
            *hit = bytesearch_piece(search, piece, n, true, inside, got > 0) ? BYTESEARCH_WORD
                                                                             : BYTESEARCH_NONE;
            inside = inside || n > longest;
            kept = n < longest ? n : longest;
            memmove(piece, piece + n - kept, kept);
        }
    }
    free(piece);
    return status;
}

static sluice_status search_whole(const struct bytesearch *search, const char *path, bool *found,
                                  enum bytesearch_hit *hit, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    const char *rows;
    size_t before;
    sluice_status status = store_read_all(path, FILE_MOST, &text, found, err);

    if (status == SLUICE_OK && *found) {
        /* A kept row has a line before its frame. */
        rows = text.size >= 4 && memcmp(text.data, "SLF", 3) == 0
                   ? text.data
                   : memmem(text.data, text.size, "\nSLF", 4);
        before = rows == NULL ? text.size : (size_t)(rows - text.data) + (*rows == '\n');
        if (bytesearch_piece(search, text.data, before, true, false, false)) {
            *hit = BYTESEARCH_WORD;
        } else if (before < text.size) {
            status = search_frames(search, text.data + before, text.size - before, hit, err);
        }
    }
    buf_deinit(&text);
    return status;
}

sluice_status bytesearch_file(const struct bytesearch *search, const char *path, bool *found,
                              enum bytesearch_hit *hit, struct sluice_error *err)
{
    const size_t n = strlen(path);
    struct input *input = NULL;
    uint64_t bytes = 0;
    sluice_status status;

    *hit = BYTESEARCH_NONE;
    TRY(store_size(path, &bytes, found, err));
    if (!*found) {
        return SLUICE_OK;
    }
    if ((n > 4 && strcmp(path + n - 4, ".slf") == 0) || strstr(path, "/quarantine/") != NULL) {
        return search_whole(search, path, found, hit, err);
    }
    status = input_open(path, &input, err);
    if (status == SLUICE_OK) {
        status = search_stream(search, input, hit, err);
    }
    input_close(input);
    return status;
}
