/* Elementary functions in double-double arithmetic: see portmath.h. */
#include "lua/sandbox/portmath.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* h + l with |l| <= ulp(h) / 2, so h is the sum rounded. */
struct dd {
    double h, l;
};
__extension__ typedef unsigned __int128 uint128;

static const struct dd DD_ONE = { 1, 0 };
static const struct dd DD_PI = { 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53 };
static const struct dd DD_HALF_PI = { 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54 };
static const struct dd DD_LN2 = { 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56 };
static const struct dd DD_LN10 = { 0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53 };
#define LN2_SHORT 0x1.62e42fef00000p-1 /* 33 bits: its products with exponents are exact */
#define LN2_REST 0x1.473de6af278edp-34
#define LN2_THIRD 0x1.7b57a079a1934p-111
#define INVERSE_LN2 0x1.71547652b82fep+0

/* 2/1, 2/3 ... 2/23 */
static const double odd_parts[12] = {
    0x1.0000000000000p+1, 0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2,
    0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3,
    0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4, 0x1.8618618618618p-4, 0x1.642c8590b2164p-4,
};
/* 1/1, 1/3, 1/5 ... 1/19 */
static const struct dd inverse_odd[10] = {
    { 0x1.0000000000000p+0, 0x0.0p+0 },
    { 0x1.5555555555555p-2, 0x1.5555555555555p-56 },
    { 0x1.999999999999ap-3, -0x1.999999999999ap-57 },
    { 0x1.2492492492492p-3, 0x1.2492492492492p-57 },
    { 0x1.c71c71c71c71cp-4, 0x1.c71c71c71c71cp-58 },
    { 0x1.745d1745d1746p-4, -0x1.745d1745d1746p-59 },
    { 0x1.3b13b13b13b14p-4, -0x1.3b13b13b13b14p-58 },
    { 0x1.1111111111111p-4, 0x1.1111111111111p-60 },
    { 0x1.e1e1e1e1e1e1ep-5, 0x1.e1e1e1e1e1e1ep-61 },
    { 0x1.af286bca1af28p-5, 0x1.af286bca1af28p-59 },
};
/* 1/0! ... 1/14! */
static const double factors[15] = {
    0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000000p-1,  0x1.5555555555555p-3,
    0x1.5555555555555p-5,  0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
    0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26,
    0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37,
};
/* 1/0! ... 1/10! */
static const struct dd inverse_factorial[11] = {
    { 0x1.0000000000000p+0, 0x0.0p+0 },
    { 0x1.0000000000000p+0, 0x0.0p+0 },
    { 0x1.0000000000000p-1, 0x0.0p+0 },
    { 0x1.5555555555555p-3, 0x1.5555555555555p-57 },
    { 0x1.5555555555555p-5, 0x1.5555555555555p-59 },
    { 0x1.1111111111111p-7, 0x1.1111111111111p-63 },
    { 0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65 },
    { 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73 },
    { 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76 },
    { 0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73 },
    { 0x1.27e4fb7789f5cp-22, 0x1.cbbc05b4fa99ap-76 },
};
/* 1/(1*2), 1/(3*4) ... for cos */
static const struct dd cosine_steps[7] = {
    { 0x1.0000000000000p-1, 0x0.0p+0 },
    { 0x1.5555555555555p-4, 0x1.5555555555555p-58 },
    { 0x1.1111111111111p-5, 0x1.1111111111111p-61 },
    { 0x1.2492492492492p-6, 0x1.2492492492492p-60 },
    { 0x1.6c16c16c16c17p-7, -0x1.f49f49f49f49fp-62 },
    { 0x1.f07c1f07c1f08p-8, -0x1.f07c1f07c1f08p-63 },
    { 0x1.6816816816817p-8, -0x1.fa5fa5fa5fa60p-62 },
};
/* 1/(2*3), 1/(4*5) ... for sin */
static const struct dd sine_steps[7] = {
    { 0x1.5555555555555p-3, 0x1.5555555555555p-57 },
    { 0x1.999999999999ap-5, -0x1.999999999999ap-59 },
    { 0x1.8618618618618p-6, 0x1.8618618618618p-60 },
    { 0x1.c71c71c71c71cp-7, 0x1.c71c71c71c71cp-61 },
    { 0x1.29e4129e4129ep-7, 0x1.04a7904a7904ap-61 },
    { 0x1.a41a41a41a41ap-8, 0x1.0690690690690p-62 },
    { 0x1.3813813813814p-8, -0x1.fb1fb1fb1fb20p-62 },
};

