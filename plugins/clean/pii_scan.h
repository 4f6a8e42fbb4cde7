/* pii_scan.h - finds e-mail addresses and IPv4 addresses as datatrove's two regular expressions do,
 * without a regex engine.
 *
 * Depends on sdk/text (letters outside ASCII decide where a word begins). Promises: linear time, no
 * read outside the text; matches are those of re.finditer: leftmost, not overlapping. */
#ifndef PII_SCAN_H
#define PII_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct pii_match {
    size_t begin, end;
};

/* The first e-mail address at or behind `from`, the end of the match before (0 at first); 0 when
 * there is none. */
int pii_next_email(const char *text, size_t n, size_t from, struct pii_match *match);

/* The same for four numbers up to 255 with dots between, whatever stands around them. */
int pii_next_ipv4(const char *text, size_t n, size_t from, struct pii_match *match);

/* Reads a match of pii_next_ipv4: 0 when Python's ipaddress refuses it (a leading zero). */
int pii_read_ipv4(const char *text, size_t n, uint32_t *address);

/* Whether ipaddress calls it global. recent: the ranges since Python 3.12.4 (IANA's registry of
 * 2024). */
int pii_is_public(uint32_t address, int recent);

#endif
