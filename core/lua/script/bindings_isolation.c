/* The option `isolate` that every stage takes: whether it runs in a child process, and that
 * process's limits. See bindingsInt.h. */
#include <stdlib.h>
#include <string.h>

#include "lua/script/bindingsInt.h"

struct isolate_config {
    int64_t threads, max_deaths, timeout;
    uint64_t memory;
    int32_t on_timeout;
    uint8_t network, gpu;
};

static const struct sluice_option isolate_options[] = {
    { .name = "threads",
      .doc =
          "Calls served at once by the stage's process; as many as there are workers unless given.",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1024,
      .offset = offsetof(struct isolate_config, threads) },
    { .name = "memory",
      .doc = "Bytes of memory the process may have.",
      .type = SLUICE_OPT_SIZE,
      .min = 1 << 20,
      .max = 17592186044416.0,
      .offset = offsetof(struct isolate_config, memory) },
    { .name = "timeout",
      .doc = "Longest time of one call.",
      .type = SLUICE_OPT_DURATION,
      .min = 1e6,
      .max = 86400e9,
      .offset = offsetof(struct isolate_config, timeout) },
    { .name = "network",
      .doc = "Whether it may open sockets.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct isolate_config, network) },
    { .name = "gpu",
      .doc = "Whether it may use the devices of GPUs.",
      .def = "false",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct isolate_config, gpu) },
    { .name = "on_timeout",
      .doc = "What a row that takes too long does: end the run, or go to quarantine.",
      .def = "halt",
      .choices = "halt|quarantine",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct isolate_config, on_timeout) },
    { .name = "max_deaths",
      .doc = "Batches that may kill a process before the run ends.",
      .type = SLUICE_OPT_INT,
      .min = 1,
      .max = 1000000,
      .offset = offsetof(struct isolate_config, max_deaths) },
};

static sluice_status read_isolation(const struct node *node, const struct value *value,
                                    struct node_isolation *out, struct sluice_error *err)
{
    char owner[200];
    struct option_table table = { .owner = owner,
                                  .options = isolate_options,
                                  .n = sizeof isolate_options / sizeof isolate_options[0],
                                  .stride = sizeof isolate_options[0],
                                  .config_size = sizeof(struct isolate_config) };
    struct option_args args = { .named = value };
    struct options *parsed = NULL;
    const struct isolate_config *config;

    if (value->kind == VALUE_BOOL) {
        *out = (struct node_isolation){ .given = true, .on = value->as.boolean };
        return SLUICE_OK;
    }
    if (value->kind == VALUE_LIST && value->as.list.n == 0) { /* {} */
        *out = (struct node_isolation){ .given = true, .on = true };
        return SLUICE_OK;
    }
    if (value->kind != VALUE_MAP) {
        struct buf text = BUF_INIT;
        value_describe(value, &text);
        error_field(err, SLUICE_E_CONFIG, "isolate",
                    "option 'isolate' of '%s': found %s, expected true, false or limits such as "
                    "{ memory = \"1GiB\", timeout = \"30s\" }",
                    node->name, buf_str(&text));
        buf_deinit(&text);
        return SLUICE_E_CONFIG;
    }
    snprintf(owner, sizeof owner, "isolate of %s", node->name);
    TRY(options_parse(&table, &args, NULL, &parsed, err));
    config = options_config(parsed);
    *out = (struct node_isolation){ .given = true,
                                    .on = true,
                                    .network = config->network != 0,
                                    .gpu = config->gpu != 0,
                                    .quarantine_late = config->on_timeout == 1,
                                    .threads = (uint32_t)config->threads,
                                    .max_deaths = (uint32_t)config->max_deaths,
                                    .memory = config->memory,
                                    .timeout_ns = (uint64_t)config->timeout };
    options_destroy(parsed);
    return SLUICE_OK;
}

sluice_status bindings_take_isolation(struct node *node, struct sluice_error *err)
{
    const struct value *value = bindings_host_option(node, "isolate");

    if (value != NULL) {
        TRY(read_isolation(node, value, &node->isolation, err));
        bindings_forget_option(node, "isolate");
    }
    return SLUICE_OK;
}
