/* fasttext_reader.h - what a worker asks a model with: a reader, the line it reads, and which
 * labels it met.
 *
 * Owns that memory, one user at a time. Depends on model.h. Structs of zeros are closed. */
#ifndef FASTTEXT_READER_H
#define FASTTEXT_READER_H

#include <sluice_arrays.h>

#include "model.h"

struct fasttext_reader {
    struct ft_reader *reader;
    struct sluice_bytes line; /* what fasttext_ask_line asks about: any text without a \n */
};

/* The model must outlive it. */
sluice_status fasttext_reader_open(struct fasttext_reader *reader, const struct ft_model *model,
                                   struct sluice_error *err);
void fasttext_reader_close(struct fasttext_reader *reader);

/* Asks about n bytes in which every \n is replaced. Scores as of ft_predict. */
sluice_status fasttext_ask(struct fasttext_reader *reader, const char *text, size_t n,
                           const char *replacement, const struct ft_score **scores, size_t *count,
                           struct sluice_error *err);

/* Asks about reader->line, which is empty afterwards. */
sluice_status fasttext_ask_line(struct fasttext_reader *reader, const struct ft_score **scores,
                                size_t *count, struct sluice_error *err);

/* Appends n bytes with every \n replaced. */
int fasttext_one_line(struct sluice_bytes *out, const char *text, size_t n,
                      const char *replacement);

/* How often each label was met in a document. */
struct fasttext_tally {
    size_t *counts; /* by label */
    size_t *order;  /* the labels that were met, n of them, as they came */
    size_t n, labels;
};

sluice_status fasttext_tally_open(struct fasttext_tally *tally, size_t labels,
                                  struct sluice_error *err);
void fasttext_tally_close(struct fasttext_tally *tally);
void fasttext_tally_reset(struct fasttext_tally *tally);

/* Counts a label; gives how often it was met before. */
size_t fasttext_tally_add(struct fasttext_tally *tally, size_t label);

#endif
