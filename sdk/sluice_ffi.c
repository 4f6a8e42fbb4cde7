/* sluice_ffi.c - libsluice-sdk.so: the inline functions of the SDK's headers as functions of a
 * library, under the same names, for callers that have no C compiler at hand (Lua's s.native,
 * Python's ctypes, other languages).
 *
 * Owns nothing. The headers are compiled here with external linkage, so a function added to them is
 * in the library by itself. */
#define SLUICE_INLINE __attribute__((visibility("default")))

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#endif

#include "sluice_arrays.h"
#include "sluice_files.h"
#include "sluice_rows.h"
#include "sluice_simple.h"
#include "sluice_stage.h"
#include "sluice_state.h"
#include "sluice_verdicts.h"
