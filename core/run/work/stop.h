/* The order to stop a run: the file RUN/stop, at which every process that works on it looks with
 * each of its heartbeats. It stays until `run` begins or the order is taken back. */
#ifndef SLUICE_RUN_STOP_H
#define SLUICE_RUN_STOP_H

#include "base/error.h"

struct stop_order {
    bool given;
    bool now;     /* not even what is in hand is finished */
    char by[256]; /* who gave it, in words */
};

sluice_status stop_read(const char *run_dir, struct stop_order *, struct sluice_error *) MUST_USE;
sluice_status stop_give(const char *run_dir, bool now, const char *by,
                        struct sluice_error *) MUST_USE;
/* Takes it back; fine when there is none. */
sluice_status stop_undo(const char *run_dir, struct sluice_error *) MUST_USE;
/* SLUICE_E_CANCELLED, in words, when the run was stopped: for who would begin to work on it. */
sluice_status stop_refuse(const char *run_dir, struct sluice_error *) MUST_USE;

#endif
