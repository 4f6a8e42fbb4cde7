/* dolma_fasttext.h - the parts of the stage dolma_fasttext: a tagger, what it calls a model's
 * labels, and what it makes of them.
 *
 * Depends on fasttext_reader.h, and on dolma_column.h and dolma_doc.h of the plugin dolma, whose
 * objects are linked in. */
#ifndef DOLMA_FASTTEXT_H
#define DOLMA_FASTTEXT_H

#include "dolma_column.h"
#include "dolma_doc.h"
#include "fasttext_reader.h"
#include "text/text.h"

/* What the model sees. */
enum ft_line_form { LINE_LOWER, LINE_AS_IS, LINE_JOINED, LINE_WORDS };
/* What is made of its labels. */
enum ft_score_form { ALL_LABELS, ABOVE_ONE, ENGLISH, TWO_LABELS, BEST_LABEL, COMPOSITION };

/* What it does to a text before the model sees it, and what it makes of the labels. */
struct ft_tagger {
    const char *name;
    enum ft_line_form line;
    enum ft_score_form scores;
    bool paragraphs, negative, overall;
};

/* ---- names of attributes ---- */

/* A label of the model and the types of the spans that it makes; with code_composition three. */
struct ft_type {
    char *type, *share, *entropy;
};

/* The types of all labels of a model, and of "other" behind them: n of them. A struct of zeros is
 * empty. */
struct ft_types {
    struct ft_type *types;
    size_t n;
};

/* SLUICE_E_NOMEM. */
sluice_status ft_types_make(struct ft_types *types, const struct ft_tagger *tagger,
                            const struct ft_model *model, struct sluice_error *err);
void ft_types_free(struct ft_types *types);

/* Declares all that the tagger may give; what dolma_column_declare answers. */
sluice_status ft_types_declare(const struct ft_types *types, const struct ft_tagger *tagger,
                               const char *prefix, struct dolma_column *column,
                               struct sluice_error *err);

/* ---- a document's attributes ---- */

/* What a worker tags with. A struct of zeros is closed. */
struct ft_tagging {
    const struct ft_tagger *tagger;
    const struct ft_model *model;
    const struct ft_types *types;
    int64_t english; /* number of the label en, or -1 */
    struct fasttext_reader reader;
    struct dolma_doc doc;
    struct dolma_out out;
    struct text_buffer lower;
    struct text_spans lines;
    struct sluice_bytes spans; /* struct english */
    struct fasttext_tally met; /* code_composition: lines of each label */
    double *entropies;         /* the same: sums */
};

/* Opens it with tagger, model, types and english set, which must outlive it. */
sluice_status ft_tagging_open(struct ft_tagging *tagging, struct sluice_error *err);
void ft_tagging_close(struct ft_tagging *tagging);

/* Writes the spans of one text into tagging->out. */
sluice_status ft_tag(struct ft_tagging *tagging, const char *text, size_t n,
                     struct sluice_error *err);

#endif
