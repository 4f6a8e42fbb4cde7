/* The option `ask` of stages that ask servers: which, and how hard. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/script/bindingsInt.h"

struct ask_config {
    struct sluice_list hosts;
    int64_t in_flight, tries, timeout, patience, hedge;
    double per_second;
};

static const struct sluice_option ask_options[] = {
    { .name = "hosts",
      .doc = "Servers that may be asked, as \"host\" or \"host:port\".",
      .type = SLUICE_OPT_LIST,
      .flags = SLUICE_OPTF_REQUIRED,
      .offset = offsetof(struct ask_config, hosts) },
    { .name = "in_flight",
      .doc = "Requests to one server at once.",
      .def = "64",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 10000,
      .offset = offsetof(struct ask_config, in_flight) },
    { .name = "per_second",
      .doc = "Requests to one server in a second; 0 = no limit.",
      .def = "0",
      .type = SLUICE_OPT_FLOAT,
      .min = 0,
      .max = 1e6,
      .offset = offsetof(struct ask_config, per_second) },
    { .name = "tries",
      .doc = "Tries of one request, with longer pauses between them, before its task fails.",
      .def = "8",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1000,
      .offset = offsetof(struct ask_config, tries) },
    { .name = "timeout",
      .doc = "Longest time of one try.",
      .def = "10m",
      .type = SLUICE_OPT_DURATION,
      .min = 1e6,
      .max = 86400e9,
      .offset = offsetof(struct ask_config, timeout) },
    { .name = "patience",
      .doc = "Longest pause between two tries, whatever the server says.",
      .def = "5m",
      .type = SLUICE_OPT_DURATION,
      .min = 1e6,
      .max = 86400e9,
      .offset = offsetof(struct ask_config, patience) },
    { .name = "hedge",
      .doc = "After so long without an answer the same is asked a second time, and the first "
             "answer counts; 0 = never. Or \"p95\": after longer than that share of the "
             "server's answers took.",
      .def = "0s",
      .type = SLUICE_OPT_DURATION,
      .min = 0,
      .max = 86400e9,
      .offset = offsetof(struct ask_config, hedge) },
};

/* ---- options of the host beside those of a stage ---- */

const struct value *bindings_host_option(const struct node *node, const char *name)
{
    struct option_table table = option_table_of(&node->entry->stage);
    const struct value *value =
        node->named.kind == VALUE_MAP ? value_map_get(&node->named, name) : NULL;
    struct sluice_option option;

    for (uint64_t k = 0; value != NULL && option_at(&table, k, &option); k++) {
        if (strcmp(option.name, name) == 0) {
            return NULL;
        }
    }
    return value;
}

void bindings_forget_option(struct node *node, const char *name)
{
    for (size_t k = 0; k < node->named.as.map.n; k++) {
        struct value_entry *entry = &node->named.as.map.entries[k];
        if (strcmp(entry->key, name) == 0) {
            free(entry->key);
            value_deinit(&entry->value);
            memmove(entry, entry + 1, (--node->named.as.map.n - k) * sizeof *entry);
        }
    }
}

/* ---- ask ---- */

/* A name or an address, and perhaps a port: no path, no user, no pattern. */
static bool host_valid(const char *host)
{
    size_t name = strcspn(host, ":");
    const char *port = host[name] == ':' ? host + name + 1 : "1";

    return name > 0 && name <= 253 &&
           strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") == name && *port != '\0' &&
           strlen(port) <= 5 && strspn(port, "0123456789") == strlen(port);
}

static sluice_status take_hosts(struct graph *graph, const struct node *node,
                                const struct sluice_list *hosts, struct ask_policy *out,
                                struct sluice_error *err)
{
    const char **copies = ARENA_ARRAY(&graph->arena, const char *, hosts->n);

    TRY(arena_status(&graph->arena, err, "the graph"));
    for (uint64_t k = 0; k < hosts->n; k++) {
        if (!host_valid(hosts->items[k])) {
            return error_field(
                err, SLUICE_E_CONFIG, "ask",
                "option 'ask' of '%s': hosts has \"%.200s\", expected a server's name "
                "in small letters and perhaps a port, such as \"localhost:8000\"",
                node->name, hosts->items[k]);
        }
        copies[k] = arena_copy(&graph->arena, hosts->items[k], strlen(hosts->items[k]));
    }
    out->hosts = copies;
    out->n_hosts = (uint32_t)hosts->n;
    return arena_status(&graph->arena, err, "the graph");
}

