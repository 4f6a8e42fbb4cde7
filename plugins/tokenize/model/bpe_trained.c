/* bpe_trained.c — opening a trained head: see the header. Depends on: bpe_worker.h, libxxhash. */
#include "model/bpe_trained.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "model/bpe_worker.h"

#define REMEDY "; train it again: sluice tokenize --train-head"

void trained_head_deinit(struct trained_head *head)
{
    if (head->map) {
        (void)munmap(head->map, head->map_bytes);
    }
    free(head->own);
    memset(head, 0, sizeof(*head));
}

/* ---- what a file promises ---- */

static int32_t check_header(const struct bpe *bpe, const struct head_header *h, size_t size,
                            struct sluice_error *err)
{
    uint64_t bytes;
    if (memcmp(h->magic, HEAD_MAGIC, sizeof(h->magic)) != 0) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "no trained head: it begins with other bytes than " HEAD_MAGIC REMEDY);
    }
    if (h->layout != HEAD_LAYOUT) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "found layout %u of trained heads, expected %u: it belongs to another "
                        "version" REMEDY,
                        h->layout, HEAD_LAYOUT);
    }
    if (h->tokenizer[0] != bpe->hash[0] || h->tokenizer[1] != bpe->hash[1]) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "found the head of tokenizer %016llx%016llx, expected that of "
                        "%016llx%016llx" REMEDY,
                        (unsigned long long)h->tokenizer[1], (unsigned long long)h->tokenizer[0],
                        (unsigned long long)bpe->hash[1], (unsigned long long)bpe->hash[0]);
    }
    if (h->first_bits != HEAD_FIRST_BITS || h->rest_bits < HEAD_REST_LEAST ||
        h->rest_bits > HEAD_REST_MOST || h->zero[0] || h->zero[1] || h->unused[0] || h->unused[1]) {
        return bpe_fail(err, SLUICE_E_CONFIG, "the trained head's header is damaged" REMEDY);
    }
    bytes = HEAD_HEADER + sizeof(struct piece_entry) *
                              ((UINT64_C(1) << h->first_bits) + (UINT64_C(1) << h->rest_bits));
    if (bytes != size) {
        return bpe_fail(
            err, SLUICE_E_CONFIG,
            "the trained head has %zu bytes, expected %llu: it is truncated or damaged" REMEDY,
            size, (unsigned long long)bytes);
    }
    return SLUICE_OK;
}

static int32_t check_entry(const struct head_table *table, size_t at, struct bpe_worker *worker,
                           struct sluice_error *err)
{
    const struct piece_entry *entry = &table->entries[at];
    const size_t len = (size_t)(entry->key.high >> 56);
    struct piece_entry expected = { .key = entry->key };
    uint8_t bytes[16];
    uint32_t ids[16];
    size_t n = 0;
    int good = len >= 1 && len <= PIECE_SHORT &&
               (size_t)(piece_hash(entry->key) >> table->shift) == at / 2 &&
               (at % 2 == 0 || table->entries[at - 1].key.high != 0);
    memcpy(bytes, &entry->key, sizeof(bytes));
    for (size_t i = len; good && i < PIECE_SHORT; i++) {
        good = bytes[i] == 0;
    }
    if (good) {
        int32_t status = bpe_encode_key(worker, entry->key, ids, &n, err);
        if (status == SLUICE_E_NOMEM) {
            return status;
        }
        good = status == SLUICE_OK && n >= 1 && n <= PIECE_IDS;
    }
    if (good) {
        memcpy(expected.ids, ids, n * sizeof(*ids));
        expected.ids[0] |= (uint32_t)n << PIECE_COUNT_SHIFT;
        good = memcmp(&expected, entry, sizeof(expected)) == 0;
    }
    return good ? SLUICE_OK
                : bpe_fail(err, SLUICE_E_CONFIG,
                           "entry %zu of the trained head is not what the tokenizer gives" REMEDY,
                           at);
}

