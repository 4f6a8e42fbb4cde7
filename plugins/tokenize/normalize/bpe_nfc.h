/* bpe_nfc.h — Unicode normalization form C as tokenizers does it.
 *
 * Owns: the table of characters that NFC may touch. Depends on: libutf8proc, pretoken_unicode.h
 * (decoding).
 * Promises: Unicode 9.0's NFC, whatever version libutf8proc has: normalization of assigned
 * characters never changes, and the characters that came later and would compose or reorder are
 * left alone by name. Text that no rule touches is not copied. */
#ifndef TOKENIZE_BPE_NFC_H
#define TOKENIZE_BPE_NFC_H

#include <stddef.h>
#include <stdint.h>

#include "sluice.h"

struct nfc {
    /* a bit a code point: it may combine with what stands before it, or is not its own NFC */
    uint8_t *touch;
};

/* Caller's memory. SLUICE_E_NOMEM. */
int32_t nfc_init(struct nfc *nfc, struct sluice_error *err);
void nfc_deinit(struct nfc *nfc);

/* A growing buffer that one thread reuses; zeroed means empty; free(bytes) ends it. */
struct nfc_buffer {
    uint8_t *bytes;
    size_t len, cap;
};

/* Gives the normalized form in *out: `text` itself when nothing changes, else in `buffer`, until
 * its next use. Bytes that are no UTF-8 stay. At most 3 * len bytes. SLUICE_E_NOMEM. */
int32_t nfc_normalize(const struct nfc *nfc, const uint8_t *text, size_t len,
                      struct nfc_buffer *buffer, const uint8_t **out, size_t *out_len,
                      struct sluice_error *err);

#endif
