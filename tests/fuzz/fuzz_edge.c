/* Fuzzes edge_directory_decode (run/edge/edge.h) and rowcodec_decode (run/edge/rowcodec.h). A
 * directory that decodes is consistent, and its bytes are the only ones for it; a row that decodes
 * comes back as the same bytes or, when its items were not stored the usual way, as the same
 * row. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "run/edge/edge.h"
#include "run/edge/rowcodec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const type_texts[] = { "utf8?",
                                          "int64?",
                                          "bool",
                                          "list<uint32>?",
                                          "list<list<utf8?>>",
                                          "struct<a:utf8?,b:list<bool?>>?",
                                          "fixed[3]",
                                          "list<struct<>?>?" };
#define TYPES (sizeof type_texts / sizeof type_texts[0])

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void fuzz_directory(const uint8_t *data, size_t n)
{
    struct sluice_error err = ERROR_INIT;
    struct edge_directory d;
    struct buf again = BUF_INIT;
    uint64_t frames = 0;

    if (edge_directory_decode(data, n, &d, &err) != SLUICE_OK) {
        require(err.code != SLUICE_OK && err.message[0] != '\0' && d.slices == NULL &&
                d.frames == NULL);
        return;
    }
    for (uint32_t p = 0; p < d.n_partitions; p++) {
        const struct edge_slice *slice = &d.slices[p];
        require((slice->rows == 0) == (slice->n_frames == 0));
        require(slice->n_frames == 0 || slice->first_frame == frames);
        frames += slice->n_frames;
        require(slice->rows > 0 || hash_is_zero(slice->hash));
    }
    require(frames == d.n_frames);
    for (uint32_t k = 0; k < d.n_frames; k++) {
        require(d.frames[k].bytes > 0 && d.frames[k].offset <= INT64_MAX - d.frames[k].bytes);
    }
    require(edge_directory_encode(&d, &again, &err) == SLUICE_OK);
    require(again.size == n && memcmp(again.data, data, n) == 0);
    buf_deinit(&again);
    edge_directory_deinit(&d);
}

static void fuzz_row(const uint8_t *data, size_t n)
{
    static struct type *types[TYPES];
    struct sluice_error err = ERROR_INIT;
    struct builder *builders[TYPES];
    struct ArrowArray arrays[TYPES];
    const struct ArrowArray *pointers[TYPES];
    bool decoded;

    for (size_t k = 0; k < TYPES; k++) {
        require(types[k] != NULL || type_parse(type_texts[k], &types[k], &err) == SLUICE_OK);
        require(builder_create(types[k], &builders[k], &err) == SLUICE_OK);
    }
    decoded = rowcodec_decode((const struct type *const *)types, builders, TYPES, data, n, &err) ==
              SLUICE_OK;
    if (decoded) {
        struct buf first = BUF_INIT;
        struct buf second = BUF_INIT;
        for (size_t k = 0; k < TYPES; k++) {
            require(builder_length(builders[k]) == 1 &&
                    builder_finish(builders[k], &arrays[k], &err) == SLUICE_OK);
            pointers[k] = &arrays[k];
        }
        rowcodec_encode((const struct type *const *)types, pointers, TYPES, 0, &first);
        require(rowcodec_decode((const struct type *const *)types, builders, TYPES, first.data,
                                first.size, &err) == SLUICE_OK);
        for (size_t k = 0; k < TYPES; k++) {
            arrays[k].release(&arrays[k]);
            require(builder_finish(builders[k], &arrays[k], &err) == SLUICE_OK);
        }
        rowcodec_encode((const struct type *const *)types, pointers, TYPES, 0, &second);
        require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        for (size_t k = 0; k < TYPES; k++) {
            arrays[k].release(&arrays[k]);
        }
        buf_deinit(&first);
        buf_deinit(&second);
    }
    for (size_t k = 0; k < TYPES; k++) {
        builder_destroy(builders[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) {
        return 0;
    }
    if ((data[0] & 1) == 0) {
        fuzz_directory(data + 1, n - 1);
    } else {
        fuzz_row(data + 1, n - 1);
    }
    return 0;
}
