/* Fuzzes frame_decode (core/data/frame.h). The first byte chooses the types and whether the rest is
 * a whole frame or the raw bytes of one, which are then given a header and a right checksum, and
 * perhaps numbers that are stored apart: hostile bytes that get past it must still do no harm. What
 * decodes is validated, walked, and must come back equal from another round. */
#include <stdlib.h>
#include <string.h>

#include "data/frame.h"
#include "data/frameInt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define COLUMNS_MAX 4

static const char *const schemas[][COLUMNS_MAX] = {
    { "utf8", "utf8?", NULL },
    { "int64?", "bool?", "fixed[3]?", "float32" },
    { "list<uint32>?", "spans", NULL },
    { "list<list<utf8?>?>", NULL },
    { "struct<a:utf8?,b:struct<c:bool?,d:list<int8?>>?>?", "uint8", NULL },
    { "json", "binary?", "list<struct<>?>", NULL },
    { "struct<>?", "list<struct<x:utf8,y:fixed[5]?>?>?", NULL },
    { "list<uint32>", "list<list<int32?>>", NULL },
    { NULL },
};
#define SCHEMAS (sizeof schemas / sizeof schemas[0])

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* Reads every byte that a consumer would. */
static uint64_t walk(const struct ArrowArray *a, const struct type *type)
{
    uint64_t sum = 0;
    size_t width = type_width(type);

    require(a->offset == 0);
    for (int64_t i = 0; i < a->length && (a->null_count != 0 || type->kind != TYPE_STRUCT); i++) {
        sum += array_is_null(a, i) ? 1 : 0;
    }
    require(type->kind == TYPE_STRUCT || sum == (uint64_t)a->null_count);
    if (type_is_bytes(type)) {
        for (int64_t i = 0; i < a->length; i++) {
            size_t n;
            const char *bytes = array_bytes(a, i, &n);
            for (size_t k = 0; k < n + 64; k++) { /* the padding is readable, too */
                sum += (unsigned char)bytes[k];
            }
        }
    } else if (type->kind == TYPE_LIST) {
        const int32_t *offsets = a->buffers[1];
        for (int64_t i = 0; i < a->length; i++) {
            require(offsets[i] >= 0 && offsets[i] <= offsets[i + 1]);
        }
        require(offsets[a->length] <= a->children[0]->length);
    } else {
        size_t bytes =
            type->kind == TYPE_BOOL ? (size_t)(a->length + 7) / 8 : (size_t)a->length * width;
        for (size_t k = 0; k < bytes; k++) {
            sum += ((const unsigned char *)a->buffers[1])[k];
        }
    }
    for (uint32_t k = 0; k < type->n_children; k++) {
        sum += walk(a->children[k], type->children[k]);
    }
    return sum;
}

static void check(struct frame_codec *codec, struct batch *batch, uint32_t columns,
                  const struct type *const *types)
{
    struct sluice_error err = ERROR_INIT;
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    struct batch *again = NULL;
    uint64_t sum = 0;

    for (uint32_t k = 0; k < columns; k++) {
        sum += walk(&batch->columns[k]->array, types[k]);
    }
    require(sum != UINT64_MAX); /* keeps the reads */
    require(frame_encode(codec, batch, types, &first, &err) == SLUICE_OK);
    require(frame_decode(codec, first.data, first.size, columns, types, 0, &again, &err) ==
            SLUICE_OK);
    require(again->length == batch->length);
    require(frame_encode(codec, again, types, &second, &err) == SLUICE_OK);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    batch_unref(again);
    buf_deinit(&first);
    buf_deinit(&second);
}

/* Stored bytes with numbers apart: up to three pieces of the input's making, of which the sizes fit
 * most of the time. */
static void put_words(struct buf *frame, struct frame_header *header, uint64_t hash,
                      const uint8_t *data, size_t n)
{
    struct frame_words words = { 0 };
    uint64_t count = n > 0 ? data[0] % 4 : 0;
    uint64_t end = 0;
    uint64_t plain = 0;
    uint64_t packed = 0;

    data += n > 0;
    n -= n > 0;
    count = count < n / 4 ? count : n / 4;
    buf_append(frame, &count, sizeof count);
    for (uint64_t k = 0; k < count; k++, data += 4, n -= 4) {
        words.at = end + 8u * data[0];
        words.n = data[1] | (data[2] & 7u) << 8;
        words.bits = data[3] % 32u;
        end = words.at + frame_padded((size_t)words.n * 4);
        plain += frame_padded((size_t)words.n * 4);
        packed += frame_padded(((size_t)words.n * words.bits + 31) / 32 * 4);
        buf_append(frame, &words, sizeof words);
    }
    for (uint64_t k = 0; k < packed; k++) {
        const uint8_t byte = n > 0 ? data[k % n] : 0;
        buf_append(frame, &byte, 1);
    }
    buf_append(frame, &hash, sizeof hash);
    buf_append(frame, data, n);
    header->flags |= FRAME_FLAG_WORDS;
    header->stored = frame->size - FRAME_HEADER_BYTES;
    header->raw = plain + sizeof hash + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct type *types[SCHEMAS][COLUMNS_MAX];
    static struct frame_codec *codec;
    struct sluice_error err = ERROR_INIT;
    struct batch *batch = NULL;
    struct buf frame = BUF_INIT;
    const struct type *const *chosen;
    uint32_t columns = 0;
    size_t which;

    if (codec == NULL) {
        codec = frame_codec_create();
        for (size_t s = 0; s < SCHEMAS; s++) {
            for (int k = 0; k < COLUMNS_MAX && schemas[s][k] != NULL; k++) {
                require(type_parse(schemas[s][k], &types[s][k], &err) == SLUICE_OK);
            }
        }
    }
    if (n < 3) {
        return 0;
    }
    which = (data[0] >> 1) % SCHEMAS;
    chosen = (const struct type *const *)types[which];
    while (columns < COLUMNS_MAX && schemas[which][columns] != NULL) {
        columns++;
    }
    if ((data[0] & 1) == 0) {
        buf_append(&frame, data + 1, n - 1);
    } else {
        struct frame_header header = { .magic = { 'S', 'L', 'F', '1' },
                                       .flags = FRAME_FLAG_RAW,
                                       .columns = columns };
        uint64_t hash = frame_types_hash(columns, chosen);
        header.rows = (uint32_t)(data[1] | (data[2] & 0x0F) << 8);
        header.raw = header.stored = n - 3 + sizeof hash;
        buf_append(&frame, &header, sizeof header);
        if ((data[2] & 0x10) != 0) {
            put_words(&frame, &header, hash, data + 3, n - 3);
        } else {
            buf_append(&frame, &hash, sizeof hash);
            buf_append(&frame, data + 3, n - 3);
        }
        header.hash = frame_hash(codec, &header, frame.data + FRAME_HEADER_BYTES);
        memcpy(frame.data, &header, sizeof header);
    }
    require(!frame.failed);
    if (frame_decode(codec, frame.data, frame.size, columns, chosen, 1 << 20, &batch, &err) ==
        SLUICE_OK) {
        check(codec, batch, columns, chosen);
        batch_unref(batch);
    } else {
        require(err.code != SLUICE_OK && err.message[0] != '\0');
    }
    buf_deinit(&frame);
    return 0;
}
