/* words_dump.c — cuts texts into words and sentences by a rule, for parity_words.py.
 *
 * Usage: words_dump words|sentences RULE [--no-cache] [--bench N] < texts > spans In: for each text
 * a little-endian u32 length and its bytes. Out: for each text a u32 count and that many pairs of
 * u32, begin and end in bytes.
 * --bench N writes no spans: it cuts all texts N times and prints bytes, spans and processor
 * seconds of the fastest round. Exit: 0; 1 with a message on stderr. */
#include "text/text_sentences.h"
#include "text/text_words.h"

#include "dump_kit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
    bool sentences, cached;
    enum text_word_rule rule;
    enum text_sentence_rule sentence_rule;
    struct text_word_cache cache;
    struct text_spans spans;
};

/* Cuts every text once; false with a message after an error. */
static bool cut_all(struct dump *dump, const unsigned char *texts, size_t size, FILE *to,
                    size_t *bytes, size_t *count)
{
    size_t at = 0;
    *bytes = *count = 0;
    while (at + 4 <= size) {
        struct sluice_error err = { .size = sizeof err };
        struct text_word_cache *cache = dump->cached ? &dump->cache : NULL;
        uint32_t len;
        memcpy(&len, texts + at, 4);
        at += 4;
        if (len > size - at) {
            (void)fprintf(stderr, "the last text is cut short\n");
            return false;
        }
        const char *text = (const char *)texts + at;
        int32_t status =
            dump->sentences
                ? text_sentences_cached(dump->sentence_rule, text, len, cache, &dump->spans, &err)
                : text_words_cached(dump->rule, text, len, cache, &dump->spans, &err);
        if (status != SLUICE_OK) {
            (void)fprintf(stderr, "%s\n", err.message);
            return false;
        }
        if (to != NULL) {
            uint32_t n = (uint32_t)dump->spans.count;
            (void)fwrite(&n, 4, 1, to);
            (void)fwrite(dump->spans.data, sizeof *dump->spans.data, n, to);
        }
        *bytes += len;
        *count += dump->spans.count;
        at += len;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct dump dump = { .cached = true };
    struct sluice_error err = { .size = sizeof err };
    size_t size = 0, bytes = 0, count = 0;
    int rounds = 0;
    int32_t status = SLUICE_E_CONFIG;
    if (argc >= 3) {
        dump.sentences = strcmp(argv[1], "sentences") == 0;
        status = dump.sentences ? text_sentence_rule_parse(argv[2], &dump.sentence_rule, &err)
                                : text_word_rule_parse(argv[2], &dump.rule, &err);
    }
    if (status != SLUICE_OK) {
        (void)fprintf(stderr, "usage: words_dump words|sentences RULE: %s\n", err.message);
        return 1;
    }
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--no-cache") == 0) {
            dump.cached = false;
        } else if (strcmp(argv[i], "--bench") == 0 && i + 1 < argc) {
            rounds = (int)strtol(argv[++i], NULL, 10);
        }
    }
    unsigned char *texts = dump_read(stdin, &size);
    bool fine = texts != NULL;
    if (rounds == 0) {
        fine = fine && cut_all(&dump, texts, size, stdout, &bytes, &count);
    } else {
        double best = 1e9;
        for (int i = 0; i < rounds && fine; i++) {
            double start = dump_seconds();
            fine = cut_all(&dump, texts, size, NULL, &bytes, &count);
            double took = dump_seconds() - start;
            best = took < best ? took : best;
        }
        printf("%zu bytes %zu spans %.6f s %.1f MB/s\n", bytes, count, best,
               (double)bytes / best / 1e6);
    }
    text_word_cache_deinit(&dump.cache);
    text_spans_deinit(&dump.spans);
    free(texts);
    return fine ? 0 : 1;
}
