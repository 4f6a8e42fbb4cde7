/* bpe_nfc.h — Unicode normalization form C for a vocabulary whose file asks for nothing else.
 *
 * Owns: the tables of the form. Depends on: normalizer_forms.h.
 * Promises: what normalizer_forms.h promises of NFC. Text that no rule touches is not copied; bytes
 * that are no UTF-8 stay. */
#ifndef TOKENIZE_BPE_NFC_H
#define TOKENIZE_BPE_NFC_H

#include <stddef.h>
#include <stdint.h>

#include "normalize/normalizer_forms.h"
#include "sluice.h"

struct nfc {
    struct normalizer_unicode unicode;
    struct normalizer_forms forms; /* borrows unicode */
};

/* Caller's memory, which must stay where it is. SLUICE_E_NOMEM; deinit is right after that too, and
 * of zeroed memory. */
int32_t nfc_init(struct nfc *nfc, struct sluice_error *err);
void nfc_deinit(struct nfc *nfc);

/* Bytes that the tables take; 0 of zeroed memory. */
size_t nfc_memory(const struct nfc *nfc);

/* A growing buffer that one thread reuses; zeroed means empty; free(bytes) ends it. */
struct nfc_buffer {
    uint8_t *bytes;
    size_t len, cap;
};

/* Gives the normalized form in *out: `text` itself when nothing changes, else in `buffer`, until
 * its next use. At most 3 * len bytes. SLUICE_E_NOMEM. */
int32_t nfc_normalize(const struct nfc *nfc, const uint8_t *text, size_t len,
                      struct nfc_buffer *buffer, const uint8_t **out, size_t *out_len,
                      struct sluice_error *err);

#endif
