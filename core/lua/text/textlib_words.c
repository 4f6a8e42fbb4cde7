/* Methods of strings about their words, lines and sentences: the pieces, how many, how often. See
 * textlib.h. */
#include "lua/text/textlibInt.h"

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

int textlib_all_words(lua_State *L)
{
    enum text_word_rule rule;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    push_spans(L, doc->text, doc->words, doc->n_words);
    return 1;
}

int textlib_n_words(lua_State *L)
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

int textlib_lines(lua_State *L)
{
    struct text_spans *spans = split(L, text_splitlines);

    push_spans(L, lua_tostring(L, 1), spans->data, spans->count);
    return 1;
}

int textlib_n_lines(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)split(L, text_splitlines)->count);
    return 1;
}

int textlib_sentences(lua_State *L)
{
    struct text_spans *spans = split(L, text_sentences);

    push_spans(L, lua_tostring(L, 1), spans->data, spans->count);
    return 1;
}

int textlib_n_sentences(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);

    sandbox_charge(L, n / 8);
    lua_pushinteger(L, (lua_Integer)text_sentence_count(text, n));
    return 1;
}

/* ---- repetition ---- */

static int dup_share(lua_State *L, enum text_unit unit)
{
    const struct text_duplicates *found = textlib_units(L, unit);

    lua_pushnumber(L, textlib_ratio((double)found->elements, (double)found->total));
    return 1;
}

static int dup_char_share(lua_State *L, enum text_unit unit)
{
    const struct text_duplicates *found = textlib_units(L, unit);

    lua_pushnumber(L,
                   textlib_ratio((double)found->chars, (double)textlib_analysis(L)->plain.chars));
    return 1;
}

int textlib_dup_line_share(lua_State *L)
{
    return dup_share(L, TEXT_UNIT_LINE);
}
int textlib_dup_line_char_share(lua_State *L)
{
    return dup_char_share(L, TEXT_UNIT_LINE);
}
int textlib_dup_para_share(lua_State *L)
{
    return dup_share(L, TEXT_UNIT_PARAGRAPH);
}
int textlib_dup_para_char_share(lua_State *L)
{
    return dup_char_share(L, TEXT_UNIT_PARAGRAPH);
}

/* ---- words in numbers ---- */

static struct text_word_counts count_words(lua_State *L)
{
    enum text_word_rule rule;
    struct text_word_counts counts;
    const struct text_doc *doc = textlib_words(L, 2, &rule);

    sandbox_charge(L, doc->len);
    text_word_counts(doc, &counts);
    return counts;
}

int textlib_mean_word_length(lua_State *L)
{
    const struct text_word_counts counts = count_words(L);

    lua_pushnumber(L, textlib_ratio((double)counts.chars, (double)counts.words));
    return 1;
}

int textlib_word_stats(lua_State *L)
{
    const struct text_word_counts counts = count_words(L);

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
