/* Foreign functions: a prototype bound to a function of a shared library, ready to be called
 * through libffi.
 *
 * Parameters are grouped into values, one for each thing that a caller gives:
 *   const char *, size_t       a text and its length in bytes; no NUL behind it is promised
 *   const char *               a text with a NUL behind it; texts that hold a NUL can't be passed
 *   const void *, size_t       bytes and their number
 *   const double *, size_t     numbers and how many there are (every type of number)
 *   double, int32_t, bool …    a number
 * Behind a pointer an integer called n, len, length, size or count counts as its size_t. A function
 * over whole columns returns void and has one pointer that it writes to and one count for all: void
 * score(const double *in, double *out, size_t n).
 *
 * Owns the handle of the library, which is never unloaded. Depends on ffi_prototype, ffi_symbols
 * and libffi. A foreign function is read-only once it is open, so that threads may call it at once
 * where the library allows that. */
#ifndef SLUICE_LUA_FFI_FOREIGN_H
#define SLUICE_LUA_FFI_FOREIGN_H

#include <ffi.h>
#include <pthread.h>

#include "lua/native/ffi_prototype.h"

enum foreign_form { FOREIGN_TEXT, FOREIGN_CSTRING, FOREIGN_ARRAY, FOREIGN_SCALAR };

struct foreign_value {
    enum foreign_form form;
    /* of the number, or of the array's items; SCALAR_CHAR for texts and bytes */
    enum scalar scalar;
    uint32_t param; /* the first of its parameters */
    int32_t count;  /* the parameter that is its length, or -1 */
};

struct foreign_signature {
    struct prototype prototype;
    struct foreign_value values[PROTOTYPE_PARAMS];
    uint32_t n_values;
    bool columns;        /* whole columns: arrays have no count of their own */
    uint32_t out, count; /* parameters of a function over columns */
    enum scalar result;  /* SCALAR_CHAR = a text; of a function over columns the type of out */
};

/* SLUICE_E_CONFIG: not a prototype, or none whose parameters can be told apart. */
sluice_status foreign_signature_read(const char *text, struct foreign_signature *out,
                                     struct sluice_error *err) MUST_USE;
/* "parameter 2 (const char *lang, NUL-terminated)", for messages. */
void foreign_value_print(const struct foreign_signature *, uint32_t k, struct buf *out);

union foreign_slot {
    const void *pointer;
    void *out;
    uint64_t uint64;
    int64_t int64;
    uint32_t uint32;
    int32_t int32;
    uint16_t uint16;
    int16_t int16;
    uint8_t uint8;
    int8_t int8;
    float float32;
    double float64;
};

/* One of what a function returns. */
union foreign_result {
    ffi_arg whole; /* as wide as libffi writes: read with foreign_integer */
    double float64;
    float float32;
    const char *text;
};

struct foreign {
    struct foreign_signature signature;
    ffi_cif cif;
    ffi_type *types[PROTOTYPE_PARAMS];
    void (*function)(void); /* NULL = not open */
    bool compared;          /* with debug information of the library */
};

/* Checks the library at path, loads it into this process, and prepares the call: for child
 * processes that have given up their rights. On one thread; loading leaves the processor's rounding
 * and exceptions as they were. SLUICE_E_CONFIG. */
sluice_status foreign_open(const struct foreign_signature *, const char *path, struct foreign *out,
                           struct sluice_error *err) MUST_USE;
/* Calls with one slot a parameter. Not reading beyond its texts, and coming back at all, is the
 * library's affair. */
void foreign_call(const struct foreign *, union foreign_slot *slots, union foreign_result *out);

/* Stores an integer or bool into its slot. */
void foreign_slot_integer(union foreign_slot *slot, enum scalar scalar, int64_t value);
/* The value of an integer or bool that was returned. */
int64_t foreign_integer(const union foreign_result *, enum scalar);

#endif
