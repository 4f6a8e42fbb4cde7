/* run/asks: limits, what is tried again and when, redirections, hedges, asks that are the same,
 * what is given up; against a server in this process (server_kit.h). Texts of requests. */
#include "store_kit.h"

#include <stdatomic.h>

#include "net/http.h"
#include "net/http_text.h"
#include "run/asks/asks.h"
#include "run/asks/journal.h"
#include "run/asks/latencies.h"
#include "run/asks/request.h"
#include "server_kit.h"

static const struct hash128 STAGE = { 1, 2 };

/* A server, the engine and a folder. */
struct world {
    char *dir;
    struct server *server;
    const char *hosts[2];
    struct ask_policy policy;
    struct asks *asks;
    struct member *member; /* NULL: nobody else asks */
    _Atomic int cancelled;
    struct ask_metrics metrics;
};

static void open_asks(struct world *world)
{
    struct asks_options options = { .folder = kit_path(world->dir, "answers"),
                                    .claims = world->member == NULL
                                                  ? NULL
                                                  : kit_path(world->dir, "claims"),
                                    .member = world->member,
                                    .seed = 1,
                                    .cancelled = &world->cancelled };

    KIT_OK(asks_create(&options, &world->asks, err));
}

static void begin_world(struct world *world,
                        void (*answer)(struct server *, const struct server_request *,
                                       struct server_reply *))
{
    memset(world, 0, sizeof *world);
    world->dir = kit_folder();
    world->server = server_start(answer);
    world->server->ctx = world;
    world->hosts[0] = world->server->host;
    world->policy = (struct ask_policy){ .hosts = world->hosts,
                                         .n_hosts = 1,
                                         .patience_ns = 2000000, /* so that nothing takes long */
                                         .tries = 3 };
    open_asks(world);
}

static void end_world(struct world *world)
{
    asks_destroy(world->asks);
    server_stop(world->server);
    kit_remove(world->dir);
}

/* "GET /path", to this server. */
static char *get(const struct world *world, const char *path)
{
    return str_printf("GET http://%s%s\nAccept: a\n\n", world->server->host, path);
}

/* n of them, of /0, /1, ... */
static void get_each(const struct world *world, char **texts, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        char path[20];
        snprintf(path, sizeof path, "/%u", k);
        texts[k] = get(world, path);
    }
}

/* Takes the texts. */
static sluice_status begin_texts(struct world *world, char **texts, uint32_t n, struct asking **out,
                                 struct sluice_error *err)
{
    struct stage_ask *asks = calloc(n, sizeof *asks);
    struct stage_result result = { .asks = asks, .n_asks = n };
    sluice_status status;

    for (uint32_t k = 0; k < n; k++) {
        asks[k] = (struct stage_ask){ .tag = 100 + k,
                                      .offset = result.asked.size,
                                      .size = strlen(texts[k]) };
        buf_puts(&result.asked, texts[k]);
        free(texts[k]);
    }
    status = asks_begin(world->asks, STAGE, &world->policy, &result, out, err);
    buf_deinit(&result.asked);
    free(asks);
    return status;
}

static struct asking *begin(struct world *world, char *text)
{
    struct asking *asking = NULL;

    KIT_OK(begin_texts(world, &text, 1, &asking, err));
    return asking;
}

/* Waits for one that goes well; "CODE BODY". */
static const char *answer_to(struct world *world, struct asking *asking)
{
    static char text[300];
    const struct sluice_answer *items;
    uint32_t n;

    KIT_OK(asking_wait(asking, &items, &n, err));
    assert_true(asking_done(asking));
    assert_int_equal(n, 1);
    assert_int_equal(items[0].tag, 100);
    assert_int_equal(items[0].status, items[0].code >= 400 ? SLUICE_E_DATA : SLUICE_OK);
    snprintf(text, sizeof text, "%u %.*s", (unsigned)items[0].code, (int)items[0].n,
             (const char *)items[0].data);
    asking_count(asking, &world->metrics);
    asking_end(asking);
    return text;
}

static const char *ask(struct world *world, const char *path)
{
    return answer_to(world, begin(world, get(world, path)));
}

/* Waits for one that fails. */
static sluice_status failure_of(struct asking *asking, struct sluice_error *err)
{
    const struct sluice_answer *items;
    uint32_t n;
    sluice_status status = asking_wait(asking, &items, &n, err);

    asking_end(asking);
    return status;
}

static sluice_status ask_fails(struct world *world, const char *path, struct sluice_error *err)
{
    return failure_of(begin(world, get(world, path)), err);
}

#define NEEDS_CLIENT()                \
    do {                              \
        (void)state;                  \
        if (!server_client_there()) { \
            skip();                   \
        }                             \
    } while (0)

/* ---- answers, refusals, the journal ---- */

static void by_path(struct server *server, const struct server_request *request,
                    struct server_reply *reply)
{
    (void)server;
    reply->headers = "Content-Type: text/plain\r\n";
    reply->status = strcmp(request->path, "/none") == 0 ? 404 : 200;
    reply->body = request->path;
}

