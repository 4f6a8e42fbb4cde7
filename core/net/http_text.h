/* Texts of HTTP (RFC 9110), whoever sends them: the server in a URL, times, how long to wait.
 * Depends on nothing. */
#ifndef SLUICE_NET_HTTP_TEXT_H
#define SLUICE_NET_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of an http or https URL: *host borrowed, host_n bytes, "name" or "name:port" as it stands there;
 * default_port: no port is named, or the scheme's own. False: it is no URL that can be asked. */
bool http_host(const char *url, size_t n, const char **host, size_t *host_n, bool *default_port);

/* "Sun, 06 Nov 1994 08:49:37 GMT" in seconds since 1970. False: it is none. */
bool http_date(const char *text, size_t n, int64_t *seconds);

/* What a Retry-After says, seconds or a date, in nanoseconds; now: the server's clock as far as it
 * is known, in seconds since 1970. 0: nothing that can be read, or no waiting. At most 11 days. */
uint64_t http_pause_ns(const char *text, size_t n, int64_t now);

#endif
