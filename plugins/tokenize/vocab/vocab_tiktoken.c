/* vocab_tiktoken.c — reads `.tiktoken` files: lines of "base64-of-bytes rank" (openai/tiktoken,
 * load.py). The file holds neither pattern nor special tokens: for OpenAI's four files they are
 * known by the content's hash. Depends on: vocab.h, text_base64.h, libxxhash. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "bpe_error.h"
#include "text/text_base64.h"
#include "vocab/vocab.h"

struct known_special {
    const char *content;
    uint32_t id;
};

static const struct known_special r50k_specials[] = { { "<|endoftext|>", 50256 }, { NULL, 0 } };
static const struct known_special cl100k_specials[] = {
    { "<|endoftext|>", 100257 },  { "<|fim_prefix|>", 100258 },  { "<|fim_middle|>", 100259 },
    { "<|fim_suffix|>", 100260 }, { "<|endofprompt|>", 100276 }, { NULL, 0 }
};
static const struct known_special o200k_specials[] = { { "<|endoftext|>", 199999 },
                                                       { "<|endofprompt|>", 200018 },
                                                       { NULL, 0 } };

/* XXH3-128 of the files whose SHA-256 tiktoken_ext/openai_public.py expects. */
static const struct {
    uint64_t high, low;
    const char *pattern;
    const struct known_special *specials;
} known_files[] = {
    { UINT64_C(0xaa5ef69a716d8a56), UINT64_C(0x3cb2fbe95939bd2d), pretoken_r50k, r50k_specials },
    { UINT64_C(0x1bfe2eadd49e9688), UINT64_C(0xf2d3fa62565e6e17), pretoken_r50k, r50k_specials },
    { UINT64_C(0x7cdb781bb5d59657), UINT64_C(0xaa5d7bf38900641a), pretoken_cl100k,
      cl100k_specials },
    { UINT64_C(0xdee5d4ced09a2db6), UINT64_C(0x72a095e82ca109d6), pretoken_o200k, o200k_specials },
};

static int32_t read_line(struct vocab *v, const char *line, size_t n, size_t number,
                         struct sluice_error *err)
{
    uint8_t bytes[VOCAB_TOKEN_MOST + 3];
    const char *space = memchr(line, ' ', n);
    size_t word = space ? (size_t)(space - line) : n, i;
    uint32_t rank = 0;
    size_t len = 0;
    if (space && word <= TEXT_BASE64_SIZE(VOCAB_TOKEN_MOST)) {
        len = text_base64_decode(line, word, bytes);
        len = len == (size_t)-1 ? 0 : len;
    }
    for (i = word + 1; len > 0 && i < n; i++) {
        if (line[i] < '0' || line[i] > '9' || rank >= VOCAB_IDS_MOST) {
            len = 0;
        } else {
            rank = rank * 10 + (uint32_t)(line[i] - '0');
        }
    }
    if (len == 0 || word + 1 >= n) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "line %zu of the tokenizer file is not 'base64 rank'; expected a .tiktoken "
                        "file, or a tokenizer.json file "
                        "of Hugging Face tokenizers",
                        number);
    }
    return vocab_put(v, rank, bytes, len, VOCAB_BYTES, err);
}

int32_t vocab_read_tiktoken(struct vocab *v, struct pretoken *pretoken, const char *data,
                            size_t size, const struct bpe_options *options,
                            struct sluice_error *err)
{
    const char *p = data, *end = data + size, *pattern = options->pattern;
    const struct known_special *special = NULL;
    size_t number = 0, i;
    XXH128_hash_t hash = XXH3_128bits(data, size);
    int32_t status = SLUICE_OK;
    for (i = 0; i < sizeof(known_files) / sizeof(known_files[0]); i++) {
        if (hash.high64 == known_files[i].high && hash.low64 == known_files[i].low) {
            special = known_files[i].specials;
            pattern = pattern ? pattern : known_files[i].pattern;
        }
    }
    while (p < end && status == SLUICE_OK) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end;
        size_t n = (size_t)(stop - p);
        number++;
        if (n > 0 && p[n - 1] == '\r') {
            n--;
        }
        if (n > 0) {
            status = read_line(v, p, n, number, err);
        }
        p = newline ? newline + 1 : end;
    }
    if (status == SLUICE_OK && !pattern) {
        return bpe_fail(err, SLUICE_E_CONFIG,
                        "the .tiktoken file is none of r50k, p50k, cl100k, o200k_base, so its "
                        "pre-tokenization pattern is unknown; "
                        "give the pattern (tiktoken's pat_str) as an option");
    }
    for (; status == SLUICE_OK && special && special->content; special++) {
        struct vocab_added like = { .special = 1 };
        like.id = special->id;
        status = vocab_put_added(v, special->content, strlen(special->content), &like, err);
    }
    v->whole_piece = 1;
    return status == SLUICE_OK
               ? pretoken_add(pretoken, pattern, REGEX_TIKTOKEN, PRETOKEN_NO_GAPS, 0, 0, err)
               : status;
}