static void test_answers(void **state)
{
    struct world world;

    NEEDS_CLIENT();
    begin_world(&world, by_path);
    assert_string_equal(ask(&world, "/a"), "200 /a");
    assert_string_equal(ask(&world, "/none"), "404 /none");
    assert_string_equal(ask(&world, "/a"), "200 /a");
    assert_int_equal(server_count(world.server), 2);
    asks_destroy(world.asks); /* another process knows it, too */
    open_asks(&world);
    assert_string_equal(ask(&world, "/none"), "404 /none");
    assert_string_equal(ask(&world, "/a"), "200 /a");
    assert_int_equal(server_count(world.server), 2);
    assert_int_equal(world.metrics.answered, 2);
    assert_int_equal(world.metrics.refused, 1);
    assert_int_equal(world.metrics.known, 3);
    assert_int_equal(world.metrics.retries, 0);
    end_world(&world);
}

static void test_another_process(void **state)
{
    struct world world;
    struct asks *first;

    NEEDS_CLIENT();
    begin_world(&world, by_path);
    assert_string_equal(ask(&world, "/a"), "200 /a");
    first = world.asks;
    open_asks(&world);
    assert_string_equal(ask(&world, "/a"), "200 /a");
    assert_string_equal(ask(&world, "/b"), "200 /b");
    assert_int_equal(server_count(world.server), 2);
    asks_destroy(first);
    end_world(&world);
}

/* ---- two processes that say what they ask (claims.h) ---- */

/* The first one has asked `path`, which the server holds; from now on asks are the second one's. */
struct beside {
    struct world world;
    struct member *members[2];
    struct asks *first;
    struct asking *asked;
};

static void begin_beside(struct beside *two,
                         void (*answer)(struct server *, const struct server_request *,
                                        struct server_reply *))
{
    struct world *world = &two->world;

    begin_world(world, answer);
    asks_destroy(world->asks);
    for (size_t k = 0; k < 2; k++) {
        KIT_OK(member_join(kit_path(world->dir, "workers"), "run", &two->members[k], err));
        world->member = two->members[k];
        open_asks(world);
        if (k == 0) {
            two->first = world->asks;
            two->asked = begin(world, get(world, "/held"));
            assert_true(server_await(world->server, 1));
        }
    }
}

static void end_beside(struct beside *two)
{
    asks_destroy(two->first);
    end_world(&two->world);
    member_leave(two->members[0]);
    member_leave(two->members[1]);
}

/* /held: the first time without an answer for now. */
static void held_first(struct server *server, const struct server_request *request,
                       struct server_reply *reply)
{
    bool first = strcmp(request->path, "/held") == 0 && request->nth == 0;

    if (first) {
        server_hold(server);
    }
    reply->body = first ? "first" : "other";
}

static void test_beside(void **state)
{
    struct beside two;
    struct asking *same;

    NEEDS_CLIENT();
    begin_beside(&two, held_first);
    same = begin(&two.world, get(&two.world, "/held"));
    assert_string_equal(ask(&two.world, "/more"), "200 other"); /* which the first has not */
    usleep(300000);
    assert_false(asking_done(same));
    server_release(two.world.server, 1);
    assert_string_equal(answer_to(&two.world, same), "200 first");
    assert_string_equal(answer_to(&two.world, two.asked), "200 first");
    assert_int_equal(server_count(two.world.server), 2);
    assert_int_equal(two.world.metrics.known, 1);
    end_beside(&two);
}

/* Who gives it up, or leaves, leaves it to the other. */
static void test_beside_given_up(void **state)
{
    struct beside two;
    struct asking *same;

    NEEDS_CLIENT();
    for (int leave = 0; leave < 2; leave++) {
        begin_beside(&two, held_first);
        same = begin(&two.world, get(&two.world, "/held"));
        assert_string_equal(ask(&two.world, "/more"), "200 other");
        asking_end(two.asked);
        if (leave) {
            asks_destroy(two.first);
            two.first = NULL;
        }
        assert_string_equal(answer_to(&two.world, same), "200 other");
        end_beside(&two);
    }
}

/* Nobody waits longer for another's answer than for its own tries, and not when the run is
 * stopped. */
static void test_beside_waiting(void **state)
{
    struct beside two;
    struct asking *same;
    struct sluice_error error = ERROR_INIT;

    NEEDS_CLIENT();
    begin_beside(&two, held_first);
    same = begin(&two.world, get(&two.world, "/held"));
    atomic_store(&two.world.cancelled, 1);
    assert_int_equal(failure_of(same, &error), SLUICE_E_CANCELLED);
    atomic_store(&two.world.cancelled, 0);
    two.world.policy.tries = 1;
    two.world.policy.timeout_ns = UINT64_C(3000000000);
    assert_string_equal(ask(&two.world, "/held"), "200 other");
    server_release(two.world.server, 1);
    assert_string_equal(answer_to(&two.world, two.asked), "200 first"); /* it was slow, not wrong */
    assert_int_equal(server_count(two.world.server), 2);
    end_beside(&two);
}

/* What stands in line while another process is answered is not asked. */
static void held_if_named(struct server *server, const struct server_request *request,
                          struct server_reply *reply)
{
    if (strcmp(request->path, "/held") == 0) {
        server_hold(server);
    }
    reply->body = request->path;
}

