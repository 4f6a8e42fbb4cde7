/* Texts of requests: see request.h. */
#include "run/asks/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "net/http_text.h"

static sluice_status malformed(struct sluice_error *err, const char *what)
{
    return error_set(err, SLUICE_E_INTERNAL,
                     "(a defect of the stage) a request has %s; expected \"METHOD URL\", lines of "
                     "headers, an empty line and the body",
                     what);
}

static bool has_controls(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* A token of RFC 9110. */
static bool is_token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') &&
            (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return n > 0;
}

/* Makes strings of the first two words. */
static sluice_status split(struct request *request, size_t n, struct sluice_error *err)
{
    char *text = request->text;
    char *line = memchr(text, '\n', n);
    char *space = line == NULL ? NULL : memchr(text, ' ', (size_t)(line - text));
    size_t url_n = space == NULL ? 0 : (size_t)(line - space - 1);
    size_t at;

    if (space == NULL || !is_token(text, (size_t)(space - text)) || url_n == 0 ||
        memchr(space + 1, ' ', url_n) != NULL || memchr(space + 1, '\t', url_n) != NULL ||
        has_controls(space + 1, url_n)) {
        return malformed(err, "no method and URL");
    }
    *space = '\0';
    *line = '\0';
    request->method = text;
    request->url = space + 1;
    request->headers = line + 1;
    at = (size_t)(line + 1 - text);
    while (at < n && text[at] != '\n') {
        char *end = memchr(text + at, '\n', n - at);
        char *colon = end == NULL ? NULL : memchr(text + at, ':', (size_t)(end - text) - at);
        if (colon == NULL || !is_token(text + at, (size_t)(colon - text) - at) ||
            has_controls(colon, (size_t)(end - colon))) {
            return malformed(err, "a header without a name, or with bytes that none may have");
        }
        at = (size_t)(end + 1 - text);
    }
    if (at >= n) {
        return malformed(err, "no end of its headers");
    }
    request->headers_n = at - (size_t)(request->headers - text);
    request->body = text + at + 1;
    request->body_n = n - at - 1;
    return SLUICE_OK;
}

sluice_status request_parse(const char *text, size_t n, struct request *out,
                            struct sluice_error *err)
{
    sluice_status status;

    memset(out, 0, sizeof *out);
    out->text = str_copy(text, n);
    if (out->text == NULL) {
        return error_nomem(err, "a request");
    }
    status = split(out, n, err);
    if (status != SLUICE_OK) {
        request_deinit(out);
    }
    return status;
}

void request_deinit(struct request *request)
{
    free(request->text);
    memset(request, 0, sizeof *request);
}

/* NULL: none. */
static const char *allowing(const char *host, size_t n, bool plain, const struct ask_policy *policy)
{
    for (uint32_t k = 0; k < policy->n_hosts; k++) {
        const char *allowed = policy->hosts[k];
        size_t length = strlen(allowed);
        bool bare = plain && strchr(allowed, ':') == NULL && length < n && host[length] == ':';
        if ((length == n || bare) && memcmp(allowed, host, length) == 0) {
            return allowed;
        }
    }
    return NULL;
}

sluice_status request_host(const char *url, const struct ask_policy *policy, const char **name,
                           struct sluice_error *err)
{
    const char *host;
    size_t n;
    bool plain;

    if (!http_host(url, strlen(url), &host, &n, &plain)) {
        return error_set(err, SLUICE_E_CONFIG,
                         "\"%.300s\" can't be asked: expected http:// or "
                         "https:// and a server",
                         url);
    }
    *name = allowing(host, n, plain, policy);
    if (*name == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%.*s is asked, which ask = { hosts = {...} } does not name; add it there "
                         "if it is meant",
                         (int)(n < 300 ? n : 300), host);
    }
    return SLUICE_OK;
}

/* ---- redirections ---- */

