/* Whose an ask is: see claims.h. */
#include "run/asks/claims.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "run/asks/claimsInt.h"

#define KEY CLAIMS_KEY

static bool is_over(void *ctx, struct hash128 key)
{
    return journal_knows(ctx, key);
}

/* ---- who ---- */

static sluice_status party_of(struct claims *claims, const struct holder *holder, uint32_t *at,
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

/* *crowd: another one lives. */
static void look_at_others(struct claims *claims, bool *crowd)
{
    *crowd = false;
    for (uint32_t k = 1; k < claims->n_parties; k++) {
        struct party *party = &claims->parties[k];
        party->lives = !party->left && member_lives(claims->member, &party->holder);
        *crowd = *crowd || party->lives;
    }
}

static bool is_held(const struct claims *claims, uint32_t holder)
{
    return holder != CLAIM_NOBODY && holder != 0 && claims->parties[holder].lives &&
           !claims->parties[holder].left;
}

/* ---- what an entry says ---- */

static sluice_status take_keys(struct claims *claims, const json_t *keys, uint32_t holder,
                               struct sluice_error *err)
{
    const char *text = json_string_value(keys);
    size_t n = json_string_length(keys);

    for (size_t at = 0; at + KEY <= n; at += KEY) {
        char hex[KEY + 1] = "";
        struct hash128 key;
        memcpy(hex, text + at, KEY);
        if (hash_parse(hex, &key) && !claim_put(&claims->table, key, holder)) {
            return error_nomem(err, "what is asked");
        }
    }
    return SLUICE_OK;
}

static sluice_status forget_keys(struct claims *claims, const json_t *keys, uint32_t holder,
                                 struct sluice_error *err)
{
    const char *text = json_string_value(keys);
    size_t n = json_string_length(keys);

    for (size_t at = 0; at + KEY <= n; at += KEY) {
        char hex[KEY + 1] = "";
        struct hash128 key;
        memcpy(hex, text + at, KEY);
        if (hash_parse(hex, &key) && claim_holder(&claims->table, key) == holder &&
            !claim_put(&claims->table, key, CLAIM_NOBODY)) {
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
    status = party_of(claims, &holder, &who, err);
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
        status = forget_keys(claims, json_object_get(json, "given"), who, err);
    }
    if (status == SLUICE_OK) {
        status = take_keys(claims, keys, who, err);
    }
    json_decref(json);
    return status;
}

static sluice_status say_keys(struct claims *claims, const char *name, const struct hash128 *keys,
                              size_t n, struct sluice_error *err)
{
    struct buf says = BUF_INIT;
    sluice_status status;

    buf_printf(&says, ",\"%s\":\"", name);
    for (size_t k = 0; k < n; k++) {
        claims_put_key(&says, keys[k]);
    }
    buf_puts(&says, "\"");
    status = buf_status(&says, err);
    if (status == SLUICE_OK) {
        status = claims_say(claims, buf_str(&says), err);
    }
    buf_deinit(&says);
    return status;
}

/* ---- life ---- */

sluice_status claims_open(const char *folder, struct journal *journal, struct member *member,
                          struct claims **out, struct sluice_error *err)
{
    struct claims *claims = calloc(1, sizeof *claims);
    uint32_t self;
    sluice_status status;

    *out = NULL;
    if (claims == NULL || (claims->folder = str_copy(folder, strlen(folder))) == NULL) {
        free(claims);
        return error_nomem(err, "claims");
    }
    claims->journal = journal;
    claims->member = member;
    claims->generation = claims->number = 1;
    claims->alone = CLAIM_NOBODY;
    claims->table.over = is_over;
    claims->table.ctx = journal;
    status = party_of(claims, member_self(member), &self, err);
    if (status != SLUICE_OK) {
        claims_close(claims);
        return status;
    }
    *out = claims;
    return SLUICE_OK;
}

void claims_close(struct claims *claims)
{
    if (claims == NULL) {
        return;
    }
    if (claims->spoke && claims_say(claims, ",\"left\":true", NULL) != SLUICE_OK) {
        /* Then others see that it is dead. */
    }
    claim_table_deinit(&claims->table);
    free(claims->parties);
    free(claims->folder);
    free(claims);
}

/* ---- claims ---- */

sluice_status claims_look(struct claims *claims, struct sluice_error *err)
{
    bool crowd;

    TRY(claims_catch_up(claims, err));
    look_at_others(claims, &crowd);
    return SLUICE_OK;
}

bool claims_alone(const struct claims *claims)
{
    return claims->alone == 0 && !claims->crowded;
}

bool claims_crowded(const struct claims *claims)
{
    return claims->alone == 0 && claims->crowded;
}

sluice_status claims_share(struct claims *claims, const struct hash128 *keys, size_t n,
                           struct sluice_error *err)
{
    return say_keys(claims, "keys", keys, n, err);
}

sluice_status claims_give(struct claims *claims, const struct hash128 *keys, size_t n,
                          struct sluice_error *err)
{
    return n == 0 || claims->alone == 0 ? SLUICE_OK : say_keys(claims, "given", keys, n, err);
}

bool claims_held(const struct claims *claims, struct hash128 key)
{
    return is_held(claims, claim_holder(&claims->table, key));
}

/* Who is alone is given time to say what it asks. */
static sluice_status knock(struct claims *claims, bool *wait, bool *made, struct sluice_error *err)
{
    *made = true;
    *wait = is_held(claims, claims->alone);
    if (!*wait) {
        return SLUICE_OK;
    }
    if (!claims->knocked) {
        TRY(claims_append(claims, "", made, err));
        claims->knocked = *made;
        claims->knocked_ns = member_clock();
    }
    *wait = member_clock() - claims->knocked_ns < member_times()->ttl;
    return SLUICE_OK;
}

static sluice_status take_free(struct claims *claims, struct claim_wish *wishes, size_t n,
                               bool *made, bool *wrote, struct sluice_error *err)
{
    struct buf says = BUF_INIT;
    size_t begin;
    sluice_status status = SLUICE_OK;

    *made = true;
    buf_puts(&says, ",\"keys\":\"");
    begin = says.size;
    for (size_t k = 0; k < n; k++) {
        bool free_now = wishes[k].anyhow || !claims_held(claims, wishes[k].key);
        wishes[k].claim = free_now ? CLAIM_OURS : CLAIM_ANOTHER;
        if (free_now) {
            claims_put_key(&says, wishes[k].key);
        }
    }
    if (says.size > begin || says.failed) {
        buf_puts(&says, "\"");
        status = buf_status(&says, err);
        if (status == SLUICE_OK) {
            status = claims_append(claims, buf_str(&says), made, err);
        }
        *wrote = *wrote || *made;
    }
    buf_deinit(&says);
    return status;
}

/* One attempt. *made false: somebody else wrote meanwhile. */
static sluice_status try_take(struct claims *claims, struct claim_wish *wishes, size_t n,
                              bool *made, bool *wrote, struct sluice_error *err)
{
    enum claim all = CLAIM_LATER;
    bool crowd;
    bool wait = true;

    *made = true;
    TRY(claims_catch_up(claims, err));
    look_at_others(claims, &crowd);
    if (claims->alone == 0) {
        all = claims->crowded ? CLAIM_LATER : CLAIM_OURS;
    } else if (!crowd) {
        TRY(claims_append(claims, ",\"alone\":true", made, err));
        *wrote = *made;
        all = CLAIM_OURS;
    } else {
        TRY(knock(claims, &wait, made, err));
        if (*made && !wait) {
            return take_free(claims, wishes, n, made, wrote, err);
        }
    }
    for (size_t k = 0; k < n; k++) {
        wishes[k].claim = all;
    }
    return SLUICE_OK;
}

sluice_status claims_take(struct claims *claims, struct claim_wish *wishes, size_t n, bool *wrote,
                          struct sluice_error *err)
{
    bool made = false;

    *wrote = false;
    while (!made) {
        TRY(try_take(claims, wishes, n, &made, wrote, err));
    }
    return SLUICE_OK;
}
