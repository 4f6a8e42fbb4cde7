/* Megatron-LM's indexed dataset: the .idx file and the token types of its .bin file.
 *
 * Owns: the list of sequences and documents while a dataset is written, the bytes of the .idx, the
 * conversion of token ids to the bytes of the .bin, and a reader that trusts nothing. Depends on
 * sluice.h. Promises the bytes of Megatron's _IndexWriter (core/datasets/indexed_dataset.py),
 * little-endian:
 *
 *   0   9   "MMIDIDX\0\0"            34       4N  i32 tokens of each sequence
 *   9   8   u64 version 1            34+4N    8N  i64 byte offset of each sequence in the .bin
 *   17  1   u8 token type            34+12N   8D  i64 first sequence of each document, then N
 *   18  8   u64 N sequences          end      N   i8 modes, only in multimodal datasets
 *   26  8   u64 D documents + 1 */
#ifndef MEGATRON_INDEX_H
#define MEGATRON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

/* Codes in the file. Only U16 and I32 are written; the reader knows them all. */
enum megatron_dtype {
    MEGATRON_U8 = 1,
    MEGATRON_I8 = 2,
    MEGATRON_I16 = 3,
    MEGATRON_I32 = 4,
    MEGATRON_I64 = 5,
    MEGATRON_F64 = 6,
    MEGATRON_F32 = 7,
    MEGATRON_U16 = 8
};

#define MEGATRON_U16_VOCABULARY \
    65500u /* Megatron's DType.optimal_dtype: fewer ids than this are stored as u16 */
#define MEGATRON_HEADER_BYTES 34u

/* Bytes of one token, 0 for an unknown code. */
uint32_t megatron_dtype_size(enum megatron_dtype dtype);

/* The type for a vocabulary of that many ids: U16 below MEGATRON_U16_VOCABULARY, else I32. */
enum megatron_dtype megatron_dtype_for(uint64_t vocabulary);

/* Writes n ids as U16 or I32 to out (n * megatron_dtype_size bytes, any alignment). vocabulary: ids
 * must be below it, 0 = what the type holds. SLUICE_E_DATA names the first id out of range and its
 * index, plus `position`, the tokens before ids[0]. */
int32_t megatron_tokens_encode(const uint32_t *ids, size_t n, enum megatron_dtype dtype,
                               uint64_t vocabulary, uint64_t position, void *out,
                               struct sluice_error *err);

/* ---- Writing ---- */
struct megatron_index;

/* Takes the next bytes of the file, in order. A status other than SLUICE_OK ends the writing with
 * it. */
typedef int32_t megatron_write(void *user, const void *bytes, size_t size,
                               struct sluice_error *err);

/* dtype U16 or I32, else SLUICE_E_CONFIG. Gives *out, to be freed with megatron_index_destroy. */
int32_t megatron_index_create(enum megatron_dtype dtype, struct megatron_index **out,
                              struct sluice_error *err);
void megatron_index_destroy(struct megatron_index *index);

/* Adds a sequence of that many tokens to the open document. SLUICE_E_DATA for more than 2^31 - 1
 * tokens, which the format cannot say. Four bytes of memory each. */
int32_t megatron_index_append(struct megatron_index *index, uint64_t tokens,
                              struct sluice_error *err);

/* Ends the open document (which may be empty). Four bytes of memory each. SLUICE_E_DATA for more
 * than 2^32 - 1 sequences in it. */
int32_t megatron_index_end_document(struct megatron_index *index, struct sluice_error *err);

/* What is in it so far. */
uint64_t megatron_index_sequences(const struct megatron_index *index);
uint64_t megatron_index_documents(const struct megatron_index *index);
uint64_t megatron_index_tokens(const struct megatron_index *index);

/* Sizes of the two files if it were written now. */
uint64_t megatron_index_size(const struct megatron_index *index);
uint64_t megatron_index_bin_size(const struct megatron_index *index);

/* Bytes of memory held. */
uint64_t megatron_index_memory(const struct megatron_index *index);

/* Gives the whole file to write, in pieces of at most 64 KiB. Sequences after the last
 * megatron_index_end_document are an error of the caller: SLUICE_E_INTERNAL. May be called again.
 */
int32_t megatron_index_write(const struct megatron_index *index, megatron_write *write, void *user,
                             struct sluice_error *err);

/* Makes it empty again for the next file and frees the lists. */
void megatron_index_reset(struct megatron_index *index);

/* Saved states: what is in it, and back into an empty one. SLUICE_E_DATA: no state of an index; it
 * is to be destroyed then. */
int32_t megatron_index_save(const struct megatron_index *index, struct sluice_io *io);
int32_t megatron_index_load(struct megatron_index *index, struct sluice_io *io,
                            struct sluice_error *err);

/* ---- Reading ---- */
/* A checked .idx over borrowed bytes; nothing to free. */
struct megatron_view {
    const uint8_t *bytes;
    enum megatron_dtype dtype;
    uint64_t sequences;
    uint64_t documents; /* D - 1 */
    uint64_t tokens;
    uint64_t bin_size; /* what the .bin must have */
    bool multimodal;
};

/* Checks all of size bytes (mapped or read) of a .idx and fills *view, which borrows them.
 * bin_size: size of the .bin or UINT64_MAX = unknown. SLUICE_E_DATA says which field is wrong,
 * where, and what it should be. Any bytes are safe to give. */
int32_t megatron_view_open(const void *bytes, size_t size, uint64_t bin_size,
                           struct megatron_view *view, struct sluice_error *err);

/* Sequence i < sequences: tokens and byte offset in the .bin. */
void megatron_view_sequence(const struct megatron_view *view, uint64_t i, uint32_t *tokens,
                            uint64_t *offset);

/* Document i < documents: sequences [*begin, *end). */
void megatron_view_document(const struct megatron_view *view, uint64_t i, uint64_t *begin,
                            uint64_t *end);

#endif
