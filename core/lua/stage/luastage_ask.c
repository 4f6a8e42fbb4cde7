/* Stages in Lua that ask servers: ask{...} inside the row's function, which reads as if the answer
 * were there at once.
 *
 * A function whose row asks for something that is not answered yet is left there, and called again
 * from its begin when the answer has come; what it asked before is answered at once then. It is a
 * function of the row and the answers, so it asks for the same each time. All rows of a batch get
 * as far as they can in one pass, their asks go out together, and only a pass in which no row asks
 * anew counts: its columns and verdicts are given. See luastageInt.h. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/luavalue.h"
#include "lua/sandbox/sandbox.h"
#include "lua/sandbox/sandboxInt.h"
#include "lua/stage/luastageInt.h"

#define ROW_ASKS_MAX 64u /* of one row */
#define JSON_STEPS 8u    /* of a byte of JSON that becomes a table */

struct answered {
    uint32_t code;
    bool refused, parsed;
    char *type, *body;
    size_t n;
    struct value json; /* of the body, where it is JSON */
};

struct asked_row {
    struct answered *answers;
    uint32_t n;
};

struct luaasks {
    struct asked_row *rows;
    int64_t n, capacity;
    int64_t row;  /* the current one, -1 = an example */
    uint32_t at;  /* asks of the current call so far */
    bool pending; /* `text` is asked for by the current call */
    bool any;     /* a row of this pass asked */
    struct buf text;
};

static void forget_rows(struct luaasks *asks)
{
    for (int64_t k = 0; k < asks->n; k++) {
        for (uint32_t i = 0; i < asks->rows[k].n; i++) {
            struct answered *answer = &asks->rows[k].answers[i];
            free(answer->type);
            free(answer->body);
            value_deinit(&answer->json);
        }
        free(asks->rows[k].answers);
        asks->rows[k] = (struct asked_row){ NULL, 0 };
    }
    asks->n = 0;
}

sluice_status luaask_open(struct luaworker *worker, struct sluice_error *err)
{
    if (!worker->instance->stage->asks) {
        return SLUICE_OK;
    }
    worker->asks = calloc(1, sizeof *worker->asks);
    if (worker->asks == NULL) {
        return error_nomem(err, "a stage in Lua");
    }
    worker->asks->row = -1;
    return SLUICE_OK;
}

void luaask_close(struct luaworker *worker)
{
    if (worker->asks != NULL) {
        forget_rows(worker->asks);
        free(worker->asks->rows);
        buf_deinit(&worker->asks->text);
        free(worker->asks);
    }
}

sluice_status luaask_batch(struct luaworker *worker, int64_t n, struct sluice_error *err)
{
    struct luaasks *asks = worker->asks;

    forget_rows(asks);
    if (n > asks->capacity) {
        struct asked_row *rows = realloc(asks->rows, (size_t)n * sizeof *rows);
        if (rows == NULL) {
            return error_nomem(err, "a stage in Lua");
        }
        asks->rows = rows;
        asks->capacity = n;
    }
    if (n > 0) {
        memset(asks->rows, 0, (size_t)n * sizeof *asks->rows);
    }
    asks->n = n;
    worker->asks->any = false;
    return SLUICE_OK;
}

void luaask_row(struct luaworker *worker, int64_t k)
{
    worker->asks->row = k;
}

void luaask_call(struct luaworker *worker)
{
    if (worker->asks != NULL) {
        worker->asks->at = 0;
        worker->asks->pending = false;
    }
}

bool luaask_any(const struct luaworker *worker)
{
    return worker->asks->any;
}

sluice_status luaask_asked(struct luaworker *worker, bool *asked, struct sluice_error *err)
{
    struct luaasks *asks = worker->asks;
    struct sluice_ask ask = { .size = sizeof ask,
                              .kind = SLUICE_ASK_HTTP,
                              .tag = (uint64_t)asks->row,
                              .payload = asks->text.data,
                              .n = asks->text.size };

    *asked = asks->pending;
    if (!asks->pending) {
        return err != NULL ? err->code : SLUICE_E_INTERNAL;
    }
    asks->pending = false;
    asks->any = true;
    return worker->emit->ask(worker->emit, &ask);
}

/* ---- the request ---- */

static const char *text_of(const struct value *request, const char *name, const char *fallback,
                           size_t *n)
{
    const struct value *value = value_map_get(request, name);

    *n = fallback == NULL ? 0 : strlen(fallback);
    if (value == NULL) {
        return fallback;
    }
    if (value->kind != VALUE_STRING) {
        return NULL;
    }
    *n = value->as.string.size;
    return value->as.string.data;
}

static bool token_valid(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= 0x20 || c >= 0x7f || c == ':') {
            return false;
        }
    }
    return n > 0;
}

