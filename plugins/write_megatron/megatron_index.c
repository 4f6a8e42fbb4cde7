/* Writing Megatron's .idx; see megatron_index.h.
 *
 * Lengths and documents' sequence counts are kept as 32-bit numbers in blocks that do not move (8
 * bytes a document of one sequence, where the file has 20); offsets and document starts are sums,
 * made while writing. */
#include "megatron_index.h"

#include <stdlib.h>
#include <string.h>

#include "megatron_index_fail.h"

#define BLOCK 16384u /* numbers: 64 KiB */
#define PIECE 65536u /* bytes given to write at once */

struct list {
    uint32_t **blocks;
    size_t n_blocks;
    size_t room;
    uint64_t n;
};

struct megatron_index {
    enum megatron_dtype dtype;
    struct list lengths; /* of sequences, in tokens */
    struct list counts;  /* of documents, in sequences */
    uint64_t open;       /* sequences of the open document */
    uint64_t tokens;
};

struct piece {
    uint8_t bytes[PIECE];
    size_t filled;
    megatron_write *write;
    void *user;
};

static int32_t list_push(struct list *list, uint32_t number, struct sluice_error *err)
{
    if (list->n == (uint64_t)list->n_blocks * BLOCK) {
        if (list->n_blocks == list->room) {
            size_t room = list->room == 0 ? 16 : 2 * list->room;
            uint32_t **blocks = realloc(list->blocks, room * sizeof(*blocks));
            if (blocks == NULL) {
                return megatron_fail(err, SLUICE_E_NOMEM,
                                     "out of memory for an index of %llu sequences",
                                     (unsigned long long)list->n);
            }
            list->blocks = blocks;
            list->room = room;
        }
        uint32_t *block = malloc(BLOCK * sizeof(*block));
        if (block == NULL) {
            return megatron_fail(err, SLUICE_E_NOMEM,
                                 "out of memory for an index of %llu sequences",
                                 (unsigned long long)list->n);
        }
        list->blocks[list->n_blocks++] = block;
    }
    list->blocks[list->n / BLOCK][list->n % BLOCK] = number;
    list->n++;
    return SLUICE_OK;
}

static uint32_t list_at(const struct list *list, uint64_t i)
{
    return list->blocks[i / BLOCK][i % BLOCK];
}

static void list_deinit(struct list *list)
{
    for (size_t i = 0; i < list->n_blocks; i++) {
        free(list->blocks[i]);
    }
    free(list->blocks);
    *list = (struct list){ 0 };
}

int32_t megatron_index_create(enum megatron_dtype dtype, struct megatron_index **out,
                              struct sluice_error *err)
{
    *out = NULL;
    if (dtype != MEGATRON_U16 && dtype != MEGATRON_I32) {
        return megatron_fail(err, SLUICE_E_CONFIG,
                             "tokens cannot be written as type %d, expected u16 or i32",
                             (int)dtype);
    }
    *out = calloc(1, sizeof(**out));
    if (*out == NULL) {
        return megatron_fail(err, SLUICE_E_NOMEM, "out of memory for a Megatron index");
    }
    (*out)->dtype = dtype;
    return SLUICE_OK;
}

void megatron_index_destroy(struct megatron_index *index)
{
    if (index != NULL) {
        megatron_index_reset(index);
        free(index);
    }
}

void megatron_index_reset(struct megatron_index *index)
{
    list_deinit(&index->lengths);
    list_deinit(&index->counts);
    index->open = 0;
    index->tokens = 0;
}

int32_t megatron_index_append(struct megatron_index *index, uint64_t tokens,
                              struct sluice_error *err)
{
    if (tokens > INT32_MAX) {
        return megatron_fail(err, SLUICE_E_DATA,
                             "sequence %llu has %llu tokens, expected at most %d, which is all a "
                             ".idx can say; pack or "
                             "split before writing",
                             (unsigned long long)index->lengths.n, (unsigned long long)tokens,
                             INT32_MAX);
    }
    int32_t status = list_push(&index->lengths, (uint32_t)tokens, err);
    if (status == SLUICE_OK) {
        index->open++;
        index->tokens += tokens;
    }
    return status;
}

int32_t megatron_index_end_document(struct megatron_index *index, struct sluice_error *err)
{
    if (index->open > UINT32_MAX) {
        return megatron_fail(
            err, SLUICE_E_DATA, "document %llu has %llu sequences, expected at most %u",
            (unsigned long long)index->counts.n, (unsigned long long)index->open, UINT32_MAX);
    }
    int32_t status = list_push(&index->counts, (uint32_t)index->open, err);
    if (status == SLUICE_OK) {
        index->open = 0;
    }
    return status;
}

uint64_t megatron_index_sequences(const struct megatron_index *index)
{
    return index->lengths.n;
}

uint64_t megatron_index_documents(const struct megatron_index *index)
{
    return index->counts.n;
}

uint64_t megatron_index_tokens(const struct megatron_index *index)
{
    return index->tokens;
}

uint64_t megatron_index_size(const struct megatron_index *index)
{
    return MEGATRON_HEADER_BYTES + 12 * index->lengths.n + 8 * (index->counts.n + 1);
}

uint64_t megatron_index_bin_size(const struct megatron_index *index)
{
    return index->tokens * megatron_dtype_size(index->dtype);
}

