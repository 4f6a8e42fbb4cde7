/* Texts of HTTP: see http_text.h. */
#include "net/http_text.h"

#include <string.h>

#define PAUSE_MOST_S 1000000

bool http_host(const char *url, size_t n, const char **host, size_t *host_n, bool *default_port)
{
    size_t scheme = n > 7 && memcmp(url, "http://", 7) == 0    ? 7
                    : n > 8 && memcmp(url, "https://", 8) == 0 ? 8
                                                               : 0;
    const char *own = scheme == 7 ? ":80" : ":443";
    size_t end = scheme;
    size_t colon = 0;

    if (scheme == 0) {
        return false;
    }
    for (; end < n && url[end] != '/' && url[end] != '?' && url[end] != '#'; end++) {
        unsigned char c = (unsigned char)url[end];
        if (c <= 0x20 || c >= 0x7f || c == '@' || c == '\\' || c == '[' || c == '%' ||
            (c == ':' && colon != 0)) {
            return false;
        }
        colon = c == ':' ? end : colon;
    }
    *host = url + scheme;
    *host_n = end - scheme;
    *default_port =
        colon == 0 || (end - colon == strlen(own) && memcmp(url + colon, own, strlen(own)) == 0);
    return *host_n > 0 && colon != scheme;
}

/* n digits; -1: others stand there. */
static int64_t digits(const char *text, size_t n)
{
    int64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

static int index_of(const char *names, size_t width, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(names + i * width, text, width) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Days since 1970-01-01 in the Gregorian calendar; month from 0. Years begin in March here, so that
 * a leap day is the last of its year. */
static int64_t days_of(int64_t year, int month, int64_t day)
{
    int64_t shifted = month < 2 ? year - 1 : year;
    int64_t since_march = (month + 10) % 12;

    return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 +
           (153 * since_march + 2) / 5 + day - 1 - 719468;
}

bool http_date(const char *text, size_t n, int64_t *seconds)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    static const char shape[] = "___, __ ___ ____ __:__:__ GMT";
    int64_t day, year, hour, minute, second;
    int month;

    if (n != sizeof shape - 1) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (shape[i] != '_' && shape[i] != text[i]) {
            return false;
        }
    }
    day = digits(text + 5, 2);
    month = index_of(months, 3, 12, text + 8);
    year = digits(text + 12, 4);
    hour = digits(text + 17, 2);
    minute = digits(text + 20, 2);
    second = digits(text + 23, 2);
    if (index_of(days, 3, 7, text) < 0 || day < 1 || day > 31 || month < 0 || year < 1 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
        return false;
    }
    *seconds = 86400 * days_of(year, month, day) + 3600 * hour + 60 * minute + second;
    return true;
}

uint64_t http_pause_ns(const char *text, size_t n, int64_t now)
{
    int64_t seconds = 0;
    int64_t until;

    while (n > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        n--;
    }
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r' ||
                     text[n - 1] == '\n')) {
        n--;
    }
    if (http_date(text, n, &until)) {
        seconds = until - now;
    } else {
        seconds = digits(text, n < 9 ? n : 9);
        if (n > 9) { /* more than 30 years, or no number at all */
            seconds = digits(text, n < 18 ? n : 18) < 0 ? -1 : PAUSE_MOST_S;
        }
    }
    if (seconds <= 0) {
        return 0;
    }
    return (uint64_t)(seconds < PAUSE_MOST_S ? seconds : PAUSE_MOST_S) * 1000000000u;
}
