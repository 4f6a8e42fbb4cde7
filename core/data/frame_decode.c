/* Decoding of spill frames: see frame.h and frameInt.h. Every byte is hostile until array_check
 * has passed what it became. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd_errors.h>

#include "data/frameInt.h"

#define RAW_MAX (UINT64_C(1) << 30) /* when the caller gives no bound */

struct decoder {
    struct array_memory *memory;
    size_t size; /* raw bytes */
    size_t at;   /* of these used */
    struct sluice_error *err;
};

static sluice_status damaged(struct sluice_error *err, const char *what)
{
    return error_set(
        err, SLUICE_E_DATA,
        "a spill frame is damaged: %s; the file was cut or changed after it was written, remove it "
        "and run again",
        what);
}

sluice_status frame_size(const void *data, uint64_t *total, uint32_t *rows,
                         struct sluice_error *err)
{
    struct frame_header header;

    memcpy(&header, data, sizeof header);
    if (memcmp(header.magic, "SLF", 3) != 0 || header.magic[3] != '0' + FRAME_FORMAT) {
        return damaged(err, "it does not begin with 'SLF1'");
    }
    if ((header.flags & ~(FRAME_FLAG_RAW | FRAME_FLAG_WORDS)) != 0) {
        return damaged(err, "it has unknown flags");
    }
    if (header.stored > INT64_MAX - FRAME_HEADER_BYTES || header.rows > COLUMN_ROWS_MAX ||
        header.stored > header.raw ||
        (header.flags == FRAME_FLAG_RAW && header.stored != header.raw)) {
        return damaged(err, "its sizes contradict each other");
    }
    *total = FRAME_HEADER_BYTES + header.stored;
    *rows = header.rows;
    return SLUICE_OK;
}

/* The next piece, or NULL when the raw bytes end before it. */
static char *take(struct decoder *d, uint64_t bytes)
{
    char *piece = d->memory->data + d->at;

    if (bytes > d->size - d->at || frame_padded(bytes) > d->size - d->at) {
        return NULL;
    }
    d->at += frame_padded(bytes);
    return piece;
}

static sluice_status cut(const struct decoder *d)
{
    return damaged(d->err, "its columns are longer than its bytes");
}

static sluice_status decode_array(struct decoder *d, const struct type *type, int64_t rows,
                                  struct ArrowArray *out);

/* Reads 0 and the lengths of rows, and makes them offsets. */
static sluice_status decode_offsets(struct decoder *d, int64_t rows, int32_t **out)
{
    uint32_t *lengths = (uint32_t *)(void *)take(d, ((uint64_t)rows + 1) * sizeof *lengths);
    uint64_t total = 0;

    if (lengths == NULL) {
        return cut(d);
    }
    if (lengths[0] != 0) {
        return damaged(d->err, "its first offset is not 0");
    }
    for (int64_t i = 1; i <= rows; i++) {
        total += lengths[i];
        lengths[i] = (uint32_t)total;
    }
    /* 2^31 lengths below 2^32 do not overflow 64 bits. */
    if (total > INT32_MAX) {
        return damaged(d->err, "its lengths add up to more than a column holds");
    }
    *out = (int32_t *)(void *)lengths;
    return SLUICE_OK;
}

static sluice_status decode_values(struct decoder *d, const struct type *type, int64_t rows,
                                   struct ArrowArray *out)
{
    size_t width = type_width(type);
    int32_t *offsets = NULL;
    char *piece;