/* hedge = "p95": *share is 0.95, and *rest the other options, entries a shallow copy; free() them.
 * *share 0: it is none of that kind. */
static sluice_status take_share(const struct node *node, const struct value *value, double *share,
                                struct value *rest, struct sluice_error *err)
{
    const struct value *hedge = value_map_get(value, "hedge");
    const char *text = hedge != NULL && hedge->kind == VALUE_STRING ? hedge->as.string.data : NULL;
    char *end;
    double per_cent;

    *rest = *value;
    *share = 0;
    rest->as.map.entries = NULL;
    if (text == NULL || text[0] != 'p') {
        return SLUICE_OK;
    }
    per_cent = strtod(text + 1, &end);
    if (end == text + 1 || *end != '\0' || strspn(text + 1, "0123456789.") != strlen(text + 1) ||
        !(per_cent >= 50 && per_cent <= 99.9)) {
        return error_field(err, SLUICE_E_CONFIG, "ask",
                           "option 'ask' of '%s': hedge is \"%.100s\", expected a time such as "
                           "\"2s\", or \"p50\" to \"p99.9\" for the time that so many of a hundred "
                           "answers take at most",
                           node->name, text);
    }
    rest->as.map.entries = malloc(value->as.map.n * sizeof *rest->as.map.entries);
    if (rest->as.map.entries == NULL) {
        return error_nomem(err, "options");
    }
    rest->as.map.n = 0;
    for (size_t k = 0; k < value->as.map.n; k++) {
        if (strcmp(value->as.map.entries[k].key, "hedge") != 0) {
            rest->as.map.entries[rest->as.map.n++] = value->as.map.entries[k];
        }
    }
    *share = per_cent / 100;
    return SLUICE_OK;
}

static sluice_status read_asking(struct graph *graph, struct node *node, const struct value *value,
                                 struct sluice_error *err)
{
    char owner[200];
    struct option_table table = { .owner = owner,
                                  .options = ask_options,
                                  .n = sizeof ask_options / sizeof ask_options[0],
                                  .stride = sizeof ask_options[0],
                                  .config_size = sizeof(struct ask_config) };
    struct option_args args = { .named = value };
    struct options *parsed = NULL;
    const struct ask_config *config;
    struct value rest;
    double share;
    sluice_status status;

    if (value->kind != VALUE_MAP) {
        return error_field(err, SLUICE_E_CONFIG, "ask",
                           "option 'ask' of '%s': expected a table such as { hosts = { "
                           "\"localhost:8000\" }, in_flight = 64 }",
                           node->name);
    }
    snprintf(owner, sizeof owner, "ask of %s", node->name);
    TRY(take_share(node, value, &share, &rest, err));
    args.named = share > 0 ? &rest : value;
    status = options_parse(&table, &args, NULL, &parsed, err);
    free(rest.as.map.entries);
    TRY(status);
    config = options_config(parsed);
    node->asking = (struct ask_policy){ .in_flight = (uint32_t)config->in_flight,
                                        .per_second = config->per_second,
                                        .tries = (uint32_t)config->tries,
                                        .timeout_ns = (uint64_t)config->timeout,
                                        .patience_ns = (uint64_t)config->patience,
                                        .hedge_ns = (uint64_t)config->hedge,
                                        .hedge_share = share };
    status = take_hosts(graph, node, &config->hosts, &node->asking, err);
    options_destroy(parsed);
    return status;
}

sluice_status bindings_take_asking(struct graph *graph, struct node *node, struct sluice_error *err)
{
    const struct sluice_stage *stage = &node->entry->stage;
    const struct value *value = bindings_host_option(node, "ask");

    if (stage->resume == NULL || stage->role == SLUICE_ROLE_READER ||
        (stage->flags & SLUICE_STAGE_RECORDED) == 0) {
        return SLUICE_OK; /* an option of this name is unknown */
    }
    if (value == NULL) {
        return error_field(err, SLUICE_E_CONFIG, "ask",
                           "'%s' asks servers: say which, as in ask = { hosts = { "
                           "\"localhost:8000\" } }",
                           node->name);
    }
    TRY(read_asking(graph, node, value, err));
    bindings_forget_option(node, "ask");
    return SLUICE_OK;
}
