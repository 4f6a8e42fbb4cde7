/* text_spacy_chunk.h — how the rule spacy-en cuts one run of ink (text between white space).
 *
 * Private to sdk/text. Depends on text_span.h.
 */
#ifndef TEXT_SPACY_CHUNK_H
#define TEXT_SPACY_CHUNK_H

#include "text/text_span.h"

#include <stdbool.h>

/* What is noted about a token. */
#define TEXT_SPACY_ID 0x3FFu             /* its id in the patterns; 0: in none */
#define TEXT_SPACY_NOTE_MARK (1u << 13)  /* one of the sentencizer's marks */
#define TEXT_SPACY_NOTE_PUNCT (1u << 14) /* punctuation (P*) alone */
#define TEXT_SPACY_NOTE_BREAK (1u << 15) /* a white space token stands before it */

/* Tokens in order. spans is the caller's; notes belongs to the owner of this struct. */
struct text_spacy_tokens {
    struct text_spans *spans;
    uint16_t *notes;     /* one a span */
    size_t capacity;     /* of notes */
    uint16_t ascii[128]; /* the notes of tokens of one ASCII character */
};

/* Whether both lists have room for `more` tokens: spans changes from call to call. */
static inline bool text_spacy_has_room(const struct text_spacy_tokens *tokens, size_t more)
{
    size_t capacity = tokens->spans->capacity;
    return (tokens->capacity < capacity ? tokens->capacity : capacity) - tokens->spans->count >=
           more;
}

/* Makes room for `more` tokens in both lists. */
TEXT_MUST_CHECK int32_t text_spacy_reserve(struct text_spacy_tokens *tokens, size_t more,
                                           struct sluice_error *err);

/* The note of the token p[0 .. n), without TEXT_SPACY_NOTE_BREAK. */
uint16_t text_spacy_note(const unsigned char *p, size_t n);

/* Appends the tokens of a chunk of text[0 .. len), which holds no white space and at least a byte,
 * before special cases that show only among the tokens. stack is scratch memory. */
TEXT_MUST_CHECK int32_t text_spacy_chunk(const unsigned char *text, size_t len,
                                         struct text_span chunk, struct text_spacy_tokens *tokens,
                                         struct text_spans *stack, struct sluice_error *err);

/* Whether p[0 .. n) is a URL to the rules. */
bool text_spacy_url(const unsigned char *p, size_t n);

#endif
