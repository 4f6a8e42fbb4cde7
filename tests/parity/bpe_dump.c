/* bpe_dump.c — encodes texts with the project's BPE engine, for parity_tokenize.py.
 *
 * Usage: bpe_dump FILE [--pattern REGEX] [--allow] [--cache BYTES] [--bench N] < texts > ids
 * In: for each text a little-endian u32 length and its bytes. Out: for each text a u32 count and
 * that many u32 ids.
 * --bench N writes no ids: it encodes all texts N times and prints bytes, tokens and processor
 * seconds of the fastest round on stdout. Exit: 0; 1 with the engine's message on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump_kit.h"
#include "model/bpe.h"

/* Encodes every text once. Gives the tokens, or SIZE_MAX after an error. */
static size_t encode_all(struct bpe *bpe, struct bpe_worker *worker, const unsigned char *texts,
                         size_t size, FILE *to, size_t *bytes)
{
    size_t at = 0, total = 0, cap = 0;
    uint32_t *ids = NULL;
    *bytes = 0;
    while (at + 4 <= size) {
        struct sluice_error err = { .size = sizeof(err) };
        uint32_t len, count;
        size_t n = 0, need;
        memcpy(&len, texts + at, 4);
        at += 4;
        if (len > size - at) {
            (void)fprintf(stderr, "the last text is cut short\n");
            free(ids);
            return SIZE_MAX;
        }
        need = bpe_encode_bound(bpe, len) + 1;
        if (need > cap) {
            free(ids);
            cap = need;
            ids = malloc(cap * sizeof(*ids));
        }
        if (!ids ||
            bpe_encode(worker, (const char *)texts + at, len, ids, cap, &n, &err) != SLUICE_OK) {
            (void)fprintf(stderr, "%s\n", ids ? err.message : "out of memory");
            free(ids);
            return SIZE_MAX;
        }
        if (to) {
            count = (uint32_t)n;
            (void)fwrite(&count, 4, 1, to);
            (void)fwrite(ids, 4, n, to);
        }
        at += len;
        total += n;
        *bytes += len;
    }
    free(ids);
    return total;
}

int main(int argc, char **argv)
{
    struct bpe_options options = { 0 };
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe *bpe = NULL;
    struct bpe_worker *worker = NULL;
    size_t size, n_texts, cache = 0, bytes, tokens = 0;
    unsigned char *data, *texts;
    int i, rounds = 0, failed = 1;
    double best = 0, start, loaded;
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--allow") == 0) {
            options.specials = BPE_SPECIALS_ALLOW;
        } else if (strcmp(argv[i], "--pattern") == 0 && i + 1 < argc) {
            options.pattern = argv[++i];
        } else if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc) {
            cache = strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--bench") == 0 && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else {
            (void)fprintf(stderr, "unknown argument '%s'\n", argv[i]);
            return 1;
        }
    }
    if (!f) {
        (void)fprintf(
            stderr,
            "usage: bpe_dump FILE [--pattern REGEX] [--allow] [--cache BYTES] [--bench N]\n");
        return 1;
    }
    data = dump_read(f, &size);
    (void)fclose(f);
    texts = dump_read(stdin, &n_texts);
    start = dump_seconds();
    if (!data || !texts || bpe_load(data, size, &options, &bpe, &err) != SLUICE_OK ||
        bpe_worker_create(bpe, cache, &worker, &err) != SLUICE_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        goto out;
    }
    loaded = dump_seconds() - start;
    if (rounds == 0) {
        failed = encode_all(bpe, worker, texts, n_texts, stdout, &bytes) == SIZE_MAX;
        goto out;
    }
    for (i = 0; i < rounds; i++) {
        double took;
        start = dump_seconds();
        tokens = encode_all(bpe, worker, texts, n_texts, NULL, &bytes);
        took = dump_seconds() - start;
        best = i == 0 || took < best ? took : best;
        if (tokens == SIZE_MAX) {
            goto out;
        }
    }
    (void)printf("%zu %zu %.6f %.3f %zu\n", bytes, tokens, best, loaded, bpe_memory(bpe));
    failed = 0;
out:
    bpe_worker_destroy(worker);
    bpe_destroy(bpe);
    free(data);
    free(texts);
    return failed;
}
