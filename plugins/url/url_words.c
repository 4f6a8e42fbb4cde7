/* url_words.c - see url_words.h. Hard and soft words share a hash table, pieces an automaton over
 * the URL without what is no letter or digit: each URL is read twice, however long the lists
 * are. */
#include "url_words.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <sluice_arrays.h>

#include "text/text_patterns.h"
#include "text/text_list.h"
#include "url_list.h"

struct word {
    uint32_t begin, length; /* in bytes */
    uint8_t kinds;          /* 1 << enum url_word_kind */
};

struct url_words {
    struct text_buffer bytes;
    struct word *words;
    size_t n, capacity;
    uint32_t *slots; /* index + 1 */
    size_t n_slots;  /* a power of two */
    uint8_t empty;   /* kinds that have the empty word */
    struct text_patterns *pieces;
};

void url_seen_deinit(struct url_seen *seen)
{
    free(seen->turns);
    text_buffer_deinit(&seen->bytes);
    *seen = (struct url_seen){ 0 };
}

sluice_status url_words_create(struct url_words **out, struct sluice_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SLUICE_OK : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
}

void url_words_destroy(struct url_words *words)
{
    if (words != NULL) {
        text_buffer_deinit(&words->bytes);
        free(words->words);
        free(words->slots);
        text_patterns_destroy(words->pieces);
        free(words);
    }
}

sluice_status url_words_add(struct url_words *words, enum url_word_kind kind, const char *list,
                            size_t n, int skip_empty, struct sluice_error *err)
{
    struct text_list lines = { list, n, 0, 0 };
    const char *entry;
    size_t length;
    sluice_status status = text_buffer_reserve(&words->bytes, n + 1, err);

    if (status == SLUICE_OK && words->bytes.len + n >= UINT32_MAX) {
        status = sluice_fail(err, SLUICE_E_CONFIG, "", "found over 4 GiB of words");
    }
    while (status == SLUICE_OK && url_lines_next(&lines, &entry, &length)) {
        char *to = words->bytes.data + words->bytes.len;
        length = url_normalise(entry, length, to);
        if (length == 0) {
            words->empty = (uint8_t)(words->empty | (!skip_empty) << kind);
            continue;
        }
        if (words->n == words->capacity) {
            size_t capacity = words->capacity * 2 + 256;
            struct word *moved = realloc(words->words, capacity * sizeof *moved);
            if (moved == NULL) {
                return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for words");
            }
            words->words = moved;
            words->capacity = capacity;
        }
        words->words[words->n++] =
            (struct word){ (uint32_t)words->bytes.len, (uint32_t)length, (uint8_t)(1u << kind) };
        words->bytes.len += length;
    }
    return status;
}

static struct word *word_slot(const struct url_words *words, const char *key, size_t n,
                              uint32_t **slot)
{
    for (size_t i = (size_t)XXH3_64bits(key, n) & (words->n_slots - 1);;
         i = (i + 1) & (words->n_slots - 1)) {
        struct word *word = words->slots[i] == 0 ? NULL : &words->words[words->slots[i] - 1];
        if (word == NULL ||
            (word->length == n && memcmp(words->bytes.data + word->begin, key, n) == 0)) {
            *slot = &words->slots[i];
            return word;
        }
    }
}

sluice_status url_words_finish(struct url_words *words, struct sluice_error *err)
{
    struct text_string *pieces = calloc(words->n + 1, sizeof *pieces);
    size_t n_pieces = 0;
    sluice_status status = SLUICE_OK;

    words->n_slots = 16;
    while (words->n_slots < 2 * words->n) {
        words->n_slots *= 2;
    }
    words->slots = calloc(words->n_slots, sizeof *words->slots);
    if (pieces == NULL || words->slots == NULL) {
        free(pieces);
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for words");
    }
    for (size_t i = 0; i < words->n; i++) {
        struct word *word = &words->words[i];
        const char *bytes = words->bytes.data + word->begin;
        if (word->kinds == 1u << URL_PIECE) {
            pieces[n_pieces++] = (struct text_string){ bytes, word->length };
        } else {
            uint32_t *slot;
            struct word *same = word_slot(words, bytes, word->length, &slot);
            if (same != NULL) {
                same->kinds = (uint8_t)(same->kinds | word->kinds);
            } else {
                *slot = (uint32_t)i + 1;
            }
        }
    }
    if (n_pieces > 0) {
        status = text_patterns_build(pieces, n_pieces, 0, 0, &words->pieces, err);
    }
    free(pieces);
    return status;
}

static int is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void count(const struct url_words *words, const char *key, size_t n, struct url_seen *seen,
                  struct url_found *found)
{
    uint32_t *slot;
    const struct word *word = word_slot(words, key, n, &slot);
    size_t index;

    if (word == NULL) {
        return;
    }
    index = (size_t)(word - words->words);
    found->hard |= (word->kinds & 1u << URL_HARD) != 0;
    if ((word->kinds & 1u << URL_SOFT) != 0 && seen->turns[index] != seen->turn) {
        seen->turns[index] = seen->turn;
        found->soft++;
    }
}

sluice_status url_words_find(const struct url_words *words, const char *url, size_t n, int lower,
                             struct url_seen *seen, struct url_found *found,
                             struct sluice_error *err)
{
    char *normal;
    sluice_status status;

    *found = (struct url_found){ 0 };
    if (seen->turns == NULL) {
        seen->turns = calloc(words->n + 1, sizeof *seen->turns);
        seen->n = words->n;
        if (seen->turns == NULL) {
            return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for words");
        }
    }
    if (++seen->turn == 0) { /* after 2^32 URLs */
        memset(seen->turns, 0, seen->n * sizeof *seen->turns);
        seen->turn = 1;
    }
    seen->bytes.len = 0;
    status = text_buffer_reserve(&seen->bytes, n + 1, err);
    if (status != SLUICE_OK) {
        return status;
    }
    normal = seen->bytes.data;
    size_t length = url_normalise(url, n, normal);
    found->piece = words->pieces != NULL && text_patterns_any(words->pieces, normal, length, NULL);
    /* What re.split gives has an empty word where the URL begins or ends with something else. */
    if (words->empty != 0 && (n == 0 || !is_alnum(url[0]) || !is_alnum(url[n - 1]))) {
        found->hard |= (words->empty & 1u << URL_HARD) != 0;
        found->soft += (words->empty & 1u << URL_SOFT) != 0;
    }
    size_t in_normal = 0;
    for (size_t at = 0; at < n;) {
        size_t begin = at;
        while (at < n && is_alnum(url[at])) {
            at++;
        }
        if (at > begin) {
            count(words, lower ? normal + in_normal : url + begin, at - begin, seen, found);
            in_normal += at - begin;
        } else {
            at++;
        }
    }
    return SLUICE_OK;
}
