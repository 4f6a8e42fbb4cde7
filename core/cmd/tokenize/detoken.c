/* Token ids back to bytes: see detoken.h. */
#include "cmd/tokenize/detoken.h"

#include <stdlib.h>

#include "base/buf.h"
#include "cmd/tokenize/tokenizer.h"
#include "store/disk.h"

#define FILE_MOST (UINT64_C(256) << 20)

struct detoken {
    struct tokenizer_library lib;
    struct sluice_tokenizer *tokenizer;
    struct hash128 hash;
};

void detoken_close(struct detoken *detoken)
{
    if (detoken != NULL) {
        if (detoken->tokenizer != NULL) {
            detoken->lib.tokenizer_destroy(detoken->tokenizer);
        }
        free(detoken);
    }
}

/* How a text would be cut does not matter for ids that are there: where nothing says it, any
 * pattern does. */
static sluice_status load(struct detoken *detoken, const struct buf *file, struct sluice_error *err)
{
    static const struct sluice_tokenizer_options any = { .size = sizeof any,
                                                         .pattern = "\\s+|\\S+" };
    struct sluice_error other = ERROR_INIT;
    sluice_status status =
        detoken->lib.tokenizer_load(file->data, file->size, NULL, &detoken->tokenizer, err);

    if (status == SLUICE_E_CONFIG &&
        detoken->lib.tokenizer_load(file->data, file->size, &any, &detoken->tokenizer, &other) ==
            SLUICE_OK) {
        return SLUICE_OK;
    }
    return status;
}

sluice_status detoken_open(const char *path, struct detoken **out, struct sluice_error *err)
{
    struct detoken *detoken = calloc(1, sizeof *detoken);
    struct buf file = BUF_INIT;
    sluice_status status = detoken == NULL ? error_nomem(err, "a vocabulary")
                                           : tokenizer_library_load(&detoken->lib, err);

    *out = NULL;
    if (status == SLUICE_OK) {
        status = disk_read_file(path, FILE_MOST, &file, NULL, err);
    }
    if (status == SLUICE_OK) {
        detoken->hash = hash_bytes(file.data, file.size);
        status = load(detoken, &file, err);
        if (status != SLUICE_OK) {
            status = error_prefix(err, "%s", path);
        }
    }
    buf_deinit(&file);
    if (status != SLUICE_OK) {
        detoken_close(detoken);
        return status;
    }
    *out = detoken;
    return SLUICE_OK;
}

const char *detoken_bytes(const struct detoken *detoken, uint32_t id, size_t *n)
{
    const char *bytes;

    *n = 0;
    return detoken->lib.tokenizer_token(detoken->tokenizer, id, &bytes, n) == SLUICE_OK ? bytes
                                                                                        : NULL;
}

struct hash128 detoken_hash(const struct detoken *detoken)
{
    return detoken->hash;
}
