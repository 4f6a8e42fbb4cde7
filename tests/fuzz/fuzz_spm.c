/* fuzz_spm.c — libFuzzer target over SentencePiece model files: the walk over protocol buffers, the
 * conversion to merges, and encoding. Whatever loads must encode any bytes within the bound, into
 * ids that decode; errors have a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/bpe.h"
#include "vocab/vocab_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "broken promise: %s\n", what);
        abort();
    }
}

static void encode(struct bpe *bpe, const uint8_t *text, size_t len)
{
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_worker *worker = NULL;
    const size_t cap = bpe_encode_bound(bpe, len);
    uint32_t *ids = malloc((cap + 1) * sizeof(*ids));
    size_t n = 0, i;
    int32_t status;
    check(ids && bpe_worker_create(bpe, 1, &worker, &err) == SLUICE_OK, "memory");
    status = bpe_encode(worker, (const char *)text, len, ids, cap, &n, &err);
    check(status == SLUICE_OK || status == SLUICE_E_DATA, "bpe_encode_bound is enough");
    check(n <= cap, "ids fit");
    for (i = 0; i < n; i++) {
        const char *bytes;
        size_t k;
        check(ids[i] < bpe_vocab_size(bpe), "ids are below the vocabulary's size");
        check(bpe_decode_token(bpe, ids[i], &bytes, &k) == SLUICE_OK, "ids decode");
    }
    bpe_worker_destroy(worker);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t sample[] = " a b  ab\xE2\x96\x81"
                                    "ba <s>\n\xE6\xBC\xA2\xC3\xA9x \xF0\x9F\x98\x80 "
                                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct sluice_error err = { .size = sizeof(err) };
    struct bpe_options options = { .specials =
                                       size % 2 ? BPE_SPECIALS_ALLOW : BPE_SPECIALS_ORDINARY };
    struct proto_field top = proto_message(data, size), field;
    struct bpe *bpe = NULL;
    size_t seen = 0;
    while (proto_next(&top, &field)) {
        check(field.wire != PROTO_BYTES ||
                  (field.bytes >= data && field.len <= (size_t)(data + size - field.bytes)),
              "fields lie in the message");
        seen++;
    }
    check(seen <= size, "each field takes a byte");
    if (size == 0 || data[0] != 0x0A) {
        return 0; /* fuzz_tokenizer has the other kinds */
    }
    if (bpe_load(data, size, &options, &bpe, &err) == SLUICE_OK) {
        encode(bpe, sample, sizeof(sample) - 1);
        encode(bpe, data, size < 4096 ? size : 4096);
    } else {
        check(err.message[0] != '\0', "errors have a message");
    }
    bpe_destroy(bpe);
    return 0;
}
