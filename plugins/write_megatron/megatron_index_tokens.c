/* Token types of Megatron's .bin files; see megatron_index.h. */
#include <stdarg.h>
#include <stdio.h>

#include "megatron_index.h"
#include "megatron_index_fail.h"

int32_t megatron_fail(struct sluice_error *err, int32_t code, const char *format, ...)
{
    if (err != NULL) {
        err->code = code;
        err->row = -1;
        err->field[0] = '\0';
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

uint32_t megatron_dtype_size(enum megatron_dtype dtype)
{
    switch (dtype) {
    case MEGATRON_U8:
    case MEGATRON_I8:
        return 1;
    case MEGATRON_I16:
    case MEGATRON_U16:
        return 2;
    case MEGATRON_I32:
    case MEGATRON_F32:
        return 4;
    case MEGATRON_I64:
    case MEGATRON_F64:
        return 8;
    }
    return 0;
}

enum megatron_dtype megatron_dtype_for(uint64_t vocabulary)
{
    return vocabulary < MEGATRON_U16_VOCABULARY ? MEGATRON_U16 : MEGATRON_I32;
}

int32_t megatron_tokens_encode(const uint32_t *ids, size_t n, enum megatron_dtype dtype,
                               uint64_t vocabulary, uint64_t position, void *out,
                               struct sluice_error *err)
{
    if (dtype != MEGATRON_U16 && dtype != MEGATRON_I32) {
        return megatron_fail(err, SLUICE_E_CONFIG,
                             "tokens cannot be written as type %d, expected u16 or i32",
                             (int)dtype);
    }
    uint64_t limit = dtype == MEGATRON_U16 ? (uint64_t)1 << 16 : (uint64_t)1 << 31;
    if (vocabulary != 0 && vocabulary < limit) {
        limit = vocabulary;
    }
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = ids[i] > largest ? ids[i] : largest;
    }
    if (n > 0 && largest >= limit) {
        size_t i = 0;
        while (ids[i] < limit) {
            i++;
        }
        return megatron_fail(err, SLUICE_E_DATA,
                             "token %llu has id %u, expected less than %llu (%s); the vocabulary "
                             "or dtype given to the "
                             "writer is not the tokenizer's",
                             (unsigned long long)(position + i), ids[i], (unsigned long long)limit,
                             limit == vocabulary     ? "the vocabulary"
                             : dtype == MEGATRON_U16 ? "dtype u16"
                                                     : "dtype i32");
    }
    uint8_t *bytes = out;
    if (dtype == MEGATRON_U16) {
        for (size_t i = 0; i < n; i++) {
            bytes[2 * i] = (uint8_t)ids[i];
            bytes[2 * i + 1] = (uint8_t)(ids[i] >> 8);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            bytes[4 * i] = (uint8_t)ids[i];
            bytes[4 * i + 1] = (uint8_t)(ids[i] >> 8);
            bytes[4 * i + 2] = (uint8_t)(ids[i] >> 16);
            bytes[4 * i + 3] = (uint8_t)(ids[i] >> 24);
        }
    }
    return SLUICE_OK;
}
