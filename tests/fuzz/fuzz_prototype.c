/* Fuzzes prototypes of C functions (core/lua/native/ffi_prototype.h, ffi_foreign.h). What parses
 * must print to a text that parses to the same and prints to itself; each parameter of what can be
 * called belongs to exactly one value. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/native/ffi_foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_printed(const struct prototype *prototype)
{
    struct sluice_error err = ERROR_INIT;
    struct prototype again;
    struct buf text = BUF_INIT;
    struct buf twice = BUF_INIT;

    prototype_print(prototype, &text);
    require(prototype_parse(buf_str(&text), &again, &err) == SLUICE_OK);
    require(again.n_params == prototype->n_params && strcmp(again.name, prototype->name) == 0);
    require(memcmp(&again.result, &prototype->result, sizeof again.result) == 0);
    for (uint32_t k = 0; k < again.n_params; k++) {
        require(memcmp(&again.params[k].type, &prototype->params[k].type,
                       sizeof again.params[k].type) == 0);
    }
    prototype_print(&again, &twice);
    require(strcmp(buf_str(&text), buf_str(&twice)) == 0);
    buf_deinit(&text);
    buf_deinit(&twice);
}

static void check_values(const char *text)
{
    struct sluice_error err = ERROR_INIT;
    struct foreign_signature signature;
    uint32_t taken[PROTOTYPE_PARAMS] = { 0 };

    if (foreign_signature_read(text, &signature, &err) != SLUICE_OK) {
        require(err.code == SLUICE_E_CONFIG && err.message[0] != '\0');
        return;
    }
    for (uint32_t k = 0; k < signature.n_values; k++) {
        struct buf name = BUF_INIT;
        taken[signature.values[k].param]++;
        if (signature.values[k].count >= 0) {
            taken[signature.values[k].count]++;
        }
        foreign_value_print(&signature, k, &name);
        require(name.size > 0);
        buf_deinit(&name);
    }
    if (signature.columns) {
        taken[signature.out]++;
        taken[signature.count]++;
    }
    for (uint32_t k = 0; k < PROTOTYPE_PARAMS; k++) {
        require(taken[k] == (k < signature.prototype.n_params));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sluice_error err = ERROR_INIT;
    struct prototype prototype;
    char *text = str_copy((const char *)data, n);

    if (prototype_parse(text, &prototype, &err) == SLUICE_OK) {
        check_printed(&prototype);
    } else {
        require(err.code == SLUICE_E_CONFIG && err.message[0] != '\0');
    }
    check_values(text);
    free(text);
    return 0;
}
