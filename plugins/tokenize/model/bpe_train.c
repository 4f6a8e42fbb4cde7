/* bpe_train.c — makes a trained head of a sample: counts its pieces, takes the most frequent, and
 * writes what they become. The result is a function of tokenizer and sample alone. See
 * bpe_trained.h for the file. Depends on: bpe_worker.h, libxxhash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "model/bpe_trained.h"
#include "model/bpe_worker.h"

#define CUT ((size_t)1 << 16)         /* bytes of the sample encoded at once */
#define COUNT_FIRST ((size_t)1 << 12) /* places */
#define COUNT_MOST ((size_t)1 << 21)
#define LEAST 2u /* a piece met once tells nothing */

struct bpe_training {
    const struct bpe *bpe;
    struct bpe_worker *worker;
    struct piece_counts counts;
    uint32_t *ids;
    size_t cap;
};

/* ---- counting ---- */

static int counts_init(struct piece_counts *c, size_t size)
{
    memset(c, 0, sizeof(*c));
    c->places = calloc(size, sizeof(*c->places));
    c->size = size;
    c->shift = 64;
    for (size_t n = size; n > 1; n /= 2) {
        c->shift--;
    }
    return c->places ? 0 : -1;
}

static struct counted_piece *count_place(const struct piece_counts *c, struct piece_key key)
{
    size_t at = (size_t)(piece_hash(key) >> c->shift);
    while (c->places[at].key.high != 0 &&
           (c->places[at].key.low != key.low || c->places[at].key.high != key.high)) {
        at = (at + 1) & (c->size - 1);
    }
    return &c->places[at];
}

/* Twice the places; or, when there are COUNT_MOST, the rare ones forgotten until half are free. */
static void counts_grow(struct piece_counts *c)
{
    const size_t size = c->size < COUNT_MOST ? 2 * c->size : c->size;
    struct piece_counts next;
    uint64_t above = 0;
    do {
        if (counts_init(&next, size) != 0) {
            c->failed = 1;
            return;
        }
        for (size_t i = 0; i < c->size; i++) {
            if (c->places[i].n > above) {
                *count_place(&next, c->places[i].key) = c->places[i];
                next.used++;
            }
        }
        above = 2 * above + 1;
        free(c->places);
        *c = next;
    } while (2 * c->used > c->size);
}

void piece_count(struct piece_counts *c, struct piece_key key)
{
    struct counted_piece *place;
    if (c->failed) {
        return;
    }
    place = count_place(c, key);
    if (place->n++ == 0) {
        place->key = key;
        if (4 * ++c->used > 3 * c->size) {
            counts_grow(c);
        }
    }
}

int32_t bpe_training_create(const struct bpe *bpe, struct bpe_training **out,
                            struct sluice_error *err)
{
    struct bpe_training *t = calloc(1, sizeof(*t));
    int32_t status;
    *out = NULL;
    if (!t || counts_init(&t->counts, COUNT_FIRST) != 0) {
        free(t);
        return bpe_fail_memory(err, "a head's training");
    }
    t->bpe = bpe;
    status = bpe_worker_create(bpe, 0, &t->worker, err);
    if (status != SLUICE_OK) {
        bpe_training_destroy(t);
        return status;
    }
    *out = t;
    return SLUICE_OK;
}

void bpe_training_destroy(struct bpe_training *t)
{
    if (t) {
        bpe_worker_destroy(t->worker);
        free(t->counts.places);
        free(t->ids);
        free(t);
    }
}

/* Where the next part ends: behind a line, else between characters. */
static size_t cut(const char *text, size_t len)
{
    size_t end = len < CUT ? len : CUT;
    const char *line = end < len ? memrchr(text, '\n', end) : NULL;
    if (line) {
        return (size_t)(line - text) + 1;
    }
    while (end < len && ((unsigned char)text[end] & 0xC0) == 0x80) {
        end++;
    }
    return end;
}

int32_t bpe_training_add(struct bpe_training *t, const char *text, size_t len,
                         struct sluice_error *err)
{
    int32_t status = SLUICE_OK;
    while (status == SLUICE_OK && len > 0) {
        const size_t part = cut(text, len), need = bpe_encode_bound(t->bpe, part);
        size_t n;
        if (need > t->cap) {
            free(t->ids);
            t->cap = 0;
            t->ids = need <= SIZE_MAX / sizeof(*t->ids) ? malloc(need * sizeof(*t->ids)) : NULL;
            if (!t->ids) {
                return bpe_fail_memory(err, "a head's training");
            }
            t->cap = need;
        }
        t->worker->counting = &t->counts;
        status = bpe_encode(t->worker, text, part, t->ids, t->cap, &n, err);
        t->worker->counting = NULL;
        text += part;
        len -= part;
    }
    return status == SLUICE_OK && t->counts.failed ? bpe_fail_memory(err, "a sample's pieces")
                                                   : status;
}

/* ---- choosing ---- */

static int by_count(const void *a, const void *b)
{
    const struct counted_piece *x = a, *y = b;
    if (x->n != y->n) {
        return x->n < y->n ? 1 : -1;
    }
    if (x->key.high != y->key.high) {
        return x->key.high < y->key.high ? -1 : 1;
    }
    return x->key.low < y->key.low ? -1 : x->key.low > y->key.low;
}

