/* text_sample.h — seeded decisions: by a hash of a document's id, or by the generator that numpy's
 * default_rng(seed) is.
 *
 * Depends on text_hash.h. The first depends on the id alone, the second on the order of calls; both
 * give the same on every machine.
 */
#ifndef TEXT_SAMPLE_H
#define TEXT_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number in [0, 1) for an id: XXH3 with the seed, the upper 53 bits. */
double text_sample_id(const char *id, size_t len, uint64_t seed);

/* PCG64 (O'Neill 2014, XSL-RR 128/64) as numpy seeds it (SeedSequence). */
struct text_pcg64 {
    uint64_t state_high, state_low, step_high, step_low;
};

/* numpy.random.default_rng(seed). */
void text_pcg64_init(struct text_pcg64 *rng, uint64_t seed);
uint64_t text_pcg64_next(struct text_pcg64 *rng);
/* Generator.random(), and uniform(). */
double text_pcg64_double(struct text_pcg64 *rng);

#ifdef __cplusplus
}
#endif

#endif
