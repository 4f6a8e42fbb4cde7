/* Prototypes of C functions: `double score(const char *, size_t)` as a user copies it from a
 * header. Owns nothing; depends on base. Promises that what parses is a function that libffi can
 * call with plain values: no variadics, no structs, no callbacks, no pointers to pointers, and that
 * each refusal names the character and the remedy. */
#ifndef SLUICE_LUA_FFI_PROTOTYPE_H
#define SLUICE_LUA_FFI_PROTOTYPE_H

#include "base/buf.h"

#define PROTOTYPE_PARAMS 16u
#define PROTOTYPE_NAME 128u    /* bytes of the function's name, with its NUL */
#define PROTOTYPE_LENGTH 2000u /* bytes of a text */

enum scalar {
    SCALAR_VOID,
    SCALAR_BOOL,
    SCALAR_CHAR, /* plain char, of which only pointers are taken */
    SCALAR_INT8,
    SCALAR_INT16,
    SCALAR_INT32,
    SCALAR_INT64,
    SCALAR_UINT8,
    SCALAR_UINT16,
    SCALAR_UINT32,
    SCALAR_UINT64,
    SCALAR_FLOAT,
    SCALAR_DOUBLE
};

struct prototype_type {
    enum scalar scalar;
    bool pointer;  /* to scalar */
    bool constant; /* what it points to */
    bool size;     /* written size_t */
};

struct prototype_param {
    struct prototype_type type;
    char name[64];      /* "" = none; a longer one is cut */
    uint32_t character; /* where it begins in the text, from 1 */
};

struct prototype {
    char name[PROTOTYPE_NAME];
    struct prototype_type result;
    struct prototype_param params[PROTOTYPE_PARAMS];
    uint32_t n_params;
};

/* SLUICE_E_CONFIG: not a prototype, or one that can't be called. */
sluice_status prototype_parse(const char *text, struct prototype *out,
                              struct sluice_error *err) MUST_USE;
/* As C, in one spelling and without names of parameters: parses to an equal prototype. */
void prototype_print(const struct prototype *, struct buf *out);
void prototype_type_print(struct prototype_type, struct buf *out);

/* Bytes of a value; 0 for void. */
size_t scalar_size(enum scalar);
bool scalar_is_integer(enum scalar); /* neither bool nor a plain char */
bool scalar_is_signed(enum scalar);
/* Does the integer fit? As uint64 its 64 bits are taken as they are. */
bool scalar_holds(enum scalar, int64_t value);

#endif
