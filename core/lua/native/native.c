/* The stage "native": options, and the columns and constants that its function's parameters come
 * from. See native.h. */
#include "lua/native/native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/native/nativeInt.h"
#include "plugin/stage.h"

/* ---- types ---- */

static const struct {
    const char *type;
    enum cell cell;
} of_scalar[] = {
    [SCALAR_VOID] = { "", CELL_BINARY },           [SCALAR_BOOL] = { "bool", CELL_BOOL },
    [SCALAR_CHAR] = { "utf8", CELL_TEXT },         [SCALAR_INT8] = { "int8", CELL_INT8 },
    [SCALAR_INT16] = { "int16", CELL_INT16 },      [SCALAR_INT32] = { "int32", CELL_INT32 },
    [SCALAR_INT64] = { "int64", CELL_INT64 },      [SCALAR_UINT8] = { "uint8", CELL_UINT8 },
    [SCALAR_UINT16] = { "uint16", CELL_UINT16 },   [SCALAR_UINT32] = { "uint32", CELL_UINT32 },
    [SCALAR_UINT64] = { "uint64", CELL_UINT64 },   [SCALAR_FLOAT] = { "float32", CELL_FLOAT32 },
    [SCALAR_DOUBLE] = { "float64", CELL_FLOAT64 },
};

/* Can numbers of a column's type be passed as scalar? Integers are checked one by one for their
 * range. */
static bool number_fits(enum scalar scalar, enum cell cell)
{
    switch (scalar) {
    case SCALAR_BOOL:
        return cell == CELL_BOOL;
    case SCALAR_FLOAT:
        return cell >= CELL_INT8 && cell <= CELL_FLOAT32;
    case SCALAR_DOUBLE:
        return cell >= CELL_INT8 && cell <= CELL_FLOAT64;
    default:
        return cell >= CELL_INT8 && cell <= CELL_UINT64;
    }
}

static bool value_fits(const struct foreign_signature *signature, const struct foreign_value *value,
                       struct cell_type type)
{
    bool text = !type.list && type.cell >= CELL_TEXT;

    switch (value->form) {
    case FOREIGN_TEXT:
    case FOREIGN_CSTRING:
        return text;
    case FOREIGN_ARRAY:
        if (signature->columns) {
            return !type.list && number_fits(value->scalar, type.cell);
        }
        return (type.list && type.cell == of_scalar[value->scalar].cell) ||
               (value->scalar == SCALAR_UINT8 && text);
    default:
        return !type.list && number_fits(value->scalar, type.cell);
    }
}

/* The columns that would do, for messages. */
static void print_fitting(const struct foreign_signature *signature,
                          const struct foreign_value *value, struct buf *out)
{
    const char *type = of_scalar[value->scalar].type;

    if (value->form == FOREIGN_TEXT || value->form == FOREIGN_CSTRING) {
        buf_puts(out, "utf8, json or binary");
    } else if (value->form == FOREIGN_ARRAY && !signature->columns) {
        buf_printf(out, "list<%s>%s", type,
                   value->scalar == SCALAR_UINT8 ? ", utf8, json or binary" : "");
    } else if (value->scalar == SCALAR_BOOL || value->scalar == SCALAR_DOUBLE ||
               value->scalar == SCALAR_FLOAT) {
        buf_printf(out, "%s%s", type, value->scalar == SCALAR_BOOL ? "" : " or integers");
    } else {
        buf_puts(out, "integers");
    }
}

/* ---- open ---- */

