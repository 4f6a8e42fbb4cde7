/* splitter_int.h — private to splitter*.c: the steps of a splitter.
 * Depends on: normalizer_unicode.h, pretoken_regex.h. */
#ifndef TOKENIZE_SPLITTER_INT_H
#define TOKENIZE_SPLITTER_INT_H

#include "normalize/normalizer_unicode.h"
#include "split/pretoken_regex.h"
#include "split/splitter.h"

enum splitter_kind {
    SPLITTER_METASPACE,
    SPLITTER_FLAGS,     /* characters with one of `flags` match */
    SPLITTER_DELIMITER, /* the character `cp` matches */
    SPLITTER_WORDS,     /* \w+|[^\w\s]+ stay */
    SPLITTER_SCRIPTS,   /*  */
    SPLITTER_LENGTH,    /* `length` characters a piece */
    SPLITTER_PATTERN    /* Split */
};

/* What becomes of a match: tokenizers' SplitDelimiterBehavior, in the order of splitter_read.c. */
enum splitter_behavior {
    SPLITTER_ISOLATED,
    SPLITTER_REMOVED,
    SPLITTER_MERGED_WITH_PREVIOUS,
    SPLITTER_MERGED_WITH_NEXT,
    SPLITTER_CONTIGUOUS
};

enum splitter_prepend { SPLITTER_NEVER, SPLITTER_FIRST, SPLITTER_ALWAYS };

struct splitter_step {
    enum splitter_kind kind;
    enum splitter_behavior behavior;
    enum splitter_prepend prepend;
    int invert, split;
    unsigned flags;
    uint32_t cp;
    char replacement[4];
    size_t n_replacement, length;
    struct regex *regex;
};

#define SPLITTER_STEPS 16u

struct splitter {
    struct normalizer_unicode unicode;
    struct unicode_table classes; /* for patterns; zeroed until one needs it */
    struct splitter_step steps[SPLITTER_STEPS];
    size_t n_steps;
};

#endif
