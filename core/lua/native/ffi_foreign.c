/* Foreign functions: see ffi_foreign.h. */
#include "lua/native/ffi_foreign.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#include "lua/native/ffi_symbols.h"

/* ---- values ---- */

/* A parameter at fault, with its number and place. */
static sluice_status fault(const char *text, const struct prototype *prototype, uint32_t k,
                           const char *reason, struct sluice_error *err)
{
    struct buf type = BUF_INIT;

    prototype_type_print(prototype->params[k].type, &type);
    error_field(err, SLUICE_E_CONFIG, "prototype",
                "prototype \"%.200s\": character %u: parameter %u (%s) %s", text,
                prototype->params[k].character, k + 1, buf_str(&type), reason);
    buf_deinit(&type);
    return SLUICE_E_CONFIG;
}

static bool is_count(const struct prototype *prototype, uint32_t k)
{
    static const char *const names[] = { "n", "len", "length", "size", "count" };
    const struct prototype_param *param = &prototype->params[k];

    if (k >= prototype->n_params || param->type.pointer || !scalar_is_integer(param->type.scalar)) {
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(param->name, names[i]) == 0 && scalar_size(param->type.scalar) >= 4) {
            return true;
        }
    }
    return param->type.size;
}

static bool writes(struct prototype_type type)
{
    return type.pointer && !type.constant;
}

static struct foreign_value *add_value(struct foreign_signature *out, enum foreign_form form,
                                       uint32_t k)
{
    struct foreign_value *value = &out->values[out->n_values++];

    *value = (struct foreign_value){ form, out->prototype.params[k].type.scalar, k, -1 };
    if (value->scalar == SCALAR_VOID) {
        value->scalar = SCALAR_CHAR;
    }
    return value;
}

static sluice_status add_scalar(const char *text, struct foreign_signature *out, uint32_t k,
                                struct sluice_error *err)
{
    if (out->prototype.params[k].type.scalar == SCALAR_CHAR) {
        return fault(text, &out->prototype, k,
                     "is one character; write int8_t or uint8_t for a small number", err);
    }
    add_value(out, FOREIGN_SCALAR, k);
    return SLUICE_OK;
}

/* A pointer of a function that is called once a row. */
static sluice_status add_pointer(const char *text, struct foreign_signature *out, uint32_t k,
                                 struct sluice_error *err)
{
    struct prototype_type type = out->prototype.params[k].type;
    bool counted = is_count(&out->prototype, k + 1);
    struct foreign_value *value;

    if (type.scalar == SCALAR_CHAR && !counted) {
        add_value(out, FOREIGN_CSTRING, k);
        return SLUICE_OK;
    }
    if (type.scalar == SCALAR_BOOL) {
        return fault(text, &out->prototype, k,
                     "is an array of bool, which is not passed; take const uint8_t *", err);
    }
    if (!counted) {
        return fault(text, &out->prototype, k,
                     "has no size_t behind it that says how many there are", err);
    }
    value = add_value(
        out,
        type.scalar == SCALAR_CHAR || type.scalar == SCALAR_VOID ? FOREIGN_TEXT : FOREIGN_ARRAY, k);
    value->count = (int32_t)k + 1;
    return SLUICE_OK;
}

static sluice_status read_row_values(const char *text, struct foreign_signature *out,
                                     struct sluice_error *err)
{
    const struct prototype *prototype = &out->prototype;

    for (uint32_t k = 0; k < prototype->n_params; k++) {
        if (writes(prototype->params[k].type)) {
            return fault(
                text, prototype, k,
                prototype->params[k].type.scalar == SCALAR_CHAR
                    ? "may be written to, and texts can't be; if the function only reads it, write "
                      "const char *"
                    : "may be written to; if the function only reads it, write const; results are "
                      "returned, or written by a "
                      "function over columns: void f(const double *in, double *out, size_t n)",
                err);
        }
        if (!prototype->params[k].type.pointer) {
            TRY(add_scalar(text, out, k, err));
            continue;
        }
        TRY(add_pointer(text, out, k, err));
        k += out->values[out->n_values - 1].count >= 0;
    }
    return SLUICE_OK;
}