static bool whole_number(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

/* true, false, a number, or a text in single quotes; *is_constant false = a column's name. */
static sluice_status read_constant(struct native *native, uint32_t k, const char *text,
                                   bool *is_constant, struct sluice_error *err)
{
    const struct foreign_signature *signature = &native->foreign.signature;
    const struct foreign_value *value = &signature->values[k];
    struct native_source *source = &native->sources[k];
    size_t n = strlen(text);
    bool quoted = n >= 2 && text[0] == '\'' && text[n - 1] == '\'';
    bool truth = strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    double number = 0;
    int64_t integer;
    bool numeric = number_parse(text, n, &number) == n && n > 0;
    struct buf name = BUF_INIT;
    bool fits;

    *is_constant = quoted || truth || numeric;
    if (!*is_constant) {
        return SLUICE_OK;
    }
    if (value->form == FOREIGN_SCALAR) {
        if (value->scalar == SCALAR_BOOL) {
            fits = truth;
            source->slot.uint8 = text[0] == 't';
        } else if (value->scalar == SCALAR_DOUBLE) {
            fits = numeric;
            source->slot.float64 = number;
        } else if (value->scalar == SCALAR_FLOAT) {
            fits = numeric;
            source->slot.float32 = (float)number;
        } else {
            fits = numeric && whole_number(text, &integer) &&
                   scalar_holds(value->scalar, integer) &&
                   (value->scalar != SCALAR_UINT64 || integer >= 0);
            foreign_slot_integer(&source->slot, value->scalar, fits ? integer : 0);
        }
    } else {
        fits = quoted && value->form != FOREIGN_ARRAY;
        if (fits) {
            source->text = str_copy(text + 1, n - 2);
            source->size = n - 2;
            source->slot.pointer = source->text;
            if (source->text == NULL) {
                return error_nomem(err, "a constant");
            }
        }
    }
    if (!fits) {
        foreign_value_print(signature, k, &name);
        error_field(err, SLUICE_E_CONFIG, "args",
                    "args: found the constant %.80s for %s, which does not take it%s", text,
                    buf_str(&name),
                    value->form == FOREIGN_ARRAY ? "; arrays come from columns" : "");
        buf_deinit(&name);
    }
    return fits ? SLUICE_OK : SLUICE_E_CONFIG;
}

static sluice_status count_args(const struct native *native, struct sluice_error *err)
{
    const struct foreign_signature *signature = &native->foreign.signature;
    uint64_t n = native->config->args.n;
    struct buf list = BUF_INIT;

    if (signature->n_values == 0) {
        return error_field(err, SLUICE_E_CONFIG, "prototype",
                           "'%s' takes nothing, so it can't tell one row from another; expected a "
                           "parameter for the column of `over`",
                           signature->prototype.name);
    }
    if (n + 1 == signature->n_values) {
        return SLUICE_OK;
    }
    for (uint32_t k = 1; k < signature->n_values; k++) {
        buf_puts(&list, k == 1 ? ": " : ", ");
        foreign_value_print(signature, k, &list);
    }
    error_field(err, SLUICE_E_CONFIG, "args",
                "args: found %llu, expected %u for '%s': over = \"%s\" gives the first value, args "
                "a column or constant for each "
                "further one%s",
                (unsigned long long)n, signature->n_values - 1, signature->prototype.name,
                native->config->over, buf_str(&list));
    buf_deinit(&list);
    return SLUICE_E_CONFIG;
}

static sluice_status read_sources(struct native *native, struct sluice_error *err)
{
    const struct foreign_signature *signature = &native->foreign.signature;

    TRY(count_args(native, err));
    native->sources[0].column = native->config->over;
    for (uint32_t k = 1; k < signature->n_values; k++) {
        const char *text = native->config->args.items[k - 1];
        bool constant;
        TRY(read_constant(native, k, text, &constant, err));
        native->sources[k].column = constant ? NULL : text;
        if (!constant && signature->columns && signature->values[k].form == FOREIGN_SCALAR) {
            return error_field(err, SLUICE_E_CONFIG, "args",
                               "args: found the column '%s' for parameter %u of '%s', which takes "
                               "one number for all rows; give a "
                               "constant",
                               text, signature->values[k].param + 1, signature->prototype.name);
        }
    }
    if (signature->columns && signature->values[0].form == FOREIGN_SCALAR) {
        return error_field(
            err, SLUICE_E_CONFIG, "prototype",
            "parameter %u of '%s' comes before its first column; put constants behind the columns",
            signature->values[0].param + 1, signature->prototype.name);
    }
    return SLUICE_OK;
}

static void native_close(void *shared)
{
    struct native *native = shared;

    for (uint32_t k = 0; k < PROTOTYPE_PARAMS; k++) {
        free(native->sources[k].text);
    }
    type_destroy(native->type);
    pthread_mutex_destroy(&native->lock);
    free(native);
}

static sluice_status open_foreign(struct native *native, const struct foreign_signature *signature,
                                  struct sluice_error *err)
{
    char text[500];

    TRY(foreign_open(signature, native->config->lib, &native->foreign, err));
    if (!native->foreign.compared && SLUICE_HAS(native->api, log)) {
        snprintf(text, sizeof text,
                 "%.200s has no debug information about the types of '%s' (gcc -g): that the "
                 "prototype is right "
                 "can't be checked",
                 native->config->lib, signature->prototype.name);
        native->api->log(native->host, SLUICE_LOG_INFO, text);
    }
    return SLUICE_OK;
}

static sluice_status native_open(const struct sluice_host_api *api, struct sluice_host *host,
                                 const void *config, void **shared, struct sluice_error *err)
{
    struct foreign_signature signature;
    struct native *native;
    sluice_status status;

    if (stage_user(host) == NULL) {
        return error_set(
            err, SLUICE_E_INTERNAL,
            "a native function is to be called outside of a child process, which never happens");
    }
    native = calloc(1, sizeof *native);
    if (native == NULL || pthread_mutex_init(&native->lock, NULL) != 0) {
        free(native);
        return error_nomem(err, "a native function");
    }
    native->api = api;
    native->host = host;
    native->config = config;
    status = foreign_signature_read(native->config->prototype, &signature, err);
    if (status == SLUICE_OK) {
        native->foreign.signature = signature;
        status = read_sources(native, err);
    }
    if (status == SLUICE_OK) {
        status = open_foreign(native, &signature, err);
    }
    if (status != SLUICE_OK) {
        native_close(native);
        return status;
    }
    native->as =
        native->config->as != NULL ? native->config->as : native->foreign.signature.prototype.name;
    *shared = native;
    return SLUICE_OK;
}

/* ---- prepare ---- */

/* The type of an input column; a number for the hidden ones, "" where there is none. */
static const char *type_of(struct sluice_plan *plan, const char *column)
{
    const char *name = "";
    const char *type = column[0] == '_' ? "uint64" : "";

    for (uint32_t k = 0; column[0] != '_'; k++) {
        if (plan->column(plan, 0, k, &name, &type) != SLUICE_OK || type[0] == '\0' ||
            strcmp(name, column) == 0) {
            break;
        }
    }
    return type;
}

static sluice_status need_column(struct native *native, struct sluice_plan *plan, uint32_t k,
                                 bool *nullable, struct sluice_error *err)
{
    const struct foreign_signature *signature = &native->foreign.signature;
    struct native_source *source = &native->sources[k];
    struct buf wanted = BUF_INIT;
    struct buf param = BUF_INIT;
    const char *type;

    TRY(plan->need(plan, 0, source->column, "", 0, &source->index, err));
    type = type_of(plan, source->column);
    if (cell_type_parse(type, &source->type) && strstr(type, "?>") == NULL &&
        value_fits(signature, &signature->values[k], source->type)) {
        *nullable = *nullable || source->type.nullable;
        return SLUICE_OK;
    }
    print_fitting(signature, &signature->values[k], &wanted);
    foreign_value_print(signature, k, &param);
    error_field(err, SLUICE_E_SCHEMA, source->column,
                "the column '%s' is %s, expected %s for %s of '%s'", source->column, type,
                buf_str(&wanted), buf_str(&param), signature->prototype.name);
    buf_deinit(&wanted);
    buf_deinit(&param);
    return SLUICE_E_SCHEMA;
}

static sluice_status native_prepare(void *shared, struct sluice_plan *plan,
                                    struct sluice_error *err)
{
    struct native *native = shared;
    const struct foreign_signature *signature = &native->foreign.signature;
    bool floats = signature->result == SCALAR_FLOAT || signature->result == SCALAR_DOUBLE;
    char text[32];

    native->nullable =
        signature->result == SCALAR_CHAR || (floats && native->config->nan == NATIVE_NAN_NULL);
    for (uint32_t k = 0; k < signature->n_values; k++) {
        if (native->sources[k].column != NULL) {
            TRY(need_column(native, plan, k, &native->nullable, err));
        }
    }
    snprintf(text, sizeof text, "%s%s", of_scalar[signature->result].type,
             native->nullable ? "?" : "");
    type_destroy(native->type);
    native->type = NULL;
    TRY(type_parse(text, &native->type, err));
    return plan->add(plan, native->as, text, NULL, err);
}

/* ---- the descriptor ---- */

static const struct sluice_option options[] = {
    { .name = "prototype",
      .doc = "The function as its C header declares it: \"double score(const char *, size_t)\".",
      .type = SLUICE_OPT_STRING,
      .flags = SLUICE_OPTF_POSITIONAL | SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct native_config, prototype) },
    { .name = "lib",
      .doc = "The shared library; relative to the script's folder.",
      .type = SLUICE_OPT_PATH,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct native_config, lib) },
    { .name = "over",
      .doc = "Column that the function's first value comes from.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct native_config, over) },
    { .name = "as",
      .doc = "Column that it makes; without it the function's name.",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct native_config, as) },
    { .name = "args",
      .doc = "What its further values come from, in their order: names of columns, numbers, true, "
             "false, or 'a text' in single quotes.",
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct native_config, args) },
    { .name = "nan",
      .doc = "What a result that is not a number becomes: NaN itself, or null.",
      .def = "keep",
      .choices = "keep|null",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct native_config, nan) },
    { .name = "thread_safe",
      .doc = "Whether several threads may be in the library at once; else they take turns.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .flags = SLUICE_OPTF_NO_OUTPUT,
      .offset = offsetof(struct native_config, thread_safe) },
};

