/* What the stages of this plugin share: the model of a `path` option, and how its labels are
 * written. */
#ifndef FASTTEXT_STAGES_H
#define FASTTEXT_STAGES_H

#include <sluice_arrays.h>

#include "fasttext_reader.h"
#include "model.h"

/* Reads the model that option `model` names. */
sluice_status fasttext_load(const struct sluice_host_api *api, struct sluice_host *host,
                            const char *path, struct ft_model **out, struct sluice_error *err);

#define FASTTEXT_LABEL "__label__"

/* The number of a label, given without its "__label__"; -1: the model has none of that name. */
int64_t fasttext_find(const struct ft_model *model, const char *label);

/* SLUICE_E_CONFIG that names the option, the label and some of those there are. */
sluice_status fasttext_no_label(const struct ft_model *model, const char *option, const char *label,
                                struct sluice_error *err);

/* A JSON string, quotes included, and a number that reads back equal. */
int fasttext_json_string(struct sluice_bytes *out, const char *text, size_t n);
int fasttext_json_number(struct sluice_bytes *out, double value);

extern const struct sluice_stage fasttext_language_stage, fasttext_filter_stage,
    dolma_fasttext_stage;

#endif
