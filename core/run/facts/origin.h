/* From a row of a dataset back to the records of the input files that it was made from. Depends on
 * run/facts/places.h. */
#ifndef SLUICE_RUN_ORIGIN_H
#define SLUICE_RUN_ORIGIN_H

#include <jansson.h>

#include "run/facts/places.h"

/* The caller fills in what is looked for, which stays theirs. */
struct origin {
    const char *writer;
    const char *file;  /* stored name */
    const char *shown; /* public name, for messages */
    uint64_t row;
    /* after origin_find */
    const struct run *run;
    struct place *places; /* in order */
    size_t n;
};

/* The folder of a writer's dataset, the plan's. SLUICE_E_CONFIG: no writer has the name. */
sluice_status origin_writer(const struct run *, const char *name, const char **dataset,
                            struct sluice_error *) MUST_USE;
/* Looks the run over with the records that the file stems from (runview_all_old). SLUICE_E_CONFIG:
 * no such row; SLUICE_E_DATA: another run's, or it can't be told. Deinit after an error too. */
sluice_status origin_find(struct run *, struct origin *, struct sluice_error *) MUST_USE;
/* [{task, row, tokens, uri, path, begin, end, id, text, answers}]; text only if it is asked for;
 * answers, of servers: [{stage, asks, journal}], only of few records, for their splits are read
 * again. */
sluice_status origin_json(const struct origin *, bool text, json_t **out,
                          struct sluice_error *) MUST_USE;
void origin_deinit(struct origin *);

#endif
