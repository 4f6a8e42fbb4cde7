/* Private to sluice head: what its files share. */
#ifndef SLUICE_CMD_HEADINT_H
#define SLUICE_CMD_HEADINT_H

#include <jansson.h>

#include "cmd/args.h"
#include "cmd/look/look.h"
#include "store/snapshot.h"
#include "where/where.h"

struct head {
    char *dir; /* NULL: a file is looked at */
    struct snapshot *snapshot;
    const char *run, *tokenizer; /* as given, or NULL */
    uint64_t n, seed;
    bool random, tokens, json, schema;
    size_t columns; /* of a line */
};

/* The rows to show: ascending row numbers of `total`, the first n or n at random. *rows is given
 * (free()). */
sluice_status head_rows(const struct head *, uint64_t total, uint64_t **rows, size_t *n,
                        struct sluice_error *) MUST_USE;

/* What --where says, all of which has to hold; head_where.c. */
struct condition {
    struct where *where; /* NULL: FIELD=VALUE */
    char *path;
    const char *value; /* the command line's */
};
struct conditions {
    struct condition items[ARGS_MAX];
    size_t n;
};
sluice_status conditions_parse(const struct args *, struct conditions *,
                               struct sluice_error *) MUST_USE;
bool conditions_hold(const struct conditions *, const json_t *row);
void conditions_deinit(struct conditions *);

/* Prints a row, JSON text, as it is or on one line with its number. */
void head_print(const struct head *, uint64_t row, const char *text, size_t n);

/* Rows of a dataset of JSON Lines; head_lines.c. */
sluice_status head_lines(const struct head *, const struct conditions *,
                         struct sluice_error *) MUST_USE;

/* A file alone that one reads? */
bool head_is_file(const char *path);
/* Rows, or with head.schema columns and types, of a dataset of such files or of the file at path;
 * head_columns.c. */
sluice_status head_columns(const struct head *, const char *path, const char *reader,
                           const struct conditions *, struct sluice_error *) MUST_USE;

/* Rows of a dataset of .bin and .idx files. */
sluice_status head_tokens(const struct head *, struct sluice_error *) MUST_USE;

#endif
