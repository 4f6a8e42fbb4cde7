/* Fuzzes what reads texts of HTTP: the first byte chooses requests of stages (what is behind a NUL
 * byte is where a server sends us), servers in URLs, or times. A request that is believed is what
 * was written; whatever a redirection leads to is a request again, to a server that is named. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/http_text.h"
#include "run/asks/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static const char *const hosts[] = { "a", "b:8000" };
static const struct ask_policy policy = { .hosts = hosts, .n_hosts = 2 };

static void redirect(const struct request *from, const char *target)
{
    static const uint32_t statuses[] = { 300, 301, 302, 303, 307, 308 };

    for (size_t k = 0; k < sizeof statuses / sizeof statuses[0]; k++) {
        struct sluice_error err = ERROR_INIT;
        struct request to;
        const char *name;
        if (request_redirect(from, statuses[k], target, &policy, &to, &name, &err) != SLUICE_OK) {
            must(err.code == SLUICE_E_CONFIG && err.message[0] != '\0');
            continue;
        }
        must(name == hosts[0] || name == hosts[1]);
        must(strncmp(to.url, target, strlen(to.url)) == 0);
        must(strncmp(from->url, "https:", 6) != 0 || strncmp(to.url, "https:", 6) == 0);
        must(to.headers_n <= from->headers_n);
        must(statuses[k] == 303
                 ? to.body_n == 0
                 : to.body_n == from->body_n && memcmp(to.body, from->body, to.body_n) == 0);
        request_deinit(&to);
    }
}

static void requests(const char *text, size_t n)
{
    const char *end = memchr(text, '\0', n);
    size_t size = end == NULL ? n : (size_t)(end - text);
    char *target = end == NULL ? NULL : str_copy(end + 1, n - size - 1);
    struct sluice_error err = ERROR_INIT;
    struct buf again = BUF_INIT;
    struct request request;
    const char *name;

    if (request_parse(text, size, &request, &err) == SLUICE_OK) {
        buf_printf(&again, "%s %s\n", request.method, request.url);
        buf_append(&again, request.headers, request.headers_n);
        buf_putc(&again, '\n');
        buf_append(&again, request.body, request.body_n);
        must(!again.failed && again.size == size && memcmp(again.data, text, size) == 0);
        must(strchr(request.url, '\r') == NULL && strchr(request.method, '\r') == NULL);
        if (request_host(request.url, &policy, &name, &err) == SLUICE_OK) {
            redirect(&request, target);
        }
        request_deinit(&request);
    } else {
        must(err.code == SLUICE_E_INTERNAL && request.text == NULL);
    }
    buf_deinit(&again);
    free(target);
}

static void servers(const char *text, size_t n)
{
    const char *host;
    size_t host_n;
    bool plain;

    if (http_host(text, n, &host, &host_n, &plain)) {
        must(host >= text + 7 && host + host_n <= text + n && host_n > 0);
        must(memchr(host, '@', host_n) == NULL && memchr(host, '/', host_n) == NULL);
        must(plain || memchr(host, ':', host_n) != NULL);
    }
}

static void times(const char *text, size_t n)
{
    int64_t seconds;

    must(http_pause_ns(text, n, 784111777) <= UINT64_C(1000000000000000));
    if (http_date(text, n, &seconds)) {
        must(n == 29 && seconds > INT64_C(-63000000000) && seconds < INT64_C(260000000000));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const all[])(const char *, size_t) = { requests, servers, times };
    char *text;

    if (n == 0) {
        return 0;
    }
    text = malloc(n); /* so that reads behind it are seen */
    must(text != NULL);
    memcpy(text, data + 1, n - 1);
    all[data[0] % 3](text, n - 1);
    free(text);
    return 0;
}
