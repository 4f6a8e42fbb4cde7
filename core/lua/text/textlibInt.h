/* What the parts of textlib share: what is known of a string (textlib_analysis.c), and the methods.
 * See textlib.h. */
#ifndef SLUICE_LUA_TEXTLIBINT_H
#define SLUICE_LUA_TEXTLIBINT_H

#include "lua/sandbox/sandboxInt.h"
#include "lua/text/textlib.h"
#include "text/text.h"

/* What is known of one string. The registry holds the string, so that its address means it. */
struct analysis {
    const char *text; /* NULL = empty slot */
    uint64_t serial;  /* another one for each string */
    size_t len;
    bool has_words[3]; /* by enum text_word_rule */
    bool has_units[3]; /* by enum text_unit */
    struct text_spans words[3];
    struct text_doc docs[3]; /* with words */
    struct text_doc plain;   /* without words */
    struct text_duplicates units[3];
};

struct textlib {
    /* a long text, and a short one: words asked between two questions to a document don't push it
     * out */
    struct analysis slots[2];
    struct text_scratch scratch;
    struct text_spans spans;
    struct text_word_cache cache;
    struct text_buffer buffer;
    struct text_buffer memory; /* of textlib_memory */
    struct textlib_ngrams *ngrams;
    uint64_t serials;
    struct sluice_error err; /* of the current call: it is too large to be made anew by each */
};

struct textlib *textlib_of(lua_State *L);
/* The analysis of the string at 1 (made anew for another string). */
struct analysis *textlib_analysis(lua_State *L);
/* The same with its words by the rule named at index (none: whitespace). */
struct analysis *textlib_with_words(lua_State *L, int index, enum text_word_rule *rule);
const struct text_doc *textlib_words(lua_State *L, int index, enum text_word_rule *rule);
/* The words of the string at 1 by the rule of that name. */
const struct text_doc *textlib_words_by(lua_State *L, const char *name);
/* n bytes aligned to 8, for the length of one call of a method: the next call of this function
 * takes them. An error when they are more than the script may have. */
void *textlib_memory(lua_State *L, size_t n);
/* The state's own, emptied: for the length of one call. */
struct sluice_error *textlib_error(lua_State *L);
/* Raises err, unless status is SLUICE_OK. */
void textlib_check(lua_State *L, sluice_status status, const struct sluice_error *err);

/* Which lines or paragraphs of the string at 1 repeat an earlier one. */
const struct text_duplicates *textlib_units(lua_State *L, enum text_unit unit);
double textlib_ratio(double part, double whole); /* 0 of nothing */

/* textlib_chars.c */
int textlib_contains(lua_State *L);
int textlib_count(lua_State *L);
int textlib_find_plain(lua_State *L);
int textlib_starts(lua_State *L);
int textlib_ends(lua_State *L);
int textlib_chars(lua_State *L);
int textlib_share(lua_State *L);
int textlib_count_class(lua_State *L);
int textlib_strip(lua_State *L);
int textlib_lower_unicode(lua_State *L);
int textlib_simplify(lua_State *L);

/* textlib_words.c */
int textlib_all_words(lua_State *L);
int textlib_n_words(lua_State *L);
int textlib_lines(lua_State *L);
int textlib_n_lines(lua_State *L);
int textlib_sentences(lua_State *L);
int textlib_n_sentences(lua_State *L);
int textlib_dup_line_share(lua_State *L);
int textlib_dup_line_char_share(lua_State *L);
int textlib_dup_para_share(lua_State *L);
int textlib_dup_para_char_share(lua_State *L);
int textlib_mean_word_length(lua_State *L);
int textlib_word_stats(lua_State *L);

/* textlib_ngrams.c */
struct textlib_ngrams;
void textlib_ngrams_destroy(struct textlib_ngrams *);
int textlib_top_ngram(lua_State *L);
int textlib_dup_ngram(lua_State *L);

/* textlib_pieces.c: the object that s:pieces(how) gives. User value 1: the text. */
struct pieces {
    const char *text;
    size_t n;
    struct text_span spans[];
};
struct pieces *textlib_pieces_self(lua_State *L); /* the pieces at 1 */
void textlib_open_pieces(lua_State *L);
int textlib_pieces(lua_State *L);      /* s:pieces(how) */
int textlib_char_ngrams(lua_State *L); /* s:char_ngrams(n) */

/* textlib_counter.c */
void textlib_open_counter(lua_State *L);
int textlib_counter(lua_State *L);        /* s:counter([rule]) */
int textlib_pieces_counter(lua_State *L); /* p:counter() */

/* textlib_sets.c: what is made of a text once a state, such as a set of its characters: the
 * userdata that make leaves on the stack for the string at index, which the state keeps for this
 * call. key: an address for each kind. */
void *textlib_kept(lua_State *L, const void *key, int index,
                   void (*make)(lua_State *L, const char *text, size_t n));
const struct text_set *textlib_set(lua_State *L,
                                   int index); /* written there; the state keeps it for this call */
int textlib_count_in(lua_State *L);            /* s:count_in(set) */
int textlib_strip_in(lua_State *L);            /* s:strip_in(set) */

/* textlib_regex.c */
int textlib_matches(lua_State *L);         /* s:matches(regex) */
int textlib_match_count(lua_State *L);     /* s:match_count(regex) */
int textlib_match_first(lua_State *L);     /* s:match_first(regex [, from]) */
int textlib_all_matches(lua_State *L);     /* s:all_matches(regex) */
int textlib_replace_matches(lua_State *L); /* s:replace_matches(regex, with) */

/* textlib_filters.c */
int textlib_gopher_quality(lua_State *L);
int textlib_gopher_repetition(lua_State *L);
int textlib_fineweb_quality(lua_State *L);

#endif
