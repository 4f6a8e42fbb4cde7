/* What the commands on datasets share. Depends on look. */
#ifndef SLUICE_CMD_DATASET_H
#define SLUICE_CMD_DATASET_H

#include <jansson.h>

#include "cmd/look/look.h"
#include "run/work/crew.h"
#include "store/tags.h"

/* {"pipeline", "node"}, or null: an older version wrote the snapshot. */
json_t *dataset_owner_json(const struct snapshot *);

/* A dataset that is to be changed: nothing works on the run that writes it meanwhile, if that is
 * here. */
struct dataset_hold {
    char *dir;
    uint32_t number;   /* 0: no snapshot is named */
    struct crew *crew; /* NULL: the run is not here */
};

/* SLUICE_E_IO: somebody works on the run. kind: "compact", …; NULL: it is only looked at. Release
 * after an error too. */
sluice_status dataset_hold(const char *reference, const char *kind, struct dataset_hold *,
                           struct sluice_error *) MUST_USE;
void dataset_release(struct dataset_hold *);

/* Opens the newest snapshot of a dataset that is held, which the reference must mean
 * (SLUICE_E_CONFIG): what is made of it stands behind it. what: "a compaction". Gives. */
sluice_status dataset_open_newest(const struct dataset_hold *, const char *what, struct snapshot **,
                                  struct sluice_error *) MUST_USE;

/* The run that wrote it: the one that is named (NULL: by its pipeline's name). *run is given, NULL
 * where there is none here. SLUICE_E_CONFIG: the named one is none, or this is no dataset. */
sluice_status dataset_run(const struct dataset_hold *, const char *named, char **run,
                          struct sluice_error *) MUST_USE;

/* The folder of an argument, below the working directory, without a slash at its end; NULL stays
 * NULL. Gives. */
sluice_status dataset_folder(const char *named, char **folder, struct sluice_error *) MUST_USE;

/* Facts to people or, with json, to programs. *Takes* facts. The exit status. */
int dataset_show(const char *event, const struct args *, json_t *facts);

#endif
