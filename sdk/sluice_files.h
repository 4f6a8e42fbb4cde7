/* sluice_files.h - the options that stages share which write files: where to, in which codec, how
 * large, in which folders. Header-only C11; depends on sluice_arrays.h.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice_arrays.h"

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

/* `partition_by`, struct sluice_list, as sluice_files_partition takes it. */
#define SLUICE_FILES_PARTITION_BY_DOC                                                            \
    "Columns (texts, whole numbers, true and false) by whose values the files lie in folders "   \
    "NAME=VALUE, as Hive calls them. \"hash(COLUMN, N)\", in Lua { hash = \"COLUMN\", n = N }: " \
    "N folders, COLUMN_bucket=K, by the XXH3 hash of the value's text."
#define SLUICE_FILES_PARTITION_BY(config, member)                                              \
    {                                                                                          \
        .name = "partition_by", .doc = SLUICE_FILES_PARTITION_BY_DOC, .type = SLUICE_OPT_LIST, \
        .offset = offsetof(config, member)                                                     \
    }

/* `max_partitions`, int64_t. */
#define SLUICE_FILES_MAX_PARTITIONS_DOC                                                     \
    "Most folders of `partition_by` that the rows of one input split may fall into: their " \
    "files are open at once."
#define SLUICE_FILES_MAX_PARTITIONS(config, member)                                        \
    {                                                                                      \
        .name = "max_partitions", .doc = SLUICE_FILES_MAX_PARTITIONS_DOC, .def = "100",    \
        .type = SLUICE_OPT_INT, .min = 1, .max = 10000, .offset = offsetof(config, member) \
    }

/* One entry of `partition_by`. column: its first `n` bytes are the column's name. */
struct sluice_files_part {
    const char *column;
    size_t n;
    uint32_t buckets; /* of a hash; 0 = the value itself */
};

/* Reads "COLUMN" or "hash(COLUMN, N)"; 0 = it is neither. */
SLUICE_INLINE int sluice_files_parse_part(const char *text, struct sluice_files_part *part)
{
    size_t n = strlen(text);
    const char *comma = strrchr(text, ',');
    unsigned long buckets;
    char *end;

    part->column = text;
    part->n = n;
    part->buckets = 0;
    if (strncmp(text, "hash(", 5) != 0) {
        return n > 0;
    }
    if (comma == NULL || comma == text + 5 || text[n - 1] != ')') {
        return 0;
    }
    buckets = strtoul(comma + 1 + strspn(comma + 1, " "), &end, 10);
    part->column = text + 5;
    part->n = (size_t)(comma - part->column);
    part->buckets = (uint32_t)buckets;
    return end == text + n - 1 && buckets >= 1 && buckets <= 65536;
}

/* What columns may be that name folders: for plan->need. */
#define SLUICE_FILES_PART_TYPES \
    "utf8?|bool?|int8?|int16?|int32?|int64?|uint8?|uint16?|uint32?|uint64?"
#define SLUICE_FILES_NOTE_MAX 8192

/* The note `partition` (plan->note) that entries of `partition_by` come to. SLUICE_E_CONFIG: one of
 * them is none. */
SLUICE_INLINE sluice_status sluice_files_partition_note(const struct sluice_list *by, int64_t most,
                                                        char note[SLUICE_FILES_NOTE_MAX],
                                                        struct sluice_error *err)
{
    size_t at = (size_t)snprintf(note, 64, "{\"most\":%lld,\"by\":[", (long long)most);

    for (uint64_t k = 0; k < by->n; k++) {
        struct sluice_files_part part;
        if (!sluice_files_parse_part(by->items[k], &part) ||
            SLUICE_FILES_NOTE_MAX - at < 6 * part.n + 100) {
            return sluice_fail(err, SLUICE_E_CONFIG, "partition_by",
                               "found an entry that is neither the name of a column nor "
                               "hash(COLUMN, N) with N from 1 to 65536");
        }
        at += (size_t)snprintf(note + at, 20, "%s{\"column\":\"", k > 0 ? "," : "");
        for (size_t i = 0; i < part.n; i++) {
            const unsigned char c = (unsigned char)part.column[i];
            if (c < 0x20) {
                at += (size_t)snprintf(note + at, 8, "\\u%04x", (unsigned)c);
            } else {
                at += (size_t)snprintf(note + at, 8, c == '"' || c == '\\' ? "\\%c" : "%c", c);
            }
        }
        at += (size_t)snprintf(note + at, 40, "\",\"buckets\":%u}", (unsigned)part.buckets);
    }
    snprintf(note + at, 8, "]}");
    return SLUICE_OK;
}

/* Has the host put each row's bytes into the files of its partition, for prepare; with an empty
 * list nothing happens. SLUICE_E_CONFIG: an entry is none; SLUICE_E_SCHEMA: there is no such
 * column, or its values don't name folders. */
SLUICE_INLINE sluice_status sluice_files_partition(struct sluice_plan *plan,
                                                   const struct sluice_list *by, int64_t most,
                                                   struct sluice_error *err)
{
    char note[SLUICE_FILES_NOTE_MAX];
    sluice_status status =
        by->n == 0 ? SLUICE_OK : sluice_files_partition_note(by, most, note, err);

    for (uint64_t k = 0; status == SLUICE_OK && k < by->n; k++) {
        struct sluice_files_part part;
        char *name;
        int32_t index;
        (void)sluice_files_parse_part(by->items[k], &part);
        name = (char *)malloc(part.n + 1);
        if (name == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for partitions");
        }
        memcpy(name, part.column, part.n);
        name[part.n] = '\0';
        status = plan->need(plan, 0, name, SLUICE_FILES_PART_TYPES, 0, &index, err);
        free(name);
    }
    return status == SLUICE_OK && by->n > 0 ? plan->note(plan, "partition", note, err) : status;
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
