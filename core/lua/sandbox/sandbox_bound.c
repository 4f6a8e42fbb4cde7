/* What a call may take: instructions and work in C, counted together as steps; memory; and whoever
 * waits for it to end.
 *
 * All of it is counts that the script and its data alone decide, so that a row which passes on one
 * machine passes on all. Counting each instruction makes the interpreter half as fast, so a row is
 * trusted first: the clock proves that it can't have passed its bound, or the row is judged again
 * with its instructions counted (sandbox_doubt). No processor runs INSTRUCTIONS_A_NS instructions
 * of the interpreter in a nanosecond: each is a jump that depends on what was loaded before, and
 * some ten instructions of the processor.
 *
 * Memory is what the state holds. What earlier rows left behind (garbage, a larger stack, a larger
 * table of strings) is in it as well, so a row that finds no room is judged again alone in a fresh
 * state, and that one decides.
 *
 * A few instructions cost what they work on, and no hook of the interpreter sees it: long strings
 * compared, long chains of __index, removed keys of a table. A row that lives on them could stay
 * within its steps for minutes. It can't be judged by a clock, so it ends the run (FATAL_SLOW).
 *
 * What ends a call can't be caught: from then on each instruction of the script raises it again, in
 * handlers too. See sandbox.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hooks.h"
#include "lua/sandbox/sandboxInt.h"

#define HOOK_STEP 1000   /* instructions between two looks of a counted call */
#define STEP_BYTES 16    /* of strings made for a step: about what it takes */
#define MOST_FUTILE 4    /* collections of a row after which there was soon no room again */
#define COLLECT_BYTES 32 /* that a collection looks at for a step */
#define LEAST_BYTES \
    1024 /* strings from here on count: shorter ones are shared, so only some are made */
#define MANY_ARGUMENTS 256 /* an instruction may copy all extra arguments of its function */
#define FRAMES 4           /* that are looked at for them */
#define INSTRUCTIONS_A_NS 4

#define STEP_NS_MOST 2000 /* of a step, on the slowest machine: a hundred times what it takes */

#define LONG_TEXT 16384 /* bytes from which on asking for the thread's own time is cheap */

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the end of a call ---- */

static bool asked_to_stop(const struct sandbox *box)
{
    return box->stop != NULL && atomic_load_explicit(box->stop, memory_order_relaxed) != 0;
}

static void hook(lua_State *L, lua_Debug *ar);

/* Whatever the script runs from here on ends at its first instruction. The first cause stays. */
static void end_all(struct sandbox *box, enum sandbox_fatal cause)
{
    if (box->fatal == FATAL_NONE) {
        box->fatal = cause;
        lua_sethook(box->L, hook, LUA_MASKCOUNT, 1);
    }
}

