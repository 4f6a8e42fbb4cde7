/* Spill frames: the codec and encoding. Decoding is frame_decode.c; the layout is in frame.h and
 * frameInt.h. */
#include "data/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <zstd_errors.h>

#include "data/frameInt.h"

#define RAW_KEPT (32u << 20) /* more memory than this is given back after a frame */

/* The compressor, made when the first frame is: a context asks the processor what it can, which is
 * slow in a virtual machine, and many edges get no row or are only read. */
static bool compressor_open(struct frame_codec *codec)
{
    if (codec->compressor == NULL) {
        codec->compressor = ZSTD_createCCtx();
    }
    return codec->compressor != NULL &&
           !ZSTD_isError(
               ZSTD_CCtx_setParameter(codec->compressor, ZSTD_c_compressionLevel, FRAME_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(codec->compressor, ZSTD_c_contentSizeFlag, 1)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(codec->compressor, ZSTD_c_checksumFlag, 0)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(codec->compressor, ZSTD_c_dictIDFlag, 0));
}

struct frame_codec *frame_codec_create(void)
{
    struct frame_codec *codec = calloc(1, sizeof *codec);

    if (codec == NULL) {
        return NULL;
    }
    codec->hash = XXH3_createState();
    if (codec->hash == NULL) {
        frame_codec_destroy(codec);
        return NULL;
    }
    return codec;
}

void frame_codec_destroy(struct frame_codec *codec)
{
    if (codec != NULL) {
        ZSTD_freeCCtx(codec->compressor);
        ZSTD_freeDCtx(codec->decompressor);
        XXH3_freeState(codec->hash);
        free(codec->raw);
        free(codec->words);
        free(codec);
    }
}

uint64_t frame_hash(struct frame_codec *codec, const struct frame_header *header,
                    const void *stored)
{
    XXH3_64bits_reset(codec->hash);
    XXH3_64bits_update(codec->hash, header, offsetof(struct frame_header, hash));
    XXH3_64bits_update(codec->hash, stored, header->stored);
    return XXH3_64bits_digest(codec->hash);
}

uint64_t frame_types_hash(uint32_t n_columns, const struct type *const *types)
{
    uint64_t hash = FRAME_TYPES_SEED;

    for (uint32_t k = 0; k < n_columns; k++) {
        hash = type_hash(types[k], hash);
    }
    return hash;
}

/* Room for one piece at the end of the raw bytes, its padding zeroed; valid until the next call.
 * NULL = out of memory. */
static void *raw_take(struct frame_codec *codec, size_t bytes)
{
    size_t padded = frame_padded(bytes);
    char *piece;

    if (codec->capacity - codec->size < padded) {
        size_t capacity = codec->capacity < 65536 ? 65536 : codec->capacity;
        char *raw;
        while (capacity - codec->size < padded) {
            capacity += capacity / 2;
        }
        raw = realloc(codec->raw, capacity);
        if (raw == NULL) {
            return NULL;
        }
        codec->raw = raw;
        codec->capacity = capacity;
    }
    piece = codec->raw + codec->size;
    if (padded > bytes) {
        memset(piece + padded - 8, 0, 8);
    }
    codec->size += padded;
    return piece;
}

static bool raw_put_u64(struct frame_codec *codec, uint64_t value)
{
    void *piece = raw_take(codec, sizeof value);

    if (piece == NULL) {
        return false;
    }
    memcpy(piece, &value, sizeof value);
    return true;
}

/* false = out of memory, here and below. */
static bool encode_array(struct frame_codec *codec, const struct ArrowArray *a,
                         const struct type *type, const struct runs *runs);

static bool encode_children(struct frame_codec *codec, const struct ArrowArray *a,
                            const struct type *type, const struct runs *runs)
{
    struct runs made = { 0 };
    const bool outside = codec->in_list;
    bool ok = true;

    codec->in_list = outside || type->kind == TYPE_LIST;
    if (type->kind == TYPE_LIST) {
        ok = runs_of_items(&made, runs, a);
        runs = &made;
    } else if (type->kind == TYPE_STRUCT && a->offset != 0) {
        ok = runs_of_members(&made, runs, a);
        runs = &made;
    }
    for (uint32_t k = 0; ok && k < type->n_children; k++) {
        ok = encode_array(codec, a->children[k], type->children[k], runs);
    }
    codec->in_list = outside;
    runs_deinit(&made);
    return ok;
}

static bool encode_values(struct frame_codec *codec, const struct ArrowArray *a,
                          const struct type *type, const struct runs *runs)
{
    size_t rows = (size_t)runs->rows;
    size_t width = type_width(type);
    void *piece;

    if (type->kind == TYPE_BOOL) {
        piece = raw_take(codec, (rows + 7) / 8);
        if (piece == NULL) {
            return false;
        }
        copy_bits(piece, runs, a);
    } else if (width > 0) {
        piece = raw_take(codec, rows * width);
        if (piece == NULL) {
            return false;
        }
        copy_fixed(piece, runs, a, width);
        if (codec->in_list && width == sizeof(uint32_t)) {
            return frame_words_note(codec, piece, rows);
        }
    } else if (type_is_bytes(type) || type->kind == TYPE_LIST) {
        int64_t total;
        piece = raw_take(codec, (rows + 1) * sizeof(int32_t));
        if (piece == NULL) {
            return false;
        }
        /* Rows of a batch are distinct, so they hold no more than the column does and total is
         * never negative. */
        total = copy_lengths(piece, runs, a);
        assert(total >= 0);
        if (type_is_bytes(type)) {
            piece = raw_take(codec, (size_t)total);
            if (piece == NULL) {
                return false;
            }
            copy_bytes(piece, (size_t)total, runs, a);
        }
    }
    return true;
}

static bool encode_array(struct frame_codec *codec, const struct ArrowArray *a,
                         const struct type *type, const struct runs *runs)
{
    struct runs split = { 0 };
    bool ok = true;

    if (array_has_validity(a)) {
        ok = runs_split(&split, runs, a);
        runs = &split;
    }
    ok = ok && raw_put_u64(codec, (uint64_t)runs->nulls);
    if (ok && runs->nulls > 0) {
        uint8_t *validity = raw_take(codec, ((size_t)runs->rows + 7) / 8);
        ok = validity != NULL;
        if (ok) {
            copy_validity(validity, runs);
        }
    }
    ok = ok && encode_values(codec, a, type, runs) && encode_children(codec, a, type, runs);
    runs_deinit(&split);
    return ok;
}

static bool encode_batch(struct frame_codec *codec, const struct batch *batch,
                         const struct type *const *types)
{
    struct runs runs = { 0 };
    bool ok = batch->rows != NULL ? runs_of_rows(&runs, batch->rows, batch->n_rows)
                                  : runs_add(&runs, 0, batch->length);

    codec->size = codec->n_words = 0;
    codec->in_list = false;
    ok = ok && raw_put_u64(codec, frame_types_hash(batch->n_columns, types));
    for (uint32_t k = 0; ok && k < batch->n_columns; k++) {
        ok = encode_array(codec, &batch->columns[k]->array, types[k], &runs);
    }
    runs_deinit(&runs);
    return ok;
}

/* Puts the raw bytes, compressed when that makes them smaller, at `at`, which has room for
 * `room` bytes; before them the numbers that are stored apart. */
static sluice_status store(struct frame_codec *codec, char *at, size_t room,
                           struct frame_header *header, struct sluice_error *err)
{
    const size_t apart = frame_words_size(codec);
    size_t stored;

    header->flags = 0;
    header->raw = codec->size;
    if (apart > 0) {
        frame_words_put(codec, at);
        header->flags = FRAME_FLAG_WORDS;
        at += apart;
        room -= apart;
    }
    stored = ZSTD_compress2(codec->compressor, at, room, codec->raw, codec->size);
    if (ZSTD_isError(stored)) {
        if (ZSTD_getErrorCode(stored) == ZSTD_error_memory_allocation) {
            return error_nomem(err, "a spill frame");
        }
        return error_set(err, SLUICE_E_INTERNAL,
                         "compressing a spill frame of %zu bytes failed: zstd says '%s'",
                         codec->size, ZSTD_getErrorName(stored));
    }
    if (stored >= codec->size) {
        memcpy(at, codec->raw, codec->size);
        stored = codec->size;
        header->flags |= FRAME_FLAG_RAW;
    }
    header->stored = apart + stored;
    return SLUICE_OK;
}

sluice_status frame_encode(struct frame_codec *codec, const struct batch *batch,
                           const struct type *const *types, struct buf *out,
                           struct sluice_error *err)
{
    struct frame_header header = { .magic = { 'S', 'L', 'F', '0' + FRAME_FORMAT } };
    size_t room;
    sluice_status status;

    for (uint32_t k = 0; k < batch->n_columns; k++) {
        if (batch->columns[k] == NULL) {
            return error_set(
                err, SLUICE_E_INTERNAL,
                "column %u of a batch to spill is not there: expected all of its %u columns", k,
                batch->n_columns);
        }
    }
    if (batch->length > COLUMN_ROWS_MAX) {
        return error_set(err, SLUICE_E_DATA,
                         "found a batch of %lld rows, expected at most %d: use smaller batches",
                         (long long)batch->length, COLUMN_ROWS_MAX);
    }
    if (!compressor_open(codec) || !encode_batch(codec, batch, types)) {
        return error_nomem(err, "a spill frame");
    }
    room = ZSTD_compressBound(codec->size) + frame_words_size(codec);
    if (ZSTD_isError(ZSTD_compressBound(codec->size)) ||
        !buf_reserve(out, FRAME_HEADER_BYTES + room)) {
        return error_nomem(err, "a spill frame");
    }
    header.rows = (uint32_t)batch->n_rows;
    header.columns = batch->n_columns;
    status = store(codec, out->data + out->size + FRAME_HEADER_BYTES, room, &header, err);
    if (status == SLUICE_OK) {
        header.hash = frame_hash(codec, &header, out->data + out->size + FRAME_HEADER_BYTES);
        memcpy(out->data + out->size, &header, sizeof header);
        out->size += FRAME_HEADER_BYTES + header.stored;
    }
    /* One giant batch must not keep its memory for all that follow. */
    if (codec->capacity > RAW_KEPT) {
        free(codec->raw);
        codec->raw = NULL;
        codec->capacity = 0;
    }
    return status;
}
