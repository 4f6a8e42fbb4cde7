/* tokenize_bench - the speed of the BPE engine alone, for tests/bench/tokenize.sh.
 *
 *     tokenize_bench VOCABULARY FILE stream MEGABYTES RUNS    documents of the file's whole, again
 *                                                             and again
 *     tokenize_bench VOCABULARY FILE cold RUNS                4 KiB a call, a new worker for each
 *                                                             pass
 *     tokenize_bench VOCABULARY FILE warm MEGABYTES RUNS      4 KiB a call, again and again
 *     tokenize_bench VOCABULARY FILE fresh RUNS               4 KiB a call, a new worker for each
 *                                                             call
 *     tokenize_bench VOCABULARY FILE two MEGABYTES RUNS       one process, then two at once on
 *                                                             processors 0 and 1
 *                                                             that share the vocabulary; wall time
 *     tokenize_bench VOCABULARY FILE worst RUNS               texts that make tokenizers slow
 *     tokenize_bench VOCABULARY FILE profile                  share of the engine's steps
 *     tokenize_bench VOCABULARY FILE train HEAD               a trained head of the file
 *     tokenize_bench --head HEAD VOCABULARY FILE ...          the same with a trained head
 *
 * The profile: pre-tokenization alone, then with ids of constant length written (emit), then with
 * pieces looked up that are all in the caches, then everything, with what is not in them merged
 * (miss); shares are the differences.
 *
 * Prints one line a run: MB/s of input, ids. Time is processor time of this thread. `two`: the
 * quotient of both throughputs, and the cache of one worker. `worst`: nanoseconds a byte of each
 * text, and the worst over the median. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/bpe.h"
#include "model/bpe_int.h"

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

/* The file again and again in calls of `piece` bytes. */
static void stream(struct bench *b, const char *text, size_t len, size_t megabytes, int runs,
                   size_t piece)
{
    for (int r = 0; r < runs; r++) {
        size_t done = 0;
        size_t ids = 0;
        double start;

        worker_open(b);
        start = now();
        while (done < megabytes * 1000000) {
            ids += pass(b, text, len, piece);
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

/* Up to 4 MB: most of the time is the worker's own. */
static void fresh(struct bench *b, const char *text, size_t len, int runs)
{
    if (len > 4000000) {
        len = boundary(text, len, 4000000);
    }
    for (int r = 0; r < runs; r++) {
        size_t ids = 0;
        double start = now();

        for (size_t at = 0; at < len;) {
            size_t end = boundary(text, len, at + 4096 < len ? at + 4096 : len);
            worker_open(b);
            ids += encode(b, text + at, end - at);
            bpe_worker_destroy(b->worker);
            at = end;
        }
        printf("%.1f %zu\n", 1e-6 * (double)len / (now() - start), ids);
    }
}

/* ---- two processors ---- */

static double wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that `n` processes take, each for the whole of it. The vocabulary is shared: nobody
 * writes to it. */
static double processes(struct bench *b, const char *text, size_t len, size_t megabytes, int n)
{
    double start = wall();

    fflush(stdout);
    for (int k = 0; k < n; k++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            exit(2);
        }
        if (child == 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET((size_t)k, &set);
            (void)sched_setaffinity(0, sizeof set, &set);
            worker_open(b);
            for (size_t done = 0; done < megabytes * 1000000; done += len) {
                (void)pass(b, text, len, 1 << 20);
            }
            _exit(0);
        }
    }
    for (int k = 0; k < n; k++) {
        int status;
        if (wait(&status) < 0 || status != 0) {
            fprintf(stderr, "a process failed\n");
            exit(2);
        }
    }
    return wall() - start;
}

static void two(struct bench *b, const char *text, size_t len, size_t megabytes, int runs)
{
    struct bpe_counts counts;

    for (int r = 0; r < runs; r++) {
        double one = processes(b, text, len, megabytes, 1);
        printf("%.2f\n", 2 * one / processes(b, text, len, megabytes, 2));
    }
    worker_open(b);
    (void)pass(b, text, len, 1 << 20);
    bpe_worker_counts(b->worker, &counts);
    printf(
        "cache of one worker: %.1f MiB, at most %.1f MiB; scratch %.1f MiB; vocabulary %.1f MiB\n",
        (double)counts.cache_bytes / 1048576, (double)counts.cache_bytes_most / 1048576,
        (double)counts.scratch_bytes / 1048576, (double)bpe_memory(b->bpe) / 1048576);
    bpe_worker_destroy(b->worker);
}

/* ---- texts that make tokenizers slow ---- */

#define WORST_BYTES ((size_t)1 << 20)

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x;
    const double b = *(const double *)y;
    return (a > b) - (a < b);
}

static void worst(struct bench *b, int runs)
{
    static const struct {
        const char *name;
        const char *unit;
    } texts[] = {
        { "a", "a" },
        { "^", "^" },
        { "spaces", " " },
        { "newlines", "\n" },
        { "Han", "\xE7\x9A\x84" },
        { "emoji", "\xF0\x9F\x98\x80" },
        { "999 spaces + x", NULL },
        { "random ACGT", "ACGT" },
        { "random a-z", "abcdefghijklmnopqrstuvwxyz" },
    };
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    double cost[TEXTS];
    double sorted[TEXTS];
    uint64_t seed = 99;
    char *text = malloc(WORST_BYTES);

    if (text == NULL) {
        exit(2);
    }
    for (int k = 0; k < TEXTS; k++) {
        const char *unit = texts[k].unit;
        size_t n = unit ? strlen(unit) : 1000;
        size_t len = WORST_BYTES / n * n;
        for (size_t i = 0; i < len; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            text[i] = unit == NULL              ? (i % 1000 == 999 ? 'x' : ' ')
                      : texts[k].name[0] == 'r' ? unit[(seed >> 33) % n]
                                                : unit[i % n];
        }
        cost[k] = 1e9;
        for (int r = 0; r < runs; r++) {
            double start;
            worker_open(b);
            start = now();
            (void)encode(b, text, len);
            start = 1e9 * (now() - start) / (double)len;
            cost[k] = start < cost[k] ? start : cost[k];
            bpe_worker_destroy(b->worker);
        }
        sorted[k] = cost[k];
        printf("%s %.1f, ", texts[k].name, cost[k]);
    }
    qsort(sorted, TEXTS, sizeof sorted[0], by_size);
    printf("ns a byte; worst over median: %.1f\n", sorted[TEXTS - 1] / sorted[TEXTS / 2]);
    free(text);
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
    printf("%.2f ns/B: classify %.0f%%, probe %.0f%%, emit %.0f%%, miss %.0f%%; ",
           1e9 * all / (double)sample / PASSES, 100 * classify / all, 100 * hits / all,
           100 * emit / all, 100 * (all - classify - emit - hits) / all);
    all = classify + emit + hits;
    printf("of 1 MiB again and again %.2f ns/B: classify %.0f%%, probe %.0f%%, emit %.0f%%\n",
           1e9 * all / (double)sample / PASSES, 100 * classify / all, 100 * hits / all,
           100 * emit / all);
    pretoken_worker_destroy(pretoken);
}

static void train(struct bench *b, const char *text, size_t len, const char *head)
{
    struct bpe_training *training = NULL;

    if (bpe_training_create(b->bpe, &training, &b->err) != SLUICE_OK ||
        bpe_training_add(training, text, len, &b->err) != SLUICE_OK ||
        bpe_training_write(training, 0, head, &b->err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b->err.message);
        exit(2);
    }
    bpe_training_destroy(training);
}

int main(int argc, char **argv)
{
    struct bench b = { .err = { .size = sizeof b.err } };
    const char *head = NULL;
    size_t size;
    size_t len;
    char *vocabulary;
    char *text;

    if (argc > 2 && strcmp(argv[1], "--head") == 0) {
        head = argv[2];
        argc -= 2;
        argv += 2;
    }
    if (argc < 4) {
        fprintf(stderr,
                "usage: tokenize_bench [--head HEAD] VOCABULARY FILE stream MEGABYTES RUNS | warm "
                "MEGABYTES RUNS | cold RUNS | "
                "fresh RUNS | two MEGABYTES RUNS | worst RUNS | profile | train HEAD\n");
        return 2;
    }
    vocabulary = slurp(argv[1], &size);
    text = slurp(argv[2], &len);
    if (bpe_load(vocabulary, size, NULL, &b.bpe, &b.err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b.err.message);
        return 2;
    }
    free(vocabulary);
    if (head != NULL && bpe_head_open(b.bpe, head, &b.err) != SLUICE_OK) {
        fprintf(stderr, "%s\n", b.err.message);
        return 2;
    }
    /* Its tables are built with the first worker; peers build theirs when they load a file. */
    worker_open(&b);
    bpe_worker_destroy(b.worker);
    b.cap = bpe_encode_bound(b.bpe, (1 << 20) + 4);
    b.ids = malloc(b.cap * sizeof *b.ids);
    if (b.ids == NULL) {
        return 2;
    }
    memset(b.ids, 1, b.cap * sizeof *b.ids);
    if (strcmp(argv[3], "stream") == 0 && argc == 6) {
        stream(&b, text, len, (size_t)atol(argv[4]), atoi(argv[5]), 1 << 20);
    } else if (strcmp(argv[3], "warm") == 0 && argc == 6) {
        stream(&b, text, len, (size_t)atol(argv[4]), atoi(argv[5]), 4096);
    } else if (strcmp(argv[3], "cold") == 0 && argc == 5) {
        cold(&b, text, len, atoi(argv[4]));
    } else if (strcmp(argv[3], "fresh") == 0 && argc == 5) {
        fresh(&b, text, len, atoi(argv[4]));
    } else if (strcmp(argv[3], "two") == 0 && argc == 6) {
        two(&b, text, len, (size_t)atol(argv[4]), atoi(argv[5]));
    } else if (strcmp(argv[3], "worst") == 0 && argc == 5) {
        worst(&b, atoi(argv[4]));
    } else if (strcmp(argv[3], "profile") == 0) {
        profile(&b, text, len);
    } else if (strcmp(argv[3], "train") == 0 && argc == 5) {
        train(&b, text, len, argv[4]);
    } else {
        fprintf(stderr, "tokenize_bench: unknown command '%s' or wrong number of arguments\n",
                argv[3]);
        return 2;
    }
    free(b.ids);
    bpe_destroy(b.bpe);
    free(text);
    return 0;
}
