/* Private to core/store/codec.c and decoder_*.c: one decoder a codec, as decoder_run of codec.h has
 * it. *boundary: between members or frames, before and after the call. */
#ifndef SLUICE_STORE_DECODERINT_H
#define SLUICE_STORE_DECODERINT_H

#include "store/codec.h"

struct gzip;
struct gzip *gzip_create(void); /* NULL = out of memory */
void gzip_destroy(struct gzip *);
void gzip_reset(struct gzip *);
sluice_status gzip_run(struct gzip *, struct decoder_step *, bool *boundary,
                       struct sluice_error *) MUST_USE;

struct zstd;
struct zstd *zstd_create(void); /* NULL = out of memory */
void zstd_destroy(struct zstd *);
void zstd_reset(struct zstd *, uint64_t offset);
uint64_t zstd_window(const struct zstd *);
sluice_status zstd_run(struct zstd *, struct decoder_step *, bool *boundary,
                       struct sluice_error *) MUST_USE;

#endif
