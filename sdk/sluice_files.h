/* sluice_files.h - the options that stages share which write files: where to, in which codec, how
 * large. Header-only C11; depends on sluice.h.
 *
 *     struct config {
 *         const char *path;
 *         int64_t level;
 *         uint64_t shard_size;
 *         int32_t compression;
 *     };
 *     static const struct sluice_option options[] = {
 *         SLUICE_FILES_PATH(struct config, path), SLUICE_FILES_COMPRESSION(struct config,
 *         compression, "zstd", "Codec of the files."), SLUICE_FILES_LEVEL(struct config, level),
 *         SLUICE_FILES_SHARD_SIZE(struct config, shard_size, "256MiB", "Uncompressed bytes after
 *         which a file is ended."),
 *     };
 *     ... in prepare: return sluice_files_output(plan, ".jsonl", config->compression,
 *     config->level, err);
 *
 * So an option is called the same, and means the same, in every writer. A row of the table names
 * the member of the config struct; the option's own name is fixed. Owns nothing, keeps no state. */
#ifndef SLUICE_FILES_H
#define SLUICE_FILES_H

#include <stddef.h>

#include "sluice.h"

#ifndef SLUICE_INLINE /* sluice_ffi.c makes them functions of a library */
#define SLUICE_INLINE static inline __attribute__((unused))
#endif

/* `path`, const char *: the dataset's folder, required, and the option that is given without its
 * name. */
#define SLUICE_FILES_PATH(config, member)                                                  \
    {                                                                                      \
        .name = "path", .doc = "Dataset folder that is written.", .type = SLUICE_OPT_PATH, \
        .flags = SLUICE_OPTF_OUTPUT_PATH | SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,  \
        .offset = offsetof(config, member)                                                 \
    }

/* `compression`, int32_t: a codec as sluice_files_output takes it; standard is "none", "gzip" or
 * "zstd". */
#define SLUICE_FILES_COMPRESSION(config, member, standard, text)                          \
    {                                                                                     \
        .name = "compression", .doc = text, .def = standard, .choices = "none|gzip|zstd", \
        .type = SLUICE_OPT_ENUM, .offset = offsetof(config, member)                       \
    }

/* `level`, int64_t: 0 to 22. */
#define SLUICE_FILES_LEVEL(config, member)                                                       \
    {                                                                                            \
        .name = "level", .doc = "Level of the codec (gzip to 9, zstd to 22); 0 is its default.", \
        .def = "0", .type = SLUICE_OPT_INT, .min = 0, .max = 22,                                 \
        .offset = offsetof(config, member)                                                       \
    }

/* `shard_size`, uint64_t, at least 1: text says of which bytes, and where a file may end. */
#define SLUICE_FILES_SHARD_SIZE(config, member, standard, text)                                \
    {                                                                                          \
        .name = "shard_size", .doc = text, .def = standard, .type = SLUICE_OPT_SIZE, .min = 1, \
        .max = 1e15, .offset = offsetof(config, member)                                        \
    }

/* Declares an output kind of a writer with the codec and level of those options (plan->output, for
 * prepare). The suffix (".jsonl", without the codec's) is copied. SLUICE_E_CONFIG: a level that the
 * codec does not have; or what the host answers. */
SLUICE_INLINE sluice_status sluice_files_output(struct sluice_plan *plan, const char *suffix,
                                                int32_t compression, int64_t level,
                                                struct sluice_error *err)
{
    static const char *const codecs[] = { "none", "gzip", "zstd" };
    return plan->output(plan, suffix, codecs[compression], (int32_t)level, err);
}

#endif
