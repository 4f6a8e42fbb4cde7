/* tokenize_bench - the speed of the BPE engine alone, for tests/bench/tokenize.sh.
 *
 *     tokenize_bench VOCABULARY FILE stream MEGABYTES RUNS    documents of the file's whole, again and again
 *     tokenize_bench VOCABULARY FILE cold RUNS                4 KiB a call, a new worker for each pass
 *     tokenize_bench VOCABULARY FILE profile                  share of the engine's steps
 *
 * The profile: pre-tokenization alone, then with ids of constant length written (emit), then with pieces looked up that
 * are all in the caches, then everything, with what is not in them merged (miss); shares are the differences.
 *
 * Prints one line a run: MB/s of input, ids. Time is processor time of this thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpe.h"
#include "bpe_int.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    *size = (size_t)ftell(f);
    rewind(f);
    data = malloc(*size + 1);
    if (data == NULL || fread(data, 1, *size, f) != *size) {
        perror(path);
        exit(2);
    }
    fclose(f);
    return data;
}

struct bench {
    struct bpe *bpe;
    struct bpe_worker *worker;
    uint32_t *ids;
    size_t cap;
    struct sluice_error err;
};

static void worker_open(struct bench *b)
{
    if (bpe_worker_create(b->bpe, 0, &b->worker, &b->err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b->err.message);
        exit(2);
    }
}

static size_t encode(struct bench *b, const char *text, size_t len)
{
    size_t n;

    if (bpe_encode(b->worker, text, len, b->ids, b->cap, &n, &b->err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b->err.message);
        exit(2);
    }
    return n;
}

/* The first byte at or behind `at` that begins a character. */
static size_t boundary(const char *text, size_t len, size_t at)
{
    while (at < len && ((unsigned char)text[at] & 0xC0) == 0x80) {
        at++;
    }
    return at < len ? at : len;
}

/* The whole text in pieces of `piece` bytes. */
static size_t pass(struct bench *b, const char *text, size_t len, size_t piece)
{
    size_t ids = 0;

    for (size_t at = 0; at < len;) {
        size_t end = boundary(text, len, at + piece < len ? at + piece : len);
        ids += encode(b, text + at, end - at);
        at = end;
    }
    return ids;
}

static void stream(struct bench *b, const char *text, size_t len, size_t megabytes, int runs)
{
    for (int r = 0; r < runs; r++) {
        size_t done = 0;
        size_t ids = 0;
        double start;

        worker_open(b);
        start = now();
        while (done < megabytes * 1000000) {
            ids += pass(b, text, len, 1 << 20);
            done += len;
        }
        start = now() - start;
        printf("%.1f %zu\n", 1e-6 * (double)done / start, ids);
        bpe_worker_destroy(b->worker);
    }
}

static void cold(struct bench *b, const char *text, size_t len, int runs)
{
    for (int r = 0; r < runs; r++) {
        size_t ids;
        double start = now();

        worker_open(b);
        ids = pass(b, text, len, 4096);
        start = now() - start;
        printf("%.1f %zu\n", 1e-6 * (double)len / start, ids);
        bpe_worker_destroy(b->worker);
    }
}

/* ---- profile ---- */

static int32_t only_classify(void *context, const uint8_t *text, size_t start, const size_t *ends,
                             size_t n, struct sluice_error *err)
{
    (void)text;
    (void)start;
    (void)ends;
    (void)err;
    *(size_t *)context += n;
    return SLUICE_OK;
}

struct writer {
    uint32_t *out;
    size_t n;
};

static int32_t and_emit(void *context, const uint8_t *text, size_t start, const size_t *ends,
                        size_t n, struct sluice_error *err)
{
    struct writer *w = context;

    (void)text;
    (void)start;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const uint32_t four[4] = { (uint32_t)ends[i], 1, 2, 3 };
        memcpy(w->out + w->n, four, sizeof four);
        w->n++;
    }
    return SLUICE_OK;
}

#define SAMPLE ((size_t)1 << 20)
#define PASSES 16

static void profile(struct bench *b, const char *text, size_t len)
{
    struct pretoken_worker *pretoken;
    size_t sample = boundary(text, len, SAMPLE < len ? SAMPLE : len);
    size_t pieces = 0;
    double classify;
    double emit;
    double hits;
    double all;

    if (pretoken_worker_create(&b->bpe->pretoken, &pretoken, &b->err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b->err.message);
        exit(2);
    }
    classify = now();
    for (int k = 0; k < PASSES; k++) {
        pretoken_run(pretoken, (const uint8_t *)text, sample, only_classify, &pieces, &b->err);
    }
    classify = now() - classify;
    emit = now();
    for (int k = 0; k < PASSES; k++) {
        struct writer w = { b->ids, 0 };
        pretoken_run(pretoken, (const uint8_t *)text, sample, and_emit, &w, &b->err);
    }
    emit = now() - emit;
    worker_open(b);
    encode(b, text, sample);
    hits = now();
    for (int k = 0; k < PASSES; k++) {
        encode(b, text, sample);
    }
    hits = now() - hits;
    bpe_worker_destroy(b->worker);
    worker_open(b);
    all = now();
    pass(b, text, len, 1 << 20);
    all = (now() - all) * (double)sample / (double)len * PASSES;
    bpe_worker_destroy(b->worker);
    emit = emit > classify ? emit - classify : 0;
    hits = hits > classify + emit ? hits - classify - emit : 0;
    printf("%.2f ns/B: classify %.0f%%, probe %.0f%%, emit %.0f%%, miss %.0f%%\n",
           1e9 * all / (double)sample / PASSES, 100 * classify / all, 100 * hits / all,
           100 * emit / all, 100 * (all - classify - emit - hits) / all);
    pretoken_worker_destroy(pretoken);
}

int main(int argc, char **argv)
{
    struct bench b = { .err = { .size = sizeof b.err } };
    size_t size;
    size_t len;
    char *vocabulary;
    char *text;

    if (argc < 4) {
        fprintf(stderr,
                "usage: tokenize_bench VOCABULARY FILE stream MEGABYTES RUNS | cold RUNS\n");
        return 2;
    }
    vocabulary = slurp(argv[1], &size);
    text = slurp(argv[2], &len);
    if (bpe_load(vocabulary, size, NULL, &b.bpe, &b.err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b.err.message);
        return 2;
    }
    free(vocabulary);
    b.cap = bpe_encode_bound(b.bpe, (1 << 20) + 4);
    b.ids = malloc(b.cap * sizeof *b.ids);
    if (b.ids == NULL) {
        return 2;
    }
    memset(b.ids, 1, b.cap * sizeof *b.ids);
    if (strcmp(argv[3], "stream") == 0 && argc == 6) {
        stream(&b, text, len, (size_t)atol(argv[4]), atoi(argv[5]));
    } else if (strcmp(argv[3], "cold") == 0 && argc == 5) {
        cold(&b, text, len, atoi(argv[4]));
    } else if (strcmp(argv[3], "profile") == 0) {
        profile(&b, text, len);
    }
    free(b.ids);
    bpe_destroy(b.bpe);
    free(text);
    return 0;
}
