/* Text primitives: see textlib.h. */
#include "lua/textlib.h"

#include <stdlib.h>
#include <string.h>

#include "lua/textlibInt.h"

#define SHORT_TEXT 256 /* bytes; shorter strings use a slot of their own */

static const char anchor_keys[2] = { 0 };

/* ---- analyses ---- */

struct textlib *textlib_of(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);

    if (box->text == NULL) {
        box->text = calloc(1, sizeof *box->text);
        if (box->text == NULL) {
            luaL_error(L, "out of memory for text primitives");
        }
    }
    return box->text;
}

void textlib_close(struct textlib *lib)
{
    if (lib == NULL) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof lib->slots[i].words / sizeof lib->slots[i].words[0]; k++) {
            text_spans_deinit(&lib->slots[i].words[k]);
        }
    }
    text_scratch_deinit(&lib->scratch);
    text_spans_deinit(&lib->spans);
    text_word_cache_deinit(&lib->cache);
    text_buffer_deinit(&lib->buffer);
    text_buffer_deinit(&lib->memory);
    textlib_ngrams_destroy(lib->ngrams);
    free(lib);
}

struct sluice_error *textlib_error(lua_State *L)
{
    struct sluice_error *err = &textlib_of(L)->err;

    err->size = sizeof *err;
    err->message[0] = '\0';
    return err;
}

void textlib_check(lua_State *L, sluice_status status, const struct sluice_error *err)
{
    if (status == SLUICE_E_NOMEM) {
        lua_pushstring(L, err->message);
        sandbox_of(L)->fatal = FATAL_MEMORY;
        lua_error(L);
    }
    if (status != SLUICE_OK) {
        luaL_error(L, "%s", err->message);
    }
}

struct analysis *textlib_analysis(lua_State *L)
{
    struct textlib *lib = textlib_of(L);
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    int k = len < SHORT_TEXT;
    struct analysis *slot = &lib->slots[k];

    if (slot->text == text && slot->len == len) {
        return slot;
    }
    /* Words and tables of a text take a multiple of its size outside of the script's memory. */
    if (len > sandbox_of(L)->cap / 4 || len > TEXT_MAX) {
        luaL_error(L,
                   "a text of %I bytes is too long for the text primitives (at most a quarter of "
                   "the script's memory)",
                   (LUAI_UACINT)len);
    }
    slot->text = NULL;
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &anchor_keys[k]);
    memset(slot->has_words, 0, sizeof slot->has_words);
    memset(slot->has_units, 0, sizeof slot->has_units);
    struct sluice_error *err = textlib_error(L);
    textlib_check(L, text_doc_init(&slot->plain, text, len, NULL, 0, err), err);
    slot->text = text;
    slot->len = len;
    slot->serial = ++lib->serials;
    sandbox_charge(L, len / 64);
    return slot;
}

static enum text_word_rule rule_at(lua_State *L, int index)
{
    enum text_word_rule rule = TEXT_WORDS_WHITESPACE;

    if (!lua_isnoneornil(L, index)) {
        struct sluice_error *err = textlib_error(L);
        textlib_check(L, text_word_rule_parse(luaL_checkstring(L, index), &rule, err), err);
    }
    return rule;
}

struct analysis *textlib_with_words(lua_State *L, int index, enum text_word_rule *rule)
{
    struct analysis *slot = textlib_analysis(L);

    *rule = rule_at(L, index);
    if (!slot->has_words[*rule]) {
        struct text_spans *words = &slot->words[*rule];
        struct sluice_error *err = textlib_error(L);
        sandbox_charge(L, slot->len);
        textlib_check(
            L, text_words_cached(*rule, slot->text, slot->len, &textlib_of(L)->cache, words, err),
            err);
        /* The words are right by construction: no second pass to check and count. */
        slot->docs[*rule] = slot->plain;
        slot->docs[*rule].words = words->data;
        slot->docs[*rule].n_words = words->count;
        slot->has_words[*rule] = true;
    }
    return slot;
}

const struct text_doc *textlib_words(lua_State *L, int index, enum text_word_rule *rule)
{
    return &textlib_with_words(L, index, rule)->docs[*rule];
}

