/* spec_kit.h — what the tests of tokenizer.json's normalizers and pre-tokenizers share: parts of
 * such a file with ' for ", refusals by name, failing allocations. Include it in one file of the
 * program: it brings alloc_fail.h. */
#ifndef TESTS_UNIT_SPEC_KIT_H
#define TESTS_UNIT_SPEC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "alloc_fail.h"
#include "sluice.h"

struct spec_vector {
    const char *spec; /* with ' for " */
    const char *text, *expected;
};

struct spec_refusal {
    const char *spec, *message; /* a part of it */
};

/* Reads the spec, and does more with it where a test wants that; frees all that it made. */
typedef int32_t spec_attempt(const json_t *spec, struct sluice_error *err);

static inline json_t *spec_parse(const char *spec)
{
    char *copy = strdup(spec), *p;
    json_t *node;
    assert_non_null(copy);
    for (p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    node = json_loads(copy, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(node);
    free(copy);
    return node;
}

static inline void spec_refuse(const struct spec_refusal *cases, size_t n, spec_attempt *read)
{
    for (size_t i = 0; i < n; i++) {
        struct sluice_error err = { .size = sizeof(err) };
        json_t *spec = spec_parse(cases[i].spec);
        assert_int_equal(read(spec, &err), SLUICE_E_CONFIG);
        if (!strstr(err.message, cases[i].message)) {
            fail_msg("%s: %s", cases[i].spec, err.message);
        }
        json_decref(spec);
    }
}

/* Each allocation fails alone (behind the twelfth, each ninth): the attempt says so or does
 * without.
 */
static inline void spec_without_memory(const json_t *spec, spec_attempt *attempt)
{
    int failed = 0;
    bool hit = true;
    for (int64_t left = 0; hit && left < 1000; left += left < 12 ? 1 : 9) {
        struct sluice_error err = { .size = sizeof(err) };
        int32_t status;
        alloc_arm(left, false);
        status = attempt(spec, &err);
        hit = alloc_disarm();
        /* a pattern matches without PCRE2's compiler as well */
        assert_true(status == SLUICE_OK || (hit && status == SLUICE_E_NOMEM));
        failed += status != SLUICE_OK;
    }
    assert_true(!hit && failed > 3);
}

#endif
