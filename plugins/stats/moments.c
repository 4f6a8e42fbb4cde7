/* moments.c - exact moments (moments.h). */
#include "moments.h"

#include <math.h>
#include <string.h>

#define UNIT 96                              /* a sum counts 2^-UNIT, squares 2^(-2 * UNIT) */
#define WIDE (MOMENTS_SUM + MOMENTS_SUM + 1) /* limbs of a squared sum and of n times the squares */
#define MOMENTS_MOST ((uint64_t)1 << 48)
_Static_assert(WIDE > MOMENTS_SQUARES, "n times the squares fits");

__extension__ typedef unsigned __int128 wide;

/* ---- integers of several limbs ---- */

/* a += b << shift, where b has n_b limbs and the result fits into n_a */
static void limbs_add(uint64_t *a, int n_a, const uint64_t *b, int n_b, unsigned shift)
{
    int at = (int)(shift / 64);
    unsigned bits = shift % 64;
    uint64_t carry = 0;
    uint64_t below = 0;

    for (int i = at; i < n_a; i++) {
        uint64_t limb = i - at < n_b ? b[i - at] : 0;
        uint64_t moved = bits == 0 ? limb : limb << bits | below >> (64 - bits);
        wide total = (wide)a[i] + moved + carry;
        a[i] = (uint64_t)total;
        carry = (uint64_t)(total >> 64);
        below = limb;
    }
}

static void limbs_negate(uint64_t *a, int n)
{
    uint64_t carry = 1;

    for (int i = 0; i < n; i++) {
        a[i] = ~a[i] + carry;
        carry = carry != 0 && a[i] == 0;
    }
}

static bool limbs_negative(const uint64_t *a, int n)
{
    return a[n - 1] >> 63 != 0;
}

/* out = a * b; out has n_a + n_b limbs */
static void limbs_multiply(uint64_t *out, const uint64_t *a, int n_a, const uint64_t *b, int n_b)
{
    memset(out, 0, (size_t)(n_a + n_b) * sizeof *out);
    for (int i = 0; i < n_a; i++) {
        uint64_t carry = 0;
        for (int k = 0; k < n_b; k++) {
            wide total = (wide)a[i] * b[k] + out[i + k] + carry;
            out[i + k] = (uint64_t)total;
            carry = (uint64_t)(total >> 64);
        }
        out[i + n_b] = carry;
    }
}

/* The non-negative integer a times 2^-unit, rounded to the nearest double, ties to even. */
static double limbs_double(const uint64_t *a, int n, int unit)
{
    int top = n - 1;
    uint64_t high;
    uint64_t rest = 0;
    int lead;

    while (top >= 0 && a[top] == 0) {
        top--;
    }
    if (top < 0) {
        return 0;
    }
    lead = __builtin_clzll(a[top]);
    high = a[top] << lead;
    if (lead > 0 && top > 0) {
        high |= a[top - 1] >> (64 - lead);
        rest = a[top - 1] << lead;
    } else if (top > 0) {
        rest = a[top - 1];
    }
    for (int i = 0; i < top - 1 && rest == 0; i++) {
        rest = a[i];
    }
    if (rest != 0) {
        high |= 1; /* below the last bit that counts: breaks a tie, no more */
    }
    return ldexp((double)high, top * 64 - lead - unit);
}

/* ---- moments ---- */

bool moments_takes(double value)
{
    return fabs(value) < 0x1p64;
}

/* |value| = mantissa * 2^(shift - UNIT); shift >= 0 */
static uint64_t fixed(double value, unsigned *shift)
{
    int exponent;
    uint64_t mantissa;

    if (fabs(value) < 0x1p-43) {
        *shift = 0;
        return (uint64_t)rint(ldexp(fabs(value), UNIT));
    }
    mantissa = (uint64_t)ldexp(frexp(fabs(value), &exponent), 53);
    *shift = (unsigned)(exponent - 53 + UNIT);
    return mantissa;
}