static int32_t check_entries(const struct bpe *bpe, const struct head_header *h,
                             const struct trained_head *head, struct sluice_error *err)
{
    static const struct piece_entry empty;
    const struct head_table *tables[2] = { &head->first, &head->rest };
    const size_t places[2] = { (size_t)1 << h->first_bits, (size_t)1 << h->rest_bits };
    struct bpe_worker *worker = NULL;
    uint64_t entries = 0;
    int32_t status = bpe_worker_create(bpe, 1, &worker, err);
    for (size_t t = 0; status == SLUICE_OK && t < 2; t++) {
        for (size_t at = 0; status == SLUICE_OK && at < places[t]; at++) {
            if (memcmp(&tables[t]->entries[at], &empty, sizeof(empty)) != 0) {
                status = check_entry(tables[t], at, worker, err);
                entries++;
            }
        }
    }
    bpe_worker_destroy(worker);
    if (status == SLUICE_OK && entries != h->entries) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "the trained head has %llu entries, expected %llu" REMEDY,
                        (unsigned long long)entries, (unsigned long long)h->entries);
    }
    return status;
}

/* Fills first and rest. */
static int32_t read_head(const struct bpe *bpe, const void *data, size_t size,
                         struct trained_head *head, struct sluice_error *err)
{
    struct head_header h;
    int32_t status;
    _Static_assert(sizeof(h) == HEAD_HEADER, "the header's size");
    if (size < sizeof(h)) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "no trained head: it has %zu bytes, fewer than its header" REMEDY, size);
    }
    memcpy(&h, data, sizeof(h));
    status = check_header(bpe, &h, size, err);
    if (status != SLUICE_OK) {
        return status;
    }
    if (XXH3_64bits((const uint8_t *)data + HEAD_HEADER, size - HEAD_HEADER) != h.sum) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "the trained head's sum does not match its bytes: it is damaged" REMEDY);
    }
    head->first.entries =
        (const struct piece_entry *)(const void *)((const uint8_t *)data + HEAD_HEADER);
    head->first.shift = 64 - (h.first_bits - 1u);
    head->rest.entries = head->first.entries + ((size_t)1 << h.first_bits);
    head->rest.shift = 64 - (h.rest_bits - 1u);
    return check_entries(bpe, &h, head, err);
}

/* ---- ways in ---- */

static int32_t take(struct bpe *bpe, struct trained_head *head, const void *data, size_t size,
                    struct sluice_error *err)
{
    int32_t status = read_head(bpe, data, size, head, err);
    if (status != SLUICE_OK) {
        trained_head_deinit(head);
        return status;
    }
    trained_head_deinit(&bpe->trained);
    bpe->trained = *head;
    return SLUICE_OK;
}

int32_t bpe_head_use(struct bpe *bpe, const void *data, size_t size, struct sluice_error *err)
{
    struct trained_head head = { .map = NULL };
    if ((uintptr_t)data % 64 != 0) { /* a set is one cache line */
        head.own = cache_memory(size ? size : 1);
        if (!head.own) {
            return bpe_fail_memory(err, "a trained head");
        }
        memcpy(head.own, data, size);
        data = head.own;
    }
    return take(bpe, &head, data, size, err);
}

int32_t bpe_head_open(struct bpe *bpe, const char *path, struct sluice_error *err)
{
    struct trained_head head = { .map = NULL };
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), why; /* a pipe would wait */
    void *map;
    if (fd < 0) {
        why = errno;
        return bpe_fail(err, why == ENOENT ? SLUICE_E_CONFIG : SLUICE_E_IO, "can't open %s: %s",
                        path, strerror(why));
    }
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size < (off_t)HEAD_HEADER) {
        (void)close(fd);
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "%s is no trained head: it is no file of at least %u "
                        "bytes" REMEDY,
                        path, HEAD_HEADER);
    }
    map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
    why = errno;
    (void)close(fd);
    if (map == MAP_FAILED) {
        return bpe_fail(err, SLUICE_E_IO, "can't map %s: %s", path, strerror(why));
    }
    head.map = map;
    head.map_bytes = (size_t)stat.st_size;
    return take(bpe, &head, map, head.map_bytes, err);
}
