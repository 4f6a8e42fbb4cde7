/* url_suffix.h - the host of a URL, and its registered domain by a public suffix list, as
 * tldextract 5 sees them.
 *
 * Depends on sdk/text. A suffix list is text in the format of publicsuffix.org. Read-only once
 * built. */
#ifndef URL_SUFFIX_H
#define URL_SUFFIX_H

#include <sluice.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text_buffer.h"

struct url_suffixes; /* opaque */

/* Borrows the list for the call. include_private: also the suffixes below "BEGIN PRIVATE DOMAINS"
 * (github.io), which are no registry's. SLUICE_E_CONFIG: not UTF-8, or no rule in it. */
sluice_status url_suffixes_build(const char *list, size_t n, int include_private,
                                 struct url_suffixes **out, struct sluice_error *err);
void url_suffixes_destroy(struct url_suffixes *suffixes);
size_t url_suffixes_count(const struct url_suffixes *suffixes); /* rules */

/* The host of a URL in a lenient reading (no scheme needed): without user, port, dots at its end;
 * ideographic full stops become dots. *out is cleared first. */
sluice_status url_host(const char *url, size_t n, struct text_buffer *out,
                       struct sluice_error *err);

/* What a host is made of: byte ranges of it, empty ones where there is no such part. */
struct url_parts {
    struct text_span subdomain, domain, suffix;
    int is_private; /* the suffix is a private one */
};

/* scratch is overwritten. */
sluice_status url_split(const struct url_suffixes *suffixes, const char *host, size_t n,
                        struct text_buffer *scratch, struct url_parts *parts,
                        struct sluice_error *err);

/* RFC 3492 with "xn--" before it, of one label; *out is cleared first. SLUICE_E_DATA: a label too
 * long to be encoded. */
sluice_status url_punycode(const char *label, size_t n, struct text_buffer *out,
                           struct sluice_error *err);

#endif
