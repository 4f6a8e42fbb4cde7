/* s:top_ngram_share and s:dup_ngram_share: Gopher's n-gram measures. What all n share (hashes of
 * words, bounds that are never too low, the places that repeat at all) is computed once a text, as
 * the C filter does, and most questions "is it above x?" are answered by a bound. Exact values
 * never depend on what was asked before. See textlib.h. */
#include <stdlib.h>

#include "lua/text/textlibInt.h"
#include "text/text_ngram.h"

/* The sizes that are prepared together: Gopher's. Others are measured one by one. */
#define TOP_FIRST 2u
#define TOP_LAST 4u
#define DUP_FIRST 5u
#define DUP_LAST 10u
#define N_TOP (TOP_LAST - TOP_FIRST + 1)
#define N_DUP (DUP_LAST - DUP_FIRST + 1)

static const struct text_ngram_limit top_sizes[N_TOP] = { { 2, 0 }, { 3, 0 }, { 4, 0 } };
static const struct text_ngram_limit dup_sizes[N_DUP] = { { 5, 0 }, { 6, 0 }, { 7, 0 },
                                                          { 8, 0 }, { 9, 0 }, { 10, 0 } };

struct textlib_ngrams {
    struct text_scratch scratch; /* lent to grams */
    struct text_ngrams grams;
    const struct text_doc *doc; /* NULL = nothing is prepared */
    uint64_t serial;            /* of its analysis: the slot may have got another string since */
    bool has_top, has_dup;
    uint32_t narrowed; /* repeats are good for n from here on */
    uint64_t top_bounds[N_TOP], dup_bounds[N_DUP];
};

static struct textlib_ngrams *textlib_ngrams_create(void)
{
    return calloc(1, sizeof(struct textlib_ngrams));
}

void textlib_ngrams_destroy(struct textlib_ngrams *kept)
{
    if (kept != NULL) {
        text_scratch_deinit(&kept->scratch);
        free(kept);
    }
}

/* Prepares the document, unless it is. */
static struct textlib_ngrams *prepare(lua_State *L, const struct text_doc *doc, uint64_t serial,
                                      bool again)
{
    struct textlib *lib = textlib_of(L);
    struct textlib_ngrams *kept;
    struct sluice_error *err;

    if (lib->ngrams == NULL) {
        lib->ngrams = textlib_ngrams_create();
        if (lib->ngrams == NULL) {
            luaL_error(L, "out of memory for text primitives");
        }
    }
    kept = lib->ngrams;
    if (!again && kept->doc == doc && kept->serial == serial) {
        return kept;
    }
    kept->doc = NULL;
    err = textlib_error(L);
    sandbox_charge(L, doc->len);
    textlib_check(L, text_ngrams_init(&kept->grams, doc, &kept->scratch, err), err);
    kept->doc = doc;
    kept->serial = serial;
    kept->has_top = false;
    kept->has_dup = false;
    return kept;
}

/* ---- arguments: n [, above] [, rule] ---- */

struct question {
    uint32_t n;
    bool bounded;
    double above;
    const struct text_doc *doc;
    uint64_t serial;
};

static struct question read_question(lua_State *L)
{
    struct question question = { .bounded = false };
    lua_Integer n = luaL_checkinteger(L, 2);
    enum text_word_rule rule;
    struct analysis *slot;
    int at = 3;

    luaL_argcheck(L, n >= 1 && n <= 1000, 2, "n-grams have 1 to 1000 words");
    if (lua_type(L, 3) == LUA_TNUMBER) {
        question.bounded = true;
        question.above = lua_tonumber(L, 3);
        at = 4;
    }
    question.n = (uint32_t)n;
    slot = textlib_with_words(L, at, &rule);
    question.doc = &slot->docs[rule];
    question.serial = slot->serial;
    return question;
}

/* Answers: the share, or 0 when it is asked for above a value that it is not above. */
static int answer(lua_State *L, const struct question *question, uint64_t chars)
{
    double share = question->doc->chars > 0 ? (double)chars / (double)question->doc->chars : 0;

    lua_pushnumber(L, question->bounded && !(share > question->above) ? 0 : share);
    return 1;
}

/* Can a share of chars be above what is asked? */
static bool may_be_above(const struct question *question, uint64_t chars)
{
    return !question->bounded || (double)chars / (double)question->doc->chars > question->above;
}

/* ---- measures ---- */

int textlib_top_ngram(lua_State *L)
{
    struct question question = read_question(L);
    struct textlib_ngrams *kept;
    struct sluice_error *err;
    uint64_t chars = 0;

    if (question.doc->n_words < question.n) {
        return answer(L, &question, 0);
    }
    kept = prepare(L, question.doc, question.serial, false);
    if (question.bounded && question.n >= TOP_FIRST && question.n <= TOP_LAST) {
        if (!kept->has_top) {
            text_ngrams_top_bounds(&kept->grams, top_sizes, N_TOP, kept->top_bounds);
            kept->has_top = true;
        }
        if (!may_be_above(&question, kept->top_bounds[question.n - TOP_FIRST])) {
            return answer(L, &question, 0);
        }
    }
    sandbox_charge(L, 2 * question.doc->len);
    err = textlib_error(L);
    textlib_check(L, text_ngrams_top(&kept->grams, question.n, &chars, err), err);
    return answer(L, &question, chars);
}

int textlib_dup_ngram(lua_State *L)
{
    struct question question = read_question(L);
    struct textlib_ngrams *kept;
    uint32_t k = question.n - DUP_FIRST;

    if (question.doc->n_words < question.n) {
        return answer(L, &question, 0);
    }
    if (question.n < DUP_FIRST || question.n > DUP_LAST) {
        struct sluice_error *err = textlib_error(L);
        uint64_t chars = 0;
        sandbox_charge(L, 2 * question.doc->len);
        textlib_check(
            L, text_dup_ngram(question.doc, question.n, &textlib_of(L)->scratch, &chars, err), err);
        return answer(L, &question, chars);
    }
    kept = prepare(L, question.doc, question.serial, false);
    if (kept->has_dup && question.n < kept->narrowed) {
        kept = prepare(L, question.doc, question.serial, true);
    }
    if (!kept->has_dup) {
        text_ngrams_repeats(&kept->grams, dup_sizes, N_DUP, kept->dup_bounds);
        kept->has_dup = true;
        kept->narrowed = DUP_FIRST;
    }
    if (!may_be_above(&question, kept->dup_bounds[k])) {
        return answer(L, &question, 0);
    }
    if (question.bounded) {
        text_ngrams_narrow(&kept->grams, dup_sizes + k, N_DUP - k, kept->dup_bounds + k);
        kept->narrowed = question.n;
        if (!may_be_above(&question, kept->dup_bounds[k])) {
            return answer(L, &question, 0);
        }
    }
    sandbox_charge(L, 2 * question.doc->len);
    return answer(L, &question, text_ngrams_dup(&kept->grams, question.n));
}
