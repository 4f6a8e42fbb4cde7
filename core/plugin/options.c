/* Options objects: args and defaults to a filled config struct, and back to canonical text. See
 * options.h. */
#include "plugin/options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/option_parse.h"
#include "plugin/option_table.h"
#include "plugin/option_text.h"

struct slot {
    struct sluice_option option;
    const char *text; /* NULL = unset */
    bool given;
};

struct options {
    struct arena arena; /* of all that is below, and behind the config's pointers */
    struct option_table table;
    void *config;
    struct slot *slots; /* one an option, in the table's order */
    uint32_t *order;    /* by name */
};

static int order_slots(const struct options *options, uint32_t a, uint32_t b)
{
    return strcmp(options->slots[a].option.name, options->slots[b].option.name);
}

/* Empty options of a table: slots, order, zeroed config. */
static sluice_status options_create(const struct option_table *table, struct options **out,
                                    struct sluice_error *err)
{
    struct options *options = calloc(1, sizeof *options);
    size_t n = (size_t)table->n;

    *out = NULL;
    if (options == NULL) {
        return error_nomem(err, "options");
    }
    options->table = *table;
    options->config = arena_alloc(&options->arena, 1, (size_t)table->config_size);
    options->slots = ARENA_ARRAY(&options->arena, struct slot, n);
    options->order = ARENA_ARRAY(&options->arena, uint32_t, n);
    if (options->arena.failed) {
        options_destroy(options);
        return error_nomem(err, "options");
    }
    for (uint32_t k = 0; k < n; k++) {
        struct sluice_option *option = &options->slots[k].option;
        uint32_t place = k;
        option_at(table, k, option);
        if (option->offset > table->config_size || option_type_size(option->type) == 0 ||
            option_type_size(option->type) > table->config_size - option->offset) {
            options_destroy(options);
            return error_set(err, SLUICE_E_INTERNAL, "the option table of '%s' was not checked",
                             table->owner);
        }
        for (; place > 0 && order_slots(options, options->order[place - 1], k) > 0; place--) {
            options->order[place] = options->order[place - 1];
        }
        options->order[place] = k;
    }
    *out = options;
    return SLUICE_OK;
}

static struct slot *slot_find(const struct options *options, const char *name)
{
    for (uint64_t k = 0; k < options->table.n; k++) {
        if (strcmp(options->slots[k].option.name, name) == 0) {
            return &options->slots[k];
        }
    }
    return NULL;
}

static sluice_status slot_parse(struct options *options, struct slot *slot,
                                const struct value *value, bool text, const char *base_dir,
                                struct sluice_error *err)
{
    struct buf canonical = BUF_INIT;
    struct option_parse parse = {
        .owner = options->table.owner,
        .option = &slot->option,
        .value = value,
        .base_dir = base_dir,
        .text = text,
        .place = (char *)options->config + slot->option.offset,
        .arena = &options->arena,
        .canonical = &canonical,
        .err = err,
    };
    sluice_status status = option_parse_value(&parse);

    if (status == SLUICE_OK) {
        status = buf_status(&canonical, err);
    }
    if (status == SLUICE_OK) {
        slot->text = arena_copy(&options->arena, buf_str(&canonical), canonical.size);
        status = arena_status(&options->arena, err, "an option");
    }
    buf_deinit(&canonical);
    return status;
}

static sluice_status slot_default(struct options *options, struct slot *slot, const char *base_dir,
                                  struct sluice_error *err)
{
    struct value value;
    sluice_status status;

    if (slot->option.def == NULL) {
        int32_t unset = -1;
        if (slot->option.type == SLUICE_OPT_ENUM) {
            memcpy((char *)options->config + slot->option.offset, &unset, sizeof unset);
        }
        return SLUICE_OK;
    }
    if (!value_string(&value, slot->option.def, strlen(slot->option.def))) {
        return error_nomem(err, "options");
    }
    status = slot_parse(options, slot, &value, true, base_dir, err);
    value_deinit(&value);
    if (status == SLUICE_E_CONFIG) {
        error_prefix(err, "the default of an option is wrong%s",
                     options->table.scripted ? "" : " (a defect of the plugin)");
        status = SLUICE_E_INTERNAL;
        if (err != NULL) {
            err->code = status;
        }
    }
    return status;
}

static void print_valid(const struct options *options, struct buf *out)
{
    for (uint64_t i = 0; i < options->table.n; i++) {
        const struct sluice_option *option = &options->slots[options->order[i]].option;
        if ((option->flags & SLUICE_OPTF_DEPRECATED) == 0) {
            buf_puts(out, out->size > 0 ? ", " : "");
            buf_puts(out, option->name);
        }
    }
    if (out->size == 0) {
        buf_puts(out, "it has no options");
    }
}

static sluice_status refuse_unknown(const struct options *options, const char *name,
                                    struct sluice_error *err)
{
    size_t n = (size_t)options->table.n;
    const char **names = calloc(n + 1, sizeof *names);
    struct buf valid = BUF_INIT;
    const char *near;
    sluice_status status;

