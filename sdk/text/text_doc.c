/* text_doc.c — documents and scratch memory. See text_doc.h. */
#include "text/text_doc.h"

#include "text/text_decode.h"
#include "text/text_error.h"
#include "text/text_scan.h"
#include "text/text_scratch.h"

#include <stdlib.h>

/* Index of the first word that is not inside the text, in order; n when all are. */
static size_t first_bad_word(const struct text_span *words, size_t n, size_t len)
{
    uint32_t last = 0, bad = 0;
    for (size_t i = 0; i < n; i++) { /* without a branch: nearly always all are */
        bad |= (uint32_t)(words[i].begin < last) | (uint32_t)(words[i].end < words[i].begin);
        last = words[i].end;
    }
    if (bad == 0 && last <= len) { /* in order, so that the last one is the farthest */
        return n;
    }
    last = 0;
    for (size_t i = 0; i < n; i++) {
        if (words[i].begin < last || words[i].end < words[i].begin || words[i].end > len) {
            return i;
        }
        last = words[i].end;
    }
    return n;
}

int32_t text_doc_init(struct text_doc *doc, const char *text, size_t len,
                      const struct text_span *words, size_t n_words, struct sluice_error *err)
{
    int32_t status = text_check_len(len, err);
    if (status != SLUICE_OK) {
        return status;
    }
    size_t bad = first_bad_word(words, n_words, len);
    if (bad < n_words) {
        return text_error(
            err, SLUICE_E_DATA,
            "word %zu is [%u, %u) in a text of %zu bytes; words must lie inside the text, in "
            "order and apart; the stage that made them is at fault",
            bad, words[bad].begin, words[bad].end, len);
    }
    const unsigned char *bytes = text_bytes(text);
    size_t ascii = text_scan_ascii(bytes, len);
    *doc = (struct text_doc){
        .text = (const char *)bytes,
        .len = len,
        .words = words,
        .n_words = n_words,
        .chars = ascii + text_scan_count(bytes + ascii, len - ascii),
        .ascii = ascii == len,
    };
    return SLUICE_OK;
}

void text_scratch_init(struct text_scratch *scratch)
{
    *scratch = (struct text_scratch){ 0 };
}

void text_scratch_deinit(struct text_scratch *scratch)
{
    text_spans_deinit(&scratch->spans);
    text_spans_deinit(&scratch->more);
    text_buffer_deinit(&scratch->bytes[0]);
    text_buffer_deinit(&scratch->bytes[1]);
    free(scratch->arena);
    text_scratch_init(scratch);
}

void *text_scratch_arena(struct text_scratch *scratch, size_t size, struct sluice_error *err)
{
    if (scratch->arena_size < size) {
        size_t want = size + size / 2;
        if (want < size || want > SIZE_MAX - 64) {
            (void)text_error_nomem(err, size);
            return NULL;
        }
        want = (want + 63) / 64 * 64;
        void *arena = aligned_alloc(64, want);
        if (arena == NULL) {
            (void)text_error_nomem(err, want);
            return NULL;
        }
        free(scratch->arena);
        scratch->arena = arena;
        scratch->arena_size = want;
    }
    return scratch->arena;
}
