/* generate - writes unique, English-like documents as JSON Lines, for measurements at any size.
 *
 *   generate BYTES [SEED [FIRST]]      about BYTES of lines; ids count from FIRST
 *
 * Words come from a fixed vocabulary of 60,000 pronounceable words by Zipf's law, with English
 * function words as the most frequent ones; sentences have 4 to 30 words, paragraphs 2 to 8
 * sentences, documents 1 to 40 paragraphs. So most documents pass the usual web filters, no two
 * share a five-word shingle but by chance, and zstd finds about what it finds in prose. Depends on
 * libc only; the same arguments give the same bytes on every machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 60000u
#define TABLE 65536u /* draws of a word: a table lookup instead of a logarithm */

static const char *const frequent[] = {
    "the",  "of",    "and",  "to",    "in",   "a",     "is",    "that",  "it",   "was",   "for",
    "on",   "with",  "as",   "be",    "by",   "at",    "have",  "from",  "this", "not",   "are",
    "but",  "which", "or",   "had",   "his",  "they",  "her",   "she",   "we",   "their", "an",
    "when", "would", "been", "there", "who",  "will",  "more",  "if",    "no",   "out",   "so",
    "what", "up",    "said", "about", "than", "its",   "into",  "them",  "only", "some",  "could",
    "time", "these", "two",  "may",   "then", "other", "first", "any",   "my",   "now",   "such",
    "like", "our",   "over", "man",   "even", "most",  "made",  "after", "also", "many",  "did",
};
#define FREQUENT (sizeof frequent / sizeof frequent[0])

struct word {
    char text[20];
    unsigned char n;
};

static uint64_t state;

/* splitmix64 (Steele et al. 2014) */
static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(((next() >> 32) * n) >> 32);
}

static void make_word(struct word *word)
{
    static const char *const onsets[] = {
        "b",  "c",  "d",  "f",  "g",  "h", "l", "m",  "n",  "p",  "r",  "s",  "t", "v", "w",
        "st", "tr", "pl", "ch", "sh", "",  "",  "br", "cl", "gr", "th", "qu", "j", "k", "sp"
    };
    static const char *const vowels[] = { "a", "e", "i", "o", "u", "ea", "ou", "io", "ai", "ee" };
    static const char *const codas[] = {
        "", "", "", "n", "r", "s", "t", "l", "nd", "st", "ng", "m"
    };
    uint32_t syllables = 1 + below(2) + below(3);

    word->text[0] = '\0';
    for (uint32_t i = 0; i < syllables && strlen(word->text) < 12; i++) {
        strcat(word->text, onsets[below(sizeof onsets / sizeof onsets[0])]);
        strcat(word->text, vowels[below(sizeof vowels / sizeof vowels[0])]);
        strcat(word->text, codas[below(sizeof codas / sizeof codas[0])]);
    }
    word->n = (unsigned char)strlen(word->text);
}

/* Rank r has the weight 1 / (r + 3); both tables depend on nothing but these lines. */
static void make_tables(struct word *words, uint16_t *draws)
{
    double sum = 0;
    double all = 0;
    uint32_t rank = 0;

    state = 42;
    for (uint32_t i = 0; i < WORDS; i++) {
        if (i < FREQUENT) {
            strcpy(words[i].text, frequent[i]);
            words[i].n = (unsigned char)strlen(frequent[i]);
        } else {
            make_word(&words[i]);
        }
        all += 1.0 / (i + 3.0);
    }
    for (uint32_t i = 0; i < TABLE; i++) {
        while (rank + 1 < WORDS && sum + 1.0 / (rank + 3.0) <= all * i / TABLE) {
            sum += 1.0 / (rank + 3.0);
            rank++;
        }
        draws[i] = (uint16_t)rank;
    }
}

static char *put_sentence(char *at, const struct word *words, const uint16_t *draws)
{
    uint32_t n = 4 + below(14) + below(14);

    for (uint32_t i = 0; i < n; i++) {
        uint64_t draw = next();
        const struct word *word;
        /* A slot of the table at the tail stands for many ranks: those are told apart here. */
        uint32_t slot = (uint32_t)(draw & (TABLE - 1));
        uint32_t low = draws[slot];
        uint32_t high = slot + 1 < TABLE ? draws[slot + 1] : WORDS - 1;
        word = &words[low + (high > low ? (uint32_t)((draw >> 20) % (high - low + 1)) : 0)];
        memcpy(at, word->text, sizeof word->text);
        if (i == 0 && *at >= 'a') {
            *at = (char)(*at - 'a' + 'A');
        }
        at += word->n;
        if (i + 1 < n && (draw >> 60) == 0) {
            *at++ = ',';
        }
        *at++ = ' ';
    }
    at[-1] = (next() & 15) == 0 ? '?' : '.';
    return at;
}

int main(int argc, char **argv)
{
    static struct word words[WORDS];
    static uint16_t draws[TABLE];
    static char line[40 * 8 * 40 * 24 + 4096];
    uint64_t bytes;
    uint64_t id;
    uint64_t seed;
    uint64_t written = 0;
    char *end = NULL;

    if (argc < 2 || argc > 4 || (errno = 0, bytes = strtoull(argv[1], &end, 10), errno != 0) ||
        *end != '\0') {
        fprintf(stderr, "usage: generate BYTES [SEED [FIRST]]\n");
        return 2;
    }
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    id = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    make_tables(words, draws);
    state = seed * UINT64_C(0xd1342543de82ef95) + 7;
    while (written < bytes) {
        /* Many short documents, few long ones. */
        uint32_t paragraphs =
            1 + below(4) + (below(4) == 0 ? below(12) : 0) + (below(24) == 0 ? below(24) : 0);
        char *at = line + sprintf(line, "{\"id\": \"doc-%" PRIu64 "-%" PRIu64 "\", \"text\": \"",
                                  seed, id);
        for (uint32_t p = 0; p < paragraphs; p++) {
            uint32_t sentences = 2 + below(7);
            if (p > 0) {
                memcpy(at, "\\n\\n", 4);
                at += 4;
            }
            for (uint32_t s = 0; s < sentences; s++) {
                if (s > 0) {
                    *at++ = ' ';
                }
                at = put_sentence(at, words, draws);
            }
        }
        at += sprintf(at,
                      "\", \"url\": \"https://example.org/%" PRIu64 "/%08" PRIx64
                      "\", \"score\": 0.%03u}\n",
                      id, next() >> 32, below(1000));
        if (fwrite(line, 1, (size_t)(at - line), stdout) != (size_t)(at - line)) {
            fprintf(stderr, "generate: can't write: %s\n", strerror(errno));
            return 1;
        }
        written += (uint64_t)(at - line);
        id++;
    }
    if (fflush(stdout) != 0) {
        fprintf(stderr, "generate: can't write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
