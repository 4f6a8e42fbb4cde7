/* normalizer.c — a normalizer's life, and the run of its steps over two buffers in turn. See the
 * header. */
#include "normalize/normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "bpe_error.h"
#include "normalize/normalizer_steps.h"

struct normalizer_worker {
    const struct normalizer *n;
    struct normalizer_sink sinks[2];
    struct forms_scratch forms;
    struct regex_worker *regex[STEPS_MOST]; /* of STEP_REGEX; created at the first run */
};

int32_t normalizer_create(struct normalizer **out, struct sluice_error *err)
{
    struct normalizer *n = calloc(1, sizeof(*n));
    *out = NULL;
    if (!n || normalizer_unicode_init(&n->unicode) != 0) {
        free(n);
        return bpe_fail_memory(err, "a normalizer");
    }
    *out = n;
    return SLUICE_OK;
}

void normalizer_destroy(struct normalizer *n)
{
    size_t i;
    if (!n) {
        return;
    }
    for (i = 0; i < n->n_steps; i++) {
        struct step *step = &n->steps[i];
        free(step->pattern);
        free(step->content);
        normalizer_forms_deinit(&step->forms);
        regex_destroy(step->regex);
        charsmap_deinit(&step->charsmap);
        unigram_trie_deinit(&step->symbols);
    }
    normalizer_unicode_deinit(&n->unicode);
    unicode_table_deinit(&n->classes);
    free(n);
}

struct step *normalizer_add(struct normalizer *n, enum step_kind kind, struct sluice_error *err)
{
    if (n->n_steps == STEPS_MOST) {
        (void)bpe_fail(err, SLUICE_E_CONFIG,
                       "tokenizer.json has a normalizer of more than %u steps, which this engine "
                       "does not honour",
                       STEPS_MOST);
        return NULL;
    }
    n->steps[n->n_steps].kind = kind;
    return &n->steps[n->n_steps++];
}

int32_t normalizer_keep(char **out, size_t *n, const char *bytes, size_t len,
                        struct sluice_error *err)
{
    *out = malloc(len + 1);
    if (!*out) {
        return bpe_fail_memory(err, "a normalizer");
    }
    if (len > 0) {
        memcpy(*out, bytes, len);
    }
    (*out)[len] = '\0';
    *n = len;
    return SLUICE_OK;
}

int normalizer_is_identity(const struct normalizer *n)
{
    return n->n_steps == 0;
}

