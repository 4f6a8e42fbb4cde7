/* For tests of what asks servers: one that answers as the test says, in this process. Each
 * connection has a thread; nothing is decided by time. */
#ifndef TESTS_UNIT_SERVER_KIT_H
#define TESTS_UNIT_SERVER_KIT_H

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_REQUESTS 4096
#define SERVER_CONNECTIONS 512

struct server_request {
    char method[16], path[256];
    char *headers, *body; /* texts */
    uint32_t nth;         /* of its method, path and body, from 0 */
};

struct server_reply {
    uint32_t status;
    const char *headers; /* lines that end with \r\n; NULL = none */
    const char *body;
    size_t body_n; /* 0: a text */
    bool cut;      /* no answer, and the connection is closed */
    bool partial;  /* all but the last byte, and the connection is closed */
};

struct server {
    int listening;
    char host[32]; /* "127.0.0.1:PORT" */
    void (*answer)(struct server *, const struct server_request *, struct server_reply *);
    void *ctx;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t acceptor, threads[SERVER_CONNECTIONS];
    int sockets[SERVER_CONNECTIONS];
    uint32_t n_connections;
    struct server_request requests[SERVER_REQUESTS]; /* in order of their coming */
    uint32_t n;
    uint32_t active, most; /* requests that were read and are not answered */
    bool ending;
    uint32_t released; /* so many that hold may go on */
};

struct server_line {
    struct server *server;
    uint32_t k;
};

/* Blocks the answer until the test releases it, or the server ends. For `answer`. */
__attribute__((unused)) static void server_hold(struct server *server)
{
    pthread_mutex_lock(&server->mutex);
    while (server->released == 0 && !server->ending) {
        pthread_cond_wait(&server->changed, &server->mutex);
    }
    server->released -= server->released > 0 && server->released != UINT32_MAX;
    pthread_mutex_unlock(&server->mutex);
}