static bool line_valid(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* What is wrong with the table, or NULL. */
static const char *print_headers(const struct value *request, bool json, struct buf *out)
{
    const struct value *headers = value_map_get(request, "headers");

    if (json) {
        buf_puts(out, "Content-Type: application/json\n");
    }
    if (headers == NULL) {
        return NULL;
    }
    if (headers->kind != VALUE_MAP) {
        return "headers must be a table of texts by name";
    }
    for (size_t i = 0; i < headers->as.map.n; i++) {
        const struct value_entry *entry = &headers->as.map.entries[i];
        if (entry->value.kind != VALUE_STRING || !token_valid(entry->key, strlen(entry->key)) ||
            !line_valid(entry->value.as.string.data, entry->value.as.string.size)) {
            return "headers must be a table of texts by name, each of one line";
        }
        buf_puts(out, entry->key);
        buf_puts(out, ": ");
        buf_append(out, entry->value.as.string.data, entry->value.as.string.size);
        buf_putc(out, '\n');
    }
    return NULL;
}

static const char *print_request(const struct value *request, struct buf *out)
{
    static const char *const known[] = { "url", "method", "headers", "body", "json" };
    const struct value *json = value_map_get(request, "json");
    size_t n_url;
    size_t n_method;
    size_t n_body;
    const char *url = text_of(request, "url", NULL, &n_url);
    const char *body = text_of(request, "body", "", &n_body);
    const char *method =
        text_of(request, "method", json != NULL || n_body > 0 ? "POST" : "GET", &n_method);
    const char *wrong;

    for (size_t i = 0; request->kind == VALUE_MAP && i < request->as.map.n; i++) {
        bool ok = false;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            ok = ok || strcmp(request->as.map.entries[i].key, known[k]) == 0;
        }
        if (!ok) {
            return "it has a member that is none of url, method, headers, body, json";
        }
    }
    if (request->kind != VALUE_MAP || url == NULL || !line_valid(url, n_url) ||
        memchr(url, ' ', n_url) != NULL) {
        return "url must be a text such as \"http://localhost:8000/score\"";
    }
    if (method == NULL || !token_valid(method, n_method)) {
        return "method must be a word such as \"POST\"";
    }
    if (body == NULL || (json != NULL && n_body > 0)) {
        return "body must be a text, and goes without json";
    }
    buf_append(out, method, n_method);
    buf_putc(out, ' ');
    buf_append(out, url, n_url);
    buf_putc(out, '\n');
    wrong = print_headers(request, json != NULL, out);
    buf_putc(out, '\n');
    if (json != NULL) {
        value_print_json(json, out);
    } else {
        buf_append(out, body, n_body);
    }
    return wrong;
}

/* ---- the answer ---- */

/* { status = 200, refused = false, type = "application/json", body = "...", json = {...} } */
static void push_answer(lua_State *L, const struct answered *answer)
{
    sandbox_reads(L, answer->n);
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)answer->code);
    lua_setfield(L, -2, "status");
    lua_pushboolean(L, answer->refused);
    lua_setfield(L, -2, "refused");
    lua_pushstring(L, answer->type);
    lua_setfield(L, -2, "type");
    lua_pushlstring(L, answer->body, answer->n);
    lua_setfield(L, -2, "body");
    if (answer->parsed) {
        sandbox_charge(L, answer->n * JSON_STEPS);
        luavalue_push(L, &answer->json);
        lua_setfield(L, -2, "json");
    }
}

int luaask_ask(lua_State *L)
{
    struct luaworker *worker = lua_touserdata(L, lua_upvalueindex(1));
    struct luaasks *asks = worker->asks;
    struct sluice_error err = ERROR_INIT;
    struct value request = VALUE_INIT;
    const char *wrong;

    if (!worker->active) {
        return luaL_error(L, "ask is called after its row's function returned");
    }
    if (worker->array == NULL || asks->row < 0) {
        return luaL_error(L, "an example asks nobody");
    }
    if (asks->pending) {
        return luaL_error(L, "the answer to what was asked before has not come");
    }
    if (asks->at < asks->rows[asks->row].n) {
        push_answer(L, &asks->rows[asks->row].answers[asks->at++]);
        return 1;
    }
    if (asks->at == ROW_ASKS_MAX) {
        return luaL_error(L, "a row asks more than %d times", (int)ROW_ASKS_MAX);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    if (luavalue_read(L, 1, "ask", &request, &err) != SLUICE_OK) {
        return luaL_error(L, "%s", err.message);
    }
    buf_clear(&asks->text);
    wrong = print_request(&request, &asks->text);
    value_deinit(&request);
    if (wrong != NULL) {
        return luaL_error(L, "ask: %s", wrong);
    }
    if (buf_status(&asks->text, &err) == SLUICE_OK) {
        asks->pending = true;
        error_set(&err, SLUICE_E_RETRY, "asked");
    }
    return luacall_abandon(worker, L, &err);
}

/* ---- answers come ---- */

static sluice_status keep(struct asked_row *row, const struct sluice_answer *answer,
                          struct sluice_error *err)
{
    struct answered *more = realloc(row->answers, (row->n + 1) * sizeof *more);
    struct answered *kept;

    if (more == NULL) {
        return error_nomem(err, "an answer");
    }
    row->answers = more;
    kept = &more[row->n++];
    *kept = (struct answered){ .code = answer->code,
                               .refused = answer->status != SLUICE_OK,
                               .type = str_copy(answer->type, strlen(answer->type)),
                               .body = str_copy(answer->data, (size_t)answer->n),
                               .n = (size_t)answer->n,
                               .json = VALUE_INIT };
    if (kept->type == NULL || kept->body == NULL) {
        return error_nomem(err, "an answer");
    }
    if (strstr(kept->type, "json") != NULL) {
        kept->parsed = value_parse_json(kept->body, kept->n, &kept->json, NULL) == SLUICE_OK;
    }
    return SLUICE_OK;
}

sluice_status luaask_resume(void *state, const struct sluice_answers *answers,
                            struct sluice_emit *emit, struct sluice_error *err)
{
    struct luaworker *worker = state;

    for (uint64_t k = 0; k < answers->n; k++) {
        const struct sluice_answer *answer =
            (const struct sluice_answer *)(const void *)((const char *)answers->items +
                                                         k * answers->stride);
        TRY(keep(&worker->asks->rows[answer->tag], answer, err));
    }
    worker->asks->any = false;
    return luaverdict_pass(worker, answers->batch, emit, err);
}
