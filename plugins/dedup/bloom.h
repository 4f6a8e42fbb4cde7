/* A Bloom filter over 64-bit hashes, and its file. Private to plugins/dedup; depends on
 * sluice_arrays.h, xxhash.
 *
 * m = ceil(-n ln p / (ln 2)^2) bits rounded up to 64, k = round(m / n ln 2) probes by enhanced
 * double hashing of the hash with fixed constants: the same hashes in the same order give the same
 * bits on every machine.
 *
 * The file, version 1, little-endian: 8 bytes "SLBLOOM1"; u64 bits, u64 expected hashes, u64
 * inserted hashes; u32 probes, u32 length of the rule; f64 false-positive rate; the rule (what the
 * hashes were made by), padded with zero bytes to a multiple of 8; the bits as u64 words; 16 bytes
 * XXH3-128 (canonical) of everything before. */
#ifndef DEDUP_BLOOM_H
#define DEDUP_BLOOM_H

#include <sluice_arrays.h>

struct bloom_size {
    uint64_t bits, expected;
    uint32_t probes;
    double rate;
};

/* 1 <= expected, 0 < rate < 1. */
struct bloom_size bloom_size_for(uint64_t expected, double rate);

struct bloom {
    struct bloom_size size;
    uint64_t *words; /* size.bits / 64; the caller's */
    uint64_t inserted;
};

/* Memory of that size from the host, cleared; host->free gives it back. SLUICE_E_NOMEM says how
 * much it takes and how much there is. */
sluice_status bloom_alloc(const struct sluice_host_api *, struct sluice_host *, struct bloom_size,
                          struct bloom *out, struct sluice_error *);

/* Notes the size for the manifests behind and for `sluice plan`. */
sluice_status bloom_note(const struct bloom_size *, struct sluice_plan *, struct sluice_error *);

/* Options that say what a filter is made for; the config has the members expected, rate and
 * rule. */
#define BLOOM_OPTIONS(config)                                                                   \
    { .name = "expected",                                                                       \
      .doc = "Different n-grams that the filter is made for.",                                  \
      .def = "1000000",                                                                         \
      .type = SLUICE_OPT_INT,                                                                   \
      .min = 1,                                                                                 \
      .max = 1e15,                                                                              \
      .offset = offsetof(struct config, expected) },                                            \
        { .name = "false_positives",                                                            \
          .doc = "Rate at which a new n-gram is taken for a seen one when `expected` are in.",  \
          .def = "0.01",                                                                        \
          .type = SLUICE_OPT_FLOAT,                                                             \
          .min = 1e-12,                                                                         \
          .max = 0.5,                                                                           \
          .offset = offsetof(struct config, rate) },                                            \
    {                                                                                           \
        .name = "rule",                                                                         \
        .doc = "What the hashes are made by, which the filter's file keeps; one of `use` must " \
               "have the same.",                                                                \
        .def = "bff ngram=13 stride=1", .type = SLUICE_OPT_STRING,                              \
        .offset = offsetof(struct config, rule)                                                 \
    }

/* For save and load of a worker: the bits. SLUICE_E_DATA: those of a filter of another size. */
sluice_status bloom_save(const struct bloom *, struct sluice_io *);
sluice_status bloom_load(struct bloom *, struct sluice_io *);

/* Whether the hash may have been added. */
int bloom_has(const struct bloom *, uint64_t hash);
void bloom_add(struct bloom *, uint64_t hash);

/* The rate of false positives at so many insertions. */
double bloom_rate_now(const struct bloom *);

/* Appends the header and the rule; the words and the checksum of all follow. 0 without memory. */
int bloom_write_head(const struct bloom *, const char *rule, struct sluice_bytes *out);

/* Appends the checksum of everything in out. 0 without memory. */
int bloom_write_sum(struct sluice_bytes *out);

/* Checks a file's bytes and gives its numbers; *words lies in data, which is aligned to 8.
 * SLUICE_E_CONFIG says what is wrong, also when the file was made by another rule. */
sluice_status bloom_read(const void *data, uint64_t size, const char *rule, struct bloom *out,
                         struct sluice_error *);

#endif