/* Bytes of scheme and server. */
static size_t origin(const char *url)
{
    const char *slashes = strstr(url, "//");

    return slashes == NULL ? 0 : (size_t)(slashes - url) + 2 + strcspn(slashes + 2, "/?#");
}

static bool is_one_of(const char *line, const char *const *names, size_t n_names)
{
    for (size_t k = 0; k < n_names; k++) {
        size_t n = strlen(names[k]);
        if (strncasecmp(line, names[k], n) == 0 && line[n] == ':') {
            return true;
        }
    }
    return false;
}

/* Without what says who asks, for another server; without what describes a body, if there is
 * none. */
static void put_headers(const struct request *from, bool same_server, bool body, struct buf *out)
{
    static const char *const private[] = { "authorization", "cookie", "proxy-authorization",
                                           "host" };
    static const char *const described[] = { "content-type", "content-length", "content-encoding",
                                             "content-language", "transfer-encoding" };

    for (size_t at = 0; at < from->headers_n;) {
        const char *line = from->headers + at;
        size_t n = (size_t)((const char *)memchr(line, '\n', from->headers_n - at) + 1 - line);
        if ((same_server || !is_one_of(line, private, 4)) &&
            (body || !is_one_of(line, described, 5))) {
            buf_append(out, line, n);
        }
        at += n;
    }
}

static sluice_status lost(const struct request *from, uint32_t status, const char *target,
                          const char *why, struct sluice_error *err)
{
    return error_set(err, SLUICE_E_CONFIG,
                     "%.300s sends us to %.300s (status %u)%s%s; ask what it sends us to, if that "
                     "is meant",
                     from->url, target, status, why[0] != '\0' ? ": " : "", why);
}

/* SLUICE_OK: it may be followed. */
static sluice_status judge(const struct request *from, uint32_t status, const char *target,
                           const struct ask_policy *policy, const char **name,
                           struct sluice_error *err)
{
    struct sluice_error why = ERROR_INIT;
    bool repeats = status == 307 || status == 308;
    bool reads = strcmp(from->method, "GET") == 0 || strcmp(from->method, "HEAD") == 0;

    if (target == NULL || !(repeats || (status >= 301 && status <= 303))) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%.300s was answered with status %u, which is neither an answer nor says "
                         "where there is one; ask for something else",
                         from->url, status);
    }
    if (has_controls(target, strlen(target)) || strpbrk(target, " \t") != NULL) {
        return lost(from, status, "...", "no URL that can be asked", err);
    }
    if (!repeats && !reads && status != 303) {
        return lost(from, status, target, "only GET and HEAD follow it", err);
    }
    if (strncmp(from->url, "https:", 6) == 0 && strncmp(target, "https:", 6) != 0) {
        return lost(from, status, target, "what was asked in secret is not asked in the open", err);
    }
    if (request_host(target, policy, name, &why) != SLUICE_OK) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%.300s sends us to %.300s (status %u), whose server "
                         "ask = { hosts = {...} } does not name; add it there if it is meant",
                         from->url, target, status);
    }
    return SLUICE_OK;
}

sluice_status request_redirect(const struct request *from, uint32_t status, const char *target,
                               const struct ask_policy *policy, struct request *out,
                               const char **name, struct sluice_error *err)
{
    struct buf text = BUF_INIT;
    bool body = status != 303;
    const char *method = status == 303 && strcmp(from->method, "HEAD") != 0 ? "GET" : from->method;
    sluice_status result;
    size_t same;

    TRY(judge(from, status, target, policy, name, err));
    same = origin(target);
    buf_printf(&text, "%s %.*s\n", method, (int)strcspn(target, "#"), target);
    put_headers(from, same == origin(from->url) && strncmp(target, from->url, same) == 0, body,
                &text);
    buf_putc(&text, '\n');
    buf_append(&text, from->body, body ? from->body_n : 0);
    result = buf_status(&text, err);
    if (result == SLUICE_OK) {
        result = request_parse(text.data, text.size, out, err);
    }
    buf_deinit(&text);
    return result;
}