/* UINT32_MAX: all, from now on. */
__attribute__((unused)) static void server_release(struct server *server, uint32_t n)
{
    pthread_mutex_lock(&server->mutex);
    server->released = n == UINT32_MAX ? n : server->released + n;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

/* Waits until n requests have come; false: not within half a minute. */
__attribute__((unused)) static bool server_await(struct server *server, uint32_t n)
{
    struct timespec until;
    bool there;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    pthread_mutex_lock(&server->mutex);
    while (server->n < n && pthread_cond_timedwait(&server->changed, &server->mutex, &until) == 0) {
    }
    there = server->n >= n;
    pthread_mutex_unlock(&server->mutex);
    return there;
}

__attribute__((unused)) static uint32_t server_count(struct server *server)
{
    uint32_t n;

    pthread_mutex_lock(&server->mutex);
    n = server->n;
    pthread_mutex_unlock(&server->mutex);
    return n;
}

static void server_note(struct server *server, const struct server_request *request, int by)
{
    pthread_mutex_lock(&server->mutex);
    if (request != NULL && server->n < SERVER_REQUESTS) {
        server->requests[server->n++] = *request;
    }
    server->active += (uint32_t)by;
    server->most = server->most < server->active ? server->active : server->most;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
}

static uint32_t server_nth(struct server *server, const struct server_request *request)
{
    uint32_t nth = 0;

    pthread_mutex_lock(&server->mutex);
    for (uint32_t k = 0; k < server->n; k++) {
        nth += strcmp(server->requests[k].method, request->method) == 0 &&
               strcmp(server->requests[k].path, request->path) == 0 &&
               strcmp(server->requests[k].body, request->body) == 0;
    }
    pthread_mutex_unlock(&server->mutex);
    return nth;
}

static bool server_send(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* One request that is whole in text; false: the connection is to be closed. */
static bool server_answer(struct server *server, int fd, const char *text, const char *body,
                          size_t body_n)
{
    struct server_request request = { .headers = strndup(text, (size_t)(body - text)),
                                      .body = strndup(body, body_n) };
    struct server_reply reply = { .status = 200, .body = "ok" };
    char head[2048];
    size_t n;
    bool ok;

    (void)sscanf(text, "%15s %255s", request.method, request.path);
    request.nth = server_nth(server, &request);
    server_note(server, &request, 1);
    server->answer(server, &request, &reply);
    server_note(server, NULL, -1);
    n = reply.body_n > 0 ? reply.body_n : strlen(reply.body);
    snprintf(head, sizeof head, "HTTP/1.1 %u Said\r\n%sContent-Length: %zu\r\n\r\n", reply.status,
             reply.headers == NULL ? "" : reply.headers, n);
    if (reply.cut) {
        return false;
    }
    ok = server_send(fd, head, strlen(head));
    if (strcmp(request.method, "HEAD") == 0) {
        return ok;
    }
    return ok && server_send(fd, reply.body, n - reply.partial) && !reply.partial;
}

static void *server_serve(void *arg)
{
    struct server_line line = *(struct server_line *)arg;
    size_t capacity = 1 << 20;
    char *text = calloc(1, capacity + 1);
    size_t used = 0;
    int fd;

    free(arg);
    pthread_mutex_lock(&line.server->mutex);
    fd = line.server->sockets[line.k];
    pthread_mutex_unlock(&line.server->mutex);
    for (bool open = true; open;) {
        ssize_t got = recv(fd, text + used, capacity - used, 0);
        char *end;
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
        text[used] = '\0';
        while (open && (end = strstr(text, "\r\n\r\n")) != NULL) {
            char *length = strcasestr(text, "\r\ncontent-length:");
            size_t body_n = length == NULL || length > end ? 0 : strtoull(length + 17, NULL, 10);
            size_t whole = (size_t)(end + 4 - text) + body_n;
            if (used < whole) {
                break;
            }
            open = server_answer(line.server, fd, text, end + 4, body_n);
            memmove(text, text + whole, used - whole + 1);
            used -= whole;
        }
    }
    shutdown(fd, SHUT_RDWR);
    free(text);
    return NULL;
}

static void *server_accept(void *arg)
{
    struct server *server = arg;
    int fd;

    while ((fd = accept(server->listening, NULL, NULL)) >= 0) {
        struct server_line *line = malloc(sizeof *line);
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        pthread_mutex_lock(&server->mutex);
        *line = (struct server_line){ server, server->n_connections };
        if (server->n_connections < SERVER_CONNECTIONS && !server->ending) {
            server->sockets[server->n_connections] = fd;
            (void)pthread_create(&server->threads[server->n_connections++], NULL, server_serve,
                                 line);
        } else {
            close(fd);
            free(line);
        }
        pthread_mutex_unlock(&server->mutex);
    }
    return NULL;
}

__attribute__((unused)) static struct server *
server_start(void (*answer)(struct server *, const struct server_request *, struct server_reply *))
{
    struct server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->answer = answer;
    pthread_mutex_init(&server->mutex, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listening, (struct sockaddr *)&address, size) != 0 ||
        listen(server->listening, 512) != 0 ||
        getsockname(server->listening, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&server->acceptor, NULL, server_accept, server) != 0) {
        abort();
    }
    snprintf(server->host, sizeof server->host, "127.0.0.1:%d", (int)ntohs(address.sin_port));
    return server;
}

__attribute__((unused)) static void server_stop(struct server *server)
{
    pthread_mutex_lock(&server->mutex);
    server->ending = true;
    for (uint32_t k = 0; k < server->n_connections; k++) {
        shutdown(server->sockets[k], SHUT_RDWR);
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->mutex);
    shutdown(server->listening, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    close(server->listening);
    for (uint32_t k = 0; k < server->n_connections; k++) {
        pthread_join(server->threads[k], NULL);
        close(server->sockets[k]);
    }
    for (uint32_t k = 0; k < server->n; k++) {
        free(server->requests[k].headers);
        free(server->requests[k].body);
    }
    free(server);
}

/* Whether requests can be made at all here. */
__attribute__((unused)) static bool server_client_there(void)
{
    return dlopen("libcurl.so.4", RTLD_LAZY) != NULL ||
           dlopen("libcurl-gnutls.so.4", RTLD_LAZY) != NULL;
}

#endif
