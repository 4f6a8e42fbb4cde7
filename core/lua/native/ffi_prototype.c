/* Parsing and printing of prototypes: see ffi_prototype.h. The grammar is that part of C11's
 * declarations which stands in front of a library's plain functions. */
#include "lua/native/ffi_prototype.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static_assert(sizeof(short) == 2 && sizeof(int) == 4,
              "names of C's integers are mapped to their sizes");

/* ---- scalars ---- */

static const struct {
    const char *name; /* in the one spelling */
    size_t size;
    int64_t least, most;
} scalars[] = {
    [SCALAR_VOID] = { "void", 0, 0, 0 },
    [SCALAR_BOOL] = { "bool", 1, 0, 1 },
    [SCALAR_CHAR] = { "char", 1, 0, 0 },
    [SCALAR_INT8] = { "int8_t", 1, INT8_MIN, INT8_MAX },
    [SCALAR_INT16] = { "int16_t", 2, INT16_MIN, INT16_MAX },
    [SCALAR_INT32] = { "int32_t", 4, INT32_MIN, INT32_MAX },
    [SCALAR_INT64] = { "int64_t", 8, INT64_MIN, INT64_MAX },
    [SCALAR_UINT8] = { "uint8_t", 1, 0, UINT8_MAX },
    [SCALAR_UINT16] = { "uint16_t", 2, 0, UINT16_MAX },
    [SCALAR_UINT32] = { "uint32_t", 4, 0, UINT32_MAX },
    [SCALAR_UINT64] = { "uint64_t", 8, INT64_MIN, INT64_MAX },
    [SCALAR_FLOAT] = { "float", 4, 0, 0 },
    [SCALAR_DOUBLE] = { "double", 8, 0, 0 },
};

size_t scalar_size(enum scalar scalar)
{
    return scalars[scalar].size;
}

bool scalar_is_integer(enum scalar scalar)
{
    return scalar >= SCALAR_INT8 && scalar <= SCALAR_UINT64;
}

bool scalar_is_signed(enum scalar scalar)
{
    return scalar >= SCALAR_INT8 && scalar <= SCALAR_INT64;
}

bool scalar_holds(enum scalar scalar, int64_t value)
{
    return value >= scalars[scalar].least && value <= scalars[scalar].most;
}

/* ---- words ---- */

struct parser {
    const char *text;
    size_t begin, end; /* of the current word in text; equal at the end of the text */
    struct sluice_error *err;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void advance(struct parser *parser)
{
    const char *text = parser->text;
    size_t at = parser->end;

