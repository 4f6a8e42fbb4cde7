/* Folders of partitions, as Hive and Spark name them: NAME=VALUE/NAME=VALUE, from a writer's note
 * `partition` (see sluice.h, plan->note). A value's text is escaped as Hive's FileUtils does it:
 * %XX for control characters and " # % ' * / : = ? \ { [ ] ^; null and the empty text are
 * __HIVE_DEFAULT_PARTITION__. Of a hash the folder is NAME_bucket=K: XXH3-128 of the value's text
 * (the low 64 bits) modulo N. Depends on plan, data. */
#ifndef SLUICE_RUN_FOLDERS_H
#define SLUICE_RUN_FOLDERS_H

#include "base/buf.h"
#include "data/column.h"
#include "plan/plan.h"

#define FOLDER_MOST 180 /* bytes of NAME=VALUE */

struct folder_level {
    char *prefix; /* "lang=", escaped; owned */
    int32_t slot; /* of the writer's input */
    enum type_kind kind;
    uint32_t buckets; /* 0 = the value itself */
};

struct folders {
    struct folder_level *levels;
    uint32_t n;
    uint32_t most; /* partitions that a task may have */
};

/* The text of a writer's note; NULL = it has none. */
const char *folders_note(const struct op *writer);
/* How many partitions a task of this writer may have; 0 = it has no note. */
uint32_t folders_most(const struct op *writer);
/* Of a writer that has one; `from` feeds it. SLUICE_E_CONFIG, SLUICE_E_SCHEMA: the note is none.
 * Deinit after an error too. */
sluice_status folders_init(struct folders *, const struct op *writer, const struct op *from,
                           struct sluice_error *) MUST_USE;
void folders_deinit(struct folders *);
/* Replaces *out by the folder of a row. SLUICE_E_CONFIG: its value is too long to name one. */
sluice_status folders_of(const struct folders *, const struct batch *, int64_t row, struct buf *out,
                         struct sluice_error *) MUST_USE;

#endif
