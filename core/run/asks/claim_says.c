/* What an entry of the log of claims says: see claims.h. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "run/asks/claimsInt.h"

#define KEY CLAIMS_KEY

/* ---- who ---- */

sluice_status claims_party(struct claims *claims, const struct holder *holder, uint32_t *at,
                           struct sluice_error *err)
{
    for (*at = 0; *at < claims->n_parties; ++*at) {
        if (strcmp(claims->parties[*at].holder.id, holder->id) == 0) {
            return SLUICE_OK;
        }
    }
    if (claims->n_parties == claims->room) {
        uint32_t room = claims->room == 0 ? 8 : 2 * claims->room;
        struct party *more = realloc(claims->parties, room * sizeof *more);
        if (more == NULL) {
            return error_nomem(err, "who asks");
        }
        claims->parties = more;
        claims->room = room;
    }
    claims->parties[claims->n_parties++] = (struct party){ .holder = *holder, .lives = true };
    return *at == 0 ? SLUICE_OK : journal_expect(claims->journal, holder->id, err);
}

/* ---- what an entry says ---- */

/* The keys that an entry names are the holder's, or, if they are let go, nobody's of those that are
 * its own. */
static sluice_status put_keys(struct claims *claims, const json_t *keys, uint32_t holder, bool go,
                              struct sluice_error *err)
{
    const char *text = json_string_value(keys);
    size_t n = json_string_length(keys);

    for (size_t at = 0; at + KEY <= n; at += KEY) {
        char hex[KEY + 1] = "";
        struct hash128 key;
        memcpy(hex, text + at, KEY);
        if (!hash_parse(hex, &key) || (go && claim_holder(&claims->table, key) != holder)) {
            continue;
        }
        if (!claim_put(&claims->table, key, go ? CLAIM_NOBODY : holder)) {
            return error_nomem(err, "what is asked");
        }
    }
    return SLUICE_OK;
}

void claims_set_alone(struct claims *claims, uint32_t who)
{
    claims->alone = who;
    claims->crowded = false;
    claims->knocked = false;
}

sluice_status claims_apply(struct claims *claims, const char *text, size_t n, bool summed,
                           bool *closed, struct sluice_error *err)
{
    json_t *json = json_loadb(text, n, 0, NULL);
    const json_t *keys = json_object_get(json, "keys");
    struct holder holder;
    uint32_t who = 0;
    sluice_status status;

    if (!holder_parse(text, n, &holder)) {
        json_decref(json);
        return SLUICE_OK;
    }
    status = claims_party(claims, &holder, &who, err);
    if (status == SLUICE_OK) {
        bool left = json_is_true(json_object_get(json, "left"));
        *closed = *closed || json_is_true(json_object_get(json, "closed"));
        claims->parties[who].left = claims->parties[who].left || left;
        if (json_is_true(json_object_get(json, "alone"))) {
            claims_set_alone(claims, who);
        } else if (!summed && (keys != NULL || left) &&
                   (who == claims->alone || (keys != NULL && claims->alone != 0))) {
            claims_set_alone(claims, CLAIM_NOBODY);
        } else if (claims->alone == 0 && who != 0 && !left) {
            claims->crowded = true;
        }
        status = put_keys(claims, json_object_get(json, "given"), who, true, err);
    }
    if (status == SLUICE_OK) {
        status = put_keys(claims, keys, who, false, err);
    }
    json_decref(json);
    return status;
}
