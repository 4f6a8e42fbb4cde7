/* minhash_dump.c — the MinHash signatures of texts, for parity_minhash.py.
 *
 * Usage: minhash_dump NGRAM BANDS ROWS SEED xxhash|sha1 64|32 < texts > signatures In: for each
 * text a little-endian u32 length and its bytes. Out: for each text a u32, 1 and the BANDS * ROWS
 * u64 of its signature, or 0 when it has none. Texts are normalised and cut by spacy-en, as the
 * stage minhash_sign does. Exit: 0; 1 with a message on stderr. */
#include "minhash_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const struct sluice_error *err)
{
    fprintf(stderr, "minhash_dump: %s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct minhash_shingling shingling = { .over = "text", .words = 2, .normalise = 1 };
    struct minhash_words words = { 0 };
    struct minhash *minhash = NULL;
    struct minhash_scratch *scratch = NULL;
    struct sluice_error err = { .size = sizeof err };
    char *text = NULL;
    uint64_t *signature;
    uint32_t size;
    if (argc != 7) {
        fprintf(stderr, "usage: minhash_dump NGRAM BANDS ROWS SEED xxhash|sha1 64|32\n");
        return 1;
    }
    shingling.ngram = atoi(argv[1]);
    shingling.hash = strcmp(argv[5], "sha1") == 0;
    shingling.bits = strcmp(argv[6], "32") == 0;
    if (minhash_shingling_create(&shingling, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]),
                                 (uint32_t)atoi(argv[4]), &minhash, &err) != SLUICE_OK ||
        minhash_scratch_create(&scratch, &err) != SLUICE_OK) {
        return failed(&err);
    }
    signature = malloc(8 * minhash_values(minhash));
    while (signature != NULL && fread(&size, sizeof size, 1, stdin) == 1) {
        const char *at;
        size_t n = size;
        bool has = false;
        uint32_t flag;
        free(text);
        text = malloc((size_t)size + SLUICE_PADDING);
        if (text == NULL || (size > 0 && fread(text, size, 1, stdin) != 1)) {
            fprintf(stderr, "minhash_dump: the input is cut off\n");
            return 1;
        }
        at = text;
        if (minhash_words_cut(&words, &shingling, &at, &n, &err) != SLUICE_OK ||
            (n > 0 && minhash_sign(minhash, scratch, at, n, words.words.data, words.words.count,
                                   signature, &has, &err) != SLUICE_OK)) {
            return failed(&err);
        }
        flag = has;
        fwrite(&flag, sizeof flag, 1, stdout);
        if (has) {
            fwrite(signature, 8, minhash_values(minhash), stdout);
        }
    }
    free(text);
    free(signature);
    minhash_words_deinit(&words);
    minhash_scratch_destroy(scratch);
    minhash_destroy(minhash);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
