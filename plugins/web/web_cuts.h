/* web_cuts.h - phrases that are cut out of lines ("items in cart", "Read more...", "Sign-in"), as
 * the peers' regular expressions find them.
 *
 * Depends on sdk/text, web_words.h (the peer). A phrase is literal but for `.`, which stands for
 * any character, as in the peers, whose lists are regular expressions. dclm ignores case (with
 * Python's foldings of the letters i, s and k), datamap does not. */
#ifndef WEB_CUTS_H
#define WEB_CUTS_H

#include "sluice.h"
#include "web_words.h"

enum web_place { WEB_ANYWHERE, WEB_SUFFIX, WEB_PREFIX };

struct web_cut {
    uint32_t *elements; /* code points; WEB_CUT_ANY for `.` */
    size_t count;
};
#define WEB_CUT_ANY 0xFFFFFFFFu

struct web_cuts {
    struct web_cut *items;
    size_t count;
    enum web_place place;
    enum web_peer peer;
    bool begins[256]; /* bytes that a phrase can begin with */
    bool second[256]; /* bytes that can follow a first one of ASCII */
};

/* Reads the phrases of a list option. SLUICE_E_CONFIG (with `option`) for one that is empty, begins
 * with `.` or white space, holds another character that means something in a regular expression,
 * or, for dclm, is not ASCII. */
TEXT_MUST_CHECK int32_t web_cuts_open(struct web_cuts *, const struct sluice_list *list,
                                      const char *option, enum web_place place, enum web_peer peer,
                                      struct sluice_error *err);
void web_cuts_close(struct web_cuts *);

/* The first match in text[from .. len), with the white space that belongs to it. False when there
 * is none. */
bool web_cuts_find(const struct web_cuts *, const char *text, size_t len, size_t from,
                   struct text_span *match);

#endif
