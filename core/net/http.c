/* HTTP over libcurl: see http.h. */
#include "net/http.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "net/http_text.h"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

#define PADDING 64 /* SLUICE_PADDING */
#define CONNECT_MS 30000L

/* The functions of libcurl that are used, by its own types. One a line: the formatter would indent
 * them anew each time. */
/* clang-format off */
#define FUNCTIONS(DO) \
    DO(curl_global_init) \
    DO(curl_easy_init) \
    DO(curl_easy_cleanup) \
    DO(curl_easy_setopt) \
    DO(curl_easy_getinfo) \
    DO(curl_easy_strerror) \
    DO(curl_slist_append) \
    DO(curl_slist_free_all) \
    DO(curl_multi_init) \
    DO(curl_multi_cleanup) \
    DO(curl_multi_setopt) \
    DO(curl_multi_add_handle) \
    DO(curl_multi_remove_handle) \
    DO(curl_multi_perform) \
    DO(curl_multi_poll) \
    DO(curl_multi_wakeup) \
    DO(curl_multi_info_read)
/* clang-format on */

/* libcurl's headers make macros of some, which check types. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
struct functions {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct flight {
    struct flight *next;
    CURL *easy;
    void *tag;
    struct curl_slist *headers;
    struct buf sent, came;
    char retry_after[40], date[40]; /* as they came */
    char error[CURL_ERROR_SIZE];
    uint32_t begun; /* so often a request was about to be sent */
    bool hopeless;
};

struct http {
    struct http_user user;
    struct functions curl;
    void *library;
    CURLM *multi;
    pthread_t thread;
    bool started;
    _Atomic bool ending;
    struct flight *flights;
};