static size_t times(size_t a, size_t b)
{
    return b > 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

static size_t plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* So that the bound of two texts together is at most the sum of theirs. */
static size_t step_bound(const struct step *step, size_t len)
{
    switch (step->kind) {
    case STEP_FORM: /* U+0390 (NFD); U+FDFA: 3 bytes, 33 in compatibility forms */
        return times(len, step->forms.form == FORM_NFC || step->forms.form == FORM_NFD ? 3 : 11);
    case STEP_REPLACE:
        return step->n_content <= step->n_pattern
                   ? len
                   : plus(len, times(len / step->n_pattern + 1, step->n_content - step->n_pattern));
    case STEP_REGEX: /* a match has at least one byte */
        return times(len, step->n_content > 1 ? step->n_content : 1);
    case STEP_PREPEND:
        return len > 0 ? plus(len, step->n_content) : 0;
    case STEP_CHINESE: /* 3 bytes become 5 */
    case STEP_BYTE_LEVEL:
        return times(len, 2);
    case STEP_LOWERCASE: /* 2 bytes become 3 */
        return plus(len, len / 2 + len % 2);
    case STEP_CHARSMAP:
        return times(len, step->charsmap.growth);
    case STEP_SPM:
        return plus(times(len, step->charsmap.space_growth > 3 ? step->charsmap.space_growth : 3),
                    3);
    default:
        return len;
    }
}

size_t normalizer_bound(const struct normalizer *n, size_t len)
{
    size_t i;
    for (i = 0; i < n->n_steps; i++) {
        len = step_bound(&n->steps[i], len);
    }
    return len;
}

size_t normalizer_memory(const struct normalizer *n)
{
    size_t i, size = sizeof(*n) + normalizer_unicode_memory(&n->unicode);
    size += n->classes.n_blocks * 512 + n->classes.n_runs * sizeof(*n->classes.starts);
    for (i = 0; i < n->n_steps; i++) {
        const struct step *step = &n->steps[i];
        size += step->forms.touch ? 0x110000 / 8 : 0;
        size += step->charsmap.n_units * sizeof(uint32_t) + step->charsmap.n_texts;
        size += step->symbols.n * sizeof(*step->symbols.nodes);
        size += step->n_pattern + step->n_content;
    }
    return size;
}

int32_t normalizer_worker_create(const struct normalizer *n, struct normalizer_worker **out,
                                 struct sluice_error *err)
{
    size_t i;
    struct normalizer_worker *w = calloc(1, sizeof(*w));
    *out = NULL;
    if (!w) {
        return bpe_fail_memory(err, "a normalizer");
    }
    w->n = n;
    for (i = 0; i < n->n_steps; i++) {
        if (n->steps[i].kind == STEP_REGEX) {
            int32_t status = regex_worker_create(n->steps[i].regex, &w->regex[i], err);
            if (status != SLUICE_OK) {
                normalizer_worker_destroy(w);
                return status;
            }
        }
    }
    *out = w;
    return SLUICE_OK;
}

void normalizer_worker_destroy(struct normalizer_worker *w)
{
    size_t i;
    if (!w) {
        return;
    }
    for (i = 0; i < STEPS_MOST; i++) {
        regex_worker_destroy(w->regex[i]);
    }
    forms_scratch_deinit(&w->forms);
    free(w->sinks[0].data);
    free(w->sinks[1].data);
    free(w);
}

/* Replace by a regex: what it matches, from the left. As normalizer_step, with SLUICE_E_DATA. */
static int32_t run_regex(const struct step *step, struct regex_worker *regex,
                         struct normalizer_sink *sink, int *changed, struct sluice_error *err)
{
    const uint8_t *text = sink->in;
    size_t len = (size_t)(sink->in_end - text), begin = 0, end;
    int is_match = 0;
    int32_t status = regex_begin(regex, text, len, err);
    *changed = 0;
    while (status == SLUICE_OK && begin < len) {
        status = regex_next(regex, &end, &is_match, err);
        if (status != SLUICE_OK || is_match < 0) {
            break;
        }
        if (is_match) {
            sink_put(sink, step->content, step->n_content, end - 1);
            *changed = 1;
        } else {
            sink_copy(sink, begin, end - begin);
        }
        begin = end;
    }
    return status;
}

int32_t normalizer_run(struct normalizer_worker *w, const char *text, size_t len, int first,
                       struct normalizer_text *out, struct sluice_error *err)
{
    const struct normalizer *n = w->n;
    size_t i, next = 0;
    uint32_t cp;
    out->data = text;
    out->len = len;
    out->head = 0;
    if (len == 0) {
        return SLUICE_OK;
    }
    if (first) {
        out->head = utf8_decode((const uint8_t *)text, (const uint8_t *)text + len, &cp);
    }
    for (i = 0; i < n->n_steps && out->len > 0; i++) {
        const struct step *step = &n->steps[i];
        struct normalizer_sink *sink = &w->sinks[next];
        int changed;
        sink_begin(sink, out->data, out->len, out->head);
        if (step->kind == STEP_REGEX) {
            int32_t status = run_regex(step, w->regex[i], sink, &changed, err);
            if (status != SLUICE_OK) {
                return status;
            }
        } else {
            changed = normalizer_step(n, step, &w->forms, sink);
        }
        if (changed < 0 || sink->failed) {
            return bpe_fail_memory(err, "normalized text");
        }
        if (changed) {
            out->data = sink->data ? sink->data : "";
            out->len = sink->len;
            out->head = sink->head_out;
            next = 1 - next;
        }
    }
    return SLUICE_OK;
}
