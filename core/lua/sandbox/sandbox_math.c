/* The math library of the sandbox: exp, log and the like with the same bits everywhere
 * (portmath.h), random numbers from the seed of the document. The operator ^ is the machine's own
 * and uses libm's pow: exact for results that can be represented, such as integer powers of
 * integers; where it rounds, processors may differ in the last bit, and math.pow does not. See
 * sandbox.h. */
#include <lualib.h>

#include "lua/sandbox/portmath.h"
#include "lua/sandbox/sandboxInt.h"

#define UNARY(name)                                                 \
    static int math_##name(lua_State *L)                            \
    {                                                               \
        lua_pushnumber(L, portmath_##name(luaL_checknumber(L, 1))); \
        return 1;                                                   \
    }

UNARY(exp)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)

static int math_atan(lua_State *L)
{
    lua_pushnumber(L, portmath_atan2(luaL_checknumber(L, 1), luaL_optnumber(L, 2, 1)));
    return 1;
}

static int math_pow(lua_State *L)
{
    lua_pushnumber(L, portmath_pow(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
    return 1;
}

static int math_log(lua_State *L)
{
    double x = luaL_checknumber(L, 1);
    double base = luaL_optnumber(L, 2, 0);

    if (lua_isnoneornil(L, 2)) {
        lua_pushnumber(L, portmath_log(x));
    } else if (base == 2) {
        lua_pushnumber(L, portmath_log2(x));
    } else if (base == 10) {
        lua_pushnumber(L, portmath_log10(x));
    } else {
        lua_pushnumber(L, portmath_log(x) / portmath_log(base));
    }
    return 1;
}

/* ---- random numbers: xoshiro256** (Blackman and Vigna 2018) seeded by splitmix64 ---- */

static uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static void fill(struct sandbox *box, uint64_t a, uint64_t b)
{
    uint64_t state = a;

    for (int i = 0; i < 4; i++) {
        uint64_t z;
        state += UINT64_C(0x9E3779B97F4A7C15);
        if (i == 2) {
            state += b;
        }
        z = state;
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        box->random[i] = z ^ z >> 31;
    }
    box->random[0] |= 1; /* never all zeros */
    box->seeded = true;
}

static uint64_t next_random(struct sandbox *box)
{
    uint64_t *s = box->random;
    uint64_t result, t;

    if (!box->seeded) {
        fill(box, box->seed, 0);
    }
    result = rotate(s[1] * 5, 7) * 9;
    t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Uniform in [0, most] without bias. */
static uint64_t below(struct sandbox *box, uint64_t most)
{
    uint64_t mask = most;
    uint64_t value;

    for (int shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    do {
        value = next_random(box) & mask;
    } while (value > most);
    return value;
}

static int math_random(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);
    lua_Integer low = 1;
    lua_Integer high;

    switch (lua_gettop(L)) {
    case 0:
        lua_pushnumber(L, (double)(next_random(box) >> 11) * 0x1p-53);
        return 1;
    case 1:
        high = luaL_checkinteger(L, 1);
        if (high == 0) {
            lua_pushinteger(L, (lua_Integer)next_random(box));
            return 1;
        }
        break;
    case 2:
        low = luaL_checkinteger(L, 1);
        high = luaL_checkinteger(L, 2);
        break;
    default:
        return luaL_error(L, "wrong number of arguments");
    }
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    lua_pushinteger(
        L, (lua_Integer)(below(box, (lua_Unsigned)high - (lua_Unsigned)low) + (lua_Unsigned)low));
    return 1;
}

/* randomseed() begins the document's sequence anew; randomseed(x [, y]) another one. */
static int math_randomseed(lua_State *L)
{
    struct sandbox *box = sandbox_of(L);

    if (lua_isnone(L, 1)) {
        fill(box, box->seed, 0);
    } else if (lua_isinteger(L, 1)) {
        fill(box, (uint64_t)lua_tointeger(L, 1), (uint64_t)luaL_optinteger(L, 2, 0));
    } else {
        lua_Number n = luaL_checknumber(L, 1);
        lua_Integer whole;
        fill(box, lua_numbertointeger(n, &whole) ? (uint64_t)whole : 0,
             (uint64_t)luaL_optinteger(L, 2, 0));
    }
    return 0;
}

void sandbox_open_math(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "exp", math_exp },
        { "log", math_log },
        { "pow", math_pow },
        { "sin", math_sin },
        { "cos", math_cos },
        { "tan", math_tan },
        { "asin", math_asin },
        { "acos", math_acos },
        { "atan", math_atan },
        { "random", math_random },
        { "randomseed", math_randomseed },
        { NULL, NULL },
    };

    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 0);
    luaL_setfuncs(L, functions, 0);
    sandbox_protect(L, LUA_MATHLIBNAME);
    lua_setglobal(L, LUA_MATHLIBNAME);
}
