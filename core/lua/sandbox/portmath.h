/* exp, log, pow and the trigonometric functions with the same bits on every machine: libm's differ
 * between processors with and without fused multiply-add. Computed in double-double arithmetic
 * (Dekker 1971, Knuth TAOCP 4.2.2) from additions, multiplications, divisions and square roots,
 * which IEEE 754 fixes; the result is within one unit in the last place, and where it can be
 * represented it is exact. Special cases follow C99's annex F. Depends on libc's frexp, ldexp,
 * sqrt, trunc, which are exact. Must be compiled without contraction (-ffp-contract=off). */
#ifndef SLUICE_LUA_PORTMATH_H
#define SLUICE_LUA_PORTMATH_H

double portmath_exp(double x);
double portmath_log(double x);
double portmath_log2(double x);
double portmath_log10(double x);
double portmath_pow(double x, double y);
double portmath_sin(double x);
double portmath_cos(double x);
double portmath_tan(double x);
double portmath_asin(double x);
double portmath_acos(double x);
double portmath_atan2(double y, double x); /* atan(y / x) in the right quadrant */

#endif