static void test_in_line_meanwhile(void **state)
{
    struct world world;
    struct asks *first;
    struct asking *waiting, *same;

    NEEDS_CLIENT();
    begin_world(&world, held_if_named);
    world.policy.in_flight = 1;
    waiting = begin(&world, get(&world, "/held"));
    same = begin(&world, get(&world, "/same"));
    assert_true(server_await(world.server, 1));
    first = world.asks;
    open_asks(&world);
    assert_string_equal(ask(&world, "/same"), "200 /same");
    usleep(150000); /* the first one has looked since, or looks before it sends */
    server_release(world.server, UINT32_MAX);
    assert_string_equal(answer_to(&world, waiting), "200 /held");
    assert_string_equal(answer_to(&world, same), "200 /same");
    assert_int_equal(server_count(world.server), 2);
    assert_int_equal(world.metrics.answered, 2);
    assert_int_equal(world.metrics.known, 1);
    asks_destroy(first);
    end_world(&world);
}

/* ---- limits ---- */

static void held(struct server *server, const struct server_request *request,
                 struct server_reply *reply)
{
    server_hold(server);
    reply->body = request->path;
}

static void test_in_flight(void **state)
{
    struct world world;
    char *texts[40];
    const struct sluice_answer *items;
    struct asking *asking;
    uint32_t n;

    NEEDS_CLIENT();
    begin_world(&world, held);
    world.policy.in_flight = 7;
    get_each(&world, texts, 40);
    KIT_OK(begin_texts(&world, texts, 40, &asking, err));
    assert_true(server_await(world.server, 7));
    server_release(world.server, 1); /* then one more comes */
    assert_true(server_await(world.server, 8));
    assert_false(asking_done(asking));
    server_release(world.server, UINT32_MAX);
    KIT_OK(asking_wait(asking, &items, &n, err));
    assert_int_equal(n, 40);
    for (uint32_t k = 0; k < n; k++) { /* in the order of asking */
        char path[20];
        snprintf(path, sizeof path, "/%u", k);
        assert_int_equal(items[k].tag, 100 + k);
        assert_int_equal(items[k].n, strlen(path));
        assert_memory_equal(items[k].data, path, strlen(path));
    }
    asking_end(asking);
    assert_int_equal(world.server->most, 7);
    assert_int_equal(server_count(world.server), 40);
    end_world(&world);
}

/* What is answered and not durable counts as in flight: of all requests that the server saw, all
 * but in_flight stand in the journal. */
static uint32_t recorded(const struct world *world)
{
    char *dir = str_printf("%s/answers", world->dir);
    struct disk_names names;
    uint32_t n = 0;

    KIT_OK(disk_list(dir, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        char *path = disk_join(dir, names.names[i]);
        struct buf text = kit_read(path);
        for (size_t at = 0; at + 4 <= text.size; at++) {
            n += memcmp(text.data + at, "SNRJ", 4) == 0;
        }
        buf_deinit(&text);
        free(path);
    }
    disk_names_deinit(&names);
    free(dir);
    return n;
}

static void count_durable(struct server *server, const struct server_request *request,
                          struct server_reply *reply)
{
    struct world *world = server->ctx;
    uint32_t came = server_count(server); /* this one too; before the journal is looked at */
    bool good = request->nth == 0 && recorded(world) + world->policy.in_flight >= came;

    reply->body = good ? "yes" : "no";
}

static void test_in_flight_until_durable(void **state)
{
    struct world world;
    char *texts[200];
    const struct sluice_answer *items;
    struct asking *asking;
    uint32_t n;

    NEEDS_CLIENT();
    begin_world(&world, count_durable);
    world.policy.in_flight = 4;
    get_each(&world, texts, 200);
    KIT_OK(begin_texts(&world, texts, 200, &asking, err));
    KIT_OK(asking_wait(asking, &items, &n, err));
    for (uint32_t k = 0; k < n; k++) {
        assert_int_equal(items[k].n, 3);
    }
    asking_end(asking);
    end_world(&world);
}

/* Of two stages that ask one server the smaller limit counts. */
static void test_smaller_limit(void **state)
{
    struct world world;
    struct asking *askings[20];

    NEEDS_CLIENT();
    begin_world(&world, held);
    for (uint32_t k = 0; k < 20; k++) {
        char path[20];
        snprintf(path, sizeof path, "/%u", k);
        world.policy.in_flight = k % 2 == 0 ? 3 : 50;
        askings[k] = begin(&world, get(&world, path));
    }
    assert_true(server_await(world.server, 3));
    server_release(world.server, UINT32_MAX);
    for (uint32_t k = 0; k < 20; k++) {
        (void)answer_to(&world, askings[k]);
    }
    assert_true(world.server->most <= 3);
    end_world(&world);
}

static void test_rate(void **state)
{
    struct world world;
    struct timespec begun, ended;
    char *texts[30];
    const struct sluice_answer *items;
    struct asking *asking;
    uint32_t n;

    NEEDS_CLIENT();
    begin_world(&world, by_path);
    world.policy.per_second = 100;
    get_each(&world, texts, 30);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    KIT_OK(begin_texts(&world, texts, 30, &asking, err));
    KIT_OK(asking_wait(asking, &items, &n, err));
    clock_gettime(CLOCK_MONOTONIC, &ended);
    asking_end(asking);
    /* 29 pauses of 10 ms, one of which may be caught up with */
    assert_true((ended.tv_sec - begun.tv_sec) * 1000 + (ended.tv_nsec - begun.tv_nsec) / 1000000 >=
                270);
    end_world(&world);
}

/* ---- tried again ---- */

/* "/429/2": so often, and then an answer. */
static void fails_first(struct server *server, const struct server_request *request,
                        struct server_reply *reply)
{
    unsigned status = 0, often = 0;

    (void)server;
    (void)sscanf(request->path, "/%u/%u", &status, &often);
    if (request->nth < often) {
        reply->status = status;
        reply->cut = status == 0;
        reply->partial = status == 1;
        reply->status = status < 100 ? 200 : status;
    } else {
        reply->body = "at last";
    }
}

static void test_tried_again(void **state)
{
    static const char *const paths[] = { "/429/2", "/503/2", "/500/1", "/408/2", "/425/1", "/1/2" };
    struct world world;

    NEEDS_CLIENT();
    begin_world(&world, fails_first);
    for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++) {
        assert_string_equal(ask(&world, paths[k]), "200 at last");
    }
    assert_int_equal(world.metrics.answered, 6);
    assert_int_equal(world.metrics.retries, 10);
    assert_int_equal(server_count(world.server), 16);
    end_world(&world);
}