/* ---- arithmetic ---- */

static struct dd quick_sum(double a, double b) /* |a| >= |b| */
{
    double s = a + b;
    return (struct dd){ s, b - (s - a) };
}

static struct dd two_sum(double a, double b)
{
    double s = a + b;
    double t = s - a;
    return (struct dd){ s, (a - (s - t)) + (b - t) };
}

static struct dd two_product(double a, double b)
{
    double p = a * b;
    double ta = 134217729.0 * a; /* 2^27 + 1 */
    double tb = 134217729.0 * b;
    double ah = ta - (ta - a);
    double bh = tb - (tb - b);
    double al = a - ah;
    double bl = b - bh;
    return (struct dd){ p, ((ah * bh - p) + ah * bl + al * bh) + al * bl };
}

static struct dd dd_add(struct dd a, struct dd b)
{
    struct dd s = two_sum(a.h, b.h);
    struct dd t = two_sum(a.l, b.l);
    s = quick_sum(s.h, s.l + t.h);
    return quick_sum(s.h, s.l + t.l);
}

static struct dd dd_neg(struct dd a)
{
    return (struct dd){ -a.h, -a.l };
}

static struct dd dd_mul(struct dd a, struct dd b)
{
    struct dd p = two_product(a.h, b.h);
    return quick_sum(p.h, p.l + (a.h * b.l + a.l * b.h));
}

static struct dd dd_scale(struct dd a, double b)
{
    struct dd p = two_product(a.h, b);
    return quick_sum(p.h, p.l + a.l * b);
}

static struct dd dd_div(struct dd a, struct dd b)
{
    double q1 = a.h / b.h;
    struct dd r = dd_add(a, dd_neg(dd_scale(b, q1)));
    double q2 = r.h / b.h;
    r = dd_add(r, dd_neg(dd_scale(b, q2)));
    struct dd q = quick_sum(q1, q2);
    return dd_add(q, (struct dd){ r.h / b.h, 0 });
}

static struct dd dd_sqrt(struct dd a)
{
    double x = sqrt(a.h);
    if (x == 0) {
        return (struct dd){ 0, 0 };
    }
    struct dd r = dd_add(a, dd_neg(two_product(x, x)));
    return quick_sum(x, r.h / (2 * x));
}

static struct dd dd_from(double x)
{
    return (struct dd){ x, 0 };
}

static double nearest(double x)
{
    return trunc(x + (x < 0 ? -0.5 : 0.5));
}

/* ---- exp ---- */

/* exp of a in about [-1000, 1000]. r = (a - k ln 2) / 256, expm1 by its series, then squared eight
 * times. */
static double exp_dd(struct dd a)
{
    double k = nearest(a.h * INVERSE_LN2);
    struct dd r = dd_add(a, dd_neg(two_product(k, DD_LN2.h)));
    struct dd s = { 0, 0 };

    r = dd_add(r, dd_neg(two_product(k, DD_LN2.l)));
    r = dd_add(r, dd_from(-k * LN2_THIRD));
    r.h /= 256;
    r.l /= 256;
    s = inverse_factorial[9];
    for (int i = 8; i >= 1; i--) {
        s = dd_add(inverse_factorial[i], dd_mul(s, r));
    }
    s = dd_mul(s, r);
    for (int i = 0; i < 8; i++) {
        s = dd_add((struct dd){ 2 * s.h, 2 * s.l }, dd_mul(s, s));
    }
    s = dd_add(DD_ONE, s);
    return ldexp(s.h, (int)k);
}

