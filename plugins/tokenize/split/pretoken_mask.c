/* pretoken_mask.c — the choice by processor. See the header. */
#include "split/pretoken_mask.h"

enum pretoken_kind pretoken_kind_best(void)
{
#if defined(__x86_64__)
    /* Every processor with AVX2 has lzcnt, which clang 14 cannot be asked about. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl")
                   ? KIND_AVX512
                   : KIND_AVX2;
    }
#endif
    return KIND_SCANNER;
}

pretoken_fill *pretoken_mask_fill(enum pretoken_program program, enum pretoken_kind kind)
{
    if (kind > KIND_SCALAR && kind > pretoken_kind_best()) {
        return NULL;
    }
    switch (kind) {
    case KIND_SCALAR:
        return pretoken_mask_scalar[program];
    case KIND_AVX2:
        return pretoken_mask_avx2[program];
    case KIND_AVX512:
        return pretoken_mask_avx512[program];
    case KIND_SCANNER:
        break;
    }
    return NULL;
}