static void test_tries_end(void **state)
{
    struct world world;
    struct sluice_error error = ERROR_INIT;

    NEEDS_CLIENT();
    begin_world(&world, fails_first);
    assert_int_equal(ask_fails(&world, "/503/3", &error), SLUICE_E_IO);
    assert_non_null(strstr(error.message, "/503/3 has not answered in 3 tries (status 503)"));
    assert_int_equal(server_count(world.server), 3);
    assert_string_equal(ask(&world, "/503/3"), "200 at last"); /* and is asked anew then */
    assert_int_equal(ask_fails(&world, "/1/9", &error), SLUICE_E_IO);
    end_world(&world);
}

/* A connection in use that is closed under a request: one more try, over a new one, and counted. */
static void test_cut(void **state)
{
    struct world world;

    NEEDS_CLIENT();
    begin_world(&world, fails_first);
    world.policy.patience_ns = UINT64_C(3600) * 1000000000;
    for (int k = 0; k < 20; k++) {
        char path[30];
        snprintf(path, sizeof path, "/200/0?%d", k);
        assert_string_equal(ask(&world, path), "200 at last"); /* there is a connection */
        snprintf(path, sizeof path, "/0/1?%d", k);
        assert_string_equal(ask(&world, path), "200 at last");
    }
    assert_int_equal(world.metrics.retries, 20);
    assert_int_equal(server_count(world.server), 60);
    end_world(&world);
}

static void test_nobody_there(void **state)
{
    struct world world;
    struct sluice_error error = ERROR_INIT;
    char *text;

    NEEDS_CLIENT();
    begin_world(&world, by_path);
    world.hosts[0] = "127.0.0.1:1";
    text = str_printf("GET http://127.0.0.1:1/\n\n");
    assert_int_equal(failure_of(begin(&world, text), &error), SLUICE_E_IO);
    assert_non_null(strstr(error.message, "has not answered in 3 tries"));
    end_world(&world);
}

static void is_large(struct server *server, const struct server_request *request,
                     struct server_reply *reply)
{
    (void)request;
    reply->body = server->ctx;
    reply->body_n = (size_t)HTTP_BODY_MAX + (strcmp(request->path, "/fits") == 0 ? 0 : 1);
}

static void test_too_large(void **state)
{
    struct world world;
    struct sluice_error error = ERROR_INIT;
    char *body = calloc(1, (size_t)HTTP_BODY_MAX + 1);
    const struct sluice_answer *items;
    struct asking *asking;
    uint32_t n;

    NEEDS_CLIENT();
    begin_world(&world, is_large);
    world.server->ctx = body;
    assert_int_equal(ask_fails(&world, "/", &error), SLUICE_E_IO);
    assert_non_null(strstr(error.message, "in 1 try (the answer has more than 64 MiB)"));
    assert_int_equal(server_count(world.server), 1); /* there is no use in trying again */
    asking = begin(&world, get(&world, "/fits"));
    KIT_OK(asking_wait(asking, &items, &n, err));
    assert_int_equal(items[0].n, HTTP_BODY_MAX);
    asking_end(asking);
    end_world(&world);
    free(body);
}

/* ---- Retry-After ---- */

/* "/5": seconds; "/date": 5 seconds after its own clock, which is far from ours. */
static void asks_for_patience(struct server *server, const struct server_request *request,
                              struct server_reply *reply)
{
    (void)server;
    if (request->nth > 0) {
        return;
    }
    reply->status = 429;
    reply->headers =
        strcmp(request->path, "/date") == 0   ? "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                                "Retry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n"
        : strcmp(request->path, "/past") == 0 ? "Retry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n"
                                              : "Retry-After: 1\r\n";
}

static int64_t milliseconds(struct world *world, const char *path)
{
    struct timespec begun, ended;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert_string_equal(ask(world, path), "200 ok");
    clock_gettime(CLOCK_MONOTONIC, &ended);
    return (ended.tv_sec - begun.tv_sec) * 1000 + (ended.tv_nsec - begun.tv_nsec) / 1000000;
}

