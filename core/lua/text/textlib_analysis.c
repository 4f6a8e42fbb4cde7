/* What is known of a string: its words, its repetitions and the memory for them. See
 * textlibInt.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/text/textlibInt.h"

#define SHORT_TEXT 256 /* bytes; shorter strings use a slot of their own */

static const char anchor_keys[2] = { 0 };

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

void textlib_forget(struct textlib *lib)
{
    if (lib != NULL) {
        lib->slots[0].text = lib->slots[1].text = NULL;
    }
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
        sandbox_end(L, FATAL_MEMORY);
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

const struct text_duplicates *textlib_units(lua_State *L, enum text_unit unit)
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

double textlib_ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}
