/* Dates and times that expressions are compared with, as the whole numbers of their columns. */
#include "where/whereInt.h"

#define DAY_SECONDS INT64_C(86400)

struct reading {
    const char *at, *end;
};

/* Exactly n digits. */
static bool digits_of(struct reading *from, int n, int64_t *out)
{
    *out = 0;
    for (; n > 0; n--, from->at++) {
        if (from->at == from->end || *from->at < '0' || *from->at > '9') {
            return false;
        }
        *out = *out * 10 + (*from->at - '0');
    }
    return true;
}

static bool sign_of(struct reading *from, char sign)
{
    if (from->at == from->end || *from->at != sign) {
        return false;
    }
    from->at++;
    return true;
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar. */
static bool date_of(struct reading *from, int64_t *days)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t last;
    bool leap;

    if (!digits_of(from, 4, &year) || !sign_of(from, '-') || !digits_of(from, 2, &month) ||
        !sign_of(from, '-') || !digits_of(from, 2, &day) || month < 1 || month > 12) {
        return false;
    }
    leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    last = lengths[month - 1] + (month == 2 && leap);
    if (day < 1 || day > last) {
        return false;
    }
    /* Whole years before it, from year 0; 719528 days of them lie before 1970. */
    *days = 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400 - 719528 + day - 1;
    for (int64_t k = 0; k + 1 < month; k++) {
        *days += lengths[k] + (k == 1 && leap);
    }
    return true;
}

/* Seconds of the day, and billionths; finer ones set *above. */
static bool clock_of(struct reading *from, int64_t *seconds, int64_t *nanos, bool *above)
{
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t unit = 100000000;

    *nanos = 0;
    if (!digits_of(from, 2, &hour) || !sign_of(from, ':') || !digits_of(from, 2, &minute) ||
        hour > 23 || minute > 59) {
        return false;
    }
    second = 0;
    if (sign_of(from, ':')) {
        if (!digits_of(from, 2, &second) || second > 59) {
            return false;
        }
        if (sign_of(from, '.')) {
            int64_t digit;
            if (from->at == from->end) {
                return false;
            }
            while (from->at < from->end && *from->at >= '0' && *from->at <= '9') {
                digit = *from->at++ - '0';
                *nanos += digit * unit;
                *above = *above || (unit == 0 && digit > 0);
                unit /= 10;
            }
        }
    }
    *seconds = hour * 3600 + minute * 60 + second;
    return true;
}

/* What int64 does not hold lies beyond all that it holds. */
static void number_of(int64_t seconds, int64_t nanos, int digits, bool above,
                      struct where_value *out)
{
    static const int64_t units[] = { 1, 1000, 1000000, 1000000000 };
    const int64_t unit = units[digits / 3];
    const int64_t part = INT64_C(1000000000) / unit; /* nanoseconds of one */
    int64_t value;

    if (__builtin_mul_overflow(seconds, unit, &value) ||
        __builtin_add_overflow(value, nanos / part, &value)) {
        *out = (struct where_value){ .kind = WHERE_REAL };
        out->as.real = seconds < 0 ? -1e19 : 1e19;
        return;
    }
    *out = (struct where_value){ .kind = WHERE_INT, .above = above || nanos % part > 0 };
    out->as.whole = value;
}

bool where_date(const char *text, size_t n, int digits, struct where_value *out)
{
    struct reading from = { text, text + n };
    int64_t days;

    if (!date_of(&from, &days) || from.at != from.end) {
        return false;
    }
    if (digits < 0) {
        *out = (struct where_value){ .kind = WHERE_INT };
        out->as.whole = days;
    } else {
        number_of(days * DAY_SECONDS, 0, digits, false, out);
    }
    return true;
}

bool where_clock(const char *text, size_t n, int digits, struct where_value *out)
{
    struct reading from = { text, text + n };
    int64_t seconds;
    int64_t nanos;
    bool above = false;

    if (!clock_of(&from, &seconds, &nanos, &above) || from.at != from.end) {
        return false;
    }
    number_of(seconds, nanos, digits, above, out);
    return true;
}

bool where_stamp(const char *text, size_t n, int digits, struct where_value *out)
{
    struct reading from = { text, text + n };
    int64_t days;
    int64_t seconds = 0;
    int64_t nanos = 0;
    bool above = false;

    if (!date_of(&from, &days)) {
        return false;
    }
    if (from.at < from.end) {
        if ((!sign_of(&from, 'T') && !sign_of(&from, ' ')) ||
            !clock_of(&from, &seconds, &nanos, &above)) {
            return false;
        }
        (void)sign_of(&from, 'Z');
    }
    if (from.at != from.end) {
        return false;
    }
    number_of(days * DAY_SECONDS + seconds, nanos, digits, above, out);
    return true;
}
