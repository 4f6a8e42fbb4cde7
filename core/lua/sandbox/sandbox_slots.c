/* Which upvalues of a function does it, or a function within it, assign? Read from its precompiled
 * form (the format of Lua 5.4's ldump.c), the one place where a script can't hide it. Where that
 * can't be read to its last byte, the answer is: all. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lua/sandbox/sandboxInt.h"

#define OP_SETUPVAL 10u /* UpValue[B] := R[A] */
#define NESTED_MOST 200

struct reader {
    const unsigned char *at, *end;
    bool broken;
};

static unsigned read_byte(struct reader *reader)
{
    if (reader->at >= reader->end) {
        reader->broken = true;
        return 0x80;
    }
    return *reader->at++;
}

static void skip(struct reader *reader, uint64_t n)
{
    if (n > (uint64_t)(reader->end - reader->at)) {
        reader->broken = true;
        reader->at = reader->end;
    } else {
        reader->at += n;
    }
}

/* Seven bits a byte, the highest first; the last has the eighth bit. */
static uint64_t read_size(struct reader *reader)
{
    uint64_t size = 0;
    unsigned byte;

    do {
        byte = read_byte(reader);
        size = size << 7 | (byte & 0x7f);
    } while ((byte & 0x80) == 0 && !reader->broken);
    return size;
}

static void skip_string(struct reader *reader)
{
    uint64_t size = read_size(reader);

    skip(reader, size == 0 ? 0 : size - 1);
}

static void read_code(struct reader *reader, bool assigned[SLOTS_MOST])
{
    uint64_t n = read_size(reader);
    const unsigned char *code = reader->at;

    skip(reader, n > UINT32_MAX ? UINT64_MAX : n * 4);
    for (uint64_t i = 0; i < n && !reader->broken; i++) {
        uint32_t instruction;
        memcpy(&instruction, code + 4 * i, sizeof instruction);
        if ((instruction & 0x7f) == OP_SETUPVAL) {
            assigned[instruction >> 16 & 0xff] = true;
        }
    }
}

static void skip_constants(struct reader *reader)
{
    for (uint64_t n = read_size(reader); n > 0 && !reader->broken; n--) {
        switch (read_byte(reader)) {
        case 0x00: /* nil */
        case 0x01: /* false */
        case 0x11: /* true */
            break;
        case 0x03: /* integer */
        case 0x13: /* float */
            skip(reader, 8);
            break;
        case 0x04: /* strings */
        case 0x14:
            skip_string(reader);
            break;
        default:
            reader->broken = true;
        }
    }
}

static void skip_debug(struct reader *reader)
{
    skip(reader, read_size(reader)); /* lines */
    for (uint64_t n = read_size(reader); n > 0 && !reader->broken; n--) {
        read_size(reader);
        read_size(reader);
    }
    for (uint64_t n = read_size(reader); n > 0 && !reader->broken; n--) { /* locals */
        skip_string(reader);
        read_size(reader);
        read_size(reader);
    }
    for (uint64_t n = read_size(reader); n > 0 && !reader->broken; n--) { /* upvalues */
        skip_string(reader);
    }
}

/* Adds the upvalues that the function assigns to those of the one around it. */
static void read_function(struct reader *reader, bool around[SLOTS_MOST], bool outermost, int depth)
{
    bool assigned[SLOTS_MOST] = { false };
    const unsigned char *upvalues;
    uint64_t n;

    if (depth > NESTED_MOST) {
        reader->broken = true;
        return;
    }
    skip_string(reader); /* source */
    read_size(reader);   /* lines */
    read_size(reader);
    skip(reader, 3); /* parameters, variadic, registers */
    read_code(reader, assigned);
    skip_constants(reader);
    n = read_size(reader);
    upvalues = reader->at;
    skip(reader, n > SLOTS_MOST ? UINT64_MAX : 3 * n); /* of the registers around?, index, kind */
    for (uint64_t m = read_size(reader); m > 0 && !reader->broken; m--) {
        read_function(reader, assigned, false, depth + 1);
    }
    skip_debug(reader);
    for (uint64_t k = 0; k < n && !reader->broken; k++) {
        if (assigned[k] && outermost) {
            around[k] = true;
        } else if (assigned[k] && upvalues[3 * k] == 0) {
            around[upvalues[3 * k + 1]] = true;
        }
    }
}

static int append(lua_State *L, const void *bytes, size_t n, void *ctx)
{
    (void)L;
    buf_append(ctx, bytes, n);
    return 0;
}

void sandbox_assigned_slots(lua_State *L, int index, bool assigned[SLOTS_MOST])
{
    /* "\x1bLua", version, format, LUAC_DATA, the sizes of an instruction, an integer and a number,
     * one of each, upvalues */
    static const unsigned char expected[] = { 0x1b, 'L',  'u',  'a',  0x54, 0, 0x19, 0x93,
                                              '\r', '\n', 0x1a, '\n', 4,    8, 8 };
    struct buf bytes = BUF_INIT;
    struct reader reader;

    memset(assigned, 0, SLOTS_MOST * sizeof *assigned);
    lua_pushvalue(L, index);
    lua_dump(L, append, &bytes, 1);
    lua_pop(L, 1);
    reader.at = (const unsigned char *)buf_str(&bytes);
    reader.end = reader.at + bytes.size;
    reader.broken =
        bytes.size < sizeof expected || memcmp(reader.at, expected, sizeof expected) != 0;
    if (!reader.broken) {
        skip(&reader, sizeof expected + 8 + 8 + 1);
        read_function(&reader, assigned, true, 0);
    }
    if (reader.broken || reader.at != reader.end) {
        memset(assigned, 1, SLOTS_MOST * sizeof *assigned);
    }
    buf_deinit(&bytes);
}
