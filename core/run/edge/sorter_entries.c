/* Sorting entries in memory: an MSD radix sort (American flag: McIlroy, Bostic and McIlroy,
 * "Engineering radix sort", 1993). See sorterInt.h. */
#include "run/edge/sorterInt.h"

#include <string.h>

#define INSERTION_MAX 24u /* entries that are sorted by insertion */
#define DIGIT_BITS 8u     /* of a digit, at most */

static void insertion_sort(struct entry *e, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (entry_less(&e[i], &e[i - 1])) {
            struct entry moved = e[i];
            size_t k = i;
            do {
                e[k] = e[k - 1];
                k--;
            } while (k > 0 && entry_less(&moved, &e[k - 1]));
            e[k] = moved;
        }
    }
}

/* Where a sort goes on: the low `bits` bits of a word, then the words behind it. */
struct digits {
    unsigned word, bits;
};

/* Skips what is equal in all entries; false when nothing is left. */
static bool digits_skip(const struct entry *e, size_t n, struct digits *digits)
{
    for (unsigned word = digits->word; word < 4; word++) {
        uint64_t difference = 0;
        for (size_t i = 1; i < n; i++) {
            difference |= e[i].words[word] ^ e[0].words[word];
        }
        if (difference != 0) {
            digits->word = word;
            digits->bits = 64 - (unsigned)__builtin_clzll(difference);
            return true;
        }
    }
    return false;
}

/* Bits to tell apart at once: about eight entries should share a digit. */
static unsigned digit_bits(size_t n)
{
    unsigned bits = 61 - (unsigned)__builtin_clzll((unsigned long long)n | 63);

    return bits < DIGIT_BITS ? bits : DIGIT_BITS;
}

static inline unsigned digit_of(const struct entry *e, unsigned word, unsigned shift, unsigned mask)
{
    return (unsigned)(e->words[word] >> shift) & mask;
}

/* Puts each entry where its digit belongs; begins[d] and ends[d] bound the places of digit d. */
static void permute(struct entry *e, size_t *begins, const size_t *ends, unsigned word,
                    unsigned shift, unsigned mask)
{
    for (unsigned d = 0; d <= mask; d++) {
        while (begins[d] < ends[d]) {
            struct entry moved = e[begins[d]];
            unsigned to = digit_of(&moved, word, shift, mask);
            while (to != d) {
                size_t at = begins[to]++;
                struct entry other = e[at];
                __builtin_prefetch(&e[at + 6], 1);
                e[at] = moved;
                moved = other;
                to = digit_of(&moved, word, shift, mask);
            }
            e[begins[d]++] = moved;
        }
    }
}

/* Entries agree in everything before the digits. */
static void radix_sort(struct entry *e, size_t n, struct digits digits)
{
    size_t ends[1u << DIGIT_BITS];
    size_t begins[1u << DIGIT_BITS];
    size_t sum = 0;
    unsigned bits = digit_bits(n) < digits.bits ? digit_bits(n) : digits.bits;
    unsigned shift = digits.bits - bits;
    unsigned mask = (1u << bits) - 1;

    if (n <= INSERTION_MAX) {
        insertion_sort(e, n);
        return;
    }
    memset(ends, 0, (mask + 1) * sizeof ends[0]);
    for (size_t i = 0; i < n; i++) {
        ends[digit_of(&e[i], digits.word, shift, mask)]++;
    }
    if (ends[digit_of(&e[0], digits.word, shift, mask)] == n) {
        /* All the same so far: look for where they begin to differ. */
        if (digits_skip(e, n, &digits)) {
            radix_sort(e, n, digits);
        }
        return;
    }
    for (unsigned d = 0; d <= mask; d++) {
        begins[d] = sum;
        sum += ends[d];
        ends[d] = sum;
    }
    permute(e, begins, ends, digits.word, shift, mask);
    digits.bits = shift;
    if (shift == 0) {
        digits.word++;
        digits.bits = 64;
    }
    for (unsigned d = 0; d <= mask && digits.word < 4; d++) {
        size_t begin = d == 0 ? 0 : ends[d - 1];
        if (ends[d] - begin > 1) {
            radix_sort(e + begin, ends[d] - begin, digits);
        }
    }
}

/* Entries were put down from the high end, so records added in order lie in descending order. */
void sorter_sort_entries(struct entry *e, size_t n)
{
    struct digits digits = { 0, 64 };
    size_t i = 1;

    while (i < n && entry_less(&e[i], &e[i - 1])) {
        i++;
    }
    if (i >= n) {
        for (size_t k = 0; k < n / 2; k++) {
            struct entry moved = e[k];
            e[k] = e[n - 1 - k];
            e[n - 1 - k] = moved;
        }
        return;
    }
    if (digits_skip(e, n, &digits)) {
        radix_sort(e, n, digits);
    }
}
