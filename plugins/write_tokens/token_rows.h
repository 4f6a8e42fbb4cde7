/* token_rows - what the writers of token files share: the columns they take, the width of a stored
 * token, and the walk over the sequences of a batch.
 *
 * A sequence is a row, padding included, or a document's piece in a packed row, without padding.
 * Depends on sluice_arrays.h. */
#ifndef TOKEN_ROWS_H
#define TOKEN_ROWS_H

#include <sluice_arrays.h>
#include <stdbool.h>

/* What a file format does with a loss mask (column loss_mask, one byte a token). */
enum token_mask { TOKEN_MASK_REFUSED, TOKEN_MASK_TAKEN };

struct token_rows {
    int32_t tokens, segments, padding, mask, id; /* places of the input columns; -1 = absent */
    uint64_t vocabulary;                         /* ids are below it; 0 = the tokens don't say */
    uint32_t width;                              /* bytes of a stored token: 2 or 4 */
};

/* Options sequences and dtype of the writers, in the order of their choices. */
enum token_sequences { TOKEN_SEQUENCES_ROWS, TOKEN_SEQUENCES_DOCUMENTS };
enum token_dtype { TOKEN_DTYPE_AUTO, TOKEN_DTYPE_UINT16, TOKEN_DTYPE_UINT32 };

#define TOKEN_SEQUENCES_OPTION(config)                                                         \
    {                                                                                          \
        .name = "sequences",                                                                   \
        .doc = "What a sequence is: a row, or each document's piece in a packed row, without " \
               "padding.",                                                                     \
        .def = "rows", .choices = "rows|documents", .type = SLUICE_OPT_ENUM,                   \
        .offset = offsetof(struct config, sequences)                                           \
    }
#define TOKEN_DTYPE_OPTION(config)                                                               \
    {                                                                                            \
        .name = "dtype", .doc = "Type of a token; auto is uint16 up to 65536 ids, else uint32.", \
        .def = "auto", .choices = "auto|uint16|uint32", .type = SLUICE_OPT_ENUM,                 \
        .offset = offsetof(struct config, dtype)                                                 \
    }

/* Asks for the columns, chooses the width (SLUICE_E_CONFIG names what does not fit) and notes it as
 * `dtype` in the manifest. mask_column: where the loss mask is, if there is one; "" or NULL leaves
 * it out. SLUICE_E_CONFIG when there is one and the format has no place for one. */
sluice_status token_rows_prepare(struct token_rows *, struct sluice_plan *, int32_t sequences,
                                 int32_t dtype, const char *mask_column, enum token_mask,
                                 struct sluice_error *err);

/* One sequence: n ids, and their mask (n bytes, NULL = none). */
typedef sluice_status token_rows_fn(void *user, const uint32_t *ids, const uint8_t *mask, size_t n,
                                    struct sluice_error *err);

/* Gives each sequence of a row to `take`, in order. SLUICE_E_DATA when lengths don't fit the
 * row. */
sluice_status token_rows_each(const struct token_rows *, const struct ArrowArray *batch,
                              int64_t row, token_rows_fn *take, void *user,
                              struct sluice_error *err);

/* Tokens of padding at the end of a row that the sequences of this writer hold. */
int64_t token_rows_padding(const struct token_rows *, const struct ArrowArray *batch, int64_t row);

/* Appends n ids, little-endian, width bytes each. SLUICE_E_DATA names the first that is out of
 * range, SLUICE_E_NOMEM. */
sluice_status token_rows_encode(const struct token_rows *, const uint32_t *ids, size_t n,
                                struct sluice_bytes *out, struct sluice_error *err);

sluice_status token_rows_nomem(struct sluice_error *err);
/* The host's status as ours, with a message. */
sluice_status token_rows_refused(sluice_status, struct sluice_error *err);

/* Tells the measures sequences, tokens (without padding) and, where there are any, padding and
 * empty (sequences that were left out). */
struct token_counts {
    int64_t sequences, tokens, padding, empty;
};
sluice_status token_rows_measure(struct sluice_emit *, struct token_counts *,
                                 struct sluice_error *err);

#endif