static void test_retry_after(void **state)
{
    struct world world;

    NEEDS_CLIENT();
    begin_world(&world, asks_for_patience);
    world.policy.patience_ns = UINT64_C(3600) * 1000000000;
    assert_true(milliseconds(&world, "/seconds") >= 999);
    assert_true(milliseconds(&world, "/date") >= 999);
    (void)milliseconds(&world, "/past");
    assert_int_equal(world.metrics.retries, 3);
    world.policy.patience_ns = 1000000; /* the policy's patience ends before */
    assert_string_equal(ask(&world, "/other"), "200 ok");
    end_world(&world);
}

/* ---- redirections ---- */

static void redirects(struct server *server, const struct server_request *request,
                      struct server_reply *reply)
{
    static _Thread_local char headers[200];
    unsigned status = 0;
    char target[100] = "";

    reply->body = request->method;
    if (sscanf(request->path, "/%u/%99s", &status, target) == 2) {
        reply->status = status;
        snprintf(headers, sizeof headers, "Location: %s%s\r\n",
                 strncmp(target, "http", 4) == 0 ? "" : "/", target);
        reply->headers = headers;
    } else if (strncmp(request->path, "/bare", 5) == 0) {
        reply->status = (uint32_t)strtoul(request->path + 5, NULL, 10);
    } else if (strncmp(request->path, "/on", 3) == 0) {
        reply->status = 302;
        reply->headers = "Location: on\r\n";
    }
    (void)server;
}

static char *post(const struct world *world, const char *path)
{
    return str_printf("POST http://%s%s\nAuthorization: me\nContent-Type: text/plain\n\nbody",
                      world->server->host, path);
}

static void test_redirected(void **state)
{
    struct world world;
    const struct server_request *last;

    NEEDS_CLIENT();
    begin_world(&world, redirects);
    assert_string_equal(ask(&world, "/301/here"), "200 GET");
    assert_string_equal(ask(&world, "/302/302/303/307/308/here"), "200 GET");
    assert_string_equal(answer_to(&world, begin(&world, post(&world, "/303/here"))), "200 GET");
    last = &world.server->requests[world.server->n - 1];
    assert_string_equal(last->body, "");
    assert_null(strstr(last->headers, "text/plain"));
    assert_non_null(strstr(last->headers, "Authorization: me"));
    assert_string_equal(answer_to(&world, begin(&world, post(&world, "/307/here"))), "200 POST");
    last = &world.server->requests[world.server->n - 1];
    assert_string_equal(last->body, "body");
    assert_string_equal(answer_to(&world, begin(&world, post(&world, "/308/here"))), "200 POST");
    assert_int_equal(world.metrics.answered, 5);
    assert_int_equal(world.metrics.retries, 0);
    /* What was asked is known, not where it led. */
    assert_string_equal(ask(&world, "/301/here"), "200 GET");
    assert_int_equal(world.metrics.known, 1);
    end_world(&world);
}

static void test_redirected_elsewhere(void **state)
{
    struct world world;
    struct server *other;
    struct sluice_error error = ERROR_INIT;
    char path[100];
    char *text;

    NEEDS_CLIENT();
    begin_world(&world, redirects);
    other = server_start(redirects);
    snprintf(path, sizeof path, "/302/http://%s/there", other->host);
    assert_int_equal(ask_fails(&world, path, &error), SLUICE_E_CONFIG);
    text =
        str_printf("sends us to http://%s/there (status 302), whose server ask = { hosts = {...} } "
                   "does not name; add it there if it is meant",
                   other->host);
    assert_non_null(strstr(error.message, text));
    free(text);
    assert_int_equal(server_count(other), 0);
    world.hosts[1] = other->host;
    world.policy.n_hosts = 2;
    assert_string_equal(ask(&world, path), "200 GET"); /* nothing was recorded before */
    assert_int_equal(server_count(other), 1);
    snprintf(path, sizeof path, "/307/http://%s/there", other->host);
    assert_string_equal(answer_to(&world, begin(&world, post(&world, path))), "200 POST");
    assert_null(strstr(other->requests[1].headers, "Authorization"));
    assert_non_null(strstr(other->requests[1].headers, "text/plain"));
    server_stop(other);
    end_world(&world);
}

static void test_redirected_in_vain(void **state)
{
    static const char *const bare[] = { "/bare300", "/bare301", "/bare304", "/bare307" };
    struct world world;
    struct sluice_error error = ERROR_INIT;

    NEEDS_CLIENT();
    begin_world(&world, redirects);
    assert_int_equal(failure_of(begin(&world, post(&world, "/302/here")), &error), SLUICE_E_CONFIG);
    assert_non_null(strstr(error.message, "only GET and HEAD follow it"));
    assert_int_equal(ask_fails(&world, "/on", &error), SLUICE_E_CONFIG);
    assert_non_null(strstr(error.message, "is sent on more than 5 times"));
    assert_int_equal(ask_fails(&world, "/302/http://a:b@c/", &error), SLUICE_E_CONFIG);
    for (size_t k = 0; k < sizeof bare / sizeof bare[0]; k++) {
        assert_int_equal(ask_fails(&world, bare[k], &error), SLUICE_E_CONFIG);
        assert_non_null(strstr(error.message, "neither an answer nor says where there is one"));
    }
    assert_int_equal(recorded(&world), 0);
    end_world(&world);
}

/* ---- the same asked by several; giving up ---- */