uint64_t megatron_index_memory(const struct megatron_index *index)
{
    uint64_t blocks = (uint64_t)index->lengths.n_blocks + index->counts.n_blocks;
    uint64_t pointers = (uint64_t)index->lengths.room + index->counts.room;
    return sizeof(*index) + blocks * BLOCK * sizeof(uint32_t) + pointers * sizeof(uint32_t *);
}

static int32_t piece_flush(struct piece *piece, struct sluice_error *err)
{
    size_t filled = piece->filled;
    piece->filled = 0;
    return filled == 0 ? SLUICE_OK : piece->write(piece->user, piece->bytes, filled, err);
}

/* Appends the low `size` bytes of number, little-endian. */
static int32_t piece_put(struct piece *piece, uint64_t number, size_t size,
                         struct sluice_error *err)
{
    if (piece->filled + size > PIECE) {
        int32_t status = piece_flush(piece, err);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    uint8_t *at = piece->bytes + piece->filled;
    for (size_t i = 0; i < size; i++) {
        at[i] = (uint8_t)(number >> (8 * i));
    }
    piece->filled += size;
    return SLUICE_OK;
}

static int32_t write_header(const struct megatron_index *index, struct piece *piece,
                            struct sluice_error *err)
{
    memcpy(piece->bytes, MEGATRON_MAGIC, MEGATRON_MAGIC_BYTES);
    piece->filled = MEGATRON_MAGIC_BYTES;
    int32_t status = piece_put(piece, 1, 8, err);
    if (status == SLUICE_OK) {
        status = piece_put(piece, (uint64_t)index->dtype, 1, err);
    }
    if (status == SLUICE_OK) {
        status = piece_put(piece, index->lengths.n, 8, err);
    }
    return status == SLUICE_OK ? piece_put(piece, index->counts.n + 1, 8, err) : status;
}

int32_t megatron_index_write(const struct megatron_index *index, megatron_write *write, void *user,
                             struct sluice_error *err)
{
    if (index->open > 0) {
        return megatron_fail(
            err, SLUICE_E_INTERNAL,
            "the last document of a Megatron index was not ended: %llu sequences are open",
            (unsigned long long)index->open);
    }
    struct piece *piece = malloc(sizeof(*piece));
    if (piece == NULL) {
        return megatron_fail(err, SLUICE_E_NOMEM, "out of memory for writing a Megatron index");
    }
    piece->write = write;
    piece->user = user;
    int32_t status = write_header(index, piece, err);
    for (uint64_t i = 0; i < index->lengths.n && status == SLUICE_OK; i++) {
        status = piece_put(piece, list_at(&index->lengths, i), 4, err);
    }
    uint64_t offset = 0;
    for (uint64_t i = 0; i < index->lengths.n && status == SLUICE_OK; i++) {
        status = piece_put(piece, offset, 8, err);
        offset += (uint64_t)list_at(&index->lengths, i) * megatron_dtype_size(index->dtype);
    }
    uint64_t sequence = 0;
    if (status == SLUICE_OK) {
        status = piece_put(piece, 0, 8, err);
    }
    for (uint64_t i = 0; i < index->counts.n && status == SLUICE_OK; i++) {
        sequence += list_at(&index->counts, i);
        status = piece_put(piece, sequence, 8, err);
    }
    if (status == SLUICE_OK) {
        status = piece_flush(piece, err);
    }
    free(piece);
    return status;
}

/* ---- saved states ---- */

static int32_t list_save(const struct list *list, struct sluice_io *io)
{
    uint64_t left = list->n;
    int32_t status = io->write(io, &left, sizeof(left));
    for (size_t i = 0; status == SLUICE_OK && left > 0; i++) {
        uint64_t n = left < BLOCK ? left : BLOCK;
        status = io->write(io, list->blocks[i], n * sizeof(uint32_t));
        left -= n;
    }
    return status;
}

static int32_t list_load(struct list *list, struct sluice_io *io, uint64_t *sum,
                         struct sluice_error *err)
{
    uint32_t numbers[256];
    uint64_t left = 0;
    int32_t status = io->read(io, &left, sizeof(left));
    while (status == SLUICE_OK && left > 0) {
        uint64_t n = left < 256 ? left : 256;
        status = io->read(io, numbers, n * sizeof(numbers[0]));
        for (uint64_t i = 0; status == SLUICE_OK && i < n; i++) {
            *sum += numbers[i];
            status = numbers[i] > INT32_MAX ? SLUICE_E_DATA : list_push(list, numbers[i], err);
        }
        left -= n;
    }
    return status;
}

int32_t megatron_index_save(const struct megatron_index *index, struct sluice_io *io)
{
    int32_t status = io->write(io, &index->open, sizeof(index->open));
    if (status == SLUICE_OK) {
        status = list_save(&index->lengths, io);
    }
    return status == SLUICE_OK ? list_save(&index->counts, io) : status;
}

int32_t megatron_index_load(struct megatron_index *index, struct sluice_io *io,
                            struct sluice_error *err)
{
    uint64_t sequences = 0;
    int32_t status = io->read(io, &index->open, sizeof(index->open));
    if (status == SLUICE_OK) {
        status = list_load(&index->lengths, io, &index->tokens, err);
    }
    if (status == SLUICE_OK) {
        status = list_load(&index->counts, io, &sequences, err);
    }
    return status == SLUICE_OK &&
                   (index->open > index->lengths.n || sequences != index->lengths.n - index->open)
               ? SLUICE_E_DATA
               : status;
}
