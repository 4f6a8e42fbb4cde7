/* token_writer - the stage behind every format of token files: it walks sequences, decides where a
 * file ends and keeps the account; a format says what the files hold. Depends on token_rows.h. */
#ifndef TOKEN_WRITER_H
#define TOKEN_WRITER_H

#include "token_rows.h"

struct token_config {
    const char *path;
    uint64_t shard_size;
    int32_t dtype, sequences, layout;
    const char *tokenizer, *loss_mask;
    uint8_t fixed;
    const char *compression;
    struct sluice_list hashes;
};

/* Options every format has; each lists them in its own table, with further ones of token_config
 * behind them. */
#define TOKEN_WRITER_OPTIONS(size)                                                                \
    { .name = "path",                                                                             \
      .doc = "Dataset folder that is written.",                                                   \
      .type = SLUICE_OPT_PATH,                                                                    \
      .flags = SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,           \
      .offset = offsetof(struct token_config, path) },                                            \
        TOKEN_DTYPE_OPTION(token_config), TOKEN_SEQUENCES_OPTION(token_config),                   \
        { .name = "loss_mask",                                                                    \
          .doc =                                                                                  \
              "Column of the loss mask, a byte a token, where there is one; \"\" leaves it out.", \
          .def = "loss_mask",                                                                     \
          .type = SLUICE_OPT_STRING,                                                              \
          .offset = offsetof(struct token_config, loss_mask) },                                   \
    {                                                                                             \
        .name = "shard_size", .doc = "Bytes after which a file is ended, at the end of a row.",   \
        .def = (size), .type = SLUICE_OPT_SIZE, .min = 1, .max = 2147483648.0,                    \
        .offset = offsetof(struct token_config, shard_size)                                       \
    }

struct token_stage;
struct token_writer;

struct token_format {
    enum token_mask mask;
    bool no_empty; /* sequences without tokens can't be said: they are left out */
    /* Declares the outputs and whatever else, after the columns are known. */
    sluice_status (*prepare)(struct token_stage *, struct sluice_plan *, struct sluice_error *);
    /* Adds a sequence to the open files. */
    token_rows_fn *add;
    /* Hands over what need not be kept until the files end; NULL = all is kept. */
    sluice_status (*give)(struct token_writer *, struct sluice_emit *, struct sluice_error *);
    /* Completes the open files, which hold at least one sequence. */
    sluice_status (*end)(struct token_writer *, struct sluice_emit *, struct sluice_error *);
    /* Bytes of the open files so far, for shard_size. */
    uint64_t (*size)(const struct token_writer *);
};

struct token_stage {
    const struct token_format *format;
    const struct token_config *config;
    struct token_rows rows;
    char tokenizer[80]; /* what the tokens say their tokenizer is; "" = nothing */
    uint32_t fixed; /* tokens of every sequence, where the format says so once for all; else 0 */
    int level;      /* of files that are compressed whole; 0 = they are not */
};

struct token_writer {
    const struct token_stage *stage;
    struct sluice_bytes data;      /* tokens or samples that are not handed over yet */
    struct sluice_bytes index;     /* uint64_t a sequence: its end, in tokens or bytes */
    struct sluice_bytes mask;      /* one byte a token */
    uint64_t sequences, tokens;    /* in the open files */
    int64_t rows;                  /* in the open files */
    struct token_counts uncounted; /* measures not yet told */
};

/* The host's write with a message, for formats. */
sluice_status token_write(struct sluice_emit *, uint32_t output, const void *data, uint64_t n,
                          struct sluice_error *);
/* Appends to a buffer; SLUICE_E_NOMEM with its message. */
sluice_status token_add(struct sluice_bytes *, const void *data, uint64_t n, struct sluice_error *);

/* Open function of a stage with this format; the rest of the lifecycle is the same for all. */
sluice_status token_writer_open(const struct token_format *, const void *config, void **shared,
                                struct sluice_error *);
sluice_status token_writer_prepare(void *shared, struct sluice_plan *, struct sluice_error *);
sluice_status token_writer_worker_open(void *shared, void **out, struct sluice_error *);
sluice_status token_writer_process(void *state, const struct sluice_batch *, struct sluice_emit *,
                                   struct sluice_error *);
sluice_status token_writer_flush(void *state, struct sluice_emit *, struct sluice_error *);
sluice_status token_writer_save(void *state, struct sluice_io *, struct sluice_error *);
sluice_status token_writer_load(void *state, struct sluice_io *, uint64_t version,
                                struct sluice_error *);
void token_writer_worker_close(void *state);
void token_writer_close(void *shared);

#define TOKEN_WRITER_LIFECYCLE(open_function)                                                      \
    .role = SLUICE_ROLE_WRITER, .mode = SLUICE_MODE_ORDERED, .options = options,                   \
    .n_options = sizeof options / sizeof options[0], .option_stride = sizeof options[0],           \
    .config_size = sizeof(struct token_config), .bytes_worker = 80 << 20, .open = (open_function), \
    .prepare = token_writer_prepare, .worker_open = token_writer_worker_open,                      \
    .process = token_writer_process, .flush = token_writer_flush, .state_version = 1,              \
    .save = token_writer_save, .load = token_writer_load,                                          \
    .worker_close = token_writer_worker_close, .close = token_writer_close

extern const struct sluice_stage write_datatrove_stage;
extern const struct sluice_stage write_memmap_stage;
extern const struct sluice_stage write_mds_stage;

#endif
