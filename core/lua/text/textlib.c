/* Text primitives: the table of methods. See textlib.h. */
#include "lua/text/textlib.h"

#include "lua/text/textlibInt.h"

static const struct {
    const char *name;
    lua_CFunction function;
    const char *doc;
} methods[] = {
    { "contains", textlib_contains,
      "contains(needle): does it occur, byte for byte? An empty needle does." },
    { "count", textlib_count,
      "count(needle): non-overlapping occurrences from the left; of \"\" characters + 1 (Python's "
      "count)." },
    { "find_plain", textlib_find_plain,
      "find_plain(needle [, from]): first and last byte of the first occurrence, or nil." },
    { "starts_with", textlib_starts, "starts_with(prefix)" },
    { "ends_with", textlib_ends, "ends_with(suffix)" },
    { "chars", textlib_chars, "chars(): code points." },
    { "share", textlib_share,
      "share(class): part of the code points in letter, digit, number, alnum, space, upper, lower, "
      "punct, symbol, "
      "punctuation, terminal, or equal to one character; 0 for an empty text." },
    { "count_class", textlib_count_class,
      "count_class(class): code points of a class as in share." },
    { "count_in", textlib_count_in,
      "count_in(set): code points in a set like \"a-zA-Z0-9_\": characters and ranges; a - at "
      "either end stands for itself." },
    { "words", textlib_all_words,
      "words([rule]): array of words; rule whitespace (default), uax29 or spacy-en." },
    { "n_words", textlib_n_words, "n_words([rule]): how many." },
    { "lines", textlib_lines, "lines(): array of lines (Python's splitlines)." },
    { "n_lines", textlib_n_lines, "n_lines(): how many." },
    { "sentences", textlib_sentences, "sentences(): array of sentences, found by rule." },
    { "n_sentences", textlib_n_sentences, "n_sentences(): how many." },
    { "strip", textlib_strip, "strip(): without white space at both ends (Unicode)." },
    { "strip_in", textlib_strip_in,
      "strip_in(set): without the characters of a set (as in count_in) at both ends." },
    { "lower_unicode", textlib_lower_unicode,
      "lower_unicode(): full Unicode lower-casing (Python's lower)." },
    { "simplify", textlib_simplify,
      "simplify(): the normal form before hashing: lower case, no punctuation, digits 0, no "
      "diacritics." },
    { "top_ngram_share", textlib_top_ngram,
      "top_ngram_share(n [, above] [, rule]): characters in the most frequent n-gram / characters "
      "(Gopher). With "
      "above: 0 unless it is above it, which is several times faster." },
    { "dup_ngram_share", textlib_dup_ngram,
      "dup_ngram_share(n [, above] [, rule]): characters in repeated n-grams / characters "
      "(Gopher); above as there." },
    { "dup_line_share", textlib_dup_line_share,
      "dup_line_share(): lines that repeat an earlier one / lines (Gopher)." },
    { "dup_line_char_share", textlib_dup_line_char_share,
      "dup_line_char_share(): their characters / characters." },
    { "dup_para_share", textlib_dup_para_share,
      "dup_para_share(): paragraphs that repeat an earlier one / paragraphs (Gopher)." },
    { "dup_para_char_share", textlib_dup_para_char_share,
      "dup_para_char_share(): their characters / characters." },
    { "mean_word_length", textlib_mean_word_length,
      "mean_word_length([rule]): characters a word; 0 without words." },
    { "word_stats", textlib_word_stats,
      "word_stats([rule]): table of words, chars, content (words that are not only punctuation), "
      "content_chars, alphabetic (words with a letter)." },
    { "counter", textlib_counter,
      "counter([rule]): how often each word occurs: c:count(word or list), c:total(), "
      "c:distinct(), c:top(n), "
      "for word, n in pairs(c)." },
    { "pieces", textlib_pieces,
      "pieces(how): the text cut: how is whitespace, uax29 or spacy-en (words), lines or "
      "sentences; "
      "or a table of by = one of them, at = a separator (Python's split) or between = a set (what "
      "stands between runs of it), strip = true or a set, drop = \"empty\" or \"blank\". p[i], #p; "
      "p:starting(list), p:ending(list), p:containing(list), p:distinct(): those pieces; "
      "p:chars(), "
      "p:longest(); p:counter(), p:ngrams(n), p:top_ngram(n), p:dup_ngram_chars(n)." },
    { "char_ngrams", textlib_char_ngrams,
      "char_ngrams(n): how often runs of n code points occur: array of { times =, ngrams = }, the "
      "most frequent first." },
    { "matches", textlib_matches,
      "matches(regex): does a regular expression match anywhere? PCRE2's syntax; classes are "
      "Unicode's, (?i) in front ignores case. A match that takes more than a million steps is an "
      "error of the row, the same on every machine." },
    { "match_count", textlib_match_count,
      "match_count(regex): matches, from the left, none in another." },
    { "match_first", textlib_match_first,
      "match_first(regex [, from]): first and last byte of the first match, then its groups "
      "(false: "
      "took no part); or nil." },
    { "all_matches", textlib_all_matches,
      "all_matches(regex): array of the matches' texts, or of their first groups where it has "
      "groups." },
    { "replace_matches", textlib_replace_matches,
      "replace_matches(regex, with): the text with `with` for each match, and how many there were; "
      "$0 in it is the match, $1 its first group, $$ a dollar." },
    { "gopher_quality", textlib_gopher_quality,
      "gopher_quality([options]): nil, or the reason, value and limit of Gopher's quality rules." },
    { "gopher_repetition", textlib_gopher_repetition,
      "gopher_repetition([options]): the same for Gopher's repetition rules." },
    { "fineweb_quality", textlib_fineweb_quality,
      "fineweb_quality([options]): the same for FineWeb's rules." },
};

#define N_METHODS (sizeof methods / sizeof methods[0])

const char *textlib_doc(size_t k)
{
    return k < N_METHODS ? methods[k].doc : NULL;
}

/* __index behind the methods. */
static int unknown_method(lua_State *L)
{
    static const char *const library[] = { "byte", "find",    "format", "gmatch", "gsub",
                                           "len",  "lower",   "match",  "pack",   "packsize",
                                           "rep",  "reverse", "sub",    "unpack", "upper" };
    const char *known[N_METHODS + sizeof library / sizeof library[0]];
    const char *word = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    const char *near;
    size_t n = 0;

    if (word == NULL) {
        return luaL_error(L, "a string has no fields, found [%s]; characters are s:sub(i, i)",
                          luaL_typename(L, 2));
    }
    for (size_t i = 0; i < N_METHODS; i++) {
        known[n++] = methods[i].name;
    }
    for (size_t i = 0; i < sizeof library / sizeof library[0]; i++) {
        known[n++] = library[i];
    }
    near = error_suggest(word, known, n);
    if (near != NULL) {
        return luaL_error(L, "a string has no method '%s', did you mean '%s'?", word, near);
    }
    return luaL_error(L, "a string has no method '%s'", word);
}

void textlib_open(lua_State *L)
{
    textlib_open_counter(L);
    textlib_open_pieces(L);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_getfield(L, -1, "__index");
    for (size_t i = 0; i < N_METHODS; i++) {
        lua_pushcfunction(L, methods[i].function);
        lua_setfield(L, -2, methods[i].name);
    }
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, unknown_method);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 3);
}