/* One of the two that scripts call for every word: plain doubles, with what is lost in the
 * reduction added again; below 0.8 units in the last place. x = k ln 2 + r, |r| <= 0.35. */
double portmath_exp(double x)
{
    double k, high, r, lost;
    double sum = 0;

    if (isnan(x)) {
        return x;
    }
    if (x > 1000) {
        return INFINITY;
    }
    if (x < -1000) {
        return 0;
    }
    k = nearest(x * INVERSE_LN2);
    high = x - k * LN2_SHORT;
    r = high - k * LN2_REST;
    lost = (high - r) - k * LN2_REST;
    for (int i = 14; i >= 2; i--) {
        sum = sum * r + factors[i];
    }
    return ldexp(1 + (r + (sum * r * r + lost)), (int)k);
}

/* ---- log ---- */

/* log of a finite x > 0. x = m 2^e with m around 1; log m = 2 atanh((m - 1) / (m + 1)). */
static struct dd log_dd(double x)
{
    int e;
    double m = frexp(x, &e);
    struct dd t, t2, s;
    double tail = 0;

    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    t = dd_div(dd_from(m - 1), two_sum(m, 1));
    t2 = dd_mul(t, t);
    for (int i = 20; i >= 10; i--) {
        tail = 1.0 / (2 * i + 1) + t2.h * tail;
    }
    s = dd_from(tail);
    for (int i = 9; i >= 0; i--) {
        s = dd_add(inverse_odd[i], dd_mul(t2, s));
    }
    s = dd_mul(s, t);
    s.h *= 2;
    s.l *= 2;
    s = dd_add(two_product(e, DD_LN2.l), s);
    return dd_add(two_product(e, DD_LN2.h), s);
}

/* Does log have an answer without computing? */
static bool log_special(double x, double *out)
{
    if (isnan(x) || x < 0) {
        *out = NAN;
    } else if (x == 0) {
        *out = -INFINITY;
    } else if (isinf(x)) {
        *out = x;
    } else {
        return false;
    }
    return true;
}

/* The other one: log m = f - f*f/2 + s (f*f/2 + R), f = m - 1, s = f / (2 + f), R the rest of the
 * series in s; below 0.9 units. */
double portmath_log(double x)
{
    double f, s, z, half;
    double rest = 0;
    int e;

    if (log_special(x, &f)) {
        return f;
    }
    f = frexp(x, &e);
    if (f < 0.70710678118654752) {
        f *= 2;
        e--;
    }
    f -= 1;
    s = f / (2 + f);
    z = s * s;
    for (int i = 11; i >= 1; i--) {
        rest = (rest + odd_parts[i]) * z;
    }
    half = 0.5 * f * f;
    return e * LN2_SHORT - ((half - (s * (half + rest) + e * LN2_REST)) - f);
}

double portmath_log2(double x)
{
    double special;
    return log_special(x, &special) ? special : dd_div(log_dd(x), DD_LN2).h;
}

double portmath_log10(double x)
{
    double special;
    return log_special(x, &special) ? special : dd_div(log_dd(x), DD_LN10).h;
}

/* ---- pow ---- */

static bool is_odd(double y)
{
    return fabs(y) < 9007199254740992.0 && trunc(y) == y && fmod(y, 2) != 0;
}

static double pow_positive(double x, double y) /* x > 0, both finite */
{
    struct dd l = log_dd(x);
    double estimate = y * l.h;

    if (estimate > 1000) {
        return INFINITY;
    }
    if (estimate < -1000) {
        return 0;
    }
    return exp_dd(dd_scale(l, y));
}

