/* See url_names.h. */
#include "url_names.h"

static int there(struct text_span span)
{
    return span.end > span.begin;
}

size_t url_registered(const struct url_parts *parts, size_t n)
{
    return there(parts->suffix) && there(parts->domain) ? parts->domain.begin : n;
}

sluice_status url_fqdn(const char *host, const struct url_parts *parts, struct text_buffer *out,
                       struct sluice_error *err)
{
    const struct text_span all[3] = { parts->subdomain, parts->domain, parts->suffix };
    sluice_status status = SLUICE_OK;

    out->len = 0;
    if (!there(parts->suffix) || !(there(parts->domain) || parts->is_private)) {
        return SLUICE_OK;
    }
    for (int i = 0; i < 3 && status == SLUICE_OK; i++) {
        if (there(all[i]) && out->len > 0) {
            status = text_buffer_append(out, ".", 1, err);
        }
        if (status == SLUICE_OK && there(all[i])) {
            status = text_buffer_append(out, host + all[i].begin, all[i].end - all[i].begin, err);
        }
    }
    return status;
}