void sandbox_place(lua_State *L)
{
    lua_Debug ar;

    for (int level = 0; lua_getstack(L, level, &ar) != 0; level++) {
        if (lua_getinfo(L, "Sl", &ar) != 0 && ar.currentline > 0) {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

int sandbox_end(lua_State *L, enum sandbox_fatal cause)
{
    struct sandbox *box = sandbox_of(L);

    if (box->fatal == FATAL_NONE && lua_type(L, -1) == LUA_TSTRING) {
        snprintf(box->words, sizeof box->words, "%s", lua_tostring(L, -1));
    }
    end_all(box, cause);
    return lua_error(L);
}

int sandbox_end_again(lua_State *L)
{
    lua_pushstring(L, sandbox_of(L)->words);
    return lua_error(L);
}

bool sandbox_ended(lua_State *L, int status)
{
    struct sandbox *box = sandbox_of(L);

    if (status == LUA_ERRMEM || box->pinched) {
        end_all(box, FATAL_MEMORY);
    }
    return box->fatal != FATAL_NONE;
}

void sandbox_exceed(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);

    if (box->depth > 0) {
        sandbox_place(L);
        lua_pushfstring(L, "endless loop: more than %I steps", (LUAI_UACINT)box->limit);
        lua_concat(L, 2);
        sandbox_end(L, FATAL_ENDLESS);
    }
}

/* Test hook: SLUICE_TEST_PATIENCE=NS for a step. */
static uint64_t step_ns(void)
{
    const char *text = hook_text("SLUICE_TEST_PATIENCE");

    return text != NULL ? strtoull(text, NULL, 10) : STEP_NS_MOST;
}

/* Has the row had more time than so many steps can take? The thread's own: others may have the
 * processor. It has ended before the words get their place: where there is no memory for that, it
 * must not be the row's fault. */
static void check_patience(lua_State *L, struct sandbox *box)
{
    const uint64_t most = box->limit * step_ns();
    char words[sizeof box->words];

    if (now_ns(CLOCK_MONOTONIC) - box->began <= most ||
        now_ns(CLOCK_THREAD_CPUTIME_ID) - box->own_began <= most) {
        return;
    }
    snprintf(words, sizeof words,
             "the row takes more than %.1f s and has not come to the end of its %llu steps: it "
             "does what costs more than is counted, such as to compare long strings, to go along "
             "many tables by __index, or to look for keys among removed ones; let it do less of "
             "that, or set slow rows aside: isolate = { timeout = \"5s\", on_timeout = "
             "\"quarantine\" }",
             (double)most / 1e9, (unsigned long long)box->limit);
    memcpy(box->words, words, sizeof words);
    end_all(box, FATAL_SLOW);
    sandbox_place(L);
    snprintf(box->words, sizeof box->words, "%s%s", lua_tostring(L, -1), words);
    sandbox_end_again(L);
}

void sandbox_look(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);

    if (box->interrupted || asked_to_stop(box)) {
        lua_pushliteral(L, "interrupted");
        sandbox_end(L, FATAL_INTERRUPT);
    }
    if (box->row && box->hooked) {
        check_patience(L, box);
    }
}

/* Extra arguments of the functions at work now: handing them on copies all of them in one
 * instruction. */
static uint64_t extra_arguments(lua_State *L)
{
    lua_Debug ar;
    uint64_t most = 0;

    for (int level = 0; level < FRAMES && lua_getstack(L, level, &ar) != 0; level++) {
        uint64_t n = MANY_ARGUMENTS;
        while (lua_getlocal(L, &ar, -(int)n) != NULL) {
            lua_pop(L, 1);
            most = n > most ? n : most;
            n *= 2;
        }
    }
    return most;
}

static void hook(lua_State *L, lua_Debug *ar)
{
    struct sandbox *box = sandbox_of(L);

    (void)ar;
    if (box->fatal != FATAL_NONE) {
        sandbox_end_again(L);
    }
    sandbox_look(L);
    if (box->hooked) {
        sandbox_charge(L, HOOK_STEP * (1 + extra_arguments(L) / 64));
    }
}

/* ---- memory ---- */

/* Lua collects all garbage and asks once more. What it is refused then, it must not go on without:
 * its table of strings could not grow, and each new string would collect all garbage again, for
 * hours. So nothing is given from then on, and the call ends. The same after a buffer of C's found
 * no room, for which Lua collects nothing: the script would see that there is garbage. */
static void *refuse(struct sandbox *box, const void *block, size_t new_size)
{
    const bool again = box->pinched && box->refused == new_size && box->refused_block == block;
    /* A row that lives close below its bound would collect all the time, for nothing; one that
     * makes garbage may go on. */
    const bool row = box->row && box->base > 0;

    if (!again) {
        box->futile +=
            box->refusals++ > 0 && box->made - box->made_then < (box->bound - box->base) / 4;
        box->made_then = box->made;
        box->steps += box->hooked ? box->used / COLLECT_BYTES : 0;
    }
    if (box->pinched || (row && box->futile >= (box->rigour == ROW_ALONE ? MOST_FUTILE : 1))) {
        box->exhausted = true;
        end_all(box, FATAL_MEMORY);
    }
    box->pinched = !again;
    box->refused = new_size;
    box->refused_block = block;
    return NULL;
}

void *sandbox_allocate(void *ud, void *block, size_t old_size, size_t new_size)
{
    struct sandbox *box = ud;
    size_t before = block != NULL ? old_size : 0;
    void *memory;

    if (new_size == 0) {
        box->used -= before;
        free(block);
        return NULL;
    }
    /* Outside of protected calls the host works, a little at a time: there an error has no one to
     * catch it. */
    if (new_size > before && box->depth > 0) {
        if (box->exhausted || box->used + (new_size - before) > box->bound) {
            return refuse(box, block, new_size);
        }
        if (box->pinched && (box->refused != new_size || box->refused_block != block)) {
            return refuse(box, block, new_size);
        }
        box->pinched = false;
    }
    memory = realloc(block, new_size);
    if (memory != NULL) {
        box->used += new_size;
        box->used -= before;
        box->made += new_size > before ? new_size - before : 0;
        /* One instruction can copy megabytes (x = x .. "a"). The next look at it is soon. */
        if (block == NULL && old_size == LUA_TSTRING && new_size >= LEAST_BYTES) {
            box->steps += new_size / STEP_BYTES;
        }
    }
    return memory;
}

/* ---- rows ---- */

void sandbox_ready(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);

    lua_gc(L, LUA_GCCOLLECT);
    box->base = box->used;
}

void sandbox_clock(lua_State *L)
{
    sandbox_of(L)->since = 0;
}

/* Room for what the row has read so far. */
static void set_room(struct sandbox *box)
{
    const uint64_t room = SANDBOX_ROW_MEMORY + SANDBOX_BYTE_MEMORY * box->read;
    const uint64_t steps = box->row_steps + SANDBOX_BYTE_STEPS * box->read;
    const uint64_t most = box->row_steps > SANDBOX_MOST_STEPS ? box->row_steps : SANDBOX_MOST_STEPS;
    const bool all = box->base == 0 || room >= box->cap - box->base;

    box->limit = steps < most ? steps : most;
    box->bound = all ? box->cap : box->base + room;
    box->row_room = all ? 0 : room;
}

