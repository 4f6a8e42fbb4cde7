/* The files of a MinHash index; see minhash_format.h. */
#include "minhash_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HEAD_FIXED 16u
#define RECORD_FIXED 24u
#define PLACE 16u

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read in place");

static const char magic_keys[8] = "SLMHKEYS";
static const char magic_docs[8] = "SLMHDOCS";
static const char magic_foot[8] = "SLMHFOOT";

uint64_t minhash_hash(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

uint64_t minhash_reference(const char *id, size_t n)
{
    return XXH3_64bits(id, n) | (uint64_t)1 << 63;
}

static bool pad(struct sluice_bytes *out, uint64_t from, uint64_t to)
{
    static const char zeros[8] = { 0 };
    return sluice_bytes_add(out, zeros, (to - (out->size - from) % to) % to);
}

bool minhash_head_add(struct sluice_bytes *out, bool docs, const char *parameters)
{
    uint64_t from = out->size;
    uint32_t version = MINHASH_FORMAT_VERSION;
    uint32_t n = (uint32_t)strlen(parameters);
    return sluice_bytes_add(out, docs ? magic_docs : magic_keys, 8) &&
           sluice_bytes_add(out, &version, 4) && sluice_bytes_add(out, &n, 4) &&
           sluice_bytes_add(out, parameters, n) && pad(out, from, 8);
}

bool minhash_record_add(struct sluice_bytes *out, uint64_t reference, uint64_t rank, const char *id,
                        size_t id_size, const char *sig, size_t sig_size)
{
    uint64_t from = out->size;
    uint32_t sizes[2] = { (uint32_t)id_size, (uint32_t)sig_size };
    uint32_t check;
    if (!sluice_bytes_add(out, &reference, 8) || !sluice_bytes_add(out, &rank, 8) ||
        !sluice_bytes_add(out, sizes, 8) || !sluice_bytes_add(out, id, id_size) ||
        !sluice_bytes_add(out, sig, sig_size) || !pad(out, from, 4)) {
        return false;
    }
    check = XXH32(out->data + from, out->size - from, 0);
    return sluice_bytes_add(out, &check, 4) && pad(out, from, 8);
}

bool minhash_foot_add(struct sluice_bytes *out, uint64_t count, uint64_t offset, uint64_t hash,
                      uint64_t head_hash)
{
    uint64_t numbers[4] = { count, offset, hash, head_hash };
    return sluice_bytes_add(out, numbers, sizeof numbers) && sluice_bytes_add(out, magic_foot, 8);
}

static uint64_t number64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t number32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static sluice_status damaged(struct sluice_error *err, const char *what)
{
    return sluice_fail(err, SLUICE_E_DATA, "", what);
}

sluice_status minhash_file_parse(const void *data, uint64_t size, struct minhash_file *out,
                                 struct sluice_error *err)
{
    const unsigned char *at = data;
    const unsigned char *foot;
    uint64_t head;
    memset(out, 0, sizeof *out);
    if (size < HEAD_FIXED + MINHASH_FOOT ||
        (memcmp(at, magic_keys, 8) != 0 && memcmp(at, magic_docs, 8) != 0)) {
        return damaged(err, "it is no file of a MinHash index");
    }
    if (number32(at + 8) != MINHASH_FORMAT_VERSION) {
        return damaged(err, "it is of another version of the index format; build the index again "
                            "with this version of Sluice");
    }
    out->n_parameters = number32(at + 12);
    head = (HEAD_FIXED + (uint64_t)out->n_parameters + 7) / 8 * 8;
    if (head > size - MINHASH_FOOT) {
        return damaged(err, "its head is damaged");
    }
    foot = at + size - MINHASH_FOOT;
    if (memcmp(foot + 32, magic_foot, 8) != 0) {
        return damaged(err, "it is cut off");
    }
    if (number64(foot + 24) != XXH3_64bits(at, head)) {
        return damaged(err, "its head is damaged");
    }
    out->data = at;
    out->size = size;
    out->docs = memcmp(at, magic_docs, 8) == 0;
    out->parameters = (const char *)at + HEAD_FIXED;
    out->begin = head;
    out->count = number64(foot);
    out->checked = number64(foot + 8);
    out->hash = number64(foot + 16);
    if (out->checked < head || out->checked > size - MINHASH_FOOT) {
        return damaged(err, "its foot is damaged");
    }
    if (out->docs ? (size - MINHASH_FOOT - out->checked) / PLACE !=
                            out->count / MINHASH_EVERY + (out->count % MINHASH_EVERY != 0) ||
                        (size - MINHASH_FOOT - out->checked) % PLACE != 0
                  : out->checked != head || out->count > (size - head) / MINHASH_ENTRY ||
                        size - MINHASH_FOOT - head != MINHASH_ENTRY * out->count) {
        return damaged(err, "its size does not fit the number of its entries");
    }
    return SLUICE_OK;
}

sluice_status minhash_file_check(const struct minhash_file *file, struct sluice_error *err)
{
    return XXH3_64bits(file->data + file->checked, file->size - MINHASH_FOOT - file->checked) ==
                   file->hash
               ? SLUICE_OK
               : damaged(err, "its content does not fit its checksum");
}

uint64_t minhash_entry_seek(const struct minhash_file *file, uint64_t from, const void *key)
{
    uint64_t low = from;
    uint64_t step = 1;
    uint64_t high;
    /* Keys come in ascending order, mostly near to the last one: gallop, then halve. */
    while (low < file->count && memcmp(minhash_entry(file, low), key, 16) < 0) {
        from = low + 1;
        low = file->count - low > step ? low + step : file->count;
        step *= 2;
    }
    high = low;
    low = from;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (memcmp(minhash_entry(file, middle), key, 16) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The record at `at`, which ends before `limit`; *next is where the one after it begins. */
static sluice_status record_read(const struct minhash_file *file, uint64_t at, uint64_t limit,
                                 uint64_t *reference, struct minhash_document *out, uint64_t *next,
                                 struct sluice_error *err)
{
    const unsigned char *p;
    uint64_t body;
    uint64_t whole;
    if (at % 8 != 0 || at > limit || limit - at < RECORD_FIXED) {
        return damaged(err, "a record is damaged");
    }
    p = file->data + at;
    out->id_size = number32(p + 16);
    out->sig_size = number32(p + 20);
    body = (RECORD_FIXED + (uint64_t)out->id_size + out->sig_size + 3) / 4 * 4;
    whole = (body + 4 + 7) / 8 * 8;
    if (whole > limit - at || number32(p + body) != XXH32(p, body, 0)) {
        return damaged(err, "a record is damaged");
    }
    *reference = number64(p);
    out->rank = number64(p + 8);
    out->id = (const char *)p + RECORD_FIXED;
    out->sig = out->id + out->id_size;
    *next = at + whole;
    return SLUICE_OK;
}

sluice_status minhash_file_document(const struct minhash_file *file, uint64_t reference,
                                    struct minhash_document *out, bool *found,
                                    struct sluice_error *err)
{
    const unsigned char *places = file->data + file->checked;
    uint64_t low = 0;
    uint64_t high = (file->size - MINHASH_FOOT - file->checked) / PLACE;
    uint64_t at;
    *found = false;
    while (low < high) { /* the last place that is not above the reference */
        uint64_t middle = low + (high - low) / 2;
        if (number64(places + PLACE * middle) <= reference) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return SLUICE_OK;
    }
    at = number64(places + PLACE * (low - 1) + 8);
    if (at < file->begin) {
        return damaged(err, "its directory is damaged");
    }
    for (unsigned i = 0; i < MINHASH_EVERY && at < file->checked; i++) {
        uint64_t here;
        sluice_status status = record_read(file, at, file->checked, &here, out, &at, err);
        if (status != SLUICE_OK || here >= reference) {
            *found = status == SLUICE_OK && here == reference;
            return status;
        }
    }
    return SLUICE_OK;
}