static const char doc[] =
    "Calls a C function of a shared library for each row and keeps what it returns as a column. "
    "The library needs no header of Sluice, "
    "and runs in a child process without network, without files to write and without other "
    "processes: a row that crashes it is "
    "quarantined.\n\n"
    "| parameters | a value from |\n|---|---|\n"
    "| `const char *, size_t` | utf8, json, binary: the bytes and their number; there is no NUL "
    "behind them |\n"
    "| `const char *` | the same, as a copy that ends in a NUL; a text that holds a NUL is "
    "quarantined |\n"
    "| `const void *, size_t`, `const uint8_t *, size_t` | the same as bytes |\n"
    "| `const double *, size_t` | list<float64>; in the same way float and all integers |\n"
    "| `double`, `int32_t`, `bool` … | a number of a column or a constant; an integer out of range "
    "is quarantined |\n\n"
    "An integer parameter called n, len, length, size or count is taken as the size_t behind a "
    "pointer.\n\n"
    "The result is a number, a bool, or a `const char *` that the library keeps (copied at once; "
    "NULL is null). A null in is a null "
    "out, without a call.\n\n"
    "`void f(const double *in, double *out, size_t n)` is called once a batch, with a whole column "
    "of numbers; each item of out may "
    "depend on the items of its own row only, which is tried out.\n\n"
    "Variadic functions, structs, callbacks and texts to write into are refused. The prototype is "
    "compared with the library's symbols, "
    "and with its debug information where it has any (gcc -g); without, a wrong prototype gives "
    "wrong numbers or crashes. The library "
    "must return the same for the same row; the content of its file is part of what makes a task "
    "run again, other libraries that it "
    "loads are not.";