static void test_single_flight(void **state)
{
    struct world world;
    struct asking *askings[10];
    char *texts[2];
    const struct sluice_answer *items;
    uint32_t n;

    NEEDS_CLIENT();
    begin_world(&world, held);
    for (size_t k = 0; k < 9; k++) {
        askings[k] = begin(&world, get(&world, "/same"));
    }
    texts[0] = get(&world, "/same");
    texts[1] = get(&world, "/same"); /* twice in one call */
    KIT_OK(begin_texts(&world, texts, 2, &askings[9], err));
    assert_true(server_await(world.server, 1));
    asking_end(askings[0]); /* who began it goes; the others still wait */
    server_release(world.server, UINT32_MAX);
    KIT_OK(asking_wait(askings[9], &items, &n, err));
    assert_int_equal(n, 2);
    asking_count(askings[9], &world.metrics);
    asking_end(askings[9]);
    for (size_t k = 1; k < 9; k++) {
        assert_string_equal(answer_to(&world, askings[k]), "200 /same");
    }
    assert_int_equal(server_count(world.server), 1);
    assert_int_equal(world.metrics.answered, 1);
    assert_int_equal(world.metrics.known, 9);
    end_world(&world);
}

static void test_given_up(void **state)
{
    struct world world;
    struct asking *asking, *queued;

    NEEDS_CLIENT();
    begin_world(&world, held);
    world.policy.in_flight = 1;
    asking = begin(&world, get(&world, "/a"));
    queued = begin(&world, get(&world, "/b"));
    assert_true(server_await(world.server, 1));
    asking_end(asking); /* its request is ended, and the next goes out */
    assert_true(server_await(world.server, 2));
    asking_end(queued);
    asking = begin(&world, get(&world, "/c"));
    assert_true(server_await(world.server, 3));
    server_release(world.server, UINT32_MAX);
    assert_string_equal(answer_to(&world, asking), "200 /c");
    asking_end(begin(&world, get(&world, "/d")));
    end_world(&world);
}

static void test_cancelled(void **state)
{
    struct world world;
    struct sluice_error error = ERROR_INIT;
    struct asking *asking;

    NEEDS_CLIENT();
    begin_world(&world, held);
    asking = begin(&world, get(&world, "/a"));
    assert_true(server_await(world.server, 1));
    atomic_store(&world.cancelled, 1);
    assert_int_equal(failure_of(asking, &error), SLUICE_E_CANCELLED);
    end_world(&world);
}

/* ---- hedges ---- */

/* The first request of each path stays without an answer. */
static void first_is_held(struct server *server, const struct server_request *request,
                          struct server_reply *reply)
{
    if (request->nth == 0) {
        server_hold(server);
        reply->body = "first";
    } else {
        reply->body = "second";
    }
}

static void test_hedge(void **state)
{
    struct world world;

    NEEDS_CLIENT();
    begin_world(&world, first_is_held);
    world.policy.hedge_ns = 1000000;
    assert_string_equal(ask(&world, "/a"), "200 second");
    assert_string_equal(ask(&world, "/a"), "200 second"); /* recorded */
    assert_int_equal(world.metrics.hedges, 1);
    assert_int_equal(world.metrics.retries, 0);
    assert_int_equal(server_count(world.server), 2);
    end_world(&world);
}

/* No second request where in_flight leaves no room for one, nor without a hedge. */
static void test_no_hedge(void **state)
{
    struct world world;
    struct asking *asking;

    NEEDS_CLIENT();
    for (int k = 0; k < 2; k++) {
        begin_world(&world, first_is_held);
        world.policy.hedge_ns = k == 0 ? 1000000 : 0;
        world.policy.in_flight = k == 0 ? 1 : 8;
        asking = begin(&world, get(&world, "/a"));
        assert_true(server_await(world.server, 1));
        usleep(50000);
        server_release(world.server, 1);
        assert_string_equal(answer_to(&world, asking), "200 first");
        assert_int_equal(world.metrics.hedges, 0);
        end_world(&world);
    }
}

/* The first fails while the second is on its way: that one counts. */
static void first_fails_late(struct server *server, const struct server_request *request,
                             struct server_reply *reply)
{
    server_hold(server);
    reply->status = request->nth == 0 ? 503 : 200;
    reply->body = request->nth == 0 ? "first" : "second";
}

static void test_hedge_of_failure(void **state)
{
    struct world world;
    struct asking *asking;

    NEEDS_CLIENT();
    begin_world(&world, first_fails_late);
    world.policy.hedge_ns = 1000000;
    asking = begin(&world, get(&world, "/a"));
    assert_true(server_await(world.server, 2));
    server_release(world.server, UINT32_MAX);
    assert_string_equal(answer_to(&world, asking), "200 second");
    assert_int_equal(world.metrics.hedges, 1);
    assert_int_equal(server_count(world.server), 2);
    end_world(&world);
}

/* By a quantile of the answers: none before there are enough of them, and one afterwards. */
static void held_once(struct server *server, const struct server_request *request,
                      struct server_reply *reply)
{
    if (strncmp(request->path, "/held", 5) == 0 && request->nth == 0) {
        server_hold(server);
    }
    reply->body = request->nth == 0 ? "first" : "second";
}

