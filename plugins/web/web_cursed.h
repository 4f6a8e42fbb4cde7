/* web_cursed.h - MADLAD-400's list of strings that make a sentence questionable: literals, and
 * regular expressions at its end.
 *
 * Depends on PCRE2. What open made is read-only; a matcher belongs to one worker. */
#ifndef WEB_CURSED_H
#define WEB_CURSED_H

#include "sluice.h"
#include "text/text.h"

struct web_cursed;
struct web_cursed_matcher;

/* Reads the lines of data[0 .. size), which it borrows until close: the last n_regexes of them are
 * regular expressions, the others literals; empty lines are refused. SLUICE_E_CONFIG names the
 * line. Gives *out. */
TEXT_MUST_CHECK int32_t web_cursed_open(const char *data, size_t size, size_t n_regexes,
                                        struct web_cursed **out, struct sluice_error *err);
void web_cursed_close(struct web_cursed *);

TEXT_MUST_CHECK int32_t web_cursed_matcher_open(const struct web_cursed *,
                                                struct web_cursed_matcher **out,
                                                struct sluice_error *err);
void web_cursed_matcher_close(struct web_cursed_matcher *);

/* Sets hits[i] for each sentence that holds a literal or matches an expression. SLUICE_E_DATA when
 * an expression gives up. */
TEXT_MUST_CHECK int32_t web_cursed_find(const struct web_cursed *, struct web_cursed_matcher *,
                                        const char *text, size_t len,
                                        const struct text_span *sentences, size_t n, bool *hits,
                                        struct sluice_error *err);

#endif