static const struct sluice_stage descriptor = {
    .size = sizeof descriptor,
    .name = "native",
    .version = "1",
    .summary = "Makes a C function of any shared library a column.",
    .doc = doc,
    .example = "docs | s.native { lib = \"./libppl.so\", \"double score(const char *, size_t)\", "
               "over = \"text\", as = \"ppl\" }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct native_config),
    .reasons = "native_error",
    .bytes_worker = UINT64_C(16) << 20,
    .bytes_per_batch = 4,
    .open = native_open,
    .prepare = native_prepare,
    .worker_open = native_worker_open,
    .process = native_process,
    .worker_close = native_worker_close,
    .close = native_close,
};

sluice_status native_register(struct registry *registry, bool here, struct sluice_error *err)
{
    void *user = here ? (void *)(uintptr_t)&descriptor : NULL; /* open asks whether there is one */
    struct hash128 hash = hash_bytes(descriptor.version, strlen(descriptor.version));
    const struct registry_entry *entry = NULL;

    TRY(registry_add_user(registry, &descriptor, user, PLUGIN_CORE, "compiled in", hash, &entry,
                          err));
    registry_isolate_always(registry, entry);
    return SLUICE_OK;
}

bool native_is_serial(const struct registry_entry *entry, const struct value *named)
{
    const struct value *safe =
        named->kind == VALUE_MAP ? value_map_get(named, "thread_safe") : NULL;

    return entry->stage.options == options &&
           !(safe != NULL && safe->kind == VALUE_BOOL && safe->as.boolean);
}
