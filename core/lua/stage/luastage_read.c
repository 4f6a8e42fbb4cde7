/* Readers in Lua: a call a line, or a call a file. What goes wrong in one is a bad record with its
 * place in the file; a file that fails is one as a whole. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "lua/sandbox/sandbox.h"
#include "lua/stage/luastageInt.h"

/* ---- bad records ---- */

static sluice_status add_bad(struct luaworker *worker, uint64_t begin, uint64_t end,
                             const char *reason, const char *detail, struct sluice_error *err)
{
    struct luabad *bad;

    if (worker->n_bad == worker->bad_capacity) {
        size_t capacity = worker->bad_capacity * 2 + 16;
        bad = realloc(worker->bad, capacity * sizeof *bad);
        if (bad == NULL) {
            return error_nomem(err, "bad records");
        }
        worker->bad = bad;
        worker->bad_capacity = capacity;
    }
    bad = &worker->bad[worker->n_bad];
    *bad = (struct luabad){ begin, end, str_copy(reason, strlen(reason)),
                            str_copy(detail, strlen(detail)) };
    worker->n_bad++;
    return bad->reason == NULL || bad->detail == NULL ? error_nomem(err, "bad records") : SLUICE_OK;
}

static bool is_word(lua_State *L, int index)
{
    size_t n;
    const char *word =
        lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &n) : (n = 0, "");

    return n > 0 && n < 64 && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* ---- give ---- */

/* The place of first .. last (1-based, as string.find says it; none: all of the text) in the
 * file. */
static void read_place(lua_State *L, const struct luaworker *worker, uint64_t place[2])
{
    const struct luarecord *record = &worker->record;
    lua_Integer first = luaL_optinteger(L, 2, 1);
    lua_Integer last = luaL_optinteger(L, 3, (lua_Integer)record->n);

    if (first < 1 || last < first - 1 || (uint64_t)last > record->n) {
        luaL_error(L, "give: found the bytes %I to %I, expected a range within 1 to %I",
                   (LUAI_UACINT)first, (LUAI_UACINT)last, (LUAI_UACINT)record->n);
    }
    place[0] = record->offset + (uint64_t)first - 1;
    place[1] = record->offset + (uint64_t)last;
    if (place[0] < record->least) {
        luaL_error(L,
                   "give: found a record at byte %I behind one at byte %I; records come in the "
                   "order in which they stand in the file",
                   (LUAI_UACINT)first, (LUAI_UACINT)(record->least - record->offset + 1));
    }
}

/* give(record [, first, last]); give(nil, first, last, reason [, detail]) */
int luaread_give(lua_State *L)
{
    struct luaworker *worker = lua_touserdata(L, lua_upvalueindex(1));
    struct sluice_error err;
    uint64_t place[2];
    sluice_status status;

    luacall_empty(&err);
    if (!worker->active) {
        return luaL_error(L, "give is called after the function returned");
    }
    if (!lua_istable(L, 1) && !lua_isnil(L, 1)) {
        return luaL_error(L,
                          "give: found a %s, expected a table of columns, or nil, first, last and "
                          "a reason for a bad record",
                          luaL_typename(L, 1));
    }
    read_place(L, worker, place);
    if (lua_isnil(L, 1)) {
        if (!is_word(L, 4)) {
            return luaL_error(L, "give: the reason of a bad record must be a word [a-z0-9_]+");
        }
        luaL_argcheck(L, !luacall_has_nul(L, 5), 5, "a detail has no NUL bytes");
        status =
            add_bad(worker, place[0], place[1], lua_tostring(L, 4), luaL_optstring(L, 5, ""), &err);
    } else {
        status = luaout_add(worker, L, 1, &err);
        if (status == SLUICE_OK) {
            status = luaout_place(worker, place, &err);
        }
    }
    if (status == SLUICE_E_NOMEM) {
        return luacall_abandon(worker, L, &err);
    }
    if (status != SLUICE_OK) {
        return luaL_error(L, "give: %s", err.message);
    }
    if (luaout_call_bytes(worker) > ROW_BYTES) {
        return luaL_error(L, "a file gives more than %d MiB", (int)(ROW_BYTES >> 20));
    }
    worker->record.least = place[0];
    return 0;
}

