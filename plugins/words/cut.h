/* What the providers of spans share: an instance with its config, a worker with its lists, one list
 * of spans a row. */
#ifndef WORDS_CUT_H
#define WORDS_CUT_H

#include <sluice_arrays.h>
#include <stddef.h>

#include "text/text.h"

/* Both configs. */
struct cut_config {
    int32_t rule;
    const char *over;
};

#define CUT_OVER                                                               \
    {                                                                          \
        .name = "over", .doc = "Column that holds the text.", .def = "text",   \
        .type = SLUICE_OPT_COLUMN, .offset = offsetof(struct cut_config, over) \
    }

struct cut_worker {
    const struct cut_config *config;
    struct text_word_cache cache;
    struct text_spans spans;
};

/* Cuts one text into worker->spans. */
typedef sluice_status (*cut_fn)(struct cut_worker *, const char *text, size_t n,
                                struct sluice_error *);

sluice_status cut_open(const struct sluice_host_api *, struct sluice_host *, const void *config,
                       void **shared, struct sluice_error *);
/* Needs the text and adds the column `name` of spans. */
sluice_status cut_prepare(void *shared, struct sluice_plan *, const char *name,
                          struct sluice_error *);
sluice_status cut_worker_open(void *shared, void **worker, struct sluice_error *);
sluice_status cut_process(void *worker, const struct sluice_batch *, struct sluice_emit *, cut_fn,
                          struct sluice_error *);
void cut_worker_close(void *worker);
void cut_close(void *shared);

extern const struct sluice_stage sentences_stage;

#endif