    while (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
        at++;
    }
    parser->begin = at;
    if (is_letter(text[at])) {
        while (is_letter(text[at]) || is_digit(text[at])) {
            at++;
        }
    } else if (strncmp(text + at, "...", 3) == 0) {
        at += 3;
    } else if (text[at] != '\0') {
        do { /* a whole character of UTF-8, for messages */
            at++;
        } while (((unsigned char)text[at] & 0xC0) == 0x80);
    }
    parser->end = at;
}

static bool at_word(const struct parser *parser, const char *word)
{
    size_t n = parser->end - parser->begin;

    return strlen(word) == n && memcmp(parser->text + parser->begin, word, n) == 0;
}

static bool at_name(const struct parser *parser)
{
    return is_letter(parser->text[parser->begin]);
}

static bool accept(struct parser *parser, const char *word)
{
    if (at_word(parser, word)) {
        advance(parser);
        return true;
    }
    return false;
}

/* "prototype, character 14 ('...'): REASON". */
static sluice_status fault(struct parser *parser, const char *reason)
{
    int n = (int)(parser->end - parser->begin < 40 ? parser->end - parser->begin : 40);

    if (n == 0) {
        return error_field(parser->err, SLUICE_E_CONFIG, "prototype",
                           "prototype \"%.200s\": it ends at character %zu: %s", parser->text,
                           parser->begin, reason);
    }
    return error_field(parser->err, SLUICE_E_CONFIG, "prototype",
                       "prototype \"%.200s\": character %zu, '%.*s': %s", parser->text,
                       parser->begin + 1, n, parser->text + parser->begin, reason);
}

/* ---- types ---- */

static const struct {
    const char *name;
    enum scalar scalar;
} typedefs[] = {
    { "int8_t", SCALAR_INT8 },      { "int16_t", SCALAR_INT16 },   { "int32_t", SCALAR_INT32 },
    { "int64_t", SCALAR_INT64 },    { "uint8_t", SCALAR_UINT8 },   { "uint16_t", SCALAR_UINT16 },
    { "uint32_t", SCALAR_UINT32 },  { "uint64_t", SCALAR_UINT64 }, { "size_t", SCALAR_UINT64 },
    { "ssize_t", SCALAR_INT64 },    { "ptrdiff_t", SCALAR_INT64 }, { "intptr_t", SCALAR_INT64 },
    { "uintptr_t", SCALAR_UINT64 }, { "bool", SCALAR_BOOL },       { "_Bool", SCALAR_BOOL },
    { "float", SCALAR_FLOAT },      { "void", SCALAR_VOID },
};

static_assert(sizeof(size_t) == 8 && sizeof(void *) == 8 && sizeof(float) == 4 &&
                  sizeof(double) == 8,
              "a machine of 64 bits");

/* What is refused by its first word, with the remedy. */
static const struct {
    const char *name, *reason;
} refusals[] = {
    { "struct", "structs are not passed; give the members as parameters of their own" },
    { "union", "unions are not passed; give the member as a parameter" },
    { "enum", "write int for an enum" },
    { "volatile", "volatile values are not passed" },
    { "_Complex", "complex numbers are not passed" },
    { "_Atomic", "atomic values are not passed" },
    { "static",
      "a static function can't be found in a library; leave the word out if it is exported" },
    { "inline",
      "an inline function is not in the library; add an exported function that calls it" },
    { "typedef", "expected the prototype of a function" },
    { "register", "leave the word register out" },
    { "__attribute__", "leave attributes out" },
    { "wchar_t", "wide characters are not passed; texts are UTF-8 in const char *" },
};

/* How often each word of a type occurred. */
struct specifiers {
    uint32_t n_signed, n_unsigned, n_short, n_long, n_int, n_char, n_double, n_typedef;
    enum scalar scalar; /* of the typedef */
    bool size, constant, any;
};

static bool count_word(struct parser *parser, struct specifiers *found)
{
    static const struct {
        const char *word;
        size_t place;
    } words[] = {
        { "signed", offsetof(struct specifiers, n_signed) },
        { "unsigned", offsetof(struct specifiers, n_unsigned) },
        { "short", offsetof(struct specifiers, n_short) },
        { "long", offsetof(struct specifiers, n_long) },
        { "int", offsetof(struct specifiers, n_int) },
        { "char", offsetof(struct specifiers, n_char) },
        { "double", offsetof(struct specifiers, n_double) },
    };

    for (size_t i = 0; i < COUNT(words); i++) {
        if (at_word(parser, words[i].word)) {
            ++*(uint32_t *)(void *)((char *)found + words[i].place);
            found->any = true;
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(typedefs); i++) {
        if (at_word(parser, typedefs[i].name)) {
            found->n_typedef++;
            found->scalar = typedefs[i].scalar;
            found->size = at_word(parser, "size_t");
            found->any = true;
            return true;
        }
    }
    return false;
}

static sluice_status unknown_type(struct parser *parser)
{
    const char *names[COUNT(typedefs) + 7] = { "int",    "char",   "short",   "long",
                                               "double", "signed", "unsigned" };
    size_t n = 7;
    char word[64];
    char reason[200];
    const char *near;

    for (size_t i = 0; i < COUNT(typedefs); i++) {
        names[n++] = typedefs[i].name;
    }
    snprintf(word, sizeof word, "%.*s", (int)(parser->end - parser->begin),
             parser->text + parser->begin);
    near = error_suggest(word, names, n);
    snprintf(reason, sizeof reason,
             "unknown type%s%s%s; known are C's own, bool, size_t, ssize_t and intN_t, uintN_t; "
             "write what a typedef of the library "
             "stands for",
             near == NULL ? "" : ", did you mean '", near == NULL ? "" : near,
             near == NULL ? "" : "'?");
    return fault(parser, reason);
}

/* What the words of a type mean together; false = nothing. */
static bool combine(const struct specifiers *found, enum scalar *out)
{
    bool sign = found->n_signed + found->n_unsigned > 0;
    bool no_sign = found->n_unsigned > 0;

    if (found->n_signed + found->n_unsigned > 1 || found->n_int > 1 || found->n_char > 1 ||
        found->n_double > 1 || found->n_short > 1 || found->n_long > 2 || found->n_typedef > 1) {
        return false;
    }
    if (found->n_typedef == 1) {
        *out = found->scalar;
        return !sign &&
               found->n_short + found->n_long + found->n_int + found->n_char + found->n_double == 0;
    }
    if (found->n_double == 1) {
        *out = SCALAR_DOUBLE;
        return !sign && found->n_short + found->n_long + found->n_int + found->n_char == 0;
    }
    if (found->n_char == 1) {
        *out = no_sign ? SCALAR_UINT8 : sign ? SCALAR_INT8 : SCALAR_CHAR;
        return found->n_short + found->n_long + found->n_int == 0;
    }
    if (found->n_short > 0 && found->n_long > 0) {
        return false;
    }
    if (found->n_short == 1) {
        *out = no_sign ? SCALAR_UINT16 : SCALAR_INT16;
    } else if (found->n_long == 2 || (found->n_long == 1 && sizeof(long) == 8)) {
        *out = no_sign ? SCALAR_UINT64 : SCALAR_INT64;
    } else {
        *out = no_sign ? SCALAR_UINT32 : SCALAR_INT32;
    }
    return true;
}

/* The words of a type, up to a name, a star or a bracket. */
static sluice_status read_specifiers(struct parser *parser, struct prototype_type *out)
{
    struct specifiers found = { 0 };
    struct parser first = *parser;

    while (at_name(parser)) {
        for (size_t i = 0; i < COUNT(refusals); i++) {
            if (at_word(parser, refusals[i].name)) {
                return fault(parser, refusals[i].reason);
            }
        }
        if (at_word(parser, "const")) {
            found.constant = true;
        } else if (!count_word(parser, &found)) {
            break;
        }
        advance(parser);
    }
    if (!found.any) {
        return at_name(parser) ? unknown_type(parser)
               : at_word(parser, "...")
                   ? fault(parser, "functions with a variable number of parameters can't be "
                                   "called; add one with a fixed number")
                   : fault(parser, "expected a type");
    }
    if (found.n_double == 1 && found.n_long == 1) {
        return fault(&first,
                     "long double is not passed; add a function that takes or gives a double");
    }
    if (!combine(&found, &out->scalar)) {
        return fault(&first, "these words are no type together");
    }
    out->size = found.size;
    out->constant = found.constant;
    return SLUICE_OK;
}

/* Stars with their qualifiers. */
static sluice_status read_pointer(struct parser *parser, struct prototype_type *out)
{
    if (!accept(parser, "*")) {
        return SLUICE_OK;
    }
    out->pointer = true;
    while (accept(parser, "const") || accept(parser, "restrict") || accept(parser, "__restrict")) {
    }
    if (at_word(parser, "*")) {
        return fault(
            parser,
            "pointers to pointers are not passed; one pointer to const char or to numbers is");
    }
    return SLUICE_OK;
}

/* ---- the whole ---- */

static void take_name(struct parser *parser, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)(parser->end - parser->begin), parser->text + parser->begin);
    advance(parser);
}

