/* copies - writes short documents as JSON Lines, one in five of them a near copy of an earlier one.
 *
 *   copies FIRST COUNT      documents FIRST to FIRST + COUNT - 1
 *
 * Each has 50 words of 20,000, evenly drawn; a copy has two of its words exchanged. A document is a
 * function of its number alone, so that parts can be written in any order. Depends on libc only;
 * the same arguments give the same bytes on every machine. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define VOCABULARY 20000u
#define WORDS 50u

static char words[VOCABULARY][16];

/* splitmix64 (Steele et al. 2014) */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t number(uint64_t *state, uint64_t below)
{
    return next(state) % below;
}

static void make_words(void)
{
    uint64_t state = 20000;

    for (uint32_t k = 0; k < VOCABULARY; k++) {
        uint32_t n = 3 + k % 6;
        for (uint32_t i = 0; i < n; i++) {
            words[k][i] = (char)('a' + number(&state, 26));
        }
        words[k][n] = '\0';
    }
}

static void write_document(uint64_t id)
{
    const char *text[WORDS];
    uint64_t state = id * 2 + 1;
    uint64_t of = number(&state, 5) == 0 && id > 0 ? number(&state, id) : id;
    uint64_t content = of * 2;

    for (uint32_t k = 0; k < WORDS; k++) {
        text[k] = words[number(&content, VOCABULARY)];
    }
    if (of != id) {
        text[number(&state, WORDS)] = "edited";
        text[number(&state, WORDS)] = "edited";
    }
    printf("{\"id\":\"%" PRIu64 "\",\"text\":\"", id);
    for (uint32_t k = 0; k < WORDS; k++) {
        printf(k == 0 ? "%s" : " %s", text[k]);
    }
    puts("\"}");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: copies FIRST COUNT\n", stderr);
        return 2;
    }
    make_words();
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    for (uint64_t id = first; id < first + count; id++) {
        write_document(id);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
