/* dolma_pii.h - e-mail addresses, phone numbers and IPv4 addresses as the regular expressions of
 * Dolma's PII taggers match them.
 *
 * Depends on dolma_doc.h, libpcre2-8. Hand-written scanners give the matches of Python's re from
 * left to right; each looks only around an @, a white space before a digit, or a dot before one.
 * PCRE2 is used for one rare question alone (dolma_pii_url). */
#ifndef DOLMA_PII_H
#define DOLMA_PII_H

#include "dolma_doc.h"

struct dolma_pii_span {
    uint32_t begin, end; /* bytes of the whole match */
    uint32_t local;      /* e-mails: where the part before the @ begins */
    uint32_t at;         /* e-mails: the @ */
    uint32_t domain_end; /* e-mails */
};

struct dolma_pii {
    struct dolma_pii_span *spans;
    size_t n, capacity;
};

void dolma_pii_deinit(struct dolma_pii *pii);

/* The matches within part of the text replace those of the last call. */
TEXT_MUST_CHECK int32_t dolma_pii_emails(struct dolma_pii *pii, const struct dolma_doc *doc,
                                         struct text_span part, struct sluice_error *err);
TEXT_MUST_CHECK int32_t dolma_pii_phones(struct dolma_pii *pii, const struct dolma_doc *doc,
                                         struct text_span part, struct sluice_error *err);
TEXT_MUST_CHECK int32_t dolma_pii_addresses(struct dolma_pii *pii, const struct dolma_doc *doc,
                                            struct text_span part, struct sluice_error *err);

/* Whether Dolma's URL expression, which begins with a backspace character (a \b that was meant as a
 * word boundary), is in the text. */
TEXT_MUST_CHECK int32_t dolma_pii_url(const char *text, size_t n, bool *found,
                                      struct sluice_error *err);

#endif