static sluice_status load(struct http *http, struct sluice_error *err)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

    for (size_t i = 0; http->library == NULL && i < 2; i++) {
        http->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    if (http->library == NULL) {
        return error_set(err, SLUICE_E_CONFIG,
                         "a stage asks servers, and libcurl is not there; install it (Debian: "
                         "libcurl4)");
    }
#define LOAD(name)                                                                         \
    *(void **)(&http->curl.name) = dlsym(http->library, #name);                            \
    if (http->curl.name == NULL) {                                                         \
        return error_set(err, SLUICE_E_CONFIG,                                             \
                         "libcurl has no " #name "; install a newer one (7.85 or later)"); \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    return SLUICE_OK;
}

/* ---- one request ---- */

static size_t take_body(char *data, size_t size, size_t n, void *ctx)
{
    struct flight *flight = ctx;

    flight->hopeless = flight->came.size + size * n > HTTP_BODY_MAX;
    if (flight->hopeless) {
        return 0;
    }
    buf_append(&flight->came, data, size * n);
    return flight->came.failed ? 0 : size * n;
}

/* The value of a header of this name, which is given with its colon. */
static void take_value(const char *name, const char *line, size_t n, char *value, size_t room)
{
    size_t at = strlen(name);

    if (n > at && strncasecmp(line, name, at) == 0 && n - at < room) {
        memcpy(value, line + at, n - at);
        value[n - at] = '\0';
    }
}

static size_t take_header(char *data, size_t size, size_t n, void *ctx)
{
    struct flight *flight = ctx;

    if (size * n > 5 && memcmp(data, "HTTP/", 5) == 0) { /* after those of a passing "go on" */
        flight->retry_after[0] = flight->date[0] = '\0';
    }
    take_value("retry-after:", data, size * n, flight->retry_after, sizeof flight->retry_after);
    take_value("date:", data, size * n, flight->date, sizeof flight->date);
    return size * n;
}

static uint64_t retry_after_ns(const struct flight *flight)
{
    const char *date = flight->date + strspn(flight->date, " \t");
    int64_t now;

    if (!http_date(date, strcspn(date, "\r\n"), &now)) {
        now = (int64_t)time(NULL);
    }
    return http_pause_ns(flight->retry_after, strlen(flight->retry_after), now);
}

/* Called before each sending. libcurl would send a request again by itself when the server closed
 * the connection over which it went; whether to is not for it to say. */
static int before_sending(void *ctx, char *ip, char *own_ip, int port, int own_port)
{
    struct flight *flight = ctx;

    (void)ip, (void)own_ip, (void)port, (void)own_port;
    return flight->begun++ == 0 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void flight_end(struct http *http, struct flight *flight)
{
    struct flight **at = &http->flights;

    while (*at != NULL && *at != flight) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = flight->next;
    }
    if (flight->easy != NULL) {
        (void)http->curl.curl_multi_remove_handle(http->multi, flight->easy);
        http->curl.curl_easy_cleanup(flight->easy);
    }
    http->curl.curl_slist_free_all(flight->headers);
    buf_deinit(&flight->sent);
    buf_deinit(&flight->came);
    free(flight);
}

static bool add_header(struct http *http, struct flight *flight, const char *line)
{
    struct curl_slist *more = http->curl.curl_slist_append(flight->headers, line);

    flight->headers = more != NULL ? more : flight->headers;
    return more != NULL;
}

static bool add_headers(struct http *http, struct flight *flight, const char *lines, size_t n)
{
    bool ok = add_header(http, flight, "Expect:"); /* no round trip before the body */

    for (size_t at = 0; ok && at < n;) {
        const char *end = memchr(lines + at, '\n', n - at);
        size_t length = end == NULL ? n - at : (size_t)(end - (lines + at));
        char *line = str_copy(lines + at, length);
        ok = line != NULL && add_header(http, flight, line);
        free(line);
        at += length + 1;
    }
    return ok;
}

sluice_status http_send(struct http *http, const struct http_request *request, void *tag,
                        struct sluice_error *err)
{
    struct flight *flight = calloc(1, sizeof *flight);
    const struct functions *curl = &http->curl;
    CURL *easy;

    if (flight == NULL) {
        return error_nomem(err, "a request");
    }
    flight->tag = tag;
    flight->easy = easy = curl->curl_easy_init();
    buf_append(&flight->sent, request->body, request->body_n);
    if (easy == NULL || flight->sent.failed ||
        !add_headers(http, flight, request->headers, request->headers_n)) {
        flight_end(http, flight);
        return error_nomem(err, "a request");
    }
    curl->curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl->curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl->curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl->curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl->curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl->curl_easy_setopt(easy, CURLOPT_HTTPHEADER, flight->headers);
    curl->curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(request->timeout_ns / 1000000));
    curl->curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl->curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, flight->error);
    curl->curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl->curl_easy_setopt(easy, CURLOPT_WRITEDATA, flight);
    curl->curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl->curl_easy_setopt(easy, CURLOPT_HEADERDATA, flight);
    curl->curl_easy_setopt(easy, CURLOPT_PRIVATE, flight);
    curl->curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
    curl->curl_easy_setopt(easy, CURLOPT_PREREQDATA, flight);
    curl->curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, (long)request->fresh);
    if (strcasecmp(request->method, "HEAD") == 0) {
        curl->curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (request->body_n > 0 || strcasecmp(request->method, "POST") == 0) {
        curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_n);
        curl->curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                               flight->sent.size > 0 ? flight->sent.data : "");
    }
    flight->next = http->flights;
    http->flights = flight;
    if (curl->curl_multi_add_handle(http->multi, easy) != CURLM_OK) {
        flight_end(http, flight);
        return error_nomem(err, "a request");
    }
    return SLUICE_OK;
}

void http_cancel(struct http *http, void *tag)
{
    struct flight *flight = http->flights;

    while (flight != NULL && flight->tag != tag) {
        flight = flight->next;
    }
    if (flight != NULL) {
        flight_end(http, flight);
    }
}

/* ---- the thread ---- */

static void tell_error(const struct http *http, const struct flight *flight, CURLcode result,
                       struct http_reply *reply)
{
    reply->cut = flight->begun > 1;
    reply->hopeless = flight->hopeless;
    if (reply->hopeless) {
        snprintf(reply->error, sizeof reply->error, "the answer has more than %llu MiB",
                 (unsigned long long)(HTTP_BODY_MAX >> 20));
    } else if (reply->cut) {
        snprintf(reply->error, sizeof reply->error, "the server closed the connection");
    } else {
        snprintf(reply->error, sizeof reply->error, "%.190s",
                 flight->error[0] != '\0' ? flight->error : http->curl.curl_easy_strerror(result));
    }
}