/* void f(const T *in…, T *out, size_t n, constants…), in any order. */
static sluice_status read_column_values(const char *text, struct foreign_signature *out,
                                        struct sluice_error *err)
{
    const struct prototype *prototype = &out->prototype;
    bool counted = false;
    bool written = false;
    uint32_t arrays = 0;

    for (uint32_t k = 0; k < prototype->n_params; k++) {
        struct prototype_type type = prototype->params[k].type;
        if (type.pointer && !scalar_is_integer(type.scalar) && type.scalar != SCALAR_FLOAT &&
            type.scalar != SCALAR_DOUBLE) {
            return fault(text, prototype, k,
                         "is not a column of numbers, as all pointers of a function that returns "
                         "void must be",
                         err);
        }
        if (writes(type)) {
            if (written) {
                return fault(
                    text, prototype, k,
                    "is the second that is written to; a function over columns makes one column",
                    err);
            }
            written = true;
            out->out = k;
            out->result = type.scalar;
        } else if (type.pointer) {
            add_value(out, FOREIGN_ARRAY, k);
            arrays++;
        } else if (is_count(prototype, k) && !counted) {
            counted = true;
            out->count = k;
        } else {
            TRY(add_scalar(text, out, k, err));
        }
    }
    if (!written || !counted || arrays == 0) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "prototype \"%.200s\": a function that returns nothing works on whole "
                           "columns, as void f(const double *in, "
                           "double *out, size_t n); this one has no %s",
                           text,
                           !written   ? "column to write to"
                           : !counted ? "size_t"
                                      : "column to read");
    }
    out->columns = true;
    return SLUICE_OK;
}

static sluice_status read_result(const char *text, struct foreign_signature *out,
                                 struct sluice_error *err)
{
    struct prototype_type type = out->prototype.result;

    out->result = type.scalar;
    if (type.pointer && (type.scalar != SCALAR_CHAR || !type.constant)) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "prototype \"%.200s\": it returns a pointer that is not const char *; "
                           "nobody would know who frees it, or "
                           "how long it is",
                           text);
    }
    if (!type.pointer && type.scalar == SCALAR_CHAR) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "prototype \"%.200s\": it returns one character; write int8_t or "
                           "uint8_t for a small number",
                           text);
    }
    return SLUICE_OK;
}

sluice_status foreign_signature_read(const char *text, struct foreign_signature *out,
                                     struct sluice_error *err)
{
    memset(out, 0, sizeof *out);
    TRY(prototype_parse(text, &out->prototype, err));
    TRY(read_result(text, out, err));
    return out->prototype.result.scalar == SCALAR_VOID && !out->prototype.result.pointer
               ? read_column_values(text, out, err)
               : read_row_values(text, out, err);
}

void foreign_value_print(const struct foreign_signature *signature, uint32_t k, struct buf *out)
{
    const struct foreign_value *value = &signature->values[k];
    const struct prototype_param *param = &signature->prototype.params[value->param];

    buf_printf(out, "parameter %u (", value->param + 1);
    prototype_type_print(param->type, out);
    buf_printf(out, "%s%s%s)", param->name[0] != '\0' && !param->type.pointer ? " " : "",
               param->name, value->form == FOREIGN_CSTRING ? ", ends in a NUL" : "");
}

/* ---- loading ---- */

static ffi_type *ffi_type_for(struct prototype_type type)
{
    if (type.pointer) {
        return &ffi_type_pointer;
    }
    switch (type.scalar) {
    case SCALAR_BOOL:
    case SCALAR_CHAR:
    case SCALAR_UINT8:
        return &ffi_type_uint8;
    case SCALAR_INT8:
        return &ffi_type_sint8;
    case SCALAR_INT16:
        return &ffi_type_sint16;
    case SCALAR_INT32:
        return &ffi_type_sint32;
    case SCALAR_INT64:
        return &ffi_type_sint64;
    case SCALAR_UINT16:
        return &ffi_type_uint16;
    case SCALAR_UINT32:
        return &ffi_type_uint32;
    case SCALAR_UINT64:
        return &ffi_type_uint64;
    case SCALAR_FLOAT:
        return &ffi_type_float;
    case SCALAR_DOUBLE:
        return &ffi_type_double;
    default:
        return &ffi_type_void;
    }
}