double portmath_pow(double x, double y)
{
    double sign = x < 0 || (x == 0 && signbit(x)) ? (is_odd(y) ? -1 : 1) : 1;
    double size = fabs(x);

    if (y == 0 || x == 1) {
        return 1;
    }
    if (isnan(x) || isnan(y)) {
        return NAN;
    }
    if (isinf(y)) {
        return size == 1 ? 1 : (size > 1) == (y > 0) ? INFINITY : 0;
    }
    if (size == 0) {
        return sign * (y < 0 ? INFINITY : 0);
    }
    if (isinf(x)) {
        return sign * (y < 0 ? 0 : INFINITY);
    }
    if (x < 0 && trunc(y) != y) {
        return NAN;
    }
    return sign * pow_positive(size, y);
}

/* ---- sine and cosine ---- */

/* The first 1,280 bits of 2 / pi. */
static const uint64_t two_over_pi[20] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

/* 64 bits of 2 / pi from bit `at` on; bits before the first are 0. */
static uint64_t pi_bits(int at)
{
    int word = at >= 0 ? at / 64 : -1;
    int shift = at >= 0 ? at % 64 : 64 + at; /* at >= -64 */
    uint64_t high = word >= 0 ? two_over_pi[word] : 0;

    return shift == 0 ? high : (high << shift) | two_over_pi[word + 1] >> (64 - shift);
}

/* x = quadrant * pi/2 + rest, |rest| <= pi/4, for finite x (Payne and Hanek 1983): only the bits of
 * 2/pi that matter modulo 4 are multiplied, so that x may be as large as it likes. */
static struct dd reduce(double x, int *quadrant)
{
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &e), 53);
    uint64_t product[4]; /* m times 256 bits, modulo 2^256: 2 bits before the point */
    uint128 carry = 0;
    bool negative;
    int zeros = 0;
    struct dd rest;

    e -= 53;
    for (int i = 3; i >= 0; i--) {
        carry += (uint128)m * pi_bits(e - 2 + 64 * i);
        product[i] = (uint64_t)carry;
        carry >>= 64;
    }
    *quadrant = (int)(product[0] >> 62);
    for (int i = 0; i < 4; i++) {
        product[i] = product[i] << 2 | (i < 3 ? product[i + 1] >> 62 : 0);
    }
    negative = product[0] >> 63 != 0;
    if (negative) { /* nearer to the next quadrant */
        *quadrant += 1;
        for (int i = 0; i < 4; i++) {
            product[i] = ~product[i];
        }
    }
    while (zeros < 192 && product[0] >> 63 == 0) {
        for (int i = 0; i < 4; i++) {
            product[i] = product[i] << 1 | (i < 3 ? product[i + 1] >> 63 : 0);
        }
        zeros++;
    }
    rest = two_sum((double)(product[0] >> 11) * 0x1p-53,
                   (double)(product[0] & 0x7ff) * 0x1p-64 + (double)(product[1] >> 11) * 0x1p-117);
    rest = dd_mul(rest, DD_HALF_PI);
    rest = (struct dd){ ldexp(rest.h, -zeros), ldexp(rest.l, -zeros) };
    if (negative != (x < 0)) {
        rest = dd_neg(rest);
    }
    *quadrant = (x < 0 ? -*quadrant : *quadrant) & 3;
    return rest;
}

/* The series r (1 - r2/(2*3) (1 - r2/(4*5) (...))); with odd = 0 the one of cos: 1 - r2/(1*2)
 * (...). */
static struct dd circular(struct dd r, int odd)
{
    const struct dd *steps = odd ? sine_steps : cosine_steps;
    struct dd r2 = dd_mul(r, r);
    double tail = 1;
    struct dd s;

    for (int i = 14; i >= 8; i--) {
        tail = 1 - r2.h * tail / ((2 * i - 1 + odd) * (2 * i + odd));
    }
    s = dd_from(tail);
    for (int i = 7; i >= 1; i--) {
        s = dd_add(DD_ONE, dd_neg(dd_mul(dd_mul(r2, s), steps[i - 1])));
    }
    return odd ? dd_mul(s, r) : s;
}

static struct dd sine(double x, int shift) /* sin(x + shift * pi/2) */
{
    int quadrant = 0;
    struct dd r = fabs(x) <= 0.78539816339744831 ? dd_from(x) : reduce(x, &quadrant);
    struct dd s;

