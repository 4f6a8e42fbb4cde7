/* Ranks of documents in a cluster; see minhash_rank.h. */
#include "minhash_rank.h"

#include <string.h>

uint64_t minhash_rank_float(double value)
{
    uint64_t bits;
    if (value != value) {
        return MINHASH_RANK_LAST;
    }
    value = value + 0.0; /* -0.0 becomes 0.0 */
    memcpy(&bits, &value, sizeof(bits));
    return bits >> 63 != 0 ? bits : ~(bits | (uint64_t)1 << 63);
}

uint64_t minhash_rank_signed(int64_t value)
{
    return ~((uint64_t)value ^ (uint64_t)1 << 63);
}

uint64_t minhash_rank_unsigned(uint64_t value)
{
    return ~value;
}

struct scan {
    const char *at;
    const char *end;
};

/* Exactly `digits` decimal digits. */
static bool scan_number(struct scan *scan, int digits, int *out)
{
    int value = 0;
    if (scan->end - scan->at < digits) {
        return false;
    }
    for (int i = 0; i < digits; i++) {
        char c = *scan->at++;
        if (c < '0' || c > '9') {
            return false;
        }
        value = 10 * value + (c - '0');
    }
    *out = value;
    return true;
}

static bool scan_char(struct scan *scan, char c)
{
    bool found = scan->at < scan->end && *scan->at == c;
    scan->at += found;
    return found;
}

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar (Howard Hinnant's
 * days_from_civil, with years that begin in March). */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "Z", "+hh:mm", "+hhmm" or nothing: minutes east of UTC. */
static bool scan_zone(struct scan *scan, int *minutes)
{
    int hour;
    int minute;
    int sign;
    *minutes = 0;
    if (scan->at == scan->end || scan_char(scan, 'Z')) {
        return true;
    }
    sign = *scan->at == '-' ? -1 : 1;
    if (!scan_char(scan, '+') && !scan_char(scan, '-')) {
        return false;
    }
    if (!scan_number(scan, 2, &hour)) {
        return false;
    }
    scan_char(scan, ':');
    if (!scan_number(scan, 2, &minute) || hour > 23 || minute > 59) {
        return false;
    }
    *minutes = sign * (60 * hour + minute);
    return true;
}

bool minhash_date(const char *text, size_t n, int64_t *micros)
{
    struct scan scan = { text, text + n };
    int year;
    int month;
    int day;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int zone = 0;
    int64_t fraction = 0;
    if (!scan_number(&scan, 4, &year)) {
        return false;
    }
    bool dashes = scan_char(&scan, '-');
    if (!scan_number(&scan, 2, &month) || scan_char(&scan, '-') != dashes ||
        !scan_number(&scan, 2, &day) || month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    if (!dashes && scan.at < scan.end) {
        if (!scan_number(&scan, 2, &hour) || !scan_number(&scan, 2, &minute) ||
            !scan_number(&scan, 2, &second)) {
            return false;
        }
    } else if (dashes && (scan_char(&scan, 'T') || scan_char(&scan, ' '))) {
        if (!scan_number(&scan, 2, &hour) || !scan_char(&scan, ':') ||
            !scan_number(&scan, 2, &minute) ||
            (scan_char(&scan, ':') && !scan_number(&scan, 2, &second))) {
            return false;
        }
        if (scan_char(&scan, '.')) {
            int64_t unit = 100000;
            const char *first = scan.at;
            for (; scan.at < scan.end && *scan.at >= '0' && *scan.at <= '9'; scan.at++) {
                fraction += unit * (*scan.at - '0');
                unit /= 10;
            }
            if (scan.at == first) {
                return false;
            }
        }
        if (!scan_zone(&scan, &zone)) {
            return false;
        }
    }
    if (scan.at != scan.end || hour > 23 || minute > 59 || second > 60) {
        return false;
    }
    *micros =
        ((days_of(year, month, day) * 1440 + 60 * hour + minute - zone) * 60 + second) * 1000000 +
        fraction;
    return true;
}