static void test_hedge_by_quantile(void **state)
{
    struct world world;
    struct asking *asking;

    NEEDS_CLIENT();
    begin_world(&world, held_once);
    world.policy.hedge_share = 0.5;
    asking = begin(&world, get(&world, "/held/early"));
    assert_true(server_await(world.server, 1));
    usleep(50000);
    server_release(world.server, 1);
    assert_string_equal(answer_to(&world, asking), "200 first");
    assert_int_equal(world.metrics.hedges, 0);
    for (uint32_t k = 0; k < 20; k++) { /* so that the median is of quick ones */
        char path[20];
        snprintf(path, sizeof path, "/%u", k);
        (void)ask(&world, path);
    }
    assert_string_equal(ask(&world, "/held/late"), "200 second");
    assert_true(world.metrics.hedges >= 1);
    end_world(&world);
}

static void test_latencies(void **state)
{
    struct latencies all = { .n = 0 };

    (void)state;
    assert_int_equal(latencies_quantile(&all, 0.5), 0);
    for (uint64_t k = 1; k <= 99; k++) {
        latencies_add(&all, (k * 37 % 101) * 1000);
    }
    assert_int_equal(latencies_quantile(&all, 0.95), 0); /* not five beyond it */
    latencies_add(&all, 100 * 37 % 101 * 1000);
    assert_int_equal(latencies_quantile(&all, 0.95), 95000);
    assert_int_equal(latencies_quantile(&all, 0.5), 50000);
    for (uint32_t k = 0; k < 10000; k++) { /* the newest count */
        latencies_add(&all, 7);
    }
    assert_int_equal(latencies_quantile(&all, 0.95), 7);
    assert_int_equal(latencies_quantile(&all, 0.999), 7);
    latencies_deinit(&all);
}

/* Everything is slow: no more than an eighth is asked twice at once. */
static void test_hedges_are_few(void **state)
{
    struct world world;
    struct asking *askings[16];

    NEEDS_CLIENT();
    begin_world(&world, held);
    world.policy.hedge_ns = 1000000;
    world.policy.in_flight = 32;
    for (size_t k = 0; k < 16; k++) {
        char path[20];
        snprintf(path, sizeof path, "/%zu", k);
        askings[k] = begin(&world, get(&world, path));
    }
    assert_true(server_await(world.server, 20));
    usleep(50000);
    assert_int_equal(server_count(world.server), 20);
    server_release(world.server, UINT32_MAX);
    for (size_t k = 0; k < 16; k++) {
        (void)answer_to(&world, askings[k]);
    }
    end_world(&world);
}

/* ---- a disk that fails ---- */

static int ask_with_disk(void *ctx)
{
    struct world *world = ctx;
    struct sluice_error error = ERROR_INIT;
    sluice_status status;

    begin_world(world, by_path);
    status = ask_fails(world, "/a", &error);
    if (status == SLUICE_E_IO) { /* and nothing is asked any more */
        status = ask_fails(world, "/b", &error) == SLUICE_E_IO ? status : SLUICE_OK;
    }
    end_world(world);
    return status == SLUICE_E_IO ? 7 : 8;
}

static void test_disk_fails(void **state)
{
    struct world world;

    NEEDS_CLIENT();
    assert_int_equal(kit_child(ask_with_disk, &world, "SLUICE_TEST_FAIL", "sync:EIO"), 7);
}

/* ---- texts ---- */

static void test_malformed(void **state)
{
    static const char *const texts[] = {
        "",
        "GET http://h/",
        "GET http://h/\n",
        "GET  http://h/\n\n",
        " http://h/\n\n",
        "GET http://h/ HTTP/1.1\n\n",
        "GET http://h/\r\n\n",
        "GE\rT http://h/\n\n",
        "GET http://h/\nname\n\n",
        "GET http://h/\n: value\n\n",
        "GET http://h/\nna me: value\n\n",
        "GET http://h/\nname: va\rlue\n\n",
        "GET http://h/\nname: value\n",
        "GET http://h/\x01\n\n",
    };
    struct sluice_error error = ERROR_INIT;
    struct request request;

    (void)state;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        assert_int_equal(request_parse(texts[k], strlen(texts[k]), &request, &error),
                         SLUICE_E_INTERNAL);
        assert_null(request.text);
    }
    assert_int_equal(request_parse("GET http://h/\0\n\n", 16, &request, &error), SLUICE_E_INTERNAL);
    KIT_OK(request_parse("PUT http://h/a?b\nA: 1\nB:\n\nb\0dy", 30, &request, err));
    assert_string_equal(request.method, "PUT");
    assert_string_equal(request.url, "http://h/a?b");
    assert_int_equal(request.headers_n, 8);
    assert_int_equal(request.body_n, 4);
    assert_memory_equal(request.body, "b\0dy", 4);
    request_deinit(&request);
}

static void test_hosts(void **state)
{
    static const char *const hosts[] = { "good", "port:81" };
    static const char *const allowed[] = { "http://good",         "https://good/x",
                                           "http://good:80/",     "https://good:443?x",
                                           "http://port:81/good", "https://port:81" };
    static const char *const refused[] = {
        "http://good:81/",
        "https://good:80/",
        "http://port/",
        "http://bad/",
        "http://good.bad/",
        "http://goodx/",
        "ftp://good/",
        "good",
        "http://",
        "http:///good",
        "http://:80/",
        "http://good@bad/",
        "http://bad\\@good/",
        "http://good:80:80/",
        "http://[::1]/",
        "http://g%6fod/",
        "HTTP://good/",
        "http://GOOD/",
        "http://good\xc3/",
        "http://bad#@good/",
    };
    struct ask_policy policy = { .hosts = hosts, .n_hosts = 2 };
    struct sluice_error error = ERROR_INIT;
    const char *name;

    (void)state;
    for (size_t k = 0; k < sizeof allowed / sizeof allowed[0]; k++) {
        KIT_OK(request_host(allowed[k], &policy, &name, err));
    }
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        assert_int_equal(request_host(refused[k], &policy, &name, &error), SLUICE_E_CONFIG);
    }
}