static sluice_status read_param(struct parser *parser, struct prototype_param *param)
{
    param->character = (uint32_t)parser->begin + 1;
    TRY(read_specifiers(parser, &param->type));
    TRY(read_pointer(parser, &param->type));
    if (at_word(parser, "(")) {
        return fault(parser, "pointers to functions are not passed: a library can't call back");
    }
    if (at_name(parser)) {
        take_name(parser, param->name, sizeof param->name);
    }
    if (at_word(parser, "[")) {
        if (param->type.pointer) {
            return fault(parser, "arrays of pointers are not passed");
        }
        advance(parser);
        if (!accept(parser, "]")) {
            return fault(parser, "write [] without a size, and a size_t behind the parameter that "
                                 "says how many there are");
        }
        param->type.pointer = true;
    }
    /* const of a copy means nothing. */
    param->type.constant = param->type.constant && param->type.pointer;
    if (param->type.scalar == SCALAR_VOID && !param->type.pointer) {
        return fault(parser, "a parameter can't be void");
    }
    return SLUICE_OK;
}

static sluice_status read_params(struct parser *parser, struct prototype *out)
{
    struct parser ahead = *parser;

    if (at_word(parser, ")")) {
        return fault(parser, "expected parameters, or (void) for none");
    }
    if (accept(&ahead, "void") && at_word(&ahead, ")")) {
        *parser = ahead;
        return SLUICE_OK;
    }
    do {
        if (out->n_params == PROTOTYPE_PARAMS) {
            return fault(parser, "more than 16 parameters are not passed");
        }
        TRY(read_param(parser, &out->params[out->n_params]));
        out->n_params++;
    } while (accept(parser, ","));
    return at_word(parser, ")") ? SLUICE_OK : fault(parser, "expected , or )");
}