const struct text_doc *textlib_words_by(lua_State *L, const char *name)
{
    enum text_word_rule rule;

    lua_pushstring(L, name);
    const struct text_doc *doc = textlib_words(L, -1, &rule);
    lua_pop(L, 1);
    return doc;
}

void *textlib_memory(lua_State *L, size_t n)
{
    struct text_buffer *memory = &textlib_of(L)->memory;
    struct sluice_error *err = textlib_error(L);

    if (n > sandbox_of(L)->cap) {
        luaL_error(L,
                   "a text is too long for the text primitives: they need %I bytes for it, and the "
                   "script has %I",
                   (LUAI_UACINT)n, (LUAI_UACINT)sandbox_of(L)->cap);
    }
    memory->len = 0;
    textlib_check(L, text_buffer_reserve(memory, n + 8, err), err);
    return memory->data;
}

static const struct text_duplicates *units(lua_State *L, enum text_unit unit)
{
    struct analysis *slot = textlib_analysis(L);

    if (!slot->has_units[unit]) {
        struct sluice_error *err = textlib_error(L);
        sandbox_charge(L, slot->len);
        textlib_check(L,
                      text_unit_duplicates(&slot->plain, unit, &textlib_of(L)->scratch,
                                           &slot->units[unit], err),
                      err);
        slot->has_units[unit] = true;
    }
    return &slot->units[unit];
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* ---- substrings ---- */

static int text_contains_method(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    sandbox_charge(L, n / 64);
    lua_pushboolean(L, text_contains(text, n, needle, m));
    return 1;
}

static int text_count_method(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    sandbox_charge(L, n / 16);
    lua_pushinteger(L, (lua_Integer)text_count(text, n, needle, m));
    return 1;
}

static int text_find_plain(lua_State *L)
{
    size_t n, m, at;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);
    lua_Integer from = luaL_optinteger(L, 3, 1);

    luaL_argcheck(L, from >= 1, 3, "positions begin with 1");
    if ((uint64_t)from - 1 > n) {
        luaL_pushfail(L);
        return 1;
    }
    at = text_find(text, n, (size_t)from - 1, needle, m);
    sandbox_charge(L, n / 64);
    if (m > 0 && at == n) {
        luaL_pushfail(L);
        return 1;
    }
    lua_pushinteger(L, (lua_Integer)at + 1);
    lua_pushinteger(L, (lua_Integer)(at + m));
    return 2;
}

static int text_starts(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    lua_pushboolean(L, text_starts_with(text, n, needle, m));
    return 1;
}

static int text_ends(lua_State *L)
{
    size_t n, m;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *needle = luaL_checklstring(L, 2, &m);

    lua_pushboolean(L, text_ends_with(text, n, needle, m));
    return 1;
}

/* ---- characters ---- */

static int text_chars(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    sandbox_charge(L, n / 64);
    lua_pushinteger(L, (lua_Integer)text_utf8_count(text, n));
    return 1;
}

/* How many characters are in the class named at 2, or equal to the one character there. */
static size_t count_at(lua_State *L, const char *text, size_t n)
{
    size_t m;
    const char *name = luaL_checklstring(L, 2, &m);
    uint32_t classes = text_class_by_name(name, m);
    uint32_t cp;

    sandbox_charge(L, n / 8);
    if (classes != 0) {
        return text_count_class(text, n, classes);
    }
    if (m == 0 || text_utf8_decode(name, m, 0, &cp) != m) {
        luaL_error(L,
                   "unknown class '%s'; expected letter, digit, number, alnum, space, upper, "
                   "lower, punct, symbol, punctuation, terminal "
                   "or one character",
                   name);
    }
    return text_count(text, n, name, m);
}

static int text_share(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    size_t count = count_at(L, text, n);

    lua_pushnumber(L, share((double)count, (double)text_utf8_count(text, n)));
    return 1;
}

static int text_count_class_method(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    lua_pushinteger(L, (lua_Integer)count_at(L, text, n));
    return 1;
}

/* ---- pieces ---- */