static sluice_status load(const char *path, const char *name, void (**out)(void),
                          struct sluice_error *err)
{
    fenv_t floats;
    bool kept = fegetenv(&floats) == 0;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *reason = handle == NULL ? dlerror() : NULL;
    void *symbol;

    /* What is linked with -ffast-math turns denormals off for its whole thread when it is
     * loaded. */
    if (kept) {
        (void)fesetenv(&floats);
    }
    if (handle == NULL) {
        return error_field(err, SLUICE_E_CONFIG, "lib", "lib: %s can't be loaded: %.500s", path,
                           reason == NULL ? "?" : reason);
    }
    symbol = dlsym(handle, name);
    if (symbol != NULL) {
        memcpy(out, &symbol, sizeof symbol); /* POSIX: a function's address */
    }
    (void)dlclose(
        handle); /* it stays loaded (RTLD_NODELETE): its threads and destructors may be anywhere */
    return symbol != NULL ? SLUICE_OK
                          : error_field(err, SLUICE_E_CONFIG, "prototype",
                                        "%s has no function '%s'", path, name);
}

sluice_status foreign_open(const struct foreign_signature *signature, const char *path,
                           struct foreign *out, struct sluice_error *err)
{
    const struct prototype *prototype = &signature->prototype;

    memset(out, 0, sizeof *out);
    out->signature = *signature;
    TRY(symbols_check(path, prototype, &out->compared, err));
    for (uint32_t k = 0; k < prototype->n_params; k++) {
        out->types[k] = ffi_type_for(prototype->params[k].type);
    }
    if (ffi_prep_cif(&out->cif, FFI_DEFAULT_ABI, prototype->n_params,
                     ffi_type_for(prototype->result), out->types) != FFI_OK) {
        return error_set(err, SLUICE_E_INTERNAL, "libffi can't prepare a call of '%s'",
                         prototype->name);
    }
    return load(path, prototype->name, &out->function, err);
}

/* ---- calling ---- */

void foreign_call(const struct foreign *foreign, union foreign_slot *slots,
                  union foreign_result *out)
{
    void *pointers[PROTOTYPE_PARAMS];

    for (uint32_t k = 0; k < foreign->signature.prototype.n_params; k++) {
        pointers[k] = &slots[k];
    }
    /* The cif is only read; the parameter lacks its const. */
    ffi_call((ffi_cif *)(uintptr_t)&foreign->cif, foreign->function, out, pointers);
}

void foreign_slot_integer(union foreign_slot *slot, enum scalar scalar, int64_t value)
{
    switch (scalar_size(scalar)) {
    case 1:
        slot->uint8 = (uint8_t)value;
        break;
    case 2:
        slot->uint16 = (uint16_t)value;
        break;
    case 4:
        slot->uint32 = (uint32_t)value;
        break;
    default:
        slot->int64 = value;
        break;
    }
}

int64_t foreign_integer(const union foreign_result *result, enum scalar scalar)
{
    switch (scalar) {
    case SCALAR_BOOL:
        return (uint8_t)result->whole != 0;
    case SCALAR_INT8:
        return (int8_t)result->whole;
    case SCALAR_INT16:
        return (int16_t)result->whole;
    case SCALAR_INT32:
        return (int32_t)result->whole;
    case SCALAR_UINT8:
        return (uint8_t)result->whole;
    case SCALAR_UINT16:
        return (uint16_t)result->whole;
    case SCALAR_UINT32:
        return (uint32_t)result->whole;
    default:
        return (int64_t)result->whole;
    }
}
