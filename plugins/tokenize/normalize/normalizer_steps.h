/* normalizer_steps.h — private to normalizer*.c: the steps of a normalizer.
 * Depends on: normalizer_forms.h, normalizer_charsmap.h, pretoken_regex.h. */
#ifndef TOKENIZE_NORMALIZER_STEPS_H
#define TOKENIZE_NORMALIZER_STEPS_H

#include "normalize/normalizer.h"
#include "normalize/normalizer_charsmap.h"
#include "normalize/normalizer_forms.h"
#include "split/pretoken_regex.h"
#include "model/unigram_trie.h"

enum step_kind {
    STEP_FORM,
    STEP_REPLACE,    /* a string */
    STEP_REGEX,      /* Replace by a regex */
    STEP_PREPEND,    /*  */
    STEP_STRIP,      /* white space at the ends */
    STEP_DROP,       /* characters with one of `flags` */
    STEP_CLEAN,      /* BertNormalizer's clean_text */
    STEP_CHINESE,    /* spaces around ideographs */
    STEP_LOWERCASE,  /*  */
    STEP_NMT,        /*  */
    STEP_CHARSMAP,   /* Precompiled */
    STEP_BYTE_LEVEL, /* the customary byte alphabet */
    STEP_SPM         /* all of SentencePiece's normalizer */
};

struct step {
    enum step_kind kind;
    unsigned flags;   /* STEP_DROP: NU_*; STEP_STRIP: 1 left, 2 right */
    char *pattern;    /* STEP_REPLACE */
    size_t n_pattern; /*  */
    char *content;    /* STEP_REPLACE, STEP_REGEX, STEP_PREPEND */
    size_t n_content; /*  */
    struct normalizer_forms forms;
    struct regex *regex;
    struct charsmap charsmap;    /* STEP_CHARSMAP, STEP_SPM */
    struct unigram_trie symbols; /* STEP_SPM */
    int dummy_prefix, extra_spaces, escape, suffix;
    uint8_t plain[256]; /* STEP_SPM: what stays as it is when the next byte is ASCII too */
};

#define STEPS_MOST 32u

struct normalizer {
    struct normalizer_unicode unicode;
    struct unicode_table classes; /* for regexes; zeroed until one needs it */
    struct step steps[STEPS_MOST];
    size_t n_steps;
};

/* Appends a zeroed step; NULL (with *err filled) when there are too many. */
struct step *normalizer_add(struct normalizer *n, enum step_kind kind, struct sluice_error *err);

/* Caller's `*out` gets a copy of `len` bytes. SLUICE_E_NOMEM. */
int32_t normalizer_keep(char **out, size_t *n, const char *bytes, size_t len,
                        struct sluice_error *err);

/* A normalizer without steps. SLUICE_E_NOMEM. */
int32_t normalizer_create(struct normalizer **out, struct sluice_error *err);

/* One step. 0: the text stays as it is, and nothing need be written; 1: `sink` has it; -1: no
 * memory. */
int normalizer_step(const struct normalizer *n, const struct step *step,
                    struct forms_scratch *scratch, struct normalizer_sink *sink);

#endif
