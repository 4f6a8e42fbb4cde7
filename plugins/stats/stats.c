/* stats - statistics of a corpus in one pass, exactly and in any order: what datatrove's stats
 * blocks count. This file is what the stages share. */
#include "stats.h"

#include <sluice_state.h>

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

sluice_status stats_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for statistics");
}

sluice_status stats_names_read(struct stats_names *names, const char *text,
                               struct sluice_error *err)
{
    char *p;

    names->text = strdup(text == NULL ? "" : text);
    if (names->text == NULL) {
        return stats_nomem(err);
    }
    for (p = names->text; *p != '\0';) {
        char *end = p + strcspn(p, ",");
        bool more = *end == ',';
        if (end - p < 3 || end[-2] != ':' || names->n == STATS_MAX) {
            stats_names_deinit(names);
            return sluice_fail(err, SLUICE_E_SCHEMA, "moments",
                               "the metadata stats of the column 'moments' is not a list like "
                               "length:i,digit_ratio:f");
        }
        names->name[names->n] = p;
        names->whole[names->n++] = end[-1] == 'i';
        end[-2] = '\0';
        p = more ? end + 1 : end;
    }
    return SLUICE_OK;
}

void stats_names_deinit(struct stats_names *names)
{
    free(names->text);
    *names = (struct stats_names){ 0 };
}

bool stats_rows_add(struct sluice_rows *rows, const char *kind, const char *stat, const char *name,
                    size_t name_size)
{
    XXH64_hash_t seed = XXH3_64bits_withSeed(stat, strlen(stat), XXH3_64bits(kind, strlen(kind)));
    XXH128_canonical_t key;

    XXH128_canonicalFromHash(&key, XXH3_128bits_withSeed(name, name_size, seed));
    sluice_rows_add(rows, 0, key.digest, sizeof key.digest);
    sluice_rows_add(rows, 1, kind, strlen(kind));
    sluice_rows_add(rows, 2, stat, strlen(stat));
    sluice_rows_add(rows, 3, name, name_size);
    sluice_rows_add(rows, STATS_MOMENTS, "", 0);
    return sluice_rows_next(rows);
}

sluice_status stats_rows_need(struct sluice_plan *plan, struct sluice_error *err)
{
    static const char *const columns[][2] = {
        { "kind", "utf8" }, { "stat", "utf8" }, { "name", "utf8" }, { "moments", "binary" }
    };
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < 4; i++) {
        status = plan->need(plan, 0, columns[i][0], columns[i][1], 0, NULL, err);
    }
    return status;
}

sluice_status stats_rows_declare(struct sluice_plan *plan, const char *names,
                                 struct sluice_error *err)
{
    sluice_status status = plan->add(plan, "key", "fixed[16]", NULL, err);

    for (int i = 0; status == SLUICE_OK && i < 3; i++) {
        static const char *const columns[] = { "kind", "stat", "name" };
        status = plan->add(plan, columns[i], "utf8", NULL, err);
    }
    return status == SLUICE_OK ? plan->add(plan, "moments", "binary", names, err) : status;
}

sluice_status stats_bad_init(struct stats_bad *bad, int64_t n, struct sluice_error *err)
{
    bad->verdicts = calloc((size_t)n + 1, sizeof *bad->verdicts);
    bad->n = n;
    return bad->verdicts == NULL ? stats_nomem(err) : SLUICE_OK;
}

void stats_bad_mark(struct stats_bad *bad, int64_t k)
{
    static const char why[] =
        "not_a_record: the row holds no statistics as stats_collect gives them";

    bad->verdicts[k] = (struct sluice_verdict){ .reason = SLUICE_VERDICT_BAD,
                                                .dup_of = why,
                                                .dup_of_length = (int32_t)sizeof why - 1 };
    bad->any = true;
}

sluice_status stats_bad_emit(struct stats_bad *bad, struct sluice_emit *emit)
{
    return bad->any ? emit->verdicts(emit, bad->verdicts, bad->n) : SLUICE_OK;
}

sluice_status stats_moments_save(const struct moments *moments, int n, struct sluice_io *io)
{
    struct sluice_bytes bytes = { 0 };
    sluice_status status = SLUICE_OK;

    for (int i = 0; status == SLUICE_OK && i < n; i++) {
        status = moments_write(&moments[i], &bytes) ? SLUICE_OK : SLUICE_E_NOMEM;
    }
    if (status == SLUICE_OK) {
        status = sluice_state_put(io, bytes.data, bytes.size);
    }
    sluice_bytes_free(&bytes);
    return status;
}

sluice_status stats_moments_load(struct moments *moments, int n, struct sluice_io *io)
{
    struct sluice_bytes bytes = { 0 };
    size_t at = 0;
    sluice_status status = sluice_state_get(io, 1, &bytes);

    if (status == SLUICE_OK && moments_count(bytes.data, bytes.size) != n) {
        status = SLUICE_E_DATA;
    }
    for (int i = 0; status == SLUICE_OK && i < n; i++) {
        enum moments_read got = moments_read(&moments[i], bytes.data, bytes.size, &at);
        status = got == MOMENTS_READ    ? SLUICE_OK
                 : got == MOMENTS_NOMEM ? SLUICE_E_NOMEM
                                        : SLUICE_E_DATA;
    }
    sluice_bytes_free(&bytes);
    return status;
}