    if (type->kind == TYPE_STRUCT) {
        for (uint32_t k = 0; k < type->n_children; k++) {
            TRY(decode_array(d, type->children[k], rows, out->children[k]));
        }
        return SLUICE_OK;
    }
    if (type->kind == TYPE_BOOL || width > 0) {
        piece = take(d, width > 0 ? (uint64_t)rows * width : ((uint64_t)rows + 7) / 8);
        if (piece == NULL) {
            return cut(d);
        }
        array_borrow(out, 1, piece, d->memory);
        return SLUICE_OK;
    }
    TRY(decode_offsets(d, rows, &offsets));
    array_borrow(out, 1, offsets, d->memory);
    if (type->kind == TYPE_LIST) {
        return decode_array(d, type->children[0], offsets[rows], out->children[0]);
    }
    piece = take(d, (uint64_t)offsets[rows]);
    if (piece == NULL) {
        return cut(d);
    }
    array_borrow(out, 2, piece, d->memory);
    return SLUICE_OK;
}

static sluice_status decode_array(struct decoder *d, const struct type *type, int64_t rows,
                                  struct ArrowArray *out)
{
    char *piece = take(d, sizeof(uint64_t));
    uint64_t nulls;

    if (piece == NULL) {
        return cut(d);
    }
    memcpy(&nulls, piece, sizeof nulls);
    if (nulls > (uint64_t)rows) {
        return damaged(d->err, "it has more nulls than rows");
    }
    if (!array_init(out, type, rows)) {
        return error_nomem(d->err, "a batch");
    }
    out->null_count = (int64_t)nulls;
    if (nulls > 0) {
        piece = take(d, ((uint64_t)rows + 7) / 8);
        if (piece == NULL) {
            return cut(d);
        }
        array_borrow(out, 0, piece, d->memory);
    }
    return decode_values(d, type, rows, out);
}

/* The raw bytes of a frame whose header and hash are fine. Gives. */
static sluice_status unpack(struct frame_codec *codec, const struct frame_header *header,
                            const char *stored, struct array_memory **out, struct sluice_error *err)
{
    struct frame_words_view words = { .rest = stored, .rest_stored = header->stored };
    size_t raw = (size_t)header->raw;
    size_t rest; /* of raw */
    struct array_memory *memory;

    if ((header->flags & FRAME_FLAG_WORDS) != 0 && !frame_words_open(&words, header, stored)) {
        return damaged(err, "its numbers are not where it says");
    }
    rest = raw - (size_t)words.plain;
    if ((header->flags & FRAME_FLAG_RAW) != 0
            ? words.rest_stored != rest
            : ZSTD_getFrameContentSize(words.rest, (size_t)words.rest_stored) != rest) {
        return damaged(err, "its compressed bytes tell another size than its header");
    }
    memory = array_memory_create(raw + ARRAY_PADDING);
    if (memory == NULL) {
        return error_nomem(err, "a batch");
    }
    if ((header->flags & FRAME_FLAG_RAW) != 0) {
        memcpy(memory->data + words.plain, words.rest, rest);
    } else {
        size_t n;
        if (codec->decompressor == NULL) {
            codec->decompressor = ZSTD_createDCtx();
        }
        if (codec->decompressor == NULL) {
            array_memory_unref(memory);
            return error_nomem(err, "a batch");
        }
        n = ZSTD_decompressDCtx(codec->decompressor, memory->data + words.plain, rest, words.rest,
                                (size_t)words.rest_stored);
        if (ZSTD_isError(n) || n != rest) {
            bool nomem = ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation;
            array_memory_unref(memory);
            return nomem ? error_nomem(err, "a batch")
                         : damaged(err, "its compressed bytes can't be read");
        }
    }
    if (words.n > 0) {
        frame_words_take(&words, memory->data, raw);
    }
    memset(memory->data + raw, 0, ARRAY_PADDING);
    *out = memory;
    return SLUICE_OK;
}

