/* Stages in C++ that let exceptions out: nothing in the C code around them can catch those. */
#include <new>
#include <stdexcept>
#include <string>

#include "sluice.h"

namespace
{

struct config {
    const char *on;
};

const sluice_option options[] = {
    { "on", "Misbehave only on rows whose text holds this.", nullptr, nullptr, nullptr, 0, 0,
      SLUICE_OPT_STRING, 0, offsetof(config, on) },
};

struct state {
    const char *on;
    int32_t text;
};

sluice_status open_state(const sluice_host_api *, sluice_host *, const void *given, void **shared,
                         sluice_error *)
{
    *shared = new state{ static_cast<const config *>(given)->on, 0 };
    return SLUICE_OK;
}

sluice_status prepare(void *shared, sluice_plan *plan, sluice_error *err)
{
    return plan->need(plan, 0, "text", "utf8?", 0, &static_cast<state *>(shared)->text, err);
}

sluice_status prepare_throws(void *, sluice_plan *, sluice_error *)
{
    throw std::bad_alloc();
}

/* Keeps all rows. */
sluice_status process(void *shared, const sluice_batch *batch, sluice_emit *emit, sluice_error *)
{
    const state *self = static_cast<state *>(shared);
    const ArrowArray *column = batch->array->children[self->text];
    const int32_t *offsets = static_cast<const int32_t *>(column->buffers[1]);
    const char *bytes = static_cast<const char *>(column->buffers[2]);
    sluice_verdict *verdicts = new sluice_verdict[static_cast<size_t>(batch->n) + 1]();
    sluice_status status;

    for (int64_t k = 0; k < batch->n; k++) {
        const int64_t row = batch->rows != nullptr ? static_cast<int64_t>(batch->rows[k]) : k;
        const std::string text(bytes + offsets[row],
                               static_cast<size_t>(offsets[row + 1] - offsets[row]));
        if (self->on == nullptr || text.find(self->on) != std::string::npos) {
            throw std::runtime_error("nobody catches this");
        }
        verdicts[k].reason = text.size() < 20 ? 1 : 0;
    }
    status = emit->verdicts(emit, verdicts, batch->n);
    delete[] verdicts;
    return status;
}

void close_state(void *shared)
{
    delete static_cast<state *>(shared);
}

sluice_stage make(const char *name,
                  sluice_status (*prepares)(void *, sluice_plan *, sluice_error *))
{
    sluice_stage stage = {};

    stage.size = sizeof stage;
    stage.name = name;
    stage.version = "1.0";
    stage.summary = "Throws";
    stage.role = SLUICE_ROLE_FILTER;
    stage.mode = SLUICE_MODE_STATELESS;
    stage.options = options;
    stage.n_options = 1;
    stage.option_stride = sizeof options[0];
    stage.config_size = sizeof(config);
    stage.reasons = "short";
    stage.open = open_state;
    stage.prepare = prepares;
    stage.process = process;
    stage.close = close_state;
    return stage;
}

const sluice_stage throws = make("throws", prepare);
const sluice_stage throws_early = make("throws_early", prepare_throws);
const sluice_stage *const stages[] = { &throws, &throws_early, nullptr };
const sluice_plugin plugin = {
    sizeof plugin, SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, 0, 0, "bad_throws", "1.0",
    "MIT",         stages,           nullptr
};

} // namespace

const sluice_plugin *sluice_plugin_v1(void)
{
    return &plugin;
}
