/* mds_file - what MosaicML's writer does with a shard's bytes: compression, and the hashes that its
 * index holds. Depends on libzstd, nettle, xxhash. Works on its arguments alone. */
#ifndef MDS_FILE_H
#define MDS_FILE_H

#include <sluice_arrays.h>

/* Level of "zstd" or "zstd:N"; 0 of "none". SLUICE_E_CONFIG: the text is neither. */
sluice_status mds_file_level(const char *compression, int *level, struct sluice_error *err);

/* SLUICE_E_CONFIG: a name that is no hash of mds_file_info, or names that are not in order without
 * a repetition, which the format asks for. */
sluice_status mds_file_hashes(const struct sluice_list *names, struct sluice_error *err);

/* Appends one zstd frame that says its size. SLUICE_E_NOMEM. */
sluice_status mds_file_compress(int level, const void *data, uint64_t n, struct sluice_bytes *out,
                                struct sluice_error *err);

/* Appends {"basename": …, "bytes": n, "hashes": {…}}, as json.dumps writes it. 0 = out of
 * memory. */
int mds_file_info(const struct sluice_list *names, const char *basename, const void *data,
                  uint64_t n, struct sluice_bytes *out);

#endif
