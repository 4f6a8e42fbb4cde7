/* Progress of a run for people and programs: a live view on a terminal, plain lines otherwise, JSON
 * events with --json. */
#ifndef SLUICE_CMD_PROGRESS_H
#define SLUICE_CMD_PROGRESS_H

#include "run/run.h"

enum progress_mode { PROGRESS_QUIET, PROGRESS_LIVE, PROGRESS_LINES, PROGRESS_JSON };

struct progress {
    enum progress_mode mode;
    uint64_t last_ns;
    uint64_t phase_start_ns;
    uint32_t phase;
    bool begun;
    int lines; /* of the live view on the screen */
};

enum progress_mode progress_mode_for(bool json);
/* What run_events call for progress and warnings; ctx is a struct progress, or begins with one. */
void progress_tick(void *ctx, const struct run *, uint32_t phase, bool done);
void progress_warn(void *ctx, const char *message);
/* Removes the live view. */
void progress_end(struct progress *);

/* Rows, text like "12.3k", "1.2 M", "340 MB"; in a rotating static-free buffer given by the
 * caller. */
const char *human_count(uint64_t n, char buffer[24]);
const char *human_bytes(double n, char buffer[24]);
const char *human_time(double seconds, char buffer[24]);

#endif
