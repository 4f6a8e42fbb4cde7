/* What one call of a plugin gave back, and room for it. See stageInt.h. */
#include <stdlib.h>
#include <string.h>

#include "plugin/stageInt.h"

#define BYTES_KEPT ((size_t)16 << 20) /* more written bytes are given back */
#define ITEMS_MAX (UINT32_C(1) << 28)

static void clear_asks(struct stage_result *result)
{
    for (uint32_t k = 0; k < result->n_skips; k++) {
        result->skips[k].rows = 0;
        result->skips[k].bytes = 0;
    }
    result->n_asks = 0;
    result->n_units = 0;
    result->described = false;
    buf_clear(&result->asked);
    buf_clear(&result->description);
}

static void deinit_asks(struct stage_result *result)
{
    for (uint32_t k = 0; k < result->n_skips; k++) {
        free(result->skips[k].how);
    }
    free(result->skips);
    free(result->asks);
    free(result->units);
    buf_deinit(&result->asked);
    buf_deinit(&result->description);
}

void stage_result_init(struct stage_result *result)
{
    memset(result, 0, sizeof *result);
}

void stage_result_clear(struct stage_result *result)
{
    for (uint32_t k = 0; k < result->n_batches; k++) {
        if (result->batches[k].release != NULL) {
            result->batches[k].release(&result->batches[k]);
        }
    }
    for (uint32_t k = 0; k < result->n_measures; k++) {
        result->measures[k].delta = 0;
    }
    result->n_batches = 0;
    result->n_verdicts = 0;
    result->has_verdicts = false;
    result->n_bad = 0;
    result->n_marks = 0;
    if (result->bytes.capacity > BYTES_KEPT) {
        buf_deinit(&result->bytes);
    }
    buf_clear(&result->bytes);
    buf_clear(&result->text);
    buf_clear(&result->absences);
    clear_asks(result);
}

void stage_result_deinit(struct stage_result *result)
{
    stage_result_clear(result);
    for (uint32_t k = 0; k < result->n_measures; k++) {
        free(result->measures[k].name);
    }
    free(result->verdicts);
    free(result->batches);
    free(result->bad);
    free(result->marks);
    free(result->measures);
    buf_deinit(&result->bytes);
    buf_deinit(&result->text);
    buf_deinit(&result->absences);
    deinit_asks(result);
    memset(result, 0, sizeof *result);
}

bool emit_room(void **items, uint32_t n, uint32_t *capacity, size_t size)
{
    uint32_t more = *capacity < 8 ? 8 : *capacity * 2;
    void *moved;

    if (n < *capacity) {
        return true;
    }
    moved = n < ITEMS_MAX ? realloc(*items, more * size) : NULL;
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *capacity = more;
    return true;
}

uintptr_t emit_keep_text(struct stage_result *out, const char *text, size_t n)
{
    size_t place = out->text.size;

    buf_append(&out->text, text, n);
    buf_putc(&out->text, '\0');
    return out->text.failed ? 0 : (uintptr_t)place + 1;
}

bool emit_word_valid(const char *word)
{
    size_t n = 0;

    for (; word != NULL && word[n] != '\0'; n++) {
        if (!((word[n] >= 'a' && word[n] <= 'z') || (word[n] >= '0' && word[n] <= '9') ||
              word[n] == '_')) {
            return false;
        }
    }
    return n > 0 && n < 64;
}