static sluice_status decode_columns(struct decoder *d, uint32_t rows, uint32_t n,
                                    const struct type *const *types, struct column **columns)
{
    uint64_t hash = 0;
    char *piece = take(d, sizeof hash);

    if (piece == NULL) {
        return cut(d);
    }
    memcpy(&hash, piece, sizeof hash);
    if (hash != frame_types_hash(n, types)) {
        return damaged(d->err, "its columns have other types than expected");
    }
    for (uint32_t k = 0; k < n; k++) {
        struct ArrowArray array = { 0 };
        char path[32];
        sluice_status status = decode_array(d, types[k], rows, &array);
        snprintf(path, sizeof path, "%u", k);
        if (status == SLUICE_OK) {
            /* A right checksum is no proof: who changes a file can hash it. So columns are
             * checked like a plugin's. */
            status = array_check(&array, types[k], rows, path, false, d->err);
            if (status != SLUICE_OK) {
                char what[300];
                snprintf(what, sizeof what, "%.280s", d->err != NULL ? d->err->message : "");
                status = damaged(d->err, what);
            }
        }
        if (status != SLUICE_OK) {
            array_release(&array);
            return status;
        }
        columns[k] = column_create(&array);
        if (columns[k] == NULL) {
            return error_nomem(d->err, "a batch");
        }
    }
    return d->at == d->size ? SLUICE_OK : damaged(d->err, "it has bytes behind its last column");
}

/* Checks all of a frame but its raw bytes. */
static sluice_status open_frame(struct frame_codec *codec, const void *data, size_t n,
                                uint64_t max_raw, struct frame_header *header,
                                struct sluice_error *err)
{
    const uint64_t most = max_raw > 0 ? max_raw : RAW_MAX;
    uint64_t total;
    uint32_t rows;

    if (n < FRAME_HEADER_BYTES) {
        return damaged(err, "it ends inside its header");
    }
    TRY(frame_size(data, &total, &rows, err));
    if (total != n) {
        return damaged(err, total > n ? "it ends too early" : "there are bytes behind its end");
    }
    memcpy(header, data, sizeof *header);
    if (frame_hash(codec, header, (const char *)data + FRAME_HEADER_BYTES) != header->hash) {
        return damaged(err, "its checksum is wrong");
    }
    /* Before memory is taken: the size is the file's word. */
    if (header->raw > most) {
        return error_set(err, SLUICE_E_DATA,
                         "a spill frame needs %llu bytes of memory, expected at most %llu: give a "
                         "larger --memory",
                         (unsigned long long)header->raw, (unsigned long long)most);
    }
    return SLUICE_OK;
}

sluice_status frame_bytes(struct frame_codec *codec, const void *data, size_t n, uint64_t max_raw,
                          struct buf *out, struct sluice_error *err)
{
    struct array_memory *memory = NULL;
    struct frame_header header;

    TRY(open_frame(codec, data, n, max_raw, &header, err));
    TRY(unpack(codec, &header, (const char *)data + FRAME_HEADER_BYTES, &memory, err));
    buf_append(out, memory->data, (size_t)header.raw);
    array_memory_unref(memory);
    return buf_status(out, err);
}

sluice_status frame_decode(struct frame_codec *codec, const void *data, size_t n,
                           uint32_t n_columns, const struct type *const *types, uint64_t max_raw,
                           struct batch **out, struct sluice_error *err)
{
    struct frame_header header;
    struct decoder d = { .err = err };
    struct column **columns;
    sluice_status status;

    *out = NULL;
    TRY(open_frame(codec, data, n, max_raw, &header, err));
    if (header.columns != n_columns) {
        return damaged(err, "it has another number of columns than expected");
    }
    TRY(unpack(codec, &header, (const char *)data + FRAME_HEADER_BYTES, &d.memory, err));
    d.size = (size_t)header.raw;
    columns = calloc(n_columns + 1u, sizeof *columns);
    status = columns == NULL ? error_nomem(err, "a batch")
                             : decode_columns(&d, header.rows, n_columns, types, columns);
    array_memory_unref(d.memory);
    if (status == SLUICE_OK) {
        *out = batch_create(header.rows, n_columns, columns);
        status = *out == NULL ? error_nomem(err, "a batch") : SLUICE_OK;
    } else {
        for (uint32_t k = 0; columns != NULL && k < n_columns; k++) {
            column_unref(columns[k]);
        }
    }
    free(columns);
    return status;
}