/* Adds `times` times the value, at most 2^48 times. */
static void sums_add(struct moments_sums *sums, double value, uint64_t times)
{
    unsigned shift;
    uint64_t mantissa = fixed(value, &shift);
    uint64_t product[2];
    uint64_t square[3];

    limbs_multiply(product, &mantissa, 1, &mantissa, 1);
    limbs_multiply(square, product, 2, &times, 1);
    limbs_add(sums->squares, MOMENTS_SQUARES, square, 3, 2 * shift);
    limbs_multiply(product, &mantissa, 1, &times, 1);
    if (value < 0) {
        uint64_t moved[MOMENTS_SUM] = { 0 };
        limbs_add(moved, MOMENTS_SUM, product, 2, shift);
        limbs_negate(moved, MOMENTS_SUM);
        limbs_add(sums->sum, MOMENTS_SUM, moved, MOMENTS_SUM, 0);
    } else {
        limbs_add(sums->sum, MOMENTS_SUM, product, 2, shift);
    }
}

/* Gives moments sums, of the equal numbers they hold. */
static bool sums_make(struct moments *moments)
{
    moments->sums = calloc(1, sizeof *moments->sums);
    if (moments->sums != NULL && moments->n > 0) {
        sums_add(moments->sums, moments->least, moments->n);
    }
    return moments->sums != NULL;
}

/* Adds `times` equal numbers. */
static bool add(struct moments *moments, double value, uint64_t times)
{
    value += 0.0; /* there is one zero */
    if (moments->n == 0) {
        moments->least = moments->greatest = value;
    } else if (moments->sums == NULL && moments->least != value && !sums_make(moments)) {
        return false;
    }
    if (moments->sums != NULL) {
        sums_add(moments->sums, value, times);
    }
    moments->least = value < moments->least ? value : moments->least;
    moments->greatest = value > moments->greatest ? value : moments->greatest;
    moments->n += times;
    return true;
}

bool moments_add(struct moments *moments, double value)
{
    return add(moments, value, 1);
}

bool moments_merge(struct moments *moments, const struct moments *other)
{
    if (other->n == 0) {
        return true;
    }
    if (other->sums == NULL) {
        return add(moments, other->least, other->n);
    }
    if (moments->sums == NULL && !sums_make(moments)) {
        return false;
    }
    limbs_add(moments->sums->sum, MOMENTS_SUM, other->sums->sum, MOMENTS_SUM, 0);
    limbs_add(moments->sums->squares, MOMENTS_SQUARES, other->sums->squares, MOMENTS_SQUARES, 0);
    if (moments->n == 0 || other->least < moments->least) {
        moments->least = other->least;
    }
    if (moments->n == 0 || other->greatest > moments->greatest) {
        moments->greatest = other->greatest;
    }
    moments->n += other->n;
    return true;
}

void moments_deinit(struct moments *moments)
{
    free(moments->sums);
    *moments = (struct moments){ 0 };
}

/* The sums, also where they are not kept. */
static struct moments_sums sums_of(const struct moments *moments)
{
    struct moments_sums sums = { { 0 }, { 0 } };

    if (moments->sums != NULL) {
        sums = *moments->sums;
    } else if (moments->n > 0) {
        sums_add(&sums, moments->least, moments->n);
    }
    return sums;
}

double moments_total(const struct moments *moments)
{
    struct moments_sums sums = sums_of(moments);

    if (limbs_negative(sums.sum, MOMENTS_SUM)) {
        limbs_negate(sums.sum, MOMENTS_SUM);
        return -limbs_double(sums.sum, MOMENTS_SUM, UNIT);
    }
    return limbs_double(sums.sum, MOMENTS_SUM, UNIT);
}

double moments_mean(const struct moments *moments)
{
    if (moments->n == 0) {
        return 0;
    }
    return moments->sums == NULL ? moments->least : moments_total(moments) / (double)moments->n;
}

