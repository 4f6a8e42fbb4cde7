/* Times as texts and numbers: see contract_time.h. */
#include "contract_time.h"

#include <stdio.h>
#include <string.h>

#define DAY 86400

/* Days since 1970 of a date in the Gregorian calendar (Howard Hinnant, chrono-compatible
 * low-level date algorithms: days_from_civil). */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

struct scan {
    const char *at, *end;
};

/* Exactly n digits. */
static bool digits(struct scan *scan, int n, int64_t *value)
{
    *value = 0;
    if (scan->end - scan->at < n) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        char c = *scan->at++;
        if (c < '0' || c > '9') {
            return false;
        }
        *value = *value * 10 + (c - '0');
    }
    return true;
}

static bool one(struct scan *scan, char c)
{
    if (scan->at < scan->end && *scan->at == c) {
        scan->at++;
        return true;
    }
    return false;
}

static bool date(struct scan *scan, int64_t *seconds)
{
    static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int64_t year, month, day;
    bool leap;

    if (!digits(scan, 4, &year) || !one(scan, '-') || !digits(scan, 2, &month) || !one(scan, '-') ||
        !digits(scan, 2, &day)) {
        return false;
    }
    leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > lengths[month - 1] + (month == 2 && leap)) {
        return false;
    }
    *seconds = days_of(year, month, day) * DAY;
    return true;
}

/* HH:MM[:SS[.fraction]] */
static bool clock_time(struct scan *scan, int64_t *seconds, int64_t *micros)
{
    int64_t hour, minute, second = 0;
    int64_t scale = 100000;

    if (!digits(scan, 2, &hour) || !one(scan, ':') || !digits(scan, 2, &minute)) {
        return false;
    }
    if (one(scan, ':') && !digits(scan, 2, &second)) {
        return false;
    }
    if (hour > 23 || minute > 59 || second > 60) {
        return false;
    }
    *seconds += hour * 3600 + minute * 60 + second;
    if (one(scan, '.')) {
        const char *first = scan->at;
        while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
            *micros += (*scan->at++ - '0') * scale;
            scale /= 10;
        }
        return scan->at > first;
    }
    return true;
}

static bool zone(struct scan *scan, int64_t *seconds)
{
    int64_t sign = scan->at < scan->end && *scan->at == '-' ? -1 : 1;
    int64_t hour, minute;

    if (one(scan, 'Z') || scan->at == scan->end) {
        return true;
    }
    if ((!one(scan, '+') && !one(scan, '-')) || !digits(scan, 2, &hour)) {
        return false;
    }
    (void)one(scan, ':');
    if (!digits(scan, 2, &minute) || hour > 23 || minute > 59) {
        return false;
    }
    *seconds -= sign * (hour * 3600 + minute * 60);
    return true;
}

bool contract_time_read(const char *text, size_t n, int64_t *out)
{
    struct scan scan = { text, text + n };
    int64_t seconds = 0;
    int64_t micros = 0;

    if (!date(&scan, &seconds)) {
        return false;
    }
    if ((one(&scan, 'T') || one(&scan, ' ')) &&
        (!clock_time(&scan, &seconds, &micros) || !zone(&scan, &seconds))) {
        return false;
    }
    *out = seconds * 1000000 + micros;
    return scan.at == scan.end;
}

void contract_time_print(int64_t micros, char out[40])
{
    int64_t seconds = micros / 1000000 - (micros % 1000000 < 0);
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int64_t rest = seconds - days * DAY;
    int64_t year = 1970 + days / 366; /* not after it, for times that are read */
    int month = 1;

    year -= days < 0;
    while (days_of(year + 1, 1, 1) <= days) {
        year++;
    }
    while (days_of(year, 1, 1) > days) {
        year--;
    }
    while (month < 12 && days_of(year, month + 1, 1) <= days) {
        month++;
    }
    (void)snprintf(out, 40, "%04lld-%02d-%02dT%02d:%02d:%02dZ", (long long)year, month,
                   (int)(days - days_of(year, month, 1)) + 1, (int)(rest / 3600),
                   (int)(rest / 60 % 60), (int)(rest % 60));
}