static void test_redirect_rules(void **state)
{
    static const char *const hosts[] = { "a", "b" };
    struct ask_policy policy = { .hosts = hosts, .n_hosts = 2 };
    struct sluice_error error = ERROR_INIT;
    struct request from, to;
    const char *name;
    static const char text[] = "HEAD https://a/x\nCookie: c\nHost: a\nA: 1\n\n";

    (void)state;
    KIT_OK(request_parse(text, sizeof text - 1, &from, err));
    KIT_OK(request_redirect(&from, 303, "https://b/y#part", &policy, &to, &name, err));
    assert_string_equal(to.method, "HEAD");
    assert_string_equal(to.url, "https://b/y");
    assert_string_equal(name, "b");
    assert_int_equal(to.headers_n, 5);
    request_deinit(&to);
    KIT_OK(request_redirect(&from, 301, "https://a?z", &policy, &to, &name, err));
    assert_int_equal(to.headers_n, from.headers_n);
    request_deinit(&to);
    assert_int_equal(request_redirect(&from, 301, "http://a/", &policy, &to, &name, &error),
                     SLUICE_E_CONFIG);
    assert_non_null(strstr(error.message, "in the open"));
    assert_int_equal(request_redirect(&from, 305, "https://a/", &policy, &to, &name, &error),
                     SLUICE_E_CONFIG);
    assert_int_equal(request_redirect(&from, 302, "https://a/ x", &policy, &to, &name, &error),
                     SLUICE_E_CONFIG);
    /* Nothing of a target becomes a header. */
    assert_int_equal(request_redirect(&from, 302, "https://a/\nA: 2", &policy, &to, &name, &error),
                     SLUICE_E_CONFIG);
    request_deinit(&from);
}

static void test_dates(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } dates[] = { { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
                  { "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
                  { "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
                  { "Thu, 29 Feb 2024 12:00:00 GMT", 1709208000 },
                  { "Fri, 01 Mar 2024 12:00:00 GMT", 1709294400 },
                  { "Mon, 28 Feb 2101 00:00:00 GMT", INT64_C(4138992000) },
                  { "Tue, 29 Feb 2000 23:59:60 GMT", 951868800 } };
    static const char *const none[] = {
        "",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sonntag, 06 Nov 1994 08:49:3",
        "Sun, 6 Nov 1994 08:49:37 GMT ",
    };
    int64_t seconds;

    (void)state;
    for (size_t k = 0; k < sizeof dates / sizeof dates[0]; k++) {
        assert_true(http_date(dates[k].text, strlen(dates[k].text), &seconds));
        assert_int_equal(seconds, dates[k].seconds);
    }
    for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
        assert_false(http_date(none[k], strlen(none[k]), &seconds));
    }
}

static uint64_t pause_of(const char *text, int64_t now)
{
    return http_pause_ns(text, strlen(text), now);
}

static void test_pauses(void **state)
{
    (void)state;
    assert_int_equal(pause_of("7", 0), UINT64_C(7000000000));
    assert_int_equal(pause_of(" 7 \r\n", 0), UINT64_C(7000000000));
    assert_int_equal(pause_of("0", 0), 0);
    assert_int_equal(pause_of("", 0), 0);
    assert_int_equal(pause_of("-1", 0), 0);
    assert_int_equal(pause_of("7s", 0), 0);
    assert_int_equal(pause_of("soon enough", 0), 0);
    assert_int_equal(pause_of("999999999", 0), UINT64_C(1000000000000000));
    assert_int_equal(pause_of("99999999999999999999999", 0), UINT64_C(1000000000000000));
    assert_int_equal(pause_of("Sun, 06 Nov 1994 08:49:37 GMT", 784111776), 1000000000);
    assert_int_equal(pause_of("Sun, 06 Nov 1994 08:49:37 GMT\r\n", 784111777), 0);
    assert_int_equal(pause_of("Sun, 06 Nov 1994 08:49:37 GMT", 784111778), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disk_fails), /* forks: before there are threads */
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_another_process),
        cmocka_unit_test(test_in_line_meanwhile),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_in_flight_until_durable),
        cmocka_unit_test(test_smaller_limit),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_tried_again),
        cmocka_unit_test(test_tries_end),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_redirected),
        cmocka_unit_test(test_redirected_elsewhere),
        cmocka_unit_test(test_redirected_in_vain),
        cmocka_unit_test(test_single_flight),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_hedge),
        cmocka_unit_test(test_no_hedge),
        cmocka_unit_test(test_hedge_of_failure),
        cmocka_unit_test(test_hedge_by_quantile),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_beside_given_up),
        cmocka_unit_test(test_beside_waiting),
        cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_hedges_are_few),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_redirect_rules),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
