/* Fuzzes the check of fastText models: whatever passes it must load, predict and free without a
 * fault in libfasttext. */
#include <stdlib.h>
#include <string.h>

#include "fasttext/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = { "the and of zzz\n", "", "\n",
                                         "der \xC3\xA4\xE4\xB8\xAD </s> __label__en x\n" };
    struct ft_model *model = NULL;
    struct ft_reader *reader = NULL;

    if (ft_model_load(data, size, &model, NULL) != SLUICE_OK) {
        if (model != NULL) {
            abort();
        }
        return 0;
    }
    if (ft_reader_create(model, &reader, NULL) == SLUICE_OK) {
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            const struct ft_score *scores;
            size_t n;
            if (ft_predict(reader, texts[i], strlen(texts[i]), &scores, &n, NULL) == SLUICE_OK) {
                for (size_t k = 0; k < n; k++) {
                    if (ft_model_label(model, scores[k].label) == NULL) {
                        abort();
                    }
                }
            }
        }
        ft_reader_destroy(reader);
    }
    ft_model_destroy(model);
    return 0;
}
