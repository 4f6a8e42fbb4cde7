/* Option tables: access across strides, names of types, what a value must be, sanity. See
 * options.h. */
#include <float.h>
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/option_text.h"
#include "plugin/option_table.h"

/* What ABI 1.0 had; later fields read as zero in tables of older plugins. */
#define OPTION_STRIDE_MIN (offsetof(struct sluice_option, offset) + sizeof(uint64_t))
#define OPTION_STRIDE_MAX 4096u

static const struct {
    const char *name;
    size_t size, align;
} types[] = {
    { "?", 0, 1 },
    { "bool", sizeof(uint8_t), _Alignof(uint8_t) },
    { "int", sizeof(int64_t), _Alignof(int64_t) },
    { "float", sizeof(double), _Alignof(double) },
    { "string", sizeof(char *), _Alignof(char *) },
    { "enum", sizeof(int32_t), _Alignof(int32_t) },
    { "size", sizeof(uint64_t), _Alignof(uint64_t) },
    { "duration", sizeof(int64_t), _Alignof(int64_t) },
    { "path", sizeof(char *), _Alignof(char *) },
    { "column", sizeof(char *), _Alignof(char *) },
    { "range", sizeof(struct sluice_range), _Alignof(struct sluice_range) },
    { "list", sizeof(struct sluice_list), _Alignof(struct sluice_list) },
    { "map", sizeof(struct sluice_map), _Alignof(struct sluice_map) },
    { "node", sizeof(char *), _Alignof(char *) },
};
#define N_TYPES ((int32_t)(sizeof types / sizeof types[0]))

static_assert(sizeof types / sizeof types[0] == SLUICE_OPT_NODE + 1, "a row for each option type");

struct option_table option_table_of(const struct sluice_stage *stage)
{
    struct option_table table = {
        .owner = stage->name,
        .options = stage->options,
        .n = stage->options != NULL ? stage->n_options : 0,
        .stride = stage->option_stride,
        .config_size = stage->config_size,
    };

    return table;
}

bool option_at(const struct option_table *table, uint64_t k, struct sluice_option *out)
{
    size_t size = table->stride < sizeof *out ? (size_t)table->stride : sizeof *out;

    if (k >= table->n) {
        return false;
    }
    memset(out, 0, sizeof *out);
    memcpy(out, (const char *)table->options + k * table->stride, size);
    return true;
}

const char *option_type_name(int32_t type)
{
    return types[type > 0 && type < N_TYPES ? type : 0].name;
}

size_t option_type_size(int32_t type)
{
    return types[type > 0 && type < N_TYPES ? type : 0].size;
}

static void print_limit(const struct sluice_option *option, double limit, struct buf *out)
{
    char number[NUMBER_TEXT_MAX];

    if (option->type == SLUICE_OPT_SIZE && limit >= 0 && limit < 9223372036854775808.0) {
        print_size((uint64_t)limit, out);
    } else if (option->type == SLUICE_OPT_DURATION && fabs(limit) < 9223372036854775808.0) {
        print_duration((int64_t)limit, out);
    } else if (option->type == SLUICE_OPT_INT && fabs(limit) < 9007199254740992.0) {
        buf_printf(out, "%lld", (long long)limit);
    } else {
        number_print(limit, number);
        buf_puts(out, number);
    }
}

bool option_has_limits(const struct sluice_option *option)
{
    bool numeric = option->type == SLUICE_OPT_INT || option->type == SLUICE_OPT_FLOAT ||
                   option->type == SLUICE_OPT_SIZE || option->type == SLUICE_OPT_DURATION ||
                   option->type == SLUICE_OPT_RANGE;

    return numeric && option->min < option->max;
}

void option_print_limits(const struct sluice_option *option, struct buf *out)
{
    if (option_has_limits(option)) {
        /* What has one limit has these for the other. */
        const bool below = option->min <= -DBL_MAX;
        const bool above = option->max >= DBL_MAX;
        buf_puts(out, below ? "(-inf" : "[");
        if (!below) {
            print_limit(option, option->min, out);
        }
        buf_puts(out, ", ");
        if (!above) {
            print_limit(option, option->max, out);
        }
        buf_puts(out, above ? "inf)" : "]");
    }
}

void option_print_choices(const struct sluice_option *option, struct buf *out)
{
    size_t n;
    const char *choice;

    for (size_t k = 0; (choice = choice_at(option->choices, k, &n)) != NULL; k++) {
        buf_puts(out, k > 0 ? ", " : "");
        buf_append(out, choice, n);
    }
}

void option_expected(const struct sluice_option *option, struct buf *out)
{
    static const char *const shapes[] = {
        [SLUICE_OPT_BOOL] = "true or false",
        [SLUICE_OPT_INT] = "int",
        [SLUICE_OPT_FLOAT] = "float",
        [SLUICE_OPT_STRING] = "string (UTF-8)",
        [SLUICE_OPT_ENUM] = "one of ",
        [SLUICE_OPT_SIZE] = "size such as 64MiB, 2GB or 1e6",
        [SLUICE_OPT_DURATION] = "duration such as 10s or 5m",
        [SLUICE_OPT_PATH] = "path",
        [SLUICE_OPT_COLUMN] = "name of a column",
        [SLUICE_OPT_RANGE] = "range such as 1..5, 1.. or ..5",
        [SLUICE_OPT_LIST] = "list of strings",
        [SLUICE_OPT_MAP] = "map of strings",
        [SLUICE_OPT_NODE] = "name of a node",
    };

    buf_puts(out, option->type > 0 && option->type < N_TYPES ? shapes[option->type] : "?");
    if (option->type == SLUICE_OPT_ENUM) {
        option_print_choices(option, out);
    }
    if (option_has_limits(option)) {
        buf_puts(out, option->type == SLUICE_OPT_RANGE ? " within " : " in ");
        option_print_limits(option, out);
    }
}

