/* Types from debug information: see ffi_debug.h. A type of C becomes a struct prototype_type where
 * there is one for it, so that equal means equal; sizes and signs must agree, since a wrong sign or
 * width is a wrong number in a column. */
#include "lua/native/ffi_debug.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <string.h>

#define TYPE_DEPTH 64 /* typedefs of typedefs */

/* ---- types ---- */

enum kind { KIND_KNOWN, KIND_ENUM, KIND_OTHER };

/* What is behind typedefs and qualifiers; false = void. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *out, bool *constant)
{
    Dwarf_Attribute attribute;
    Dwarf_Die at = *die;

    *constant = false;
    for (int depth = 0; depth < TYPE_DEPTH; depth++) {
        if (dwarf_attr_integrate(&at, DW_AT_type, &attribute) == NULL ||
            dwarf_formref_die(&attribute, out) == NULL) {
            return false;
        }
        switch (dwarf_tag(out)) {
        case DW_TAG_const_type:
            *constant = true;
            break;
        case DW_TAG_typedef:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            break;
        default:
            return true;
        }
        at = *out;
    }
    return true;
}

static bool integer_of(Dwarf_Word size, bool is_signed, enum scalar *out)
{
    static const enum scalar by_size[2][4] = {
        { SCALAR_UINT8, SCALAR_UINT16, SCALAR_UINT32, SCALAR_UINT64 },
        { SCALAR_INT8, SCALAR_INT16, SCALAR_INT32, SCALAR_INT64 }
    };

    for (unsigned k = 0; k < 4; k++) {
        if (size == UINT64_C(1) << k) {
            *out = by_size[is_signed][k];
            return true;
        }
    }
    return false;
}

static enum kind scalar_of(Dwarf_Die *die, enum scalar *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Word encoding = 0;
    int size = dwarf_bytesize(die);

    if (dwarf_tag(die) == DW_TAG_enumeration_type && size > 0) {
        return integer_of((Dwarf_Word)size, true, out) ? KIND_ENUM : KIND_OTHER;
    }
    if (dwarf_tag(die) != DW_TAG_base_type || size <= 0 ||
        dwarf_formudata(dwarf_attr_integrate(die, DW_AT_encoding, &attribute), &encoding) != 0) {
        return KIND_OTHER;
    }
    switch (encoding) {
    case DW_ATE_boolean:
        *out = SCALAR_BOOL;
        return size == 1 ? KIND_KNOWN : KIND_OTHER;
    case DW_ATE_float:
        *out = size == 4 ? SCALAR_FLOAT : SCALAR_DOUBLE;
        return size == 4 || size == 8 ? KIND_KNOWN : KIND_OTHER;
    case DW_ATE_signed:
    case DW_ATE_signed_char:
    case DW_ATE_unsigned:
    case DW_ATE_unsigned_char:
        return integer_of((Dwarf_Word)size,
                          encoding == DW_ATE_signed || encoding == DW_ATE_signed_char, out)
                   ? KIND_KNOWN
                   : KIND_OTHER;
    default:
        return KIND_OTHER;
    }
}

/* The type that a function's or a parameter's entry has. */
static enum kind read_type(Dwarf_Die *entry, struct prototype_type *out)
{
    Dwarf_Die die, pointed;
    bool constant;
    enum kind kind;

    memset(out, 0, sizeof *out);
    if (!type_of(entry, &die, &constant)) {
        out->scalar = SCALAR_VOID;
        return KIND_KNOWN;
    }
    if (dwarf_tag(&die) != DW_TAG_pointer_type) {
        return scalar_of(&die, &out->scalar);
    }
    out->pointer = true;
    if (!type_of(&die, &pointed, &out->constant)) {
        out->scalar = SCALAR_VOID;
        return KIND_KNOWN;
    }
    kind = scalar_of(&pointed, &out->scalar);
    return kind == KIND_ENUM ? KIND_OTHER : kind;
}

