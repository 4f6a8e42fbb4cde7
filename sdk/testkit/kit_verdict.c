/* What a check says: its verdict, the first one counts, and where it is, so that a crash can be
 * placed. In memory that the parent sees. See kitInt.h. */
#include <stdarg.h>
#include <stdio.h>

#include "testkit/kitInt.h"

static void decide(struct kit *kit, enum kit_verdict verdict, const char *format, va_list args)
{
    uint32_t none = 0;

    if (atomic_compare_exchange_strong(&kit->report->done, &none, 1u + (uint32_t)verdict)) {
        vsnprintf(kit->report->message, sizeof kit->report->message, format, args);
    }
}

bool kit_fail(struct kit *kit, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    decide(kit, KIT_FAILED, format, args);
    va_end(args);
    return false;
}

bool kit_skip(struct kit *kit, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    decide(kit, KIT_SKIPPED, format, args);
    va_end(args);
    return false;
}

void kit_warn(struct kit *kit, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    decide(kit, KIT_WARNED, format, args);
    va_end(args);
}

bool kit_failed(const struct kit *kit)
{
    return atomic_load(&kit->report->done) == 1u + KIT_FAILED;
}

void kit_enter(struct kit *kit, const char *call)
{
    if (!kit->threaded) {
        snprintf(kit->report->call, sizeof kit->report->call, "%s", call);
    }
}

void kit_leave(struct kit *kit)
{
    if (!kit->threaded) {
        kit->report->call[0] = '\0';
    }
}

void kit_what(struct kit *kit, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(kit->report->what, sizeof kit->report->what, format, args);
    va_end(args);
}

bool kit_reader(const struct kit *kit)
{
    return kit->kind->role == SLUICE_ROLE_READER;
}

bool kit_not_for_readers(struct kit *kit)
{
    return !kit_reader(kit) || kit_skip(kit, "readers take files, not batches");
}

bool kit_outcome_fine(struct kit *kit, const struct kit_outcome *outcome, const char *of)
{
    switch (outcome->status) {
    case SLUICE_OK:
        return true;
    case SLUICE_E_NOMEM:
        return kit_fail(kit, "%s of %s says that memory is used up, which it is not: %s",
                        outcome->failed_call, of, outcome->error.message);
    case SLUICE_E_RETRY:
        return kit_fail(kit, "%s of %s fails 5 times in a row with a transient error: %s",
                        outcome->failed_call, of, outcome->error.message);
    case SLUICE_E_CANCELLED:
        return kit_fail(kit, "%s of %s says that it was cancelled, which it was not",
                        outcome->failed_call, of);
    default:
        return kit_fail(kit, "%s of %s fails: %s", outcome->failed_call, of,
                        outcome->error.message);
    }
}
