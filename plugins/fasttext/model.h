/* model.h - a fastText classifier in C: loading, labels, predictions. C++ and libfasttext stay
 * behind it.
 *
 * A model is read-only once loaded and shared by all threads; each thread has a reader of its own.
 * No exception leaves a function. */
#ifndef FASTTEXT_MODEL_H
#define FASTTEXT_MODEL_H

#include <sluice.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ft_model;
struct ft_reader;

/* data is borrowed for the call. What is no model is refused before the library sees it
 * (model_check.h): SLUICE_E_CONFIG. */
sluice_status ft_model_load(const void *data, size_t n, struct ft_model **out,
                            struct sluice_error *err);
void ft_model_destroy(struct ft_model *model);

/* Labels with their "__label__", by number; borrowed until the model is destroyed. */
size_t ft_model_labels(const struct ft_model *model);
const char *ft_model_label(const struct ft_model *model, size_t i);

struct ft_score {
    size_t label;
    double score; /* a float's value; may be above 1 by a little */
};

sluice_status ft_reader_create(const struct ft_model *model, struct ft_reader **out,
                               struct sluice_error *err);
void ft_reader_destroy(struct ft_reader *reader);

/* All labels that the model gives for a line (text up to its first \n, or all), best first: what
 * fasttext.predict(text, k = -1) gives. None when it knows no word. Borrowed until the next
 * call. */
sluice_status ft_predict(struct ft_reader *reader, const char *text, size_t n,
                         const struct ft_score **scores, size_t *n_scores,
                         struct sluice_error *err);

/* The same by libfasttext alone, which is many times slower; the tests compare. */
sluice_status ft_predict_peer(struct ft_reader *reader, const char *text, size_t n,
                              const struct ft_score **scores, size_t *n_scores,
                              struct sluice_error *err);

#ifdef __cplusplus
}
#endif

#endif