static bool is_byte(enum scalar scalar)
{
    return scalar == SCALAR_CHAR || scalar == SCALAR_INT8 || scalar == SCALAR_UINT8;
}

static bool fits(struct prototype_type given, enum kind kind, struct prototype_type found)
{
    if (kind == KIND_OTHER || given.pointer != found.pointer) {
        return false;
    }
    if (!given.pointer) {
        return given.scalar == found.scalar ||
               (kind == KIND_ENUM && scalar_is_integer(given.scalar) &&
                scalar_size(given.scalar) == scalar_size(found.scalar));
    }
    /* A function that only reads what it takes as char * can be given const char *: texts can't be
     * written to in a child process. Rust knows no const here at all. */
    return (given.constant || !found.constant) &&
           (given.scalar == found.scalar || given.scalar == SCALAR_VOID ||
            found.scalar == SCALAR_VOID || (is_byte(given.scalar) && is_byte(found.scalar)));
}

/* ---- names for messages ---- */

/* "const char *", "struct options", with the names that the source has. */
static void print_type(Dwarf_Die *entry, struct buf *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die at = *entry, die;
    uint32_t stars = 0;
    const char *name = NULL;
    const char *word = "";
    const char *mark = "";
    bool constant = false;

    for (int depth = 0; depth < TYPE_DEPTH; depth++) {
        if (dwarf_attr_integrate(&at, DW_AT_type, &attribute) == NULL ||
            dwarf_formref_die(&attribute, &die) == NULL) {
            name = "void";
            break;
        }
        switch (dwarf_tag(&die)) {
        case DW_TAG_const_type:
            constant = constant || stars > 0 || dwarf_tag(entry) != DW_TAG_formal_parameter;
            break;
        case DW_TAG_pointer_type:
            stars += dwarf_diename(&die) == NULL; /* Rust's have names: "*const u8" */
            constant = false;
            break;
        case DW_TAG_reference_type:
        case DW_TAG_rvalue_reference_type:
            mark = "&";
            constant = false;
            break;
        case DW_TAG_structure_type:
            word = "struct ";
            break;
        case DW_TAG_union_type:
            word = "union ";
            break;
        case DW_TAG_enumeration_type:
            word = "enum ";
            break;
        case DW_TAG_subroutine_type:
            name = "function";
            break;
        default:
            break;
        }
        name = name != NULL ? name : dwarf_diename(&die);
        if (name != NULL) {
            break;
        }
        at = die;
    }
    buf_printf(out, "%s%s%s%s%.*s%s", constant ? "const " : "", word, name == NULL ? "?" : name,
               stars > 0 || mark[0] != '\0' ? " " : "", (int)(stars < 4 ? stars : 4), "****", mark);
}

/* ---- functions ---- */

struct search {
    const struct prototype *prototype;
    GElf_Addr address;
    Dwarf_Die function;
    bool found;
};

static int look_at(Dwarf_Die *function, void *ctx)
{
    struct search *search = ctx;
    const char *name = dwarf_diename(function);

    /* Not by its lowest address: a part that is seldom run may be set apart from the rest. */
    if (name == NULL || strcmp(name, search->prototype->name) != 0 ||
        dwarf_haspc(function, search->address) != 1) {
        return DWARF_CB_OK;
    }
    search->function = *function;
    search->found = true;
    return DWARF_CB_ABORT;
}

static void find_function(Dwarf *dwarf, struct search *search)
{
    Dwarf_Die unit;
    Dwarf_CU *cu = NULL;

    if (dwarf_addrdie(dwarf, search->address, &unit) != NULL) {
        (void)dwarf_getfuncs(&unit, look_at, search, 0);
    }
    while (!search->found && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
        (void)dwarf_getfuncs(&unit, look_at, search, 0);
    }
}