void sandbox_row(lua_State *L, enum sandbox_rigour rigour)
{
    struct sandbox *box = sandbox_of(L);

    box->row = true;
    box->rigour = rigour;
}

void sandbox_reads(lua_State *L, uint64_t bytes)
{
    struct sandbox *box = sandbox_of(L);

    if (box->row && box->depth > 0) {
        box->read += bytes < SANDBOX_MOST_STEPS ? bytes : SANDBOX_MOST_STEPS;
        set_room(box);
        if (box->own_since == 0 && bytes >= LONG_TEXT) {
            box->before = now_ns(CLOCK_MONOTONIC) - box->since;
            box->own_since = now_ns(CLOCK_THREAD_CPUTIME_ID);
        }
    }
}

void sandbox_row_steps(lua_State *L, uint64_t steps)
{
    sandbox_of(L)->row_steps = steps;
}

void sandbox_limit(lua_State *L, uint64_t steps)
{
    sandbox_of(L)->next_limit = steps;
}

void sandbox_heed(lua_State *L, const _Atomic int *stop)
{
    sandbox_of(L)->stop = stop;
}

void sandbox_interrupt(lua_State *L)
{
    sandbox_of(L)->interrupted = 1;
    lua_sethook(L, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* May the call have passed its bound? Not if so many instructions would not fit into its time. */
static bool may_have_passed(const struct sandbox *box, uint64_t ns)
{
    return ns > (box->limit - box->steps) / INSTRUCTIONS_A_NS || box->steps > box->limit;
}

/* The time of the row until `now`, at most: what other threads took of it is left out where that is
 * known. */
static uint64_t row_ns(const struct sandbox *box, uint64_t now)
{
    const uint64_t ns = now - box->since;

    return box->own_since != 0 && may_have_passed(box, ns)
               ? box->before + now_ns(CLOCK_THREAD_CPUTIME_ID) - box->own_since
               : ns;
}

bool sandbox_late(lua_State *L)
{
    const struct sandbox *box = sandbox_of(L);

    return asked_to_stop(box) || (box->row && box->rigour == ROW_TRUSTED && box->since != 0 &&
                                  may_have_passed(box, row_ns(box, now_ns(CLOCK_MONOTONIC))));
}

void sandbox_bounds_begin(lua_State *L, struct sandbox *box)
{
    box->fatal = FATAL_NONE;
    box->words[0] = '\0';
    box->exhausted = box->pinched = false;
    box->futile = box->refusals = 0;
    box->made = box->made_then = 0;
    box->steps = box->read = 0;
    box->doubt = DOUBT_NONE;
    box->interrupted = 0;
    box->limit = box->next_limit > 0 ? box->next_limit : UINT64_MAX;
    box->hooked = box->next_limit > 0;
    box->bound = box->cap;
    box->row_room = 0;
    if (box->row) {
        set_room(box);
        box->hooked = box->rigour != ROW_TRUSTED;
        box->since = box->since == 0 ? now_ns(CLOCK_MONOTONIC) : box->since;
        box->own_since = 0;
    }
    if (box->row && box->hooked) {
        box->began = now_ns(CLOCK_MONOTONIC);
        box->own_began = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    if (box->hooked) {
        lua_sethook(L, hook, LUA_MASKCOUNT, HOOK_STEP);
    }
}

/* What is not decided by the call that has just ended: see sandbox_doubt. */
static enum sandbox_doubt doubt(struct sandbox *box)
{
    const uint64_t now = now_ns(CLOCK_MONOTONIC);
    const uint64_t ns = row_ns(box, now);
    const bool stopped = box->fatal == FATAL_INTERRUPT && asked_to_stop(box);
    const bool ended = box->fatal == FATAL_ENDLESS || box->fatal == FATAL_INTERRUPT;
    const bool proved = box->fatal == FATAL_MEMORY || !may_have_passed(box, ns);

    box->since = now;
    box->quick = !may_have_passed(box, ns / 2); /* counting takes as long again */
    if (box->fatal == FATAL_STATE || box->fatal == FATAL_SLOW || stopped) {
        return DOUBT_NONE;
    }
    if (box->rigour == ROW_TRUSTED && (ended || !proved)) {
        return DOUBT_STEPS;
    }
    return box->fatal == FATAL_MEMORY && box->rigour != ROW_ALONE && box->base > 0 ? DOUBT_MEMORY
                                                                                   : DOUBT_NONE;
}

void sandbox_bounds_end(lua_State *L, struct sandbox *box)
{
    if (box->row) {
        box->doubt = doubt(box);
    }
    if (box->hooked || box->interrupted || box->fatal != FATAL_NONE) {
        lua_sethook(L, NULL, 0, 0);
    }
    box->hooked = box->row = false;
    box->interrupted = 0;
    box->next_limit = 0;
    box->limit = UINT64_MAX;
}

enum sandbox_doubt sandbox_doubt(lua_State *L)
{
    return sandbox_of(L)->doubt;
}

bool sandbox_quick(lua_State *L)
{
    return sandbox_of(L)->quick;
}