static void landed(struct http *http, struct flight *flight, CURLcode result)
{
    struct http_reply reply = { .status = 0 };
    const struct functions *curl = &http->curl;
    static const char padding[PADDING];
    long status = 0;
    char *type = NULL;
    char *target = NULL;
    void *tag = flight->tag;

    curl->curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &status);
    curl->curl_easy_getinfo(flight->easy, CURLINFO_CONTENT_TYPE, &type);
    curl->curl_easy_getinfo(flight->easy, CURLINFO_REDIRECT_URL, &target);
    reply.body_n = flight->came.size;
    buf_append(&flight->came, padding, sizeof padding);
    if (result == CURLE_OK && status >= 100 && status < 600 && !flight->came.failed) {
        reply.status = (uint32_t)status;
        reply.retry_after_ns = retry_after_ns(flight);
        target = target == NULL ? NULL : str_copy(target, strlen(target));
        reply.target = target;
        snprintf(reply.type, sizeof reply.type, "%s", type == NULL ? "" : type);
        reply.body = flight->came.data;
        flight->came = (struct buf)BUF_INIT;
    } else {
        target = NULL;
        tell_error(http, flight, result, &reply);
    }
    flight_end(http, flight);
    http->user.done(http->user.ctx, tag, &reply);
    free(reply.body);
    free(target);
}

static void *work(void *arg)
{
    struct http *http = arg;
    const struct functions *curl = &http->curl;

    while (!atomic_load(&http->ending)) {
        uint32_t wait = http->user.round(http->user.ctx);
        int running;
        int left;
        CURLMsg *message;
        (void)curl->curl_multi_perform(http->multi, &running);
        while ((message = curl->curl_multi_info_read(http->multi, &left)) != NULL) {
            if (message->msg == CURLMSG_DONE) {
                char *flight = NULL;
                CURLcode result = message->data.result;
                curl->curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &flight);
                landed(http, (struct flight *)(void *)flight, result);
                wait = 0;
            }
        }
        if (wait > 0) {
            (void)curl->curl_multi_poll(http->multi, NULL, 0, (int)wait, NULL);
        }
    }
    return NULL;
}

sluice_status http_create(const struct http_user *user, struct http **out, struct sluice_error *err)
{
    struct http *http = calloc(1, sizeof *http);
    sluice_status status;

    *out = NULL;
    if (http == NULL) {
        return error_nomem(err, "asking servers");
    }
    http->user = *user;
    status = load(http, err);
    if (status == SLUICE_OK && (http->curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
                                (http->multi = http->curl.curl_multi_init()) == NULL)) {
        status = error_nomem(err, "asking servers");
    }
    if (status == SLUICE_OK) {
        http->curl.curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, 256L);
        http->started = pthread_create(&http->thread, NULL, work, http) == 0;
        status = http->started ? SLUICE_OK : error_nomem(err, "a thread that asks servers");
    }
    if (status != SLUICE_OK) {
        http_destroy(http);
        return status;
    }
    *out = http;
    return SLUICE_OK;
}

void http_wake(struct http *http)
{
    (void)http->curl.curl_multi_wakeup(http->multi);
}

void http_destroy(struct http *http)
{
    if (http == NULL) {
        return;
    }
    if (http->started) {
        atomic_store(&http->ending, true);
        http_wake(http);
        pthread_join(http->thread, NULL);
    }
    while (http->flights != NULL) {
        flight_end(http, http->flights);
    }
    if (http->multi != NULL) {
        (void)http->curl.curl_multi_cleanup(http->multi);
    }
    free(http); /* the library stays: threads of it may have ended only now */
}

#else

sluice_status http_create(const struct http_user *user, struct http **out, struct sluice_error *err)
{
    (void)user;
    *out = NULL;
    return error_set(err, SLUICE_E_CONFIG,
                     "a stage asks servers, and this program was built without libcurl (Debian: "
                     "libcurl4-openssl-dev)");
}

void http_destroy(struct http *http)
{
    (void)http;
}

void http_wake(struct http *http)
{
    (void)http;
}

sluice_status http_send(struct http *http, const struct http_request *request, void *tag,
                        struct sluice_error *err)
{
    (void)http, (void)request, (void)tag;
    return error_set(err, SLUICE_E_INTERNAL, "there is no client");
}

void http_cancel(struct http *http, void *tag)
{
    (void)http, (void)tag;
}

#endif