/* ---- calls ---- */

/* The arguments are made inside the call, where the cap on memory holds. Argument: the worker. */
static int enter(lua_State *L)
{
    const struct luaworker *worker = lua_touserdata(L, 1);
    const struct luarecord *record = &worker->record;

    lua_settop(L, 0);
    sandbox_reads(L, record->n);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushlstring(L, record->text, record->n);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushstring(L, record->uri);
    if (worker->instance->stage->whole) {
        lua_pushvalue(L, lua_upvalueindex(3));
    } else {
        lua_pushinteger(L, (lua_Integer)record->offset);
    }
    lua_call(L, 4, 4);
    return 4;
}

int luaread_push(struct luaworker *worker)
{
    lua_State *L = worker->L;

    /* The closure is made once; it takes the place of doc, which readers don't have. */
    if (!lua_iscfunction(L, AT_DOC)) {
        lua_pushvalue(L, AT_FUNCTION);
        lua_pushvalue(L, AT_OPTIONS);
        lua_pushvalue(L, AT_GIVE);
        lua_pushcclosure(L, enter, 3);
        lua_replace(L, AT_DOC);
    }
    worker->record.least = worker->record.offset;
    lua_pushvalue(L, AT_DOC);
    lua_pushlightuserdata(L, worker);
    return 1;
}

/* What the function returned for a line. */
static sluice_status line_result(struct luaworker *worker, int index, bool *skipped,
                                 struct sluice_error *err)
{
    const struct luarecord *record = &worker->record;
    lua_State *L = worker->L;
    uint64_t place[2] = { record->offset, record->offset + record->n };

    if (lua_istable(L, index)) {
        TRY(luaout_add(worker, L, index, err));
        return luaout_place(worker, place, err);
    }
    if (lua_isboolean(L, index) && lua_toboolean(L, index) == 0) {
        *skipped = true;
        return SLUICE_OK;
    }
    if (!lua_isnil(L, index)) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned a %s, expected a table of columns; false for a "
                         "line that is no record; or nil and a reason",
                         luaL_typename(L, index));
    }
    if (lua_isnil(L, index + 1)) {
        return error_set(err, SLUICE_E_DATA,
                         "the function returned nil, expected a table of columns; false for a line "
                         "that is no record; or nil and a reason for a bad one");
    }
    if (!is_word(L, index + 1) || luacall_has_nul(L, index + 2) ||
        (!lua_isnil(L, index + 2) && !lua_isstring(L, index + 2))) {
        return error_set(err, SLUICE_E_DATA,
                         "behind nil the function returned something else than a reason "
                         "[a-z0-9_]+ and, if any, a detail without NUL bytes");
    }
    return add_bad(worker, place[0], place[1], lua_tostring(L, index + 1),
                   lua_isnil(L, index + 2) ? "" : lua_tostring(L, index + 2), err);
}

sluice_status luaread_record(struct luaworker *worker, bool *skipped, struct sluice_error *err)
{
    const struct luarecord *record = &worker->record;
    struct sluice_error *why = luacall_error(worker);
    const char *reason;
    sluice_status status = SLUICE_OK;
    int base = luacall_base(worker);

    *skipped = false;
    worker->active = true;
    TRY(luacall(worker, &reason, why, err));
    if (reason == NULL && worker->instance->stage->whole) {
        status = lua_isnil(worker->L, base)
                     ? SLUICE_OK
                     : error_set(why, SLUICE_E_DATA,
                                 "the function returned a %s, expected nothing: with cut = "
                                 "\"none\" records are given with give(record, first, last)",
                                 luaL_typename(worker->L, base));
    } else if (reason == NULL) {
        status = line_result(worker, base, skipped, why);
    }
    if (status == SLUICE_E_NOMEM) {
        *err = *why;
        return status;
    }
    if (status != SLUICE_OK) {
        reason = "lua_error";
        luacall_place(worker, why);
        luaout_rewind(worker);
        luaread_forget(worker, worker->bad_start);
    }
    if (reason != NULL && worker->not_utf8 && !utf8_valid(record->text, record->n)) {
        reason = "invalid_utf8"; /* the file's fault, not the script's */
    }
    luacall_end(worker);
    return reason == NULL ? SLUICE_OK
                          : add_bad(worker, record->offset, record->offset + record->n, reason,
                                    why->message, err);
}

