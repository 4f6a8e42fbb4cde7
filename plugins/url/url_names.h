/* url_names.h - the names that hosts are known by: the registered domain, and the whole name.
 * Depends on url_suffix.h. */
#ifndef URL_NAMES_H
#define URL_NAMES_H

#include "url_suffix.h"

/* Where the registered domain begins in a host of n bytes; n when it has none (an address, a bare
 * suffix). */
size_t url_registered(const struct url_parts *parts, size_t n);

/* The parts that are there, with dots between, or nothing where there is no registered domain nor a
 * private suffix (tldextract's fqdn). *out is cleared first. */
sluice_status url_fqdn(const char *host, const struct url_parts *parts, struct text_buffer *out,
                       struct sluice_error *err);

#endif