    quadrant = (quadrant + shift) & 3;
    s = circular(r, (quadrant & 1) == 0);
    return quadrant >= 2 ? dd_neg(s) : s;
}

double portmath_sin(double x)
{
    if (isnan(x) || isinf(x)) {
        return NAN;
    }
    return fabs(x) < 0x1p-27 ? x : sine(x, 0).h;
}

double portmath_cos(double x)
{
    if (isnan(x) || isinf(x)) {
        return NAN;
    }
    return sine(x, 1).h;
}

double portmath_tan(double x)
{
    if (isnan(x) || isinf(x)) {
        return NAN;
    }
    return fabs(x) < 0x1p-27 ? x : dd_div(sine(x, 0), sine(x, 1)).h;
}

/* ---- inverse functions ---- */

/* atan of t in [0, 1]: halved three times, then the series. */
static struct dd atan_dd(struct dd t)
{
    struct dd t2, s;
    double tail = 0;

    for (int i = 0; i < 3; i++) {
        t = dd_div(t, dd_add(DD_ONE, dd_sqrt(dd_add(DD_ONE, dd_mul(t, t)))));
    }
    t2 = dd_mul(t, t);
    for (int i = 16; i >= 9; i--) {
        tail = 1.0 / (2 * i + 1) - t2.h * tail;
    }
    s = dd_from(tail);
    for (int i = 8; i >= 0; i--) {
        s = dd_add(inverse_odd[i], dd_neg(dd_mul(t2, s)));
    }
    s = dd_mul(s, t);
    return (struct dd){ 8 * s.h, 8 * s.l };
}

/* The angle of (x, y) for y >= 0; not both 0, of similar size. */
static struct dd angle(struct dd y, struct dd x)
{
    struct dd size = x.h < 0 ? dd_neg(x) : x;
    struct dd a;

    if (y.h <= size.h) {
        a = atan_dd(dd_div(y, size));
    } else {
        a = dd_add(DD_HALF_PI, dd_neg(atan_dd(dd_div(size, y))));
    }
    return x.h < 0 ? dd_add(DD_PI, dd_neg(a)) : a;
}

double portmath_asin(double x)
{
    double a;

    if (!(fabs(x) <= 1)) {
        return NAN;
    }
    if (fabs(x) < 0x1p-27) {
        return x;
    }
    a = angle(dd_from(fabs(x)), dd_sqrt(dd_mul(two_sum(1, -fabs(x)), two_sum(1, fabs(x))))).h;
    return x < 0 ? -a : a;
}

double portmath_acos(double x)
{
    if (!(fabs(x) <= 1)) {
        return NAN;
    }
    if (x == 1) {
        return 0;
    }
    return angle(dd_sqrt(dd_mul(two_sum(1, -x), two_sum(1, x))), dd_from(x)).h;
}

double portmath_atan2(double y, double x)
{
    double sign = signbit(y) ? -1 : 1;
    int ey, ex;
    double my, mx;

    if (isnan(x) || isnan(y)) {
        return NAN;
    }
    if (y == 0) {
        return signbit(x) ? sign * DD_PI.h : y;
    }
    if (x == 0) {
        return sign * DD_HALF_PI.h;
    }
    if (isinf(y)) {
        return sign * (isinf(x) ? (x < 0 ? 3 : 1) * DD_PI.h / 4 : DD_HALF_PI.h);
    }
    if (isinf(x)) {
        return x < 0 ? sign * DD_PI.h : sign * 0.0;
    }
    my = frexp(fabs(y), &ey);
    mx = frexp(x, &ex);
    if (ey - ex > 100) {
        return sign * DD_HALF_PI.h;
    }
    if (ey - ex < -100) {
        return x < 0 ? sign * DD_PI.h : y / x;
    }
    return sign * angle(dd_from(ldexp(my, ey - ex)), dd_from(mx)).h;
}
