/* The options that every writer takes: `class`, what its dataset is, and `mode`, what becomes of
 * the rows that it has. See bindingsInt.h. */
#include <string.h>

#include "base/buf.h"
#include "lua/script/bindingsInt.h"

static enum node_class class_of(const char *name)
{
    enum node_class class = CLASS_GOLD;

    while (class != CLASS_NONE && strcmp(graph_class_name(class), name) != 0) {
        class --;
    }
    return class;
}

/* "silver", or { bronze = SOURCE }, { gold = TOKENIZER }. */
static bool read_class(struct graph *graph, struct node *node, const struct value *value)
{
    const struct value *note = NULL;

    if (value->kind == VALUE_STRING) {
        node->class = class_of(value->as.string.data);
        return node->class != CLASS_NONE;
    }
    if (value->kind != VALUE_MAP || value->as.map.n != 1) {
        return false;
    }
    node->class = class_of(value->as.map.entries[0].key);
    note = &value->as.map.entries[0].value;
    if (node->class == CLASS_NONE || node->class == CLASS_SILVER || note->kind != VALUE_STRING ||
        note->as.string.size == 0) {
        return false;
    }
    node->class_note = arena_printf(&graph->arena, "%s", note->as.string.data);
    return true;
}

sluice_status bindings_take_class(struct graph *graph, struct node *node, struct sluice_error *err)
{
    const struct value *value = bindings_host_option(node, "class");

    if (value == NULL || node->entry->stage.role != SLUICE_ROLE_WRITER) {
        return SLUICE_OK;
    }
    if (!read_class(graph, node, value)) {
        struct buf text = BUF_INIT;
        value_describe(value, &text);
        error_field(err, SLUICE_E_CONFIG, "class",
                    "option 'class' of '%s': found %s, expected { bronze = \"where it comes "
                    "from\" }, \"silver\", \"gold\" or { gold = \"its tokenizer\" }",
                    node->name, buf_str(&text));
        buf_deinit(&text);
        return SLUICE_E_CONFIG;
    }
    bindings_forget_option(node, "class");
    return arena_status(&graph->arena, err, "the pipeline's graph");
}

sluice_status bindings_take_mode(struct node *node, struct sluice_error *err)
{
    const struct value *value = bindings_host_option(node, "mode");

    if (value == NULL || node->entry->stage.role != SLUICE_ROLE_WRITER) {
        return SLUICE_OK;
    }
    if (value->kind == VALUE_STRING && strcmp(value->as.string.data, "append") == 0) {
        node->mode = MODE_APPEND;
    } else if (value->kind == VALUE_STRING && strcmp(value->as.string.data, "rebuild") == 0) {
        node->mode = MODE_REBUILD;
    } else {
        struct buf text = BUF_INIT;
        value_describe(value, &text);
        error_field(
            err, SLUICE_E_CONFIG, "mode",
            "option 'mode' of '%s': found %s, expected \"rebuild\" (the run's rows take the "
            "place of those that are there) or \"append\" (they come behind them)",
            node->name, buf_str(&text));
        buf_deinit(&text);
        return SLUICE_E_CONFIG;
    }
    bindings_forget_option(node, "mode");
    return SLUICE_OK;
}
