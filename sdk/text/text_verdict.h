/* text_verdict.h — how filters of this folder fill a verdict.
 *
 * Private to sdk/text.
 */
#ifndef TEXT_VERDICT_H
#define TEXT_VERDICT_H

#include "text/text_doc.h"

#include <string.h>

static inline void text_keep(struct text_verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
}

/* The document fails test `reason`, which is called `name` (shorter than 36 bytes). */
static inline void text_drop(struct text_verdict *verdict, int32_t reason, const char *name,
                             double value, double limit)
{
    size_t len = strlen(name);
    text_keep(verdict);
    verdict->reason = reason;
    memcpy(verdict->name, name, len < sizeof verdict->name ? len : sizeof verdict->name - 1);
    verdict->value = value;
    verdict->limit = limit;
}

/* names[reason - 1] for 1 <= reason <= n, "" for 0, NULL otherwise. */
static inline const char *text_reason_name(const char *const *names, int32_t n, int32_t reason)
{
    if (reason == 0) {
        return "";
    }
    return reason > 0 && reason <= n ? names[reason - 1] : NULL;
}

#endif
