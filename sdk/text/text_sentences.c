/* text_sentences.c — see text_sentences.h. */
#include "text/text_sentences.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_lines.h"

/* The classes of the code point at p, and the place after it. */
static uint32_t classes_at(const unsigned char *p, const unsigned char *end,
                           const unsigned char **next)
{
    uint32_t cp;
    *next = p + text_decode(p, end, &cp);
    return text_table_classes(cp);
}

/* The end of the sentence that begins at p. */
static const unsigned char *sentence_end(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *next;
    while (p < end) {
        uint32_t seen = classes_at(p, end, &next);
        p = next;
        if ((seen & TEXT_SENTENCE_END) == 0) {
            continue;
        }
        uint32_t run = seen;
        while (p < end) {
            seen = classes_at(p, end, &next);
            if ((seen & (TEXT_SENTENCE_END | TEXT_CLOSER | TEXT_NONSPACING)) == 0) {
                break;
            }
            run |= seen;
            p = next;
        }
        if (p == end || (seen & TEXT_SPACE) != 0 || (run & TEXT_FULL_STOP_CJK) != 0) {
            return p;
        }
    }
    return end;
}

/* The next sentence at or after p, stripped at its begin: false when only white space is left. */
static bool next_sentence(const unsigned char **p, const unsigned char *end,
                          const unsigned char **start)
{
    const unsigned char *next;
    while (*p < end && (classes_at(*p, end, &next) & TEXT_SPACE) != 0) {
        *p = next;
    }
    *start = *p;
    *p = sentence_end(*p, end);
    return *start < end;
}

int32_t text_sentences(const char *text, size_t len, struct text_spans *out,
                       struct sluice_error *err)
{
    out->count = 0;
    int32_t status = text_check_len(len, err);
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin, *start;
    while (status == SLUICE_OK && next_sentence(&p, end, &start)) {
        struct text_span span = { (uint32_t)(start - begin), (uint32_t)(p - begin) };
        span = text_rstrip(text, span); /* the last one may end in white space */
        status = text_spans_push(out, span.begin, span.end, err);
    }
    return status;
}

size_t text_sentence_count(const char *text, size_t len)
{
    const unsigned char *begin = text_bytes(text), *end = begin + len, *p = begin, *start;
    size_t count = 0;
    while (next_sentence(&p, end, &start)) {
        count++;
    }
    return count;
}