double moments_variance(const struct moments *moments)
{
    uint64_t whole[WIDE] = { 0 };   /* n * sum of squares - sum * sum, exactly */
    uint64_t squared[WIDE] = { 0 }; /* sum * sum */
    struct moments_sums sums;
    uint64_t n = moments->n;

    if (n < 2 || moments->sums == NULL) {
        return 0;
    }
    sums = *moments->sums;
    if (limbs_negative(sums.sum, MOMENTS_SUM)) {
        limbs_negate(sums.sum, MOMENTS_SUM);
    }
    limbs_multiply(squared, sums.sum, MOMENTS_SUM, sums.sum, MOMENTS_SUM);
    limbs_multiply(whole, sums.squares, MOMENTS_SQUARES, &n, 1);
    limbs_negate(squared, WIDE);
    limbs_add(whole, WIDE, squared, WIDE, 0);
    return limbs_double(whole, WIDE, 2 * UNIT) / (double)n / (double)(n - 1);
}

/* ---- stored form: a tag; n and the number when all are equal; else n, least, greatest, the sums
 * ---- */

enum { STORED_NONE, STORED_EQUAL, STORED_SUMS };

bool moments_write(const struct moments *moments, struct sluice_bytes *bytes)
{
    char tag = moments->n == 0 ? STORED_NONE : moments->sums == NULL ? STORED_EQUAL : STORED_SUMS;

    if (!sluice_bytes_reserve(bytes, MOMENTS_BYTES)) {
        return false;
    }
    sluice_bytes_add(bytes, &tag, 1);
    if (tag != STORED_NONE) {
        sluice_bytes_add(bytes, &moments->n, 8);
        sluice_bytes_add(bytes, &moments->least, 8);
    }
    if (tag == STORED_SUMS) {
        sluice_bytes_add(bytes, &moments->greatest, 8);
        sluice_bytes_add(bytes, moments->sums, sizeof *moments->sums);
    }
    return true;
}

static bool take(void *out, size_t n, const char *data, size_t size, size_t *at)
{
    if (size - *at < n) {
        return false;
    }
    memcpy(out, data + *at, n);
    *at += n;
    return true;
}

enum moments_read moments_read(struct moments *moments, const void *data, size_t size, size_t *at)
{
    char tag;
    bool there;

    if (!take(&tag, 1, data, size, at) || tag < STORED_NONE || tag > STORED_SUMS) {
        return MOMENTS_DAMAGED;
    }
    if (tag == STORED_NONE) {
        return MOMENTS_READ;
    }
    if (tag == STORED_SUMS) {
        moments->sums = malloc(sizeof *moments->sums);
        if (moments->sums == NULL) {
            return MOMENTS_NOMEM;
        }
    }
    there = take(&moments->n, 8, data, size, at) && take(&moments->least, 8, data, size, at);
    moments->greatest = moments->least;
    if (there && tag == STORED_SUMS) {
        there = take(&moments->greatest, 8, data, size, at) &&
                take(moments->sums, sizeof *moments->sums, data, size, at);
    }
    if (!there || moments->n == 0 || moments->n > MOMENTS_MOST || !moments_takes(moments->least) ||
        !moments_takes(moments->greatest)) {
        moments_deinit(moments);
        return MOMENTS_DAMAGED;
    }
    return MOMENTS_READ;
}

int moments_count(const void *data, size_t size)
{
    size_t at = 0;
    int n = 0;

    for (; at < size; n++) {
        struct moments moments = { 0 };
        const char *tag = (const char *)data + at;
        double edges[2];
        size_t whole = *tag == STORED_NONE    ? 1
                       : *tag == STORED_EQUAL ? 17
                       : *tag == STORED_SUMS  ? 25 + sizeof *moments.sums
                                              : SIZE_MAX;
        if (whole > size - at || n == INT32_MAX) {
            return -1;
        }
        if (whole > 1) {
            memcpy(&moments.n, tag + 1, 8);
            memcpy(edges, tag + 9, 8);
            memcpy(edges + 1, whole > 17 ? tag + 17 : tag + 9, 8);
            if (moments.n == 0 || moments.n > MOMENTS_MOST || !moments_takes(edges[0]) ||
                !moments_takes(edges[1])) {
                return -1;
            }
        }
        at += whole;
    }
    return n;
}
