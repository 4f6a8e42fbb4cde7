/* normalizer_forms.h — Unicode normalization forms as tokenizers does them.
 *
 * Owns: the table of characters that a form may touch. Depends on: libutf8proc,
 * normalizer_sink.h, normalizer_unicode.h.
 * Promises: Unicode 9.0's NFC, NFD, NFKC and NFKD, whatever version libutf8proc has: the
 * normalization of assigned characters never changes, and those that came later are left alone.
 * Bytes that are no UTF-8 stay. Linear time; memory O(longest run of combining characters). */
#ifndef TOKENIZE_NORMALIZER_FORMS_H
#define TOKENIZE_NORMALIZER_FORMS_H

#include "normalize/normalizer_sink.h"
#include "sluice.h"

enum normalizer_form { FORM_NFC, FORM_NFD, FORM_NFKC, FORM_NFKD };

struct normalizer_forms {
    const struct normalizer_unicode *unicode; /* borrowed */
    enum normalizer_form form;
    uint8_t *touch; /* a bit a code point: the form changes it, or joins it to what is before it */
    /* by lead: the bytes of a character none of whose kind is touched; 0 where one may be */
    uint8_t clean[256];
};

struct form_char {
    uint32_t cp;
    int32_t change;
    uint32_t class;
};

/* Scratch of one thread: zeroed before the first use. */
struct forms_scratch {
    struct form_char *pending; /* since the last starter, not yet in order */
    size_t n, cap;
    struct form_char *behind; /* composed: what follows the composee and did not compose */
    size_t n_behind, cap_behind;
};
void forms_scratch_deinit(struct forms_scratch *scratch);

/* Caller's memory. SLUICE_E_NOMEM. */
int32_t normalizer_forms_init(struct normalizer_forms *forms,
                              const struct normalizer_unicode *unicode, enum normalizer_form form,
                              struct sluice_error *err);
void normalizer_forms_deinit(struct normalizer_forms *forms);

/* Writes the form of the text that `sink` has begun with. Gives 0 and writes nothing when the text
 * is its own form, else 1; -1 without memory. */
int normalizer_forms_run(const struct normalizer_forms *forms, struct forms_scratch *scratch,
                         struct normalizer_sink *sink);

#endif