    if (names == NULL) {
        return error_nomem(err, "options");
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = options->slots[i].option.name;
    }
    near = error_suggest(name, names, n);
    print_valid(options, &valid);
    status =
        error_field(err, SLUICE_E_CONFIG, name, "unknown option '%.80s' of '%s'%s%s%s Valid: %s",
                    name, options->table.owner, near != NULL ? "; did you mean '" : ".",
                    near != NULL ? near : "", near != NULL ? "'?" : "", buf_str(&valid));
    if (err != NULL) {
        utf8_clean(err->field);
        utf8_clean(err->message);
    }
    buf_deinit(&valid);
    free(names);
    return status;
}

static sluice_status parse_positional(struct options *options, const struct value *value, bool text,
                                      const char *base_dir, struct sluice_error *err)
{
    struct buf found = BUF_INIT;
    struct buf valid = BUF_INIT;

    for (uint64_t k = 0; k < options->table.n; k++) {
        struct slot *slot = &options->slots[k];
        if ((slot->option.flags & SLUICE_OPTF_POSITIONAL) == 0) {
            continue;
        }
        if (slot->given) {
            return error_field(err, SLUICE_E_CONFIG, slot->option.name,
                               "option '%s' of '%s' is given twice: by name and without one",
                               slot->option.name, options->table.owner);
        }
        slot->given = true;
        return slot_parse(options, slot, value, text, base_dir, err);
    }
    value_describe(value, &found);
    print_valid(options, &valid);
    error_set(err, SLUICE_E_CONFIG, "'%s' takes no value without a name; found %s. Valid: %s",
              options->table.owner, buf_str(&found), buf_str(&valid));
    buf_deinit(&found);
    buf_deinit(&valid);
    return SLUICE_E_CONFIG;
}

static sluice_status parse_all(struct options *options, const struct option_args *args,
                               const char *base_dir, bool partial, struct sluice_error *err)
{
    const struct value *named = args != NULL ? args->named : NULL;
    bool text = args != NULL && args->text;

    assert(named == NULL || named->kind == VALUE_MAP || named->kind == VALUE_NIL);
    if (named != NULL && named->kind == VALUE_MAP) {
        for (size_t i = 0; i < named->as.map.n; i++) {
            const struct value_entry *entry = &named->as.map.entries[i];
            struct slot *slot = slot_find(options, entry->key);
            if (slot == NULL) {
                return refuse_unknown(options, entry->key, err);
            }
            if (entry->value.kind != VALUE_NIL) {
                slot->given = true;
                TRY(slot_parse(options, slot, &entry->value, text, base_dir, err));
            }
        }
    }
    if (args != NULL && args->positional != NULL && args->positional->kind != VALUE_NIL) {
        TRY(parse_positional(options, args->positional, text, base_dir, err));
    }
    for (uint64_t k = 0; k < options->table.n; k++) {
        struct slot *slot = &options->slots[k];
        if (slot->given) {
            continue;
        }
        if ((slot->option.flags & SLUICE_OPTF_REQUIRED) != 0 && !partial) {
            struct buf expected = BUF_INIT;
            sluice_status status;
            option_expected(&slot->option, &expected);
            status = error_field(err, SLUICE_E_CONFIG, slot->option.name,
                                 "option '%s' of '%s' is missing; give it a value (%s): %s",
                                 slot->option.name, options->table.owner, buf_str(&expected),
                                 slot->option.doc);
            buf_deinit(&expected);
            return status;
        }
        TRY(slot_default(options, slot, base_dir, err));
    }
    return SLUICE_OK;
}

static sluice_status parse_table(const struct option_table *table, const struct option_args *args,
                                 const char *base_dir, bool partial, struct options **out,
                                 struct sluice_error *err)
{
    struct options *options;
    sluice_status status;

    *out = NULL;
    TRY(options_create(table, &options, err));
    status = parse_all(options, args, base_dir, partial, err);
    if (status != SLUICE_OK) {
        options_destroy(options);
        return status;
    }
    *out = options;
    return SLUICE_OK;
}

sluice_status options_parse(const struct option_table *table, const struct option_args *args,
                            const char *base_dir, struct options **out, struct sluice_error *err)
{
    return parse_table(table, args, base_dir, false, out, err);
}

sluice_status options_check_defaults(const struct option_table *table, struct sluice_error *err)
{
    struct options *options;

    TRY(parse_table(table, NULL, "/", true, &options, err));
    options_destroy(options);
    return SLUICE_OK;
}

static sluice_status split_error(const char *text, size_t at, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CONFIG,
                     "bad options \"%.200s\" at byte %zu: expected name=value,name=value", text,
                     at);
}

