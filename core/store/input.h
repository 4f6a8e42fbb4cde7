/* One input file as a stream of decoded bytes. Owns the file, the decoder and both
 * positions. Depends on store/{codec,store}.h. One thread at a time. Errors name the file, the
 * compressed and the decoded offset. */
#ifndef SLUICE_STORE_INPUT_H
#define SLUICE_STORE_INPUT_H

#include "base/error.h"
#include "store/codec.h"
#include "store/store.h"

struct input;

/* Opens a file and tells its codec. SLUICE_E_CONFIG where there is none, SLUICE_E_DATA for a
 * format that can't be read, else SLUICE_E_IO. */
sluice_status input_open(const char *path, struct input **out, struct sluice_error *err) MUST_USE;
void input_close(struct input *);

enum codec input_codec(const struct input *);
const char *input_path(const struct input *);
uint64_t input_size(const struct input *);                       /* of the file then */
const struct store_version *input_version(const struct input *); /* when it was opened */
/* Has anyone written to the file since it was opened, so that what was read later is something
 * else? The file itself, not what has its name now. */
bool input_touched(const struct input *);
uint64_t input_position(const struct input *);     /* decoded bytes delivered or skipped so far */
uint64_t input_position_raw(const struct input *); /* bytes of the file eaten so far */

/* Reads n decoded bytes; *got < n only at the end of the file (then 0 for ever). The end of a
 * compressed file is an error unless it is the end of a member or frame. */
sluice_status input_read(struct input *, void *buffer, size_t n, size_t *got,
                         struct sluice_error *err) MUST_USE;

/* A whole file at once, decoded. Gives *data: free it. */
sluice_status input_read_all(const char *path, void **data, uint64_t *size,
                             struct sluice_error *err) MUST_USE;

/* The same as services of stages (struct stage_services), which have no use for their ctx. */
sluice_status input_lend(void *ctx, const char *path, const void **data, uint64_t *size,
                         struct sluice_error *err);
void input_take_back(void *ctx, const void *data);

/* Moves forward by n decoded bytes (plain: seeks; else decodes and discards). *skipped < n only
 * at the end of the file. */
sluice_status input_skip(struct input *, uint64_t n, uint64_t *skipped,
                         struct sluice_error *err) MUST_USE;

/* Goes to a place where decoding can begin: any offset of a plain file (raw == decoded), the
 * start of a zstd frame, or 0, 0. */
sluice_status input_seek(struct input *, uint64_t raw, uint64_t decoded,
                         struct sluice_error *err) MUST_USE;

/* Has fn called before much of a zstd window above what it was told last (0 at first) is filled; a
 * failure ends reading. NULL stops it. */
typedef sluice_status (*input_window_fn)(void *ctx, uint64_t window, struct sluice_error *err);
void input_watch_window(struct input *, input_window_fn fn, void *ctx);

#endif
