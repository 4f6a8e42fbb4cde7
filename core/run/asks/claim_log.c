/* The log of claims: its files, and how one generation of it follows another. See claims.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "run/asks/claimsInt.h"

#define ENTRY_MAX ((uint64_t)256 << 20)
#define LONG 512u /* entries of a generation, after which the next one begins */

/* ---- the files ---- */

static char *entry_path(const struct claims *claims, uint32_t generation, uint32_t number)
{
    return str_printf("%s/%06u.%06u", claims->folder, generation, number);
}

static sluice_status read_file(char *path, struct buf *text, bool *found, struct sluice_error *err)
{
    sluice_status status = path == NULL ? error_nomem(err, "a path")
                                        : store_read_all(path, ENTRY_MAX, text, found, err);
    free(path);
    return status;
}

static sluice_status read_sum(const struct claims *claims, struct buf *text, bool *found,
                              struct sluice_error *err)
{
    return read_file(str_printf("%s/%06u.sum", claims->folder, claims->generation), text, found,
                     err);
}

/* Goes on to the newest generation that follows a sum. *went: there was one. */
static sluice_status follow_sums(struct claims *claims, bool *went, struct sluice_error *err)
{
    bool found = true;
    sluice_status status = SLUICE_OK;

    *went = false;
    while (status == SLUICE_OK && found) {
        struct buf text = BUF_INIT;
        bool closed = false;
        status = read_sum(claims, &text, &found, err);
        if (status == SLUICE_OK && found) {
            const char *at = text.data;
            const char *end = at + text.size;
            *went = true;
            claim_table_deinit(&claims->table);
            claims_set_alone(claims, CLAIM_NOBODY);
            while (status == SLUICE_OK && at != NULL && at < end) {
                const char *stop = memchr(at, '\n', (size_t)(end - at));
                stop = stop == NULL ? end : stop;
                status = claims_apply(claims, at, (size_t)(stop - at), true, &closed, err);
                at = stop + 1;
            }
            claims->crowded = claims->alone == 0 && claims->n_parties > 1; /* to be sure */
            claims->generation++;
            claims->number = 1;
        }
        buf_deinit(&text);
    }
    return status;
}

sluice_status claims_catch_up(struct claims *claims, struct sluice_error *err)
{
    bool more = true;
    sluice_status status = SLUICE_OK;

    while (status == SLUICE_OK && more) {
        struct buf text = BUF_INIT;
        bool closed = false;
        status =
            read_file(entry_path(claims, claims->generation, claims->number), &text, &more, err);
        if (status == SLUICE_OK && more) {
            status = claims_apply(claims, text.data, text.size, false, &closed, err);
            claims->number++;
        }
        if (status == SLUICE_OK && closed) {
            claims->generation++;
            claims->number = 1;
        }
        if (status == SLUICE_OK && (!more || closed)) {
            /* It is the end, or all of it was summed up and is gone. */
            bool went;
            status = follow_sums(claims, &went, err);
            more = more || went;
        }
        buf_deinit(&text);
    }
    return status;
}

/* Appends what `says` says, in JSON, behind the comma. *made false: somebody else wrote meanwhile.
 * */
static sluice_status append_once(struct claims *claims, const char *says, bool *made,
                                 struct sluice_error *err)
{
    char *path = entry_path(claims, claims->generation, claims->number);
    char *text = str_printf("{%s,\"n\":%" PRIu64 "%s}\n", member_json(claims->member),
                            ++claims->serial, says);
    enum store_put outcome = STORE_OTHER;
    sluice_status status = path == NULL || text == NULL ? error_nomem(err, "a claim")
                                                        : store_put_new(path, text, strlen(text),
                                                                        STORE_LOOSE, &outcome, err);
    bool closed = false;
    bool went = false;

    *made = outcome != STORE_OTHER;
    if (status == SLUICE_OK && *made) {
        status = follow_sums(claims, &went, err);
        *made = !went; /* else it stands where nobody looks any more */
    }
    if (status == SLUICE_OK && *made) {
        claims->spoke = true;
        claims->number++;
        status = claims_apply(claims, text, strlen(text), false, &closed, err);
    }
    free(path);
    free(text);
    return status;
}

/* ---- generations ---- */

static uint32_t generation_length(void)
{
    const char *text = hook_text("SLUICE_TEST_CLAIMS"); /* entries of a generation */
    return text == NULL ? LONG : (uint32_t)strtoul(text, NULL, 10);
}

void claims_put_key(struct buf *out, struct hash128 key)
{
    char hex[CLAIMS_KEY + 1];

    hash_hex(key, hex);
    buf_append(out, hex, CLAIMS_KEY);
}

static void put_party(const struct claims *claims, uint32_t who, struct buf *out)
{
    const struct party *party = &claims->parties[who];
    char owner[OWNER_TEXT];

    buf_printf(out, "{\"id\":\"%s\",\"owner\":\"%s\",\"host\":", party->holder.id,
               owner_print(&party->holder.owner, owner));
    buf_json_string(out, party->holder.host, strlen(party->holder.host));
    buf_puts(out, ",\"words\":");
    buf_json_string(out, party->holder.words, strlen(party->holder.words));
    buf_puts(out, party->left            ? ",\"left\":true}\n"
                  : claims->alone == who ? ",\"alone\":true}\n"
                                         : ",\"keys\":\"");
    if (party->left || claims->alone == who) {
        return;
    }
    for (size_t i = 0; i < claims->table.capacity; i++) {
        const struct claim_place *place = &claims->table.places[i];
        if (!hash_is_zero(place->key) && place->holder == who &&
            !journal_knows(claims->journal, place->key)) {
            claims_put_key(out, place->key);
        }
    }
    buf_puts(out, "\"}\n");
}

/* Sums up a generation that is closed, and removes it. That it can't be costs room alone. */
static void sum_up(struct claims *claims, uint32_t generation, uint32_t entries)
{
    struct buf text = BUF_INIT;
    char *path = str_printf("%s/%06u.sum", claims->folder, generation);
    enum store_put outcome;
    bool good;

    for (uint32_t k = 0; k < claims->n_parties; k++) {
        put_party(claims, k, &text);
    }
    good = path != NULL && !text.failed &&
           store_put_new(path, text.data, text.size, STORE_LOOSE, &outcome, NULL) == SLUICE_OK;
    free(path);
    buf_deinit(&text);
    for (uint32_t k = 1; good && k <= entries; k++) {
        path = entry_path(claims, generation, k);
        good = path != NULL && store_remove(path, NULL) == SLUICE_OK;
        free(path);
    }
}

sluice_status claims_append(struct claims *claims, const char *says, bool *made,
                            struct sluice_error *err)
{
    bool closed = false;

    TRY(append_once(claims, says, made, err));
    if (*made && claims->number > generation_length()) {
        uint32_t generation = claims->generation;
        uint32_t entries = claims->number;
        TRY(append_once(claims, ",\"closed\":true", &closed, err));
        if (closed) {
            claims->generation = generation + 1;
            claims->number = 1;
            sum_up(claims, generation, entries);
        }
    }
    return SLUICE_OK;
}

sluice_status claims_say(struct claims *claims, const char *says, struct sluice_error *err)
{
    bool made = false;

    while (!made) {
        TRY(claims_catch_up(claims, err));
        TRY(claims_append(claims, says, &made, err));
    }
    return SLUICE_OK;
}