sluice_status options_split(const char *text, struct value *named, struct sluice_error *err)
{
    size_t n = strlen(text);
    struct buf key = BUF_INIT;
    struct buf item = BUF_INIT;
    size_t at = 0;
    sluice_status status = SLUICE_OK;

    if (named->kind == VALUE_NIL) {
        value_map_init(named);
    }
    while (at < n) {
        struct value value;
        int found = text_item(text, n, &at, '=', &key);
        if (found == 0) {
            break;
        }
        if (found == -2 || !buf_reserve(&key, 0)) {
            status = error_nomem(err, "options");
            break;
        }
        if (found < 0 || at >= n || text[at] != '=' || key.size == 0 ||
            strlen(buf_str(&key)) != key.size) {
            status = split_error(text, at, err);
            break;
        }
        at++;
        found = text_item(text, n, &at, 0, &item);
        if (found == -1 && (at == n || text[at] == ',' || text[at] == '\n') && item.size == 0 &&
            text[at - 1] == '=') {
            found = 0; /* "name=" and "name=," give the empty text */
        }
        if (found < 0) {
            status = found == -2 ? error_nomem(err, "options") : split_error(text, at, err);
            break;
        }
        if (value_map_get(named, buf_str(&key)) != NULL) {
            status =
                error_field(err, SLUICE_E_CONFIG, buf_str(&key),
                            "option '%.80s' is given twice in \"%.200s\"", buf_str(&key), text);
            break;
        }
        if (!value_string(&value, item.size > 0 ? item.data : "", item.size) ||
            !value_map_set(named, buf_str(&key), value)) {
            status = error_nomem(err, "options");
            break;
        }
        at += at < n ? 1 : 0;
    }
    buf_deinit(&key);
    buf_deinit(&item);
    return status;
}

void options_destroy(struct options *options)
{
    if (options == NULL) {
        return;
    }
    arena_deinit(&options->arena);
    free(options);
}

const void *options_config(const struct options *options)
{
    return options->config;
}

uint64_t options_count(const struct options *options)
{
    return options->table.n;
}

static void slot_value(const struct slot *slot, struct option_value *out)
{
    out->option = slot->option;
    out->text = slot->text;
    out->given = slot->given;
}

bool options_get(const struct options *options, uint64_t k, struct option_value *out)
{
    if (k >= options->table.n) {
        return false;
    }
    slot_value(&options->slots[k], out);
    return true;
}

bool options_find(const struct options *options, const char *name, struct option_value *out)
{
    const struct slot *slot = slot_find(options, name);

    if (slot == NULL) {
        return false;
    }
    slot_value(slot, out);
    return true;
}

const char *options_string(const struct options *options, const char *name)
{
    const struct slot *slot = slot_find(options, name);

    if (slot == NULL) {
        return NULL;
    }
    switch (slot->option.type) {
    case SLUICE_OPT_STRING:
    case SLUICE_OPT_PATH:
    case SLUICE_OPT_COLUMN:
    case SLUICE_OPT_NODE:
    case SLUICE_OPT_ENUM:
        return slot->text;
    default:
        return NULL;
    }
}

void options_canonical(const struct options *options, struct buf *out)
{
    for (uint64_t i = 0; i < options->table.n; i++) {
        const struct slot *slot = &options->slots[options->order[i]];
        if ((slot->option.flags & (SLUICE_OPTF_NO_OUTPUT | SLUICE_OPTF_OUTPUT_PATH)) != 0) {
            continue;
        }
        buf_printf(out, "%s=", slot->option.name);
        if (slot->text == NULL) {
            buf_puts(out, "null");
        } else if (slot->option.type == SLUICE_OPT_PATH) {
            buf_puts(out, "path");
        } else {
            switch (slot->option.type) {
            case SLUICE_OPT_STRING:
            case SLUICE_OPT_COLUMN:
            case SLUICE_OPT_NODE:
            case SLUICE_OPT_LIST:
            case SLUICE_OPT_MAP:
                buf_json_string(out, slot->text, strlen(slot->text));
                break;
            default:
                buf_puts(out, slot->text);
                break;
            }
        }
        buf_putc(out, '\n');
    }
}

bool options_path(const struct options *options, uint64_t k, const char **name, const char **path,
                  uint32_t *flags)
{
    for (uint64_t i = 0; i < options->table.n; i++) {
        const struct slot *slot = &options->slots[options->order[i]];
        if (slot->option.type == SLUICE_OPT_PATH && slot->text != NULL && k-- == 0) {
            *name = slot->option.name;
            *path = slot->text;
            *flags = slot->option.flags;
            return true;
        }
    }
    return false;
}

sluice_status options_set_path(struct options *options, const char *name, const char *path,
                               struct sluice_error *err)
{
    struct slot *slot = slot_find(options, name);
    const char *copy = arena_copy(&options->arena, path, strlen(path));

    assert(slot != NULL && slot->option.type == SLUICE_OPT_PATH);
    TRY(arena_status(&options->arena, err, "an option"));
    slot->text = copy;
    memcpy((char *)options->config + slot->option.offset, &copy, sizeof copy);
    return SLUICE_OK;
}

void options_json(const struct options *options, struct buf *out)
{
    buf_putc(out, '{');
    for (uint64_t i = 0; i < options->table.n; i++) {
        const struct slot *slot = &options->slots[options->order[i]];
        buf_puts(out, i > 0 ? "," : "");
        buf_json_string(out, slot->option.name, strlen(slot->option.name));
        buf_putc(out, ':');
        if (slot->text == NULL) {
            buf_puts(out, "null");
        } else {
            buf_json_string(out, slot->text, strlen(slot->text));
        }
    }
    buf_putc(out, '}');
}