/* The k-th parameter (from 0) or false; *variadic when "..." stands there or before. */
static bool parameter(Dwarf_Die *function, uint32_t k, Dwarf_Die *out, bool *variadic)
{
    int status = dwarf_child(function, out);

    for (; status == 0; status = dwarf_siblingof(out, out)) {
        if (dwarf_tag(out) == DW_TAG_unspecified_parameters) {
            *variadic = true;
            return false;
        }
        if (dwarf_tag(out) == DW_TAG_formal_parameter && k-- == 0) {
            return true;
        }
    }
    return false;
}

static void print_function(Dwarf_Die *function, const char *name, struct buf *out)
{
    Dwarf_Die entry;
    bool variadic = false;
    uint32_t k = 0;

    print_type(function, out);
    buf_printf(out, "%s%s(", out->size > 0 && out->data[out->size - 1] == '*' ? "" : " ", name);
    for (; parameter(function, k, &entry, &variadic); k++) {
        buf_puts(out, k > 0 ? ", " : "");
        print_type(&entry, out);
    }
    buf_puts(out, variadic ? ", ...)" : k == 0 ? "void)" : ")");
}

static sluice_status differs(Dwarf_Die *function, const char *path,
                             const struct prototype *prototype, const char *where,
                             struct sluice_error *err)
{
    struct buf given = BUF_INIT;
    struct buf found = BUF_INIT;

    prototype_print(prototype, &given);
    print_function(function, prototype->name, &found);
    error_field(err, SLUICE_E_CONFIG, "prototype",
                "the prototype %.250s is not that of the function: by its debug information "
                "(%.200s) %s is different in %.300s",
                buf_str(&given), path, where, buf_str(&found));
    buf_deinit(&given);
    buf_deinit(&found);
    return SLUICE_E_CONFIG;
}

static sluice_status compare(Dwarf_Die *function, const char *path,
                             const struct prototype *prototype, struct sluice_error *err)
{
    struct prototype_type found;
    Dwarf_Die entry;
    bool variadic = false;
    enum kind kind;
    char where[64];

    for (uint32_t k = 0; k < prototype->n_params; k++) {
        if (!parameter(function, k, &entry, &variadic)) {
            return differs(function, path, prototype, "the number of parameters", err);
        }
        kind = read_type(&entry, &found);
        if (!fits(prototype->params[k].type, kind, found)) {
            snprintf(where, sizeof where, "parameter %u", k + 1);
            return differs(function, path, prototype, where, err);
        }
    }
    if (parameter(function, prototype->n_params, &entry, &variadic) || variadic) {
        return differs(function, path, prototype, "the number of parameters", err);
    }
    kind = read_type(function, &found);
    return fits(prototype->result, kind, found)
               ? SLUICE_OK
               : differs(function, path, prototype, "the type of the result", err);
}

/* Debug information of lines alone (-g1) names functions and says nothing of their types: then
 * neither a result, a parameter nor that there is a prototype stands there. */
static bool tells_types(Dwarf_Die *function)
{
    Dwarf_Attribute attribute;
    Dwarf_Die entry;
    bool variadic = false;

    return dwarf_attr_integrate(function, DW_AT_type, &attribute) != NULL ||
           dwarf_attr_integrate(function, DW_AT_prototyped, &attribute) != NULL ||
           parameter(function, 0, &entry, &variadic) || variadic;
}

sluice_status debug_compare(Elf *elf, const char *path, GElf_Addr address,
                            const struct prototype *prototype, bool *compared,
                            struct sluice_error *err)
{
    struct search search = { .prototype = prototype, .address = address };
    Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    sluice_status status = SLUICE_OK;

    if (dwarf == NULL) {
        return SLUICE_OK;
    }
    find_function(dwarf, &search);
    if (search.found && tells_types(&search.function)) {
        *compared = true;
        status = compare(&search.function, path, prototype, err);
    }
    dwarf_end(dwarf);
    return status;
}
