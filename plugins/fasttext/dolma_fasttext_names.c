/* dolma_fasttext_names.c - what Dolma's taggers call the labels of a model. See
 * dolma_fasttext.h. */
#include <stdio.h>

#include "dolma_fasttext.h"
#include "dolma_names.h"
#include "fasttext.h"

static char *join_name(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 1;
    char *name = malloc(n);

    if (name != NULL) {
        snprintf(name, n, "%s%s", a, b);
        (void)dolma_name_make(name);
    }
    return name;
}

/* text with every `what` in it replaced by `by`, which is not longer. */
static void replace_all(char *text, const char *what, const char *by)
{
    size_t n = strlen(what);
    size_t by_n = strlen(by);
    char *to = text;

    while (*text != '\0') {
        if (strncmp(text, what, n) == 0) {
            memmove(to, by, by_n);
            to += by_n;
            text += n;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

/* "cc" and "hq" become "score", which is longer: into a new text. */
static char *score_name(const char *label)
{
    size_t n = strlen(label);
    char *name = malloc(3 * n + 1);
    char *to = name;

    for (size_t i = 0; name != NULL && i < n;) {
        if (strncmp(label + i, "cc", 2) == 0 || strncmp(label + i, "hq", 2) == 0) {
            memcpy(to, "score", 5);
            to += 5;
            i += 2;
        } else {
            *to++ = label[i++];
        }
    }
    if (name != NULL) {
        *to = '\0';
        (void)dolma_name_make(name);
    }
    return name;
}

static bool name_label(const struct ft_tagger *tagger, const char *label, struct ft_type *out)
{
    char *plain = strdup(label);

    if (plain == NULL) {
        return false;
    }
    if (tagger->scores == COMPOSITION) {
        /* lstrip of these characters, not of the prefix. */
        const char *begin = plain + strspn(plain, FASTTEXT_LABEL);
        out->type = join_name(begin, "");
        out->share = join_name(begin, "_pct");
        out->entropy = join_name(begin, "_entropy");
    } else {
        if (tagger->scores != TWO_LABELS) {
            replace_all(plain, FASTTEXT_LABEL, "");
        }
        out->type = tagger->scores == BEST_LABEL ? score_name(plain) : join_name(plain, "");
        out->share = strdup("");
        out->entropy = strdup("");
    }
    free(plain);
    return out->type != NULL && out->share != NULL && out->entropy != NULL;
}

sluice_status ft_types_make(struct ft_types *types, const struct ft_tagger *tagger,
                            const struct ft_model *model, struct sluice_error *err)
{
    size_t n = ft_model_labels(model);

    types->types = calloc(n + 1, sizeof *types->types);
    if (types->types == NULL) {
        return dolma_nomem(err);
    }
    for (size_t k = 0; k <= n; k++) {
        const char *label = k < n ? ft_model_label(model, k) : "other";
        types->n++;
        if (!name_label(tagger, label, &types->types[k])) {
            return dolma_nomem(err);
        }
    }
    return SLUICE_OK;
}

void ft_types_free(struct ft_types *types)
{
    for (size_t k = 0; k < types->n; k++) {
        free(types->types[k].type);
        free(types->types[k].share);
        free(types->types[k].entropy);
    }
    free(types->types);
    memset(types, 0, sizeof *types);
}

static sluice_status declare(struct dolma_column *column, const char *prefix, const char *type,
                             struct sluice_error *err)
{
    return dolma_column_declare(column, prefix, type, strlen(type), "experiment", err);
}

sluice_status ft_types_declare(const struct ft_types *types, const struct ft_tagger *tagger,
                               const char *prefix, struct dolma_column *column,
                               struct sluice_error *err)
{
    static const char *const english[] = { "en", "not_en", "doc_en", "doc_not_en" };
    const bool all = tagger->scores == COMPOSITION;
    size_t n = types->n - !all;
    sluice_status status = SLUICE_OK;

    if (tagger->scores == ENGLISH) {
        n = tagger->overall ? 4 : tagger->negative ? 2 : 1;
        for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
            status = declare(column, prefix, english[k], err);
        }
        return status;
    }
    for (size_t k = 0; status == SLUICE_OK && k < n; k++) {
        status = declare(column, prefix, types->types[k].type, err);
        if (status == SLUICE_OK && all) {
            status = declare(column, prefix, types->types[k].share, err);
        }
        if (status == SLUICE_OK && all) {
            status = declare(column, prefix, types->types[k].entropy, err);
        }
    }
    return status == SLUICE_OK && all ? declare(column, prefix, "boundaries", err) : status;
}
