/* The files of a MinHash index, version 1. Numbers are little-endian.
 *
 *   head      8 bytes "SLMHKEYS" or "SLMHDOCS"; u32 version (1); u32 n: bytes of the parameters;
 *             the parameters ("over=text ngram=5 ..."), zeros up to a multiple of 8
 *   .keys     entries of 24 bytes, ascending by key and without repetition: 16 bytes of band key,
 *             u64 reference of the document that stands for all that have it
 *   .docs     records, ascending by reference: u64 reference, u64 rank, u32 bytes of the id, u32
 *             bytes of the signature, both, zeros up to a multiple of 4, u32 XXH32 of all before,
 *             zeros up to a multiple of 8; then the directory: u64 reference, u64 offset of the
 *             first of every 64 records
 *   foot      40 bytes: u64 entries or records, u64 offset of what is checked (the entries, the
 *             directory), u64 its XXH3, u64 XXH3 of the head, 8 bytes "SLMHFOOT"
 *
 * A reference is the XXH3 of a document's id with the top bit set, which no position has: two
 * documents are taken for one with probability 2^-63 a pair, and then the wrong one is named.
 *
 * Owns nothing; views borrow the bytes they are made from. Depends on sluice_arrays.h and xxHash.
 * Promises: any bytes are memory-safe input, and damage is found before it is believed. */
#ifndef MINHASH_FORMAT_H
#define MINHASH_FORMAT_H

#include <sluice_arrays.h>
#include <stdbool.h>

#define MINHASH_FORMAT_VERSION 1u
#define MINHASH_ENTRY 24u
#define MINHASH_FOOT 40u
#define MINHASH_EVERY 64u /* records a place of the directory */

static inline bool minhash_is_reference(uint64_t node)
{
    return node >> 63 != 0;
}

/* The reference of a document's id. */
uint64_t minhash_reference(const char *id, size_t n);

/* Appends the head of a file; false when memory is short. */
bool minhash_head_add(struct sluice_bytes *out, bool docs, const char *parameters);
/* Appends a record of a .docs file. */
bool minhash_record_add(struct sluice_bytes *out, uint64_t reference, uint64_t rank, const char *id,
                        size_t id_size, const char *sig, size_t sig_size);
/* Appends the foot. */
bool minhash_foot_add(struct sluice_bytes *out, uint64_t count, uint64_t offset, uint64_t hash,
                      uint64_t head_hash);
/* XXH3 of a head as minhash_head_add wrote it. */
uint64_t minhash_hash(const void *data, size_t n);

/* A file as bytes. What is checked by its own hash (entries, directory) is not looked at until
 * minhash_file_check. */
struct minhash_file {
    const unsigned char *data;
    uint64_t size;
    bool docs;
    const char *parameters; /* not NUL-terminated */
    uint32_t n_parameters;
    uint64_t begin;   /* of entries or records */
    uint64_t count;   /* entries or records */
    uint64_t checked; /* offset of what is checked, up to the foot */
    uint64_t hash;    /* of it */
};

/* Reads head and foot. SLUICE_E_DATA says what is wrong, without the file's name. */
sluice_status minhash_file_parse(const void *data, uint64_t size, struct minhash_file *out,
                                 struct sluice_error *err);
/* Compares the hash of entries or directory. */
sluice_status minhash_file_check(const struct minhash_file *file, struct sluice_error *err);

/* The key of entry i < count. */
static inline const unsigned char *minhash_entry(const struct minhash_file *file, uint64_t i)
{
    return file->data + file->begin + MINHASH_ENTRY * i;
}

/* The first entry from `from` on whose key is not below key. */
uint64_t minhash_entry_seek(const struct minhash_file *file, uint64_t from, const void *key);

struct minhash_document {
    const char *id;
    uint32_t id_size;
    const char *sig;
    uint32_t sig_size;
    uint64_t rank;
};

/* Looks a reference up in a .docs file. SLUICE_E_DATA: a record on the way is damaged. */
sluice_status minhash_file_document(const struct minhash_file *file, uint64_t reference,
                                    struct minhash_document *out, bool *found,
                                    struct sluice_error *err);

#endif
