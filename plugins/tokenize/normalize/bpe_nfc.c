/* bpe_nfc.c — see the header. */
#include "normalize/bpe_nfc.h"

#include "bpe_error.h"

int32_t nfc_init(struct nfc *nfc, struct sluice_error *err)
{
    if (normalizer_unicode_init(&nfc->unicode) != 0) {
        return bpe_fail_memory(err, "the normalization table");
    }
    return normalizer_forms_init(&nfc->forms, &nfc->unicode, FORM_NFC, err);
}

void nfc_deinit(struct nfc *nfc)
{
    normalizer_forms_deinit(&nfc->forms);
    normalizer_unicode_deinit(&nfc->unicode);
}

size_t nfc_memory(const struct nfc *nfc)
{
    return (nfc->forms.touch ? 0x110000 / 8 : 0) + normalizer_unicode_memory(&nfc->unicode);
}

int32_t nfc_normalize(const struct nfc *nfc, const uint8_t *text, size_t len, struct nfc_buffer *b,
                      const uint8_t **out, size_t *out_len, struct sluice_error *err)
{
    struct normalizer_sink sink = { .data = (char *)b->bytes, .cap = b->cap };
    struct forms_scratch scratch = { .n = 0 };
    int changed;
    sink_begin(&sink, (const char *)text, len, 0);
    changed = normalizer_forms_run(&nfc->forms, &scratch, &sink);
    forms_scratch_deinit(&scratch);
    *b = (struct nfc_buffer){ .bytes = (uint8_t *)sink.data, .len = sink.len, .cap = sink.cap };
    *out = changed ? b->bytes : text;
    *out_len = changed ? b->len : len;
    return changed < 0 || sink.failed ? bpe_fail_memory(err, "normalized text") : SLUICE_OK;
}