static void push_spans(lua_State *L, const char *text, const struct text_span *spans, size_t n)
{
    sandbox_charge(L, 2 * n);
    lua_createtable(L, n < 1u << 26 ? (int)n : 0, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushlstring(L, text + spans[i].begin, spans[i].end - spans[i].begin);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static int text_words_method(lua_State *L)
{
    enum text_word_rule rule;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    push_spans(L, doc->text, doc->words, doc->n_words);
    return 1;
}

static int text_n_words(lua_State *L)
{
    enum text_word_rule rule;

    lua_pushinteger(L, (lua_Integer)textlib_words(L, 2, &rule)->n_words);
    return 1;
}

typedef int32_t (*split_fn)(const char *, size_t, struct text_spans *, struct sluice_error *);

static struct text_spans *split(lua_State *L, split_fn function)
{
    struct textlib *lib = textlib_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct sluice_error *err = textlib_error(L);

    sandbox_charge(L, n / 8);
    if (n > sandbox_of(L)->cap / 4) {
        luaL_error(L,
                   "a text of %I bytes is too long for the text primitives (at most a quarter of "
                   "the script's memory)",
                   (LUAI_UACINT)n);
    }
    textlib_check(L, function(text, n, &lib->spans, err), err);
    return &lib->spans;
}

static int text_lines(lua_State *L)
{
    struct text_spans *spans = split(L, text_splitlines);

    push_spans(L, lua_tostring(L, 1), spans->data, spans->count);
    return 1;
}

static int text_n_lines(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)split(L, text_splitlines)->count);
    return 1;
}

static int text_sentences_method(lua_State *L)
{
    struct text_spans *spans = split(L, text_sentences);

    push_spans(L, lua_tostring(L, 1), spans->data, spans->count);
    return 1;
}

static int text_n_sentences(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    sandbox_charge(L, n / 8);
    lua_pushinteger(L, (lua_Integer)text_sentence_count(text, n));
    return 1;
}

/* ---- forms ---- */

static int text_strip_method(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct text_span span;

    luaL_argcheck(L, n <= TEXT_MAX, 1, "text too long");
    span = text_strip(text, (struct text_span){ 0, (uint32_t)n });
    lua_pushlstring(L, text + span.begin, span.end - span.begin);
    return 1;
}

static int text_lower_unicode(lua_State *L)
{
    struct textlib *lib = textlib_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct sluice_error *err = textlib_error(L);

    sandbox_charge(L, n / 4);
    textlib_check(L, text_lower(text, n, &lib->buffer, err), err);
    lua_pushlstring(L, lib->buffer.data, lib->buffer.len);
    return 1;
}

static int text_simplify_method(lua_State *L)
{
    struct textlib *lib = textlib_of(L);
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct sluice_error *err = textlib_error(L);

    sandbox_charge(L, n / 2);
    textlib_check(L, text_simplify(text, n, TEXT_SIMPLIFY_ALL, &lib->buffer, err), err);
    lua_pushlstring(L, lib->buffer.data, lib->buffer.len);
    return 1;
}

/* ---- repetition ---- */

static int dup_share(lua_State *L, enum text_unit unit)
{
    const struct text_duplicates *found = units(L, unit);

    lua_pushnumber(L, share((double)found->elements, (double)found->total));
    return 1;
}

static int dup_char_share(lua_State *L, enum text_unit unit)
{
    const struct text_duplicates *found = units(L, unit);

    lua_pushnumber(L, share((double)found->chars, (double)textlib_analysis(L)->plain.chars));
    return 1;
}

static int text_dup_line_share(lua_State *L)
{
    return dup_share(L, TEXT_UNIT_LINE);
}
static int text_dup_line_char_share(lua_State *L)
{
    return dup_char_share(L, TEXT_UNIT_LINE);
}
static int text_dup_para_share(lua_State *L)
{
    return dup_share(L, TEXT_UNIT_PARAGRAPH);
}
static int text_dup_para_char_share(lua_State *L)
{
    return dup_char_share(L, TEXT_UNIT_PARAGRAPH);
}

/* ---- words in numbers ---- */

