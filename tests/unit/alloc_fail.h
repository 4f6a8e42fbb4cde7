/* Makes chosen allocations of a test program fail, in every library that it calls: include it in
 * one file of the program. It defines malloc, calloc and realloc over those of glibc or of a
 * sanitizer, so no linker options are needed. Not thread-safe while armed. */
#ifndef TESTS_UNIT_ALLOC_FAIL_H
#define TESTS_UNIT_ALLOC_FAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sanitizers' own functions where there are any, else glibc's. */
extern void *__interceptor_malloc(size_t) __attribute__((weak));
extern void *__interceptor_calloc(size_t, size_t) __attribute__((weak));
extern void *__interceptor_realloc(void *, size_t) __attribute__((weak));
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

/* The loader calls these before a sanitizer's shadow memory is there. */
#if defined(__clang__)
#define ALLOC_RAW __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define ALLOC_RAW __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

static struct {
    int64_t left; /* allocations that succeed before one fails; < 0 = none fails */
    bool stay;    /* all after it fail as well */
    bool failed;  /* one did */
} alloc_state = { -1, false, false };

ALLOC_RAW static bool alloc_refused(void)
{
    if (alloc_state.left < 0) {
        return false;
    }
    if (alloc_state.left > 0) {
        alloc_state.left--;
        return false;
    }
    alloc_state.failed = true;
    alloc_state.left = alloc_state.stay ? 0 : -1;
    return true;
}

ALLOC_RAW __attribute__((visibility("default"))) void *malloc(size_t n)
{
    if (alloc_refused()) {
        return NULL;
    }
    return __interceptor_malloc != NULL ? __interceptor_malloc(n) : __libc_malloc(n);
}

ALLOC_RAW __attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    if (alloc_refused()) {
        return NULL;
    }
    return __interceptor_calloc != NULL ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

ALLOC_RAW __attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
    if (alloc_refused()) {
        return NULL;
    }
    return __interceptor_realloc != NULL ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}

/* From now on, the allocation after `left` others fails; with stay, all later ones too. */
static inline void alloc_arm(int64_t left, bool stay)
{
    alloc_state.failed = false;
    alloc_state.stay = stay;
    alloc_state.left = left;
}

/* Ends it; true when an allocation failed. */
static inline bool alloc_disarm(void)
{
    alloc_state.left = -1;
    return alloc_state.failed;
}

/* Runs statement (which sets status) with each of its allocations failing in turn, alone and
 * with all later ones; undo is run after each. The run without failures is the last. A failure
 * that status hides is allowed: memory given back early may be kept. */
#define ALLOC_EACH(statement, undo)                                                          \
    do {                                                                                     \
        int alloc_failures = 0;                                                              \
        for (int alloc_stay = 0; alloc_stay < 2; alloc_stay++) {                             \
            for (int64_t alloc_k = 0;; alloc_k++) {                                          \
                alloc_arm(alloc_k, alloc_stay != 0);                                         \
                statement;                                                                   \
                bool alloc_hit = alloc_disarm();                                             \
                alloc_failures += status == SLUICE_E_NOMEM ? 1 : 0;                          \
                assert_true(status == SLUICE_OK || (alloc_hit && status == SLUICE_E_NOMEM)); \
                undo;                                                                        \
                if (!alloc_hit) {                                                            \
                    break;                                                                   \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        assert_true(alloc_failures > 0);                                                     \
    } while (0)

#endif
