/* vocab.h — a tokenizer file as it was read, before the merge tables are built.
 *
 * Owns: the tokens' bytes, merges and special tokens of one file. Depends on: pretoken.h (the
 * file's splits go there), bpe.h (options), bpe_error.h, libjansson. Promises: whatever comes out
 * is consistent (ids in range and distinct; where bytes have no tokens, `lacking` says so); what
 * the engine cannot honour has been refused by name. */
#ifndef TOKENIZE_VOCAB_H
#define TOKENIZE_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "model/bpe.h"
#include "split/pretoken.h"

#define VOCAB_NONE UINT32_MAX
#define VOCAB_SPACE "\xE2\x96\x81" /* U+2581, the visible space of SentencePiece */
#define VOCAB_IDS_MOST (1u << 21)  /* ids fit 21 bits, so that a merge fits one 64-bit word */
#define VOCAB_ADDED_MOST 16384u    /* added tokens: bounds another */
#define VOCAB_TOKEN_MOST 1024u     /* bytes of a token: bounds the quadratic part of loading */

/* What makes ids of a piece. */
enum vocab_model {
    VOCAB_MODEL_BYTES,    /* byte pairs over bytes */
    VOCAB_MODEL_CHARS,    /* byte pairs over characters: charbpe.h */
    VOCAB_MODEL_UNIGRAM,  /* unigram.h */
    VOCAB_MODEL_WORDPIECE /* wordpiece.h */
};

struct normalizer;
struct splitter;
struct unigram;
struct wordpiece;

/* Where U+2581 and the space become one character, which inside the engine, in texts and in tokens,
 * is the space: in the normalizer's Replace or the pre-tokenizer Metaspace. */
enum vocab_meta { VOCAB_META_NONE, VOCAB_META_NORMALIZER, VOCAB_META_SPLIT };

/* Where Metaspace puts a space in front of what does not begin with one. */
enum vocab_prepend { VOCAB_PREPEND_NEVER, VOCAB_PREPEND_FIRST, VOCAB_PREPEND_ALWAYS };

enum vocab_kind {
    VOCAB_ABSENT, /* no ordinary token has this id */
    VOCAB_BYTES,  /* a byte string, which merges or whole pieces can give */
    VOCAB_OPAQUE, /* an entry outside the byte alphabet, which no text can give */
    VOCAB_BYTE    /* the byte of a character that has no token (`<0x0A>`) */
};

struct vocab_token {
    size_t at;
    uint32_t len;
    uint32_t kind;
};

struct vocab_decoded {
    size_t at; /* in `bytes` */
    uint32_t len, changed;
};

/* The token of a character at a place of its piece: `place` is VOCAB_INSIDE for any but the first,
 * and VOCAB_LAST for the last. */
#define VOCAB_INSIDE 1u
#define VOCAB_LAST 2u
struct vocab_lone {
    uint32_t cp, place, id;
};

struct vocab_merge {
    uint32_t a, b, id; /* ids; of VOCAB_MODEL_CHARS also CHARBPE_RAW + code point */
    uint32_t rank;     /* the index in the array, but for SentencePiece's equal scores */
};

/* A special or added token. */
struct vocab_added {
    size_t at;
    uint64_t hash; /* of the content: two with different hashes are different */
    uint32_t len, id;
    uint8_t special, normalized, single_word, lstrip, rstrip;
    uint8_t as_is; /* what is looked for is the content, without normalizing it first */
};

struct vocab {
    uint8_t *bytes; /* the arena that `at` points into */
    size_t n_bytes, cap_bytes;
    struct vocab_token *tokens; /* by id */
    uint32_t n_tokens, cap_tokens;
    enum vocab_model model;
    uint32_t byte_id[256]; /* VOCAB_MODEL_BYTES; VOCAB_NONE where there is none */
    uint32_t lacking;      /* of these */
    /* VOCAB_MODEL_CHARS; VOCAB_NONE where there is none */
    uint32_t unk, fallback[256];
    int byte_fallback, fuse_unk;
    int late_fallback; /* merging comes before byte_fallback and unk */
    /* Files with a continuing_subword_prefix or an end_of_word_suffix: the tokens of characters;
     * else NULL. `alphabet`: a character is a byte, the pre-tokenizer is in `pretoken`. */
    struct vocab_lone *lone;
    size_t n_lone;
    int alphabet;
    enum vocab_meta meta;
    /* VOCAB_META_NORMALIZER: a space in front of each part, whatever it begins with */
    int meta_front;
    enum vocab_prepend meta_prepend; /* VOCAB_META_SPLIT */
    int meta_cut;                    /* a piece ends in front of each space */
    /* What the members above can't say, as it is in the file; each may be NULL. Owned. */
    struct normalizer *normalizer;
    struct splitter *splitter; /* NULL: the text is one piece */
    struct unigram *unigram;
    struct wordpiece *wordpiece;
    /* by id, what a token stands for where that is not its bytes; NULL: no such token */
    struct vocab_decoded *decoded;
    /* tokenizer.json; NULL: a pair merges when its bytes are a token, the lowest id first */
    struct vocab_merge *merges;
    size_t n_merges;
    struct vocab_added *added; /* sorted by id once loaded */
    size_t n_added, cap_added;
    /* A piece that is a token is that token, whatever merging gives (tiktoken, ignore_merges). */
    int whole_piece;
    int nfc;           /* normalize to NFC */
    int prefix_space;  /* put a space in front of a part that does not begin with one */
    uint32_t bos, eos; /* VOCAB_NONE where nothing says so */
    char bos_name[256], eos_name[256];
};

/* Fills caller's memory (deinit it even after an error) and adds the splits to `pretoken`. */
int32_t vocab_load(struct vocab *vocab, struct pretoken *pretoken, const void *data, size_t size,
                   const struct bpe_options *options, struct sluice_error *err);
void vocab_deinit(struct vocab *vocab);

/* For the readers. */
int32_t vocab_read_tiktoken(struct vocab *vocab, struct pretoken *pretoken, const char *data,
                            size_t size, const struct bpe_options *options,
                            struct sluice_error *err);
int32_t vocab_read_json(struct vocab *vocab, struct pretoken *pretoken, const char *data,
                        size_t size, const struct bpe_options *options, struct sluice_error *err);
int32_t vocab_read_spm(struct vocab *vocab, const void *data, size_t size,
                       const struct bpe_options *options, struct sluice_error *err);
/* Whether the bytes are a SentencePiece model by their form. */
int vocab_is_spm(const void *data, size_t size);

/* 1 for a string of the form `<0xAF>`, the byte to *b. */
int vocab_is_byte(const char *text, size_t len, unsigned *b);

/* Adds token `id`. SLUICE_E_CONFIG when the id is taken or too high, the token too long. */
int32_t vocab_put(struct vocab *vocab, uint32_t id, const void *bytes, size_t len,
                  enum vocab_kind kind, struct sluice_error *err);

/* Makes tokens decode without `prefix` in front, `suffix` behind ("": none), U+2581 where
 * `spaces`. */
int32_t vocab_decode_spaces(struct vocab *vocab, int spaces, const char *prefix, const char *suffix,
                            struct sluice_error *err);

/* Refuses `n` added tokens when they are more than VOCAB_ADDED_MOST. */
int32_t vocab_check_added(size_t n, struct sluice_error *err);

/* Adds a special or added token; `like` holds its flags and id. */
int32_t vocab_put_added(struct vocab *vocab, const char *content, size_t len,
                        const struct vocab_added *like, struct sluice_error *err);

#endif
