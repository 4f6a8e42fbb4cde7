/* Lists of numbers below 2^24 in a frame, token ids above all: as many bits each as the largest
 * needs, instead of zstd, which takes a dozen times as long to make two thirds of it. Depends on
 * frameInt.h, which has the layout. */
#include <stdlib.h>
#include <string.h>

#include "data/frameInt.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "frames are read and written as they lie in memory, little-endian"
#endif

static size_t packed_bytes(uint32_t n, uint32_t bits)
{
    return frame_padded(((size_t)n * bits + 31) / 32 * 4);
}

static size_t plain_bytes(uint32_t n)
{
    return frame_padded((size_t)n * 4);
}

/* ---- bits ---- */

static void pack(const uint32_t *values, uint32_t n, uint32_t bits, char *out)
{
    char *end = out + packed_bytes(n, bits);
    uint64_t held = 0;
    uint32_t filled = 0;

    for (uint32_t i = 0; i < n; i++) {
        held |= (uint64_t)values[i] << filled;
        filled += bits;
        if (filled >= 32) {
            uint32_t word = (uint32_t)held;
            memcpy(out, &word, sizeof word);
            out += sizeof word;
            held >>= 32;
            filled -= 32;
        }
    }
    memset(out, 0, (size_t)(end - out));
    if (filled > 0) {
        uint32_t word = (uint32_t)held;
        memcpy(out, &word, sizeof word);
    }
}

static void unpack(const char *in, uint32_t n, uint32_t bits, char *out)
{
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    uint64_t held = 0;
    uint32_t filled = 0;

    if (n % 2 != 0) {
        memset(out + (size_t)n * 4, 0, 4);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value;
        if (filled < bits) {
            uint32_t word;
            memcpy(&word, in, sizeof word);
            in += sizeof word;
            held |= (uint64_t)word << filled;
            filled += 32;
        }
        value = (uint32_t)(held & mask);
        memcpy(out + (size_t)i * 4, &value, sizeof value);
        held >>= bits;
        filled -= bits;
    }
}

/* ---- encoding ---- */

bool frame_words_note(struct frame_codec *codec, const void *piece, size_t n)
{
    const uint32_t *values = piece;
    struct frame_words *words;
    uint32_t all = 1; /* a bit at least */

    if (n < FRAME_WORDS_LEAST || n > UINT32_MAX) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        all |= values[i];
    }
    if (all >> FRAME_WORDS_BITS != 0) {
        return true;
    }
    if (codec->n_words == codec->words_capacity) {
        size_t capacity = codec->words_capacity * 2 + 8;
        words = realloc(codec->words, capacity * sizeof *words);
        if (words == NULL) {
            return false;
        }
        codec->words = words;
        codec->words_capacity = capacity;
    }
    words = &codec->words[codec->n_words++];
    words->at = (uint64_t)((const char *)piece - codec->raw);
    words->n = (uint32_t)n;
    words->bits = 32 - (uint32_t)__builtin_clz(all);
    return true;
}

size_t frame_words_size(const struct frame_codec *codec)
{
    size_t size = sizeof(uint64_t) + codec->n_words * sizeof *codec->words;

    for (size_t k = 0; k < codec->n_words; k++) {
        size += packed_bytes(codec->words[k].n, codec->words[k].bits);
    }
    return codec->n_words > 0 ? size : 0;
}

void frame_words_put(struct frame_codec *codec, char *out)
{
    const uint64_t n = codec->n_words;
    size_t from = 0; /* raw bytes behind the pieces so far, */
    size_t to = 0;   /* and where they go */

    memcpy(out, &n, sizeof n);
    out += sizeof n;
    memcpy(out, codec->words, codec->n_words * sizeof *codec->words);
    out += codec->n_words * sizeof *codec->words;
    for (size_t k = 0; k < codec->n_words; k++) {
        const struct frame_words *words = &codec->words[k];
        const char *piece = codec->raw + words->at;
        pack((const uint32_t *)(const void *)piece, words->n, words->bits, out);
        out += packed_bytes(words->n, words->bits);
        memmove(codec->raw + to, codec->raw + from, (size_t)words->at - from);
        to += (size_t)words->at - from;
        from = (size_t)words->at + plain_bytes(words->n);
    }
    memmove(codec->raw + to, codec->raw + from, codec->size - from);
    codec->size = to + codec->size - from;
}

/* ---- decoding ---- */

static struct frame_words words_at(const struct frame_words_view *view, uint64_t k)
{
    struct frame_words words;

    memcpy(&words, view->directory + k * sizeof words, sizeof words);
    return words;
}

bool frame_words_open(struct frame_words_view *view, const struct frame_header *header,
                      const char *stored)
{
    uint64_t left = header->stored;
    uint64_t end = 0;

    if (left < sizeof view->n) {
        return false;
    }
    memcpy(&view->n, stored, sizeof view->n);
    left -= sizeof view->n;
    if (view->n > left / sizeof(struct frame_words)) {
        return false;
    }
    view->directory = stored + sizeof view->n;
    view->plain = 0;
    left -= view->n * sizeof(struct frame_words);
    view->packed = view->directory + view->n * sizeof(struct frame_words);
    view->rest = view->packed;
    for (uint64_t k = 0; k < view->n; k++) {
        const struct frame_words words = words_at(view, k);
        /* Pieces stand in order and apart, so their sum is bounded by the raw bytes. */
        if (words.bits == 0 || words.bits > FRAME_WORDS_BITS || words.at % 8 != 0 ||
            words.at < end || words.at > header->raw ||
            plain_bytes(words.n) > header->raw - words.at ||
            packed_bytes(words.n, words.bits) > left) {
            return false;
        }
        end = words.at + plain_bytes(words.n);
        view->plain += plain_bytes(words.n);
        view->rest += packed_bytes(words.n, words.bits);
        left -= packed_bytes(words.n, words.bits);
    }
    view->rest_stored = left;
    return true;
}

void frame_words_take(const struct frame_words_view *view, char *raw, size_t size)
{
    const char *packed = view->packed;
    const char *rest = raw + view->plain; /* never before what is written */
    size_t at = 0;

    for (uint64_t k = 0; k < view->n; k++) {
        const struct frame_words words = words_at(view, k);
        memmove(raw + at, rest, (size_t)words.at - at);
        rest += (size_t)words.at - at;
        unpack(packed, words.n, words.bits, raw + words.at);
        packed += packed_bytes(words.n, words.bits);
        at = (size_t)words.at + plain_bytes(words.n);
    }
    memmove(raw + at, rest, size - at);
}
