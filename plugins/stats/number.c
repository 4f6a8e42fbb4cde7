/* number.c - Python's texts of numbers (number.h). */
#include "number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void number_int(double value, char out[NUMBER_ROOM])
{
    (void)snprintf(out, NUMBER_ROOM, "%.0f", value + 0.0);
}

/* Python's form of "d.ddde±dd": a plain decimal for exponents from -4 to 15, else an exponent of at
 * least two digits. */
void number_float(double value, char out[NUMBER_ROOM])
{
    char text[NUMBER_ROOM];
    char digits[NUMBER_ROOM];
    int n = 0;
    int exponent;
    int precision = fabs(value) < 1e-290 ? 0 : 14; /* subnormal numbers have fewer digits */
    const char *e;

    do {
        (void)snprintf(text, sizeof text, "%.*e", precision++, value);
    } while (precision < 17 && strtod(text, NULL) != value);
    e = strchr(text, 'e');
    exponent = (int)strtol(e + 1, NULL, 10);
    for (const char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9') {
            digits[n++] = *p;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    digits[n] = '\0';
    if (signbit(value)) {
        *out++ = '-';
    }
    if (exponent < -4 || exponent >= 16) {
        (void)snprintf(out, NUMBER_ROOM - 1, "%c%s%.20se%c%02d", digits[0], n > 1 ? "." : "",
                       digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        (void)snprintf(out, NUMBER_ROOM - 1, "0.%.*s%.20s", -exponent - 1, "000", digits);
    } else if (n <= exponent + 1) {
        (void)snprintf(out, NUMBER_ROOM - 1, "%.20s%.*s.0", digits, exponent + 1 - n,
                       "0000000000000000");
    } else {
        (void)snprintf(out, NUMBER_ROOM - 1, "%.*s.%.20s", exponent + 1, digits,
                       digits + exponent + 1);
    }
}

void number_bin(double value, bool whole, int digits, char out[NUMBER_ROOM])
{
    char text[400];

    if (whole) {
        number_int(value, out);
        return;
    }
    /* The C library rounds the exact value, as Python does. */
    (void)snprintf(text, sizeof text, "%.*f", digits, value);
    number_float(strtod(text, NULL), out);
}
