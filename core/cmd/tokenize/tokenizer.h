/* The tokenizer library at run time: its functions, found in libsluice-tokenizer.so beside the core
 * library. The core does not link it, so that a build without the tokenizer's own libraries has all
 * other commands. Depends on sdk/sluice_tokenizer.h, base. */
#ifndef SLUICE_CMD_TOKENIZER_H
#define SLUICE_CMD_TOKENIZER_H

#include "base/error.h"
#include "sluice_tokenizer.h"

/* The functions a command uses, under the names of the header without their prefix. */
#define TOKENIZER_FUNCTIONS(each)                                                                 \
    each(tokenizer_load) each(tokenizer_destroy) each(tokenizer_vocab_size) each(tokenizer_token) \
        each(tokenizer_bound) each(encoder_create) each(encoder_destroy) each(encode)             \
            each(encode_offsets) each(encode_some) each(encoder_count) each(tokenizer_head_open)  \
                each(tokenizer_training_create) each(tokenizer_training_destroy)                  \
                    each(tokenizer_training_add) each(tokenizer_training_write)

#define TOKENIZER_MEMBER(name) __typeof__(&sluice_##name) name;
struct tokenizer_library {
    TOKENIZER_FUNCTIONS(TOKENIZER_MEMBER)
};

/* Fills the table. The library stays loaded. SLUICE_E_CONFIG says where it was looked for. */
sluice_status tokenizer_library_load(struct tokenizer_library *, struct sluice_error *) MUST_USE;

#endif