sluice_status prototype_parse(const char *text, struct prototype *out, struct sluice_error *err)
{
    struct parser parser = { text, 0, 0, err };

    memset(out, 0, sizeof *out);
    if (strlen(text) > PROTOTYPE_LENGTH) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "the prototype has %zu bytes, expected one function such as double "
                           "score(const char *, size_t)",
                           strlen(text));
    }
    advance(&parser);
    if (parser.begin == parser.end) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "the prototype is empty, expected a function such as double score(const "
                           "char *, size_t)");
    }
    (void)accept(&parser, "extern");
    TRY(read_specifiers(&parser, &out->result));
    TRY(read_pointer(&parser, &out->result));
    out->result.constant = out->result.constant && out->result.pointer;
    if (!at_name(&parser)) {
        return fault(&parser, "expected the name of the function");
    }
    if (parser.end - parser.begin >= sizeof out->name) {
        return fault(&parser, "the name of the function is longer than 127 bytes");
    }
    take_name(&parser, out->name, sizeof out->name);
    if (!accept(&parser, "(")) {
        return fault(&parser, "expected ( behind the name of the function");
    }
    TRY(read_params(&parser, out));
    advance(&parser);
    (void)accept(&parser, ";");
    return parser.begin == parser.end ? SLUICE_OK
                                      : fault(&parser, "expected the end of the prototype");
}

/* ---- printing ---- */

void prototype_type_print(struct prototype_type type, struct buf *out)
{
    buf_printf(out, "%s%s%s", type.constant ? "const " : "",
               type.size ? "size_t" : scalars[type.scalar].name, type.pointer ? " *" : "");
}

void prototype_print(const struct prototype *prototype, struct buf *out)
{
    prototype_type_print(prototype->result, out);
    buf_printf(out, "%s%s(", prototype->result.pointer ? "" : " ", prototype->name);
    for (uint32_t k = 0; k < prototype->n_params; k++) {
        buf_puts(out, k > 0 ? ", " : "");
        prototype_type_print(prototype->params[k].type, out);
    }
    buf_puts(out, prototype->n_params == 0 ? "void)" : ")");
}
