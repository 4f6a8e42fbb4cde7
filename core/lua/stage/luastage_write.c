/* Writers in Lua: a text a row, into files that the host owns. A file is ended at the first row
 * that takes it to shard_size, so the cuts depend on the rows alone, never on how they come in
 * batches. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/stage/luastageInt.h"
#include "lua/script/script.h"

/* The options that every writer has, as luastage_define.c lays them out. */
struct writer_config {
    const char *over;
    uint64_t pad_0;
    const char *path;
    uint64_t pad_1;
    int32_t compression;
    int32_t pad_2;
    uint64_t pad_3;
    int64_t level;
    uint64_t pad_4;
    uint64_t shard_size;
};

sluice_status luawrite_prepare(const struct luainstance *instance, struct sluice_plan *plan,
                               struct sluice_error *err)
{
    static const char *const codecs[] = { "none", "gzip", "zstd" };
    const struct writer_config *config = instance->config;

    return plan->output(plan, instance->stage->suffix, codecs[config->compression],
                        (int32_t)config->level, err);
}

/* The header of the files: the stage's text, or what its function makes of the options. */
sluice_status luawrite_open(struct luaworker *worker, struct sluice_error *err)
{
    const struct luastage *stage = worker->instance->stage;
    lua_State *L = worker->L;
    int top = lua_gettop(L);
    const char *header = stage->header;
    sluice_status status = SLUICE_OK;

    worker->header_n = stage->header_n;
    if (stage->header_called) {
        script_push_stage(L, stage->k);
        lua_pop(L, 1);
        lua_getfield(L, -1, "header");
        lua_pushvalue(L, AT_OPTIONS);
        status = luacall_aside(worker, "header", 1, 1, err);
        if (status == SLUICE_OK && lua_type(L, -1) != LUA_TSTRING) {
            status = error_set(err, SLUICE_E_CONFIG,
                               "%s: header of the writer '%s' returned a %s, expected a string",
                               stage->where, stage->name, luaL_typename(L, -1));
        }
        header = status == SLUICE_OK ? lua_tolstring(L, -1, &worker->header_n) : NULL;
    }
    if (header != NULL) {
        worker->header = str_copy(header, worker->header_n);
        status = worker->header == NULL ? error_nomem(err, "a writer") : SLUICE_OK;
    }
    lua_settop(L, top);
    return status;
}

sluice_status luawrite_result(struct luaworker *worker, int index, struct sluice_error *err)
{
    lua_State *L = worker->L;

    return lua_type(L, index) == LUA_TSTRING
               ? SLUICE_OK
               : error_set(err, SLUICE_E_DATA,
                           "the function returned a %s, expected the text of the row, such as "
                           "doc.text .. \"\\n\"",
                           luaL_typename(L, index));
}

/* ---- rows ---- */

static sluice_status flush(struct luaworker *worker)
{
    sluice_status status = SLUICE_OK;

    if (worker->out.size > 0) {
        status = worker->emit->write(worker->emit, 0, worker->out.data, worker->out.size);
        worker->out.size = 0;
    }
    return status;
}

static sluice_status put_row(struct luaworker *worker, const char *text, size_t n,
                             struct sluice_error *err)
{
    const struct writer_config *config = worker->instance->config;

    if (!worker->begun && worker->header != NULL) {
        if (!sluice_bytes_add(&worker->out, worker->header, worker->header_n)) {
            return error_nomem(err, "what is written");
        }
        worker->file_bytes += worker->header_n;
    }
    worker->begun = true;
    if (!sluice_bytes_add(&worker->out, text, n)) {
        return error_nomem(err, "what is written");
    }
    worker->file_bytes += n;
    worker->file_rows++;
    if (worker->file_bytes < config->shard_size) {
        return SLUICE_OK;
    }
    TRY(flush(worker));
    TRY(worker->emit->roll(worker->emit, worker->file_rows));
    worker->begun = false;
    worker->file_bytes = 0;
    worker->file_rows = 0;
    return SLUICE_OK;
}

static sluice_status write_row(struct luaworker *worker, const struct ArrowArray *array,
                               int64_t row, int64_t k, struct sluice_error *err)
{
    struct sluice_error *why = luacall_error(worker);
    const char *reason;
    sluice_status status = SLUICE_OK;

    luarow_set(worker, array, row);
    TRY(luacall(worker, &reason, why, err));
    if (reason == NULL && luawrite_result(worker, luacall_base(worker), why) != SLUICE_OK) {
        reason = "lua_error";
        luacall_place(worker, why);
    }
    if (reason == NULL) {
        size_t n;
        const char *text = lua_tolstring(worker->L, luacall_base(worker), &n);
        status = put_row(worker, text, n, err);
    }
    luacall_end(worker);
    return reason == NULL ? status : luaverdict_bad(worker, k, reason, why->message, err);
}

sluice_status luawrite_process(void *state, const struct sluice_batch *batch,
                               struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;

    worker->out.size = 0;
    TRY(luaverdict_begin(worker, batch->n, err));
    TRY(luacall_rows(worker, batch, emit, write_row, err));
    TRY(flush(worker));
    TRY(emit->measure(emit, "documents", batch->n - (int64_t)worker->n_messages));
    return luaverdict_emit_bad(worker, batch->n);
}
