/* See bloom.h. */
#include "bloom.h"

#include <math.h>
#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define LN2 0.69314718055994530942
#define HEAD 48
#define TAIL 16

static const char magic[8] = { 'S', 'L', 'B', 'L', 'O', 'O', 'M', '1' };

/* ln x for 0 < x < 1 by additions, multiplications and divisions alone: the same bits on every
 * machine. */
static double portable_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent); /* 0.5 <= m < 1 */
    double t = (m - 1) / (m + 1);
    double square = t * t;
    double power = t;
    double sum = 0;

    for (int k = 1; k < 60; k += 2) {
        sum += power / k;
        power *= square;
    }
    return 2 * sum + exponent * LN2;
}

struct bloom_size bloom_size_for(uint64_t expected, double rate)
{
    double bits = ceil((double)expected * -portable_log(rate) / (LN2 * LN2));
    struct bloom_size size = { .expected = expected, .rate = rate };
    double probes;

    size.bits = bits < 64 ? 64 : bits > 9e18 ? UINT64_MAX / 64 * 64 : (uint64_t)bits;
    size.bits = size.bits > UINT64_MAX - 63 ? size.bits : (size.bits + 63) / 64 * 64;
    probes = floor((double)size.bits / (double)expected * LN2 + 0.5);
    size.probes = probes < 1 ? 1 : probes > 64 ? 64 : (uint32_t)probes;
    return size;
}

/* The i-th of a hash's probes: enhanced double hashing (Dillinger, Manolios 2004). */
struct probes {
    uint64_t a, b, i;
};

static struct probes probes_of(uint64_t hash)
{
    uint64_t other = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    other = (other ^ other >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (struct probes){ hash, other ^ other >> 33, 0 };
}

static uint64_t next_bit(struct probes *probes, uint64_t bits)
{
    __extension__ typedef unsigned __int128 uint128;
    uint64_t at = (uint64_t)((uint128)probes->a * bits >> 64);

    probes->a += probes->b;
    probes->b += ++probes->i;
    return at;
}

int bloom_has(const struct bloom *bloom, uint64_t hash)
{
    struct probes probes = probes_of(hash);

    for (uint32_t i = 0; i < bloom->size.probes; i++) {
        uint64_t bit = next_bit(&probes, bloom->size.bits);
        if ((bloom->words[bit / 64] >> (bit % 64) & 1) == 0) {
            return 0;
        }
    }
    return 1;
}

void bloom_add(struct bloom *bloom, uint64_t hash)
{
    struct probes probes = probes_of(hash);

    for (uint32_t i = 0; i < bloom->size.probes; i++) {
        uint64_t bit = next_bit(&probes, bloom->size.bits);
        bloom->words[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
    bloom->inserted++;
}

double bloom_rate_now(const struct bloom *bloom)
{
    double k = bloom->size.probes;

    return pow(1 - exp(-k * (double)bloom->inserted / (double)bloom->size.bits), k);
}

int bloom_write_head(const struct bloom *bloom, const char *rule, struct sluice_bytes *out)
{
    static const char zeros[8] = { 0 };
    uint32_t length = (uint32_t)strlen(rule);

    return sluice_bytes_add(out, magic, sizeof magic) &&
           sluice_bytes_add(out, &bloom->size.bits, 8) &&
           sluice_bytes_add(out, &bloom->size.expected, 8) &&
           sluice_bytes_add(out, &bloom->inserted, 8) &&
           sluice_bytes_add(out, &bloom->size.probes, 4) && sluice_bytes_add(out, &length, 4) &&
           sluice_bytes_add(out, &bloom->size.rate, 8) && sluice_bytes_add(out, rule, length) &&
           sluice_bytes_add(out, zeros, (8 - length % 8) % 8);
}

int bloom_write_sum(struct sluice_bytes *out)
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(out->data, out->size));
    return sluice_bytes_add(out, canonical.digest, TAIL);
}

static sluice_status bad(const char *what, struct sluice_error *err)
{
    char message[500];

    (void)snprintf(message, sizeof message,
                   "%s; expected a Bloom filter of `write_bloom`, version 1", what);
    return sluice_fail(err, SLUICE_E_CONFIG, "use", message);
}

sluice_status bloom_read(const void *data, uint64_t size, const char *rule, struct bloom *out,
                         struct sluice_error *err)
{
    const char *bytes = data;
    XXH128_canonical_t canonical;
    uint32_t length;
    uint64_t begin;
    char message[400];

