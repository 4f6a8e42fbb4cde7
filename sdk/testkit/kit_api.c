/* What libsluice-testkit.so exports: see kit.h. */
#include "testkit/kit.h"

__attribute__((visibility("default"))) const struct kit_api *sluice_testkit(void)
{
    static const struct kit_api api = {
        .version = SLUICE_VERSION,
        .run = kit_run,
        .results_deinit = kit_results_deinit,
        .list = kit_list,
        .print = kit_print,
        .print_summary = kit_print_summary,
        .print_json = kit_print_json,
        .print_junit = kit_print_junit,
        .child = kit_child,
    };

    return &api;
}