/* ---- chunks ---- */

struct chunk_work {
    const struct sluice_chunk *chunk;
    int64_t skipped;
};

/* Hands on what one or more records gave. */
static sluice_status hand_on(struct luaworker *worker, struct sluice_error *err)
{
    struct sluice_emit *emit = worker->emit;

    for (size_t i = 0; i < worker->n_bad; i++) {
        const struct luabad *bad = &worker->bad[i];
        TRY(emit->bad(emit, bad->begin, bad->end, bad->reason, bad->detail));
    }
    luaread_forget(worker, 0);
    sandbox_clock(worker->L); /* what was handed on so far takes time that is no record's */
    return luagive_batch(worker, err);
}

static sluice_status read_record(struct luaworker *worker, struct chunk_work *work,
                                 struct sluice_error *err)
{
    bool skipped;

    TRY(luaread_record(worker, &skipped, err));
    work->skipped += skipped;
    if (luaout_bytes(worker) < GIVE_BYTES) {
        return SLUICE_OK;
    }
    TRY(hand_on(worker, err));
    return luaout_begin(worker, err);
}

static sluice_status read_chunk(struct luaworker *worker, void *ctx, struct sluice_error *err)
{
    struct chunk_work *work = ctx;
    const struct sluice_chunk *chunk = work->chunk;
    const char *end = chunk->data + chunk->n;
    uint64_t lines = 0;

    worker->record.uri = chunk->uri;
    if (worker->instance->stage->whole) {
        size_t mark = chunk->n >= 3 && memcmp(chunk->data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        worker->record.text = chunk->data + mark; /* a byte order mark is no text */
        worker->record.n = (size_t)chunk->n - mark;
        worker->record.offset = chunk->offset + mark;
        return read_record(worker, work, err);
    }
    for (const char *at = chunk->data; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop == NULL ? end : stop + 1;
        size_t n = (size_t)((stop == NULL ? end : stop) - at);
        if ((lines++ & 63) == 63 && worker->instance->api->cancelled(worker->instance->host) != 0) {
            return error_set(err, SLUICE_E_CANCELLED, "cancelled");
        }
        worker->record.text = at;
        worker->record.n = n > 0 && at[n - 1] == '\r' ? n - 1 : n;
        worker->record.offset = chunk->offset + (uint64_t)(at - chunk->data);
        TRY(read_record(worker, work, err));
        at = next;
    }
    return SLUICE_OK;
}

sluice_status luaread_read(void *state, struct sluice_chunk *chunk, struct sluice_emit *emit,
                           struct sluice_error *err)
{
    struct luaworker *worker = state;
    struct chunk_work work = { chunk, 0 };

    if (worker->instance->stage->whole && (chunk->flags & SLUICE_CHUNK_LAST) == 0) {
        chunk->consumed = 0; /* the file comes again, with more of it */
        return SLUICE_OK;
    }
    chunk->consumed = chunk->n;
    worker->emit = emit;
    TRY(luaout_begin(worker, err));
    TRY(luacall_watched(worker, read_chunk, &work, err));
    TRY(hand_on(worker, err));
    return work.skipped > 0 ? emit->measure(emit, "skipped", work.skipped) : SLUICE_OK;
}
