/* From a document's text to its words; see minhash_words.h. */
#include "minhash_words.h"

#include "minhash_stages.h"

sluice_status minhash_shingling_create(const struct minhash_shingling *shingling, uint32_t bands,
                                       uint32_t rows, uint32_t seed, struct minhash **out,
                                       struct sluice_error *err)
{
    struct minhash_options options = { .ngram = (uint32_t)shingling->ngram,
                                       .bands = bands,
                                       .rows = rows,
                                       .seed = seed,
                                       .bits = shingling->bits == 0 ? 64 : 32,
                                       .hash = shingling->hash == 0 ? MINHASH_XXHASH : MINHASH_SHA1,
                                       .level = MINHASH_LEVEL_AUTO };
    return minhash_create(&options, out, err);
}

void minhash_words_deinit(struct minhash_words *words)
{
    text_buffer_deinit(&words->simple);
    text_spans_deinit(&words->words);
    text_word_cache_deinit(&words->cache);
}

sluice_status minhash_words_cut(struct minhash_words *words,
                                const struct minhash_shingling *shingling, const char **text,
                                size_t *n, struct sluice_error *err)
{
    static const enum text_word_rule rules[] = { TEXT_WORDS_WHITESPACE, TEXT_WORDS_UAX29,
                                                 TEXT_WORDS_SPACY_EN };
    sluice_status status = SLUICE_OK;

    words->words.count = 0;
    if (shingling->normalise) {
        status = text_simplify(*text, *n, TEXT_SIMPLIFY_ALL, &words->simple, err);
        *text = words->simple.data;
        *n = words->simple.len;
    }
    if (status == SLUICE_OK && *n > 0) {
        status = text_words_cached(rules[shingling->words], *text, *n, &words->cache, &words->words,
                                   err);
    }
    return status;
}
