/* Fuzzes what a child process may answer (isolate/flat.h, isolate/carry.h). The first byte
 * chooses: a batch of some type, which is read, validated and walked; or a whole result, which
 * is given to an emitter that looks at everything. */
#include <stdlib.h>
#include <string.h>

#include "data/columnInt.h"
#include "isolate/carry.h"
#include "isolate/flat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const texts[] = { "utf8?",
                                     "int64?",
                                     "bool?",
                                     "fixed[3]?",
                                     "list<uint32>?",
                                     "list<list<utf8?>?>",
                                     "struct<a:utf8?,b:struct<c:bool?,d:list<int8?>>?>?",
                                     "struct<>?" };
#define TYPES (sizeof texts / sizeof texts[0])

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check(struct ArrowArray *array, const struct type *type)
{
    struct sluice_error err = ERROR_INIT;
    struct runs all = { 0 };
    struct ArrowArray out;

    if (array_validate(array, type, array->length, "x", &err) == SLUICE_OK) {
        require(runs_add(&all, 0, array->length));
        if (array_gather(array, type, &all, &out, &err) == SLUICE_OK) {
            /* What was gathered is in the form of columns: it goes the same way again. */
            size_t size = flat_size(&out, type);
            char *bytes = flat_alloc(size);
            struct ArrowArray again;
            require(bytes != NULL);
            flat_write(&out, type, bytes);
            require(flat_read(bytes, size, type, bytes, &again, &err) == SLUICE_OK);
            require(again.length == out.length);
            array_release(&again);
            array_release(&out);
        }
        runs_deinit(&all);
    }
    array_release(array);
}

/* ---- an emitter that reads everything ---- */

struct taker {
    struct sluice_emit emit; /* first: leads back to the whole */
    const struct type *type;
};

static uint64_t sum_of(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t sum = 0;

    for (size_t k = 0; k < n; k++) {
        sum += bytes[k];
    }
    return sum;
}

static sluice_status take_verdicts(struct sluice_emit *emit, const struct sluice_verdict *verdicts,
                                   int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        if (verdicts[k].dup_of != NULL && verdicts[k].dup_of_length >= 0) {
            *(uint64_t *)emit->ctx += sum_of(verdicts[k].dup_of, (size_t)verdicts[k].dup_of_length);
        }
    }
    return SLUICE_OK;
}

static sluice_status take_batch(struct sluice_emit *emit, struct ArrowArray *array)
{
    struct taker *taker = (struct taker *)(void *)emit;
    struct ArrowArray taken = *array;

    array->release = NULL;
    check(&taken, taker->type);
    return SLUICE_OK;
}

static sluice_status take_bad(struct sluice_emit *emit, uint64_t begin, uint64_t end,
                              const char *reason, const char *detail)
{
    *(uint64_t *)emit->ctx += begin + end + (reason != NULL ? sum_of(reason, strlen(reason)) : 0) +
                              (detail != NULL ? sum_of(detail, strlen(detail)) : 0);
    return SLUICE_OK;
}

static sluice_status take_write(struct sluice_emit *emit, uint32_t output, const void *data,
                                uint64_t n)
{
    *(uint64_t *)emit->ctx += output + sum_of(data, n);
    return SLUICE_OK;
}

static sluice_status take_roll(struct sluice_emit *emit, int64_t rows)
{
    *(uint64_t *)emit->ctx += (uint64_t)rows;
    return SLUICE_OK;
}

static sluice_status take_measure(struct sluice_emit *emit, const char *name, int64_t delta)
{
    *(uint64_t *)emit->ctx += (uint64_t)delta + (name != NULL ? sum_of(name, strlen(name)) : 0);
    return SLUICE_OK;
}

static sluice_status take_absent(struct sluice_emit *emit, const char *name, uint64_t rows,
                                 const char *const *there, uint64_t n)
{
    *(uint64_t *)emit->ctx += rows + (name != NULL ? sum_of(name, strlen(name)) : 0);
    for (uint64_t k = 0; k < n; k++) {
        *(uint64_t *)emit->ctx += there[k] != NULL ? sum_of(there[k], strlen(there[k])) : 0;
    }
    return SLUICE_OK;
}

static sluice_status take_ask(struct sluice_emit *emit, const struct sluice_ask *ask)
{
    *(uint64_t *)emit->ctx += ask->kind + ask->tag + sum_of(ask->payload, ask->n);
    return SLUICE_OK;
}

static sluice_status take_unit(struct sluice_emit *emit, const struct sluice_unit *unit)
{
    *(uint64_t *)emit->ctx += unit->begin + unit->end + unit->bytes + (uint64_t)unit->rows +
                              (unit->skip != NULL ? sum_of(unit->skip, strlen(unit->skip)) : 0);
    return SLUICE_OK;
}

static sluice_status take_describe(struct sluice_emit *emit, const void *data, uint64_t n)
{
    *(uint64_t *)emit->ctx += sum_of(data, n);
    return SLUICE_OK;
}

static sluice_status take_skipped(struct sluice_emit *emit, uint64_t rows, uint64_t bytes,
                                  const char *how)
{
    *(uint64_t *)emit->ctx += rows + bytes + (how != NULL ? sum_of(how, strlen(how)) : 0);
    return SLUICE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static volatile uint64_t kept; /* so that the reads are made */
    static struct type *types[TYPES];
    struct sluice_error err = ERROR_INIT;
    const struct type *type;
    size_t size = n > 0 ? n - 1 : 0;
    char *copy;

    for (size_t k = 0; k < TYPES && types[k] == NULL; k++) {
        require(type_parse(texts[k], &types[k], &err) == SLUICE_OK);
    }
    if (n < 2) {
        return 0;
    }
    type = types[(data[0] >> 1) % TYPES];
    copy = flat_alloc(size);
    require(copy != NULL);
    memcpy(copy, data + 1, size);
    if ((data[0] & 1) == 0) {
        struct ArrowArray array;
        if (flat_read(copy, size, type, NULL, &array, &err) == SLUICE_OK) {
            check(&array, type);
        } else {
            require(err.message[0] != '\0');
        }
    } else {
        /* The second byte says where the body begins. */
        size_t begin = size > 1 ? (unsigned char)copy[0] * size / 256 : 0;
        struct wire wire = wire_begin(copy, begin);
        uint64_t sum = 0;
        struct taker taker = { .emit = { .size = sizeof taker.emit,
                                         .ctx = &sum,
                                         .verdicts = take_verdicts,
                                         .batch = take_batch,
                                         .bad = take_bad,
                                         .write = take_write,
                                         .roll = take_roll,
                                         .measure = take_measure,
                                         .absent = take_absent,
                                         .ask = take_ask,
                                         .unit = take_unit,
                                         .describe = take_describe,
                                         .skipped = take_skipped },
                               .type = type };
        (void)!carry_emit(&wire, type, copy + begin, size - begin, &taker.emit, &err);
        kept = sum;
    }
    (void)kept;
    free(copy);
    return 0;
}