bool option_name_valid(const char *name)
{
    size_t n = 0;

    if (name == NULL || name[0] < 'a' || name[0] > 'z') {
        return false;
    }
    for (; name[n] != '\0'; n++) {
        char c = name[n];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return n < sizeof((struct sluice_error *)NULL)->field;
}

static sluice_status check_choices(const struct option_table *table,
                                   const struct sluice_option *option, struct sluice_error *err)
{
    const char *choice;
    size_t n;

    if (option->choices == NULL) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "the enum option '%s' of '%s' has no choices", option->name,
                           table->owner);
    }
    for (size_t k = 0; (choice = choice_at(option->choices, k, &n)) != NULL; k++) {
        if (n == 0 || choice_find(option->choices, choice, n) != (int32_t)k) {
            return error_field(
                err, SLUICE_E_INTERNAL, option->name,
                "the choices \"%s\" of option '%s' of '%s' hold an empty or a repeated word",
                option->choices, option->name, table->owner);
        }
    }
    return SLUICE_OK;
}

/* Faults here are those of the plugin's author, found when the plugin is loaded: later the
 * parser stores at these offsets without a look. */
static sluice_status check_option(const struct option_table *table, uint64_t k,
                                  const struct sluice_option *option, struct sluice_error *err)
{
    size_t size;

    if (!option_name_valid(option->name)) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "option %llu of '%s' has the name \"%.40s\"; expected [a-z][a-z0-9_]*, at "
                         "most 63 bytes",
                         (unsigned long long)k, table->owner,
                         option->name != NULL ? option->name : "");
    }
    if (option->type <= 0 || option->type >= N_TYPES) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' has the type %d, which this host does not know",
                           option->name, table->owner, (int)option->type);
    }
    if (option->doc == NULL || option->doc[0] == '\0') {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' has no documentation", option->name, table->owner);
    }
    size = types[option->type].size;
    if (option->offset > table->config_size || size > table->config_size - option->offset ||
        option->offset % types[option->type].align != 0) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' stores %zu bytes at offset %llu of a config of "
                           "%llu bytes: outside or unaligned",
                           option->name, table->owner, size, (unsigned long long)option->offset,
                           (unsigned long long)table->config_size);
    }
    if (isnan(option->min) || isnan(option->max) || option->min > option->max) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' has its min above its max", option->name,
                           table->owner);
    }
    if ((option->flags & SLUICE_OPTF_REQUIRED) != 0 && option->def != NULL) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' is required and has a default as well",
                           option->name, table->owner);
    }
    if ((option->flags & SLUICE_OPTF_OUTPUT_PATH) != 0 && option->type != SLUICE_OPT_PATH) {
        return error_field(err, SLUICE_E_INTERNAL, option->name,
                           "option '%s' of '%s' is an output path but no path", option->name,
                           table->owner);
    }
    return option->type == SLUICE_OPT_ENUM ? check_choices(table, option, err) : SLUICE_OK;
}

/* Names differ, no two options share bytes of the config, at most one is positional. */
static sluice_status check_pair(const struct option_table *table, const struct sluice_option *a,
                                const struct sluice_option *b, struct sluice_error *err)
{
    const char *what = NULL;

    if (strcmp(a->name, b->name) == 0) {
        what = "one name";
    } else if (a->offset < b->offset + types[b->type].size &&
               b->offset < a->offset + types[a->type].size) {
        what = "bytes of the config";
    } else if ((a->flags & b->flags & SLUICE_OPTF_POSITIONAL) != 0) {
        what = "the positional place";
    }
    if (what != NULL) {
        return error_field(err, SLUICE_E_INTERNAL, a->name,
                           "options '%s' and '%s' of '%s' share %s", b->name, a->name, table->owner,
                           what);
    }
    return SLUICE_OK;
}

sluice_status option_table_check(const struct option_table *table, struct sluice_error *err)
{
    struct sluice_option option;
    struct sluice_option other;

    if (table->n > OPTIONS_MAX || table->config_size > OPTIONS_CONFIG_MAX) {
        return error_set(
            err, SLUICE_E_INTERNAL,
            "'%s' has %llu options and a config of %llu bytes; at most %u and %u are possible",
            table->owner, (unsigned long long)table->n, (unsigned long long)table->config_size,
            OPTIONS_MAX, OPTIONS_CONFIG_MAX);
    }
    if (table->n == 0) {
        return SLUICE_OK;
    }
    if (table->stride < OPTION_STRIDE_MIN || table->stride > OPTION_STRIDE_MAX ||
        table->stride % _Alignof(void *) != 0) {
        return error_set(err, SLUICE_E_INTERNAL,
                         "the option table of '%s' has a stride of %llu bytes; expected "
                         "sizeof(struct sluice_option)",
                         table->owner, (unsigned long long)table->stride);
    }
    for (uint64_t k = 0; option_at(table, k, &option); k++) {
        TRY(check_option(table, k, &option, err));
        for (uint64_t j = 0; j < k && option_at(table, j, &other); j++) {
            TRY(check_pair(table, &option, &other, err));
        }
    }
    return options_check_defaults(table, err);
}
