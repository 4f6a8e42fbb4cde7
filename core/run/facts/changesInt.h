/* Private to changes.c and changes_records.c. */
#ifndef SLUICE_RUN_CHANGESINT_H
#define SLUICE_RUN_CHANGESINT_H

#include "run/facts/changes.h"

struct record {
    struct commit *commit;
    int64_t time_ns; /* of its file: commit records hold no times */
};

/* A name under which a task with the record's key was tried. */
struct named {
    char *name;
    const struct record *record;
};

struct changes {
    struct record *records; /* sorted by key */
    size_t n;
    struct named *names; /* sorted, one a name */
    size_t n_names, room;
    bool unnamed; /* the log does not reach back to all records */
    char *dir;    /* of the records */
    bool asks;    /* lists may lack some of them: those whose keys are known are asked for */
};

/* The record of a task that ran under this name, the newest of several. NULL: the task never ran
 * under it, as far as is known. */
const struct commit *changes_find(const struct changes *, const char *task);

#endif