    if (size < HEAD + TAIL || memcmp(bytes, magic, sizeof magic) != 0) {
        return bad("the file does not begin as one", err);
    }
    memcpy(&out->size.bits, bytes + 8, 8);
    memcpy(&out->size.expected, bytes + 16, 8);
    memcpy(&out->inserted, bytes + 24, 8);
    memcpy(&out->size.probes, bytes + 32, 4);
    memcpy(&length, bytes + 36, 4);
    memcpy(&out->size.rate, bytes + 40, 8);
    begin = HEAD + ((uint64_t)length + 7) / 8 * 8;
    if (out->size.bits == 0 || out->size.bits % 64 != 0 || out->size.probes == 0 ||
        out->size.probes > 64 || out->size.expected == 0 || !(out->size.rate > 0) ||
        !(out->size.rate < 1) || begin > size || size - begin < TAIL ||
        out->size.bits / 8 != size - begin - TAIL) {
        return bad("the file's length does not fit its numbers: it is cut off or damaged", err);
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size - TAIL));
    if (memcmp(canonical.digest, bytes + size - TAIL, TAIL) != 0) {
        return bad("the file is damaged: its checksum is another one", err);
    }
    if (length != strlen(rule) || memcmp(bytes + HEAD, rule, length) != 0) {
        (void)snprintf(message, sizeof message,
                       "the filter was made by the rule '%.*s', not '%.120s'",
                       (int)(length < 120 ? length : 120), bytes + HEAD, rule);
        return bad(message, err);
    }
    out->words = (uint64_t *)(uintptr_t)(bytes + begin);
    return SLUICE_OK;
}

sluice_status bloom_note(const struct bloom_size *size, struct sluice_plan *plan,
                         struct sluice_error *err)
{
    char text[300];

    (void)snprintf(text, sizeof text,
                   "{\"expected\":%llu,\"false_positives\":%.12g,\"bytes\":%llu,\"probes\":%u}",
                   (unsigned long long)size->expected, size->rate,
                   (unsigned long long)(size->bits / 8), size->probes);
    return plan->note(plan, "bloom", text, err);
}

sluice_status bloom_alloc(const struct sluice_host_api *api, struct sluice_host *host,
                          struct bloom_size size, struct bloom *bloom, struct sluice_error *err)
{
    uint64_t bytes = size.bits / 8;
    uint64_t share = api->memory_share(host);
    char message[600];

    *bloom = (struct bloom){ .size = size };
    bloom->words = bytes > share ? NULL : api->alloc(host, bytes);
    if (bloom->words != NULL) {
        memset(bloom->words, 0, bytes);
        return SLUICE_OK;
    }
    (void)snprintf(
        message, sizeof message,
        "a Bloom filter for %llu n-grams at a false-positive rate of %g takes %llu MiB, and "
        "this stage may use %llu MiB; give a larger --memory, a higher false_positives, "
        "or compare whole paragraphs exactly by `paragraph_dedup`, which works in any "
        "memory",
        (unsigned long long)size.expected, size.rate,
        (unsigned long long)((bytes + (1 << 20) - 1) >> 20), (unsigned long long)(share >> 20));
    return sluice_fail(err, SLUICE_E_NOMEM, "expected", message);
}

sluice_status bloom_save(const struct bloom *bloom, struct sluice_io *io)
{
    const uint64_t head[2] = { bloom->size.bits, bloom->inserted };
    sluice_status status = io->write(io, head, sizeof head);

    return status == SLUICE_OK ? io->write(io, bloom->words, bloom->size.bits / 8) : status;
}

sluice_status bloom_load(struct bloom *bloom, struct sluice_io *io)
{
    uint64_t head[2] = { 0, 0 };
    sluice_status status = io->read(io, head, sizeof head);

    if (status == SLUICE_OK && head[0] != bloom->size.bits) {
        return SLUICE_E_DATA;
    }
    bloom->inserted = head[1];
    return status == SLUICE_OK ? io->read(io, bloom->words, bloom->size.bits / 8) : status;
}