static int text_mean_word_length(lua_State *L)
{
    enum text_word_rule rule;
    struct text_word_counts counts;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    sandbox_charge(L, doc->len);
    text_word_counts(doc, &counts);
    lua_pushnumber(L, share((double)counts.chars, (double)counts.words));
    return 1;
}

static int text_word_stats(lua_State *L)
{
    enum text_word_rule rule;
    struct text_word_counts counts;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    sandbox_charge(L, doc->len);
    text_word_counts(doc, &counts);
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)counts.words);
    lua_setfield(L, -2, "words");
    lua_pushinteger(L, (lua_Integer)counts.content);
    lua_setfield(L, -2, "content");
    lua_pushinteger(L, (lua_Integer)counts.content_chars);
    lua_setfield(L, -2, "content_chars");
    lua_pushinteger(L, (lua_Integer)counts.alphabetic);
    lua_setfield(L, -2, "alphabetic");
    lua_pushinteger(L, (lua_Integer)counts.chars);
    lua_setfield(L, -2, "chars");
    return 1;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    lua_CFunction function;
    const char *doc;
} methods[] = {
    { "contains", text_contains_method,
      "contains(needle): does it occur, byte for byte? An empty needle does." },
    { "count", text_count_method,
      "count(needle): non-overlapping occurrences from the left; of \"\" characters + 1 (Python's "
      "count)." },
    { "find_plain", text_find_plain,
      "find_plain(needle [, from]): first and last byte of the first occurrence, or nil." },
    { "starts_with", text_starts, "starts_with(prefix)" },
    { "ends_with", text_ends, "ends_with(suffix)" },
    { "chars", text_chars, "chars(): code points." },
    { "share", text_share,
      "share(class): part of the code points in letter, digit, number, alnum, space, upper, lower, "
      "punct, symbol, "
      "punctuation, terminal, or equal to one character; 0 for an empty text." },
    { "count_class", text_count_class_method,
      "count_class(class): code points of a class as in share." },
    { "count_in", textlib_count_in,
      "count_in(set): code points in a set like \"a-zA-Z0-9_\": characters and ranges; a - at "
      "either end stands for itself." },
    { "words", text_words_method,
      "words([rule]): array of words; rule whitespace (default), uax29 or spacy-en." },
    { "n_words", text_n_words, "n_words([rule]): how many." },
    { "lines", text_lines, "lines(): array of lines (Python's splitlines)." },
    { "n_lines", text_n_lines, "n_lines(): how many." },
    { "sentences", text_sentences_method, "sentences(): array of sentences, found by rule." },
    { "n_sentences", text_n_sentences, "n_sentences(): how many." },
    { "strip", text_strip_method, "strip(): without white space at both ends (Unicode)." },
    { "strip_in", textlib_strip_in,
      "strip_in(set): without the characters of a set (as in count_in) at both ends." },
    { "lower_unicode", text_lower_unicode,
      "lower_unicode(): full Unicode lower-casing (Python's lower)." },
    { "simplify", text_simplify_method,
      "simplify(): the normal form before hashing: lower case, no punctuation, digits 0, no "
      "diacritics." },
    { "top_ngram_share", textlib_top_ngram,
      "top_ngram_share(n [, above] [, rule]): characters in the most frequent n-gram / characters "
      "(Gopher). With "
      "above: 0 unless it is above it, which is several times faster." },
    { "dup_ngram_share", textlib_dup_ngram,
      "dup_ngram_share(n [, above] [, rule]): characters in repeated n-grams / characters "
      "(Gopher); above as there." },
    { "dup_line_share", text_dup_line_share,
      "dup_line_share(): lines that repeat an earlier one / lines (Gopher)." },
    { "dup_line_char_share", text_dup_line_char_share,
      "dup_line_char_share(): their characters / characters." },
    { "dup_para_share", text_dup_para_share,
      "dup_para_share(): paragraphs that repeat an earlier one / paragraphs (Gopher)." },
    { "dup_para_char_share", text_dup_para_char_share,
      "dup_para_char_share(): their characters / characters." },
    { "mean_word_length", text_mean_word_length,
      "mean_word_length([rule]): characters a word; 0 without words." },
    { "word_stats", text_word_stats,
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
