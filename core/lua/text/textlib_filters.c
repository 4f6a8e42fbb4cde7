/* The C filters as methods: s:gopher_quality { min_doc_words = 80 } gives nil, or reason, value and
 * limit. Options have the names and defaults of the stages. See textlib.h. */
#include <string.h>

#include "lua/text/textlibInt.h"

struct number_option {
    const char *name;
    double *number;
    int64_t *integer; /* instead of number */
};

/* Reads the table at 2 (nil = none) into what options point to; unknown names are errors. */
static void read_numbers(lua_State *L, const char *owner, const struct number_option *options,
                         size_t n)
{
    const char *names[32];

    if (lua_isnoneornil(L, 2)) {
        return;
    }
    luaL_checktype(L, 2, LUA_TTABLE);
    sandbox_thaw(L, 2);
    for (size_t i = 0; i < n && i < 32; i++) {
        names[i] = options[i].name;
    }
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        size_t k = 0;
        if (strcmp(key, "words") == 0) { /* the rule */
            continue;
        }
        while (k < n && strcmp(options[k].name, key) != 0) {
            k++;
        }
        if (k == n) {
            const char *near = error_suggest(key, names, n);
            luaL_error(L, "%s: unknown option '%s'%s%s%s", owner, key,
                       near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
                       near == NULL ? "" : "'?");
        }
        if (lua_type(L, -1) != LUA_TNUMBER) {
            luaL_error(L, "%s: option '%s': found a %s, expected a number", owner, key,
                       luaL_typename(L, -1));
        }
        if (options[k].integer != NULL) {
            int whole;
            *options[k].integer = lua_tointegerx(L, -1, &whole);
            if (!whole) {
                luaL_error(L, "%s: option '%s' must be a whole number", owner, key);
            }
        } else {
            *options[k].number = lua_tonumber(L, -1);
        }
    }
}

static const struct text_doc *words_of(lua_State *L)
{
    const struct text_doc *doc;
    enum text_word_rule rule;

    lua_settop(L, 2);
    if (lua_istable(L, 2)) {
        lua_getfield(L, 2, "words");
    } else {
        lua_pushnil(L);
    }
    doc = textlib_words(L, 3, &rule);
    lua_settop(L, 2);
    sandbox_charge(L, 8 * doc->len);
    return doc;
}

static int give(lua_State *L, const struct text_verdict *verdict)
{
    if (verdict->reason == 0) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushstring(L, verdict->name);
    lua_pushnumber(L, verdict->value);
    lua_pushnumber(L, verdict->limit);
    return 3;
}

int textlib_gopher_quality(lua_State *L)
{
    struct text_gopher_quality_options options;
    const struct text_doc *doc = words_of(L);
    struct text_verdict verdict;
    struct sluice_error *err = textlib_error(L);

    text_gopher_quality_defaults(&options);
    const struct number_option numbers[] = {
        { "min_doc_words", NULL, &options.min_doc_words },
        { "max_doc_words", NULL, &options.max_doc_words },
        { "min_avg_word_length", &options.min_avg_word_length, NULL },
        { "max_avg_word_length", &options.max_avg_word_length, NULL },
        { "max_symbol_word_ratio", &options.max_symbol_word_ratio, NULL },
        { "max_bullet_lines_ratio", &options.max_bullet_lines_ratio, NULL },
        { "max_ellipsis_lines_ratio", &options.max_ellipsis_lines_ratio, NULL },
        { "max_non_alpha_words_ratio", &options.min_alpha_words_ratio, NULL },
        { "min_stop_words", NULL, &options.min_stop_words },
    };
    read_numbers(L, "gopher_quality", numbers, sizeof numbers / sizeof numbers[0]);
    textlib_check(L, text_gopher_quality(doc, &options, &textlib_of(L)->scratch, &verdict, err),
                  err);
    return give(L, &verdict);
}

int textlib_gopher_repetition(lua_State *L)
{
    struct text_gopher_repetition_options options;
    const struct text_doc *doc = words_of(L);
    struct text_ngram_limit top[3];
    struct text_ngram_limit dup[6];
    struct text_verdict verdict;
    struct sluice_error *err = textlib_error(L);

    text_gopher_repetition_defaults(&options);
    memcpy(top, options.top_n_grams, sizeof top);
    memcpy(dup, options.dup_n_grams, sizeof dup);
    options.top_n_grams = top;
    options.dup_n_grams = dup;
    const struct number_option numbers[] = {
        { "dup_line_frac", &options.dup_line_frac, NULL },
        { "dup_para_frac", &options.dup_para_frac, NULL },
        { "dup_line_char_frac", &options.dup_line_char_frac, NULL },
        { "dup_para_char_frac", &options.dup_para_char_frac, NULL },
        { "top_2_gram", &top[0].limit, NULL },
        { "top_3_gram", &top[1].limit, NULL },
        { "top_4_gram", &top[2].limit, NULL },
        { "dup_5_gram", &dup[0].limit, NULL },
        { "dup_6_gram", &dup[1].limit, NULL },
        { "dup_7_gram", &dup[2].limit, NULL },
        { "dup_8_gram", &dup[3].limit, NULL },
        { "dup_9_gram", &dup[4].limit, NULL },
        { "dup_10_gram", &dup[5].limit, NULL },
    };
    read_numbers(L, "gopher_repetition", numbers, sizeof numbers / sizeof numbers[0]);
    /* 0 disables a test, as in the stage: no share is above an unreachable limit. */
    for (size_t i = 0; i < 3; i++) {
        top[i].limit = top[i].limit > 0 ? top[i].limit : 1e300;
    }
    for (size_t i = 0; i < 6; i++) {
        dup[i].limit = dup[i].limit > 0 ? dup[i].limit : 1e300;
    }
    textlib_check(L, text_gopher_repetition(doc, &options, &textlib_of(L)->scratch, &verdict, err),
                  err);
    return give(L, &verdict);
}

int textlib_fineweb_quality(lua_State *L)
{
    struct text_fineweb_options options;
    const struct text_doc *doc = words_of(L);
    struct text_verdict verdict;
    struct sluice_error *err = textlib_error(L);

    text_fineweb_defaults(&options);
    const struct number_option numbers[] = {
        { "line_punct_thr", &options.line_punct_thr, NULL },
        { "short_line_thr", &options.short_line_thr, NULL },
        { "short_line_length", NULL, &options.short_line_length },
        { "char_duplicates_ratio", &options.char_duplicates_ratio, NULL },
        { "new_line_ratio", &options.new_line_ratio, NULL },
    };
    read_numbers(L, "fineweb_quality", numbers, sizeof numbers / sizeof numbers[0]);
    textlib_check(L, text_fineweb_quality(doc, &options, &textlib_of(L)->scratch, &verdict, err),
                  err);
    return give(L, &verdict);
}
