/* count_tokens - the tokenizer as a C library: how many tokens each line of standard input has.
 *
 *     cc count_tokens.c $(pkg-config --cflags --libs sluice-tokenizer) -o count_tokens
 *     ./count_tokens cl100k_base.tiktoken <text */
#include <sluice_tokenizer.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct sluice_error err = { .size = sizeof err };
    struct sluice_tokenizer *tokenizer = NULL;
    struct sluice_encoder *encoder = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    int status = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: count_tokens TOKENIZER <text\n");
        return 2;
    }
    if (sluice_tokenizer_open(argv[1], NULL, &tokenizer, &err) != SLUICE_OK ||
        sluice_encoder_create(tokenizer, 0, &encoder, &err) != SLUICE_OK) {
        goto out;
    }
    while ((length = getline(&line, &room, stdin)) >= 0) {
        size_t capacity = sluice_tokenizer_bound(tokenizer, (size_t)length);
        uint32_t *ids = malloc((capacity + 1) * sizeof *ids);
        size_t n;
        if (ids == NULL ||
            sluice_encode(encoder, line, (size_t)length, ids, capacity, &n, &err) != SLUICE_OK) {
            free(ids);
            goto out;
        }
        printf("%zu\n", n);
        free(ids);
    }
    status = 0;
out:
    if (status != 0) {
        fprintf(stderr, "count_tokens: %s\n", err.message);
    }
    free(line);
    sluice_encoder_destroy(encoder);
    sluice_tokenizer_destroy(tokenizer);
    return status;
}
