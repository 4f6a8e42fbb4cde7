/* Whose an ask is: see claims.h. */
#include "run/asks/claims.h"

#include <stdlib.h>
#include <string.h>

#include "run/asks/claimsInt.h"

static bool is_over(void *ctx, struct hash128 key)
{
    return journal_knows(ctx, key);
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
    status = claims_party(claims, member_self(member), &self, err);
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