/* The pieces met often enough, the most frequent first, to the front of the places; their
 * number. */
static size_t rank_pieces(struct piece_counts *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->size; i++) {
        if (c->places[i].n >= LEAST) {
            const struct counted_piece piece = c->places[i];
            c->places[n++] = piece;
        }
    }
    qsort(c->places, n, sizeof(*c->places), by_count);
    return n;
}

/* 1 when the set had room. */
static int put(struct piece_entry *table, unsigned bits, const struct piece_entry *entry)
{
    struct piece_entry *set = &table[2 * (size_t)(piece_hash(entry->key) >> (64 - (bits - 1)))];
    set += set[0].key.high != 0;
    if (set->key.high != 0) {
        return 0;
    }
    *set = *entry;
    return 1;
}

static int32_t fill(struct bpe_training *t, size_t n, uint8_t *file, unsigned rest_bits,
                    struct sluice_error *err)
{
    struct head_header h = { .layout = HEAD_LAYOUT,
                             .first_bits = HEAD_FIRST_BITS,
                             .rest_bits = (uint8_t)rest_bits,
                             .tokenizer = { t->bpe->hash[0], t->bpe->hash[1] } };
    struct piece_entry *first = (struct piece_entry *)(void *)(file + HEAD_HEADER);
    struct piece_entry *rest = first + ((size_t)1 << HEAD_FIRST_BITS);
    const size_t bytes =
        sizeof(*first) * (((size_t)1 << HEAD_FIRST_BITS) + ((size_t)1 << rest_bits));
    for (size_t i = 0; i < n; i++) {
        struct piece_entry entry = { .key = t->counts.places[i].key };
        uint32_t ids[16];
        size_t count;
        int32_t status = bpe_encode_key(t->worker, entry.key, ids, &count, err);
        if (status != SLUICE_OK) {
            return status;
        }
        if (count == 0 || count > PIECE_IDS) {
            continue;
        }
        memcpy(entry.ids, ids, count * sizeof(*ids));
        entry.ids[0] |= (uint32_t)count << PIECE_COUNT_SHIFT;
        h.entries +=
            (uint64_t)(put(first, HEAD_FIRST_BITS, &entry) || put(rest, rest_bits, &entry));
    }
    memcpy(h.magic, HEAD_MAGIC, sizeof(h.magic));
    h.sum = XXH3_64bits(file + HEAD_HEADER, bytes);
    memcpy(file, &h, sizeof(h));
    return SLUICE_OK;
}

int32_t bpe_training_make(struct bpe_training *t, size_t most, void **out, size_t *size,
                          struct sluice_error *err)
{
    const size_t n = rank_pieces(&t->counts);
    unsigned bits = HEAD_REST_LEAST;
    uint8_t *file;
    int32_t status;
    *out = NULL;
    *size = 0;
    while (bits < HEAD_REST_MOST && ((size_t)1 << bits) < n + n / 2 &&
           (sizeof(struct piece_entry) << (bits + 1)) <= (most ? most : BPE_HEAD_BYTES)) {
        bits++;
    }
    *size = HEAD_HEADER +
            sizeof(struct piece_entry) * (((size_t)1 << HEAD_FIRST_BITS) + ((size_t)1 << bits));
    file = cache_memory(*size);
    if (!file) {
        return bpe_fail_memory(err, "a trained head");
    }
    status = n > 0 ? fill(t, n, file, bits, err)
                   : bpe_fail(err, SLUICE_E_DATA,
                              "the sample has no piece of text twice; give a longer one");
    free(t->counts.places); /* in order of rank now: what comes is a new sample */
    if (counts_init(&t->counts, COUNT_FIRST) != 0) {
        t->counts.failed = 1;
    }
    if (status != SLUICE_OK) {
        free(file);
        return status;
    }
    *out = file;
    return SLUICE_OK;
}

/* ---- to a file ---- */

static int write_all(int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno != EINTR) {
            return -1;
        }
        p += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    return fsync(fd);
}

int32_t bpe_training_write(struct bpe_training *t, size_t most, const char *path,
                           struct sluice_error *err)
{
    const size_t room = strlen(path) + 32;
    char *beside = malloc(room);
    void *file = NULL;
    size_t size = 0;
    int fd, why = 0;
    int32_t status;
    if (!beside) {
        return bpe_fail_memory(err, "a file's name");
    }
    status = bpe_training_make(t, most, &file, &size, err);
    if (status != SLUICE_OK) {
        free(beside);
        return status;
    }
    (void)snprintf(beside, room, "%s.%ld.new", path, (long)getpid());
    (void)unlink(beside); /* of a process that died */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        why = errno;
    } else {
        why = write_all(fd, file, size) != 0 ? errno : 0;
        if (close(fd) != 0 && why == 0) {
            why = errno;
        }
        if (why == 0 && rename(beside, path) != 0) {
            why = errno;
        }
        if (why != 0) {
            (void)unlink(beside);
        }
    }
    free(file);
    free(beside);
    return why == 0 ? SLUICE_OK
                    : bpe_fail(err, SLUICE_E_IO, "can't write %s: %s", path, strerror(why));
}
