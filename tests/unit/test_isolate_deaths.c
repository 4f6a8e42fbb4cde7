/* What becomes of a stage in a child process that crashes, hangs or is killed:
 * isolate/isolate.h. The stages are in isolate_kit.h. */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/isolate_kit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static const struct isolate_limits defaults;
static const char *const texts[] = { "a text", "dup of it", "", "short", "longer than the others" };
#define TEXTS 5

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_text(struct kit_scene *scene)
{
    assert_int_equal(schema_add_text(&scene->schema, "text", "utf8", "k=x", &scene->err),
                     SLUICE_OK);
}

static void begin(struct kit_scene *scene)
{
    kit_scene_begin(scene);
    add_text(scene);
}

static struct stage_worker *worker_of(struct kit_scene *scene)
{
    struct stage_worker *worker;

    if (stage_worker_open(scene->stage, &worker, &scene->err) != SLUICE_OK) {
        fail_msg("%s", scene->err.message);
    }
    return worker;
}

/* ---- deaths ---- */

static void test_deaths_in_each_call_are_named(void **state)
{
    static const struct {
        const char *stage, *arguments, *expected;
        int step; /* open, prepare, worker_open, process, flush, save, load, merge, judge */
    } cases[] = {
        { "kit_filter", "at=open,deed=segv", "it crashed (SIGSEGV) in open()", 0 },
        { "kit_filter", "at=open,deed=exit", "it crashed (exit status 3) in open()", 0 },
        { "kit_filter", "at=open,deed=quit",
          SANITIZED ? "it crashed (exit status" : "it crashed (exit status 4) in open()", 0 },
        { "kit_filter", "at=prepare,deed=abort",
          "it crashed (SIGABRT; its last words: kit: it is over) in prepare()", 1 },
        { "kit_filter", "at=worker_open,deed=segv", "it crashed (SIGSEGV) in worker_open()", 2 },
        { "kit_filter", "at=process,deed=raise", "it crashed (SIGSEGV) in process() on 6 rows", 3 },
        { "kit_filter", "at=process,deed=abort", "it crashed (SIGABRT) in process() on 6 rows", 3 },
        { "kit_filter", "at=process,deed=stack", "it crashed (SIGSEGV) in process() on 6 rows", 3 },
        { "kit_filter", "at=process,deed=write input",
          "it crashed (SIGSEGV) in process() on 6 rows", 3 },
        { "kit_filter", "at=process,deed=nonsense",
          "it crashed (an answer that makes no sense) in process() on 6 rows", 3 },
        { "kit_filter", "at=process,deed=large answer",
          "it crashed (an answer that makes no sense) in process() on 6 rows", 3 },
        /* Slowed down, the child's own end is noticed before its silence. */
        { "kit_filter", "at=process,deed=hang up",
          SANITIZED ? "it crashed (" : "it crashed (it hung up) in process()", 3 },
        { "kit_sum", "at=process,deed=segv", "it crashed (SIGSEGV) in process() on 6 rows", 3 },
        { "kit_sum", "at=flush,deed=abort", "; its last words: kit: it is over) in flush()", 4 },
        { "kit_sum", "at=save,deed=segv", "it crashed (SIGSEGV) in save()", 5 },
        { "kit_sum", "at=load,deed=segv", "it crashed (SIGSEGV) in load()", 6 },
        { "kit_sum", "at=merge,deed=segv", "it crashed (SIGSEGV) in merge()", 7 },
        { "kit_gate", "at=judge,deed=segv", "it crashed (SIGSEGV) in judge()", 8 },
    };
    const char *list[] = { "a", "b", "BOOM", "c", "d", "e" };
    struct kit_batch batch;
    struct kit_batch calm;
    struct stage_result result;

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 6);
    kit_texts(&calm, list, 2);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct kit_scene scene;
        struct stage_worker *worker = NULL;
        struct stage_judgement judgement;
        struct buf saved = BUF_INIT;
        sluice_status status;
        int step = cases[k].step;
        begin(&scene);
        status = kit_scene_open(&scene, cases[k].stage, cases[k].arguments, &defaults);
        if (step > 0) {
            assert_int_equal(status, SLUICE_OK);
            status = kit_scene_prepare(&scene);
        }
        if (step > 1) {
            assert_int_equal(status, SLUICE_OK);
            status = stage_worker_open(scene.stage, &worker, &scene.err);
        }
        if (step > 2) {
            assert_int_equal(status, SLUICE_OK);
            status =
                stage_process(worker, step == 3 ? &batch.batch : &calm.batch, &result, &scene.err);
        }
        if (step > 3) {
            assert_int_equal(status, SLUICE_OK);
        }
        if (step == 4) {
            status = stage_flush(worker, &result, &scene.err);
        } else if (step >= 5 && step <= 7) {
            status = stage_save(worker, &saved, &scene.err);
        }
        if (step == 6) {
            status = stage_load(worker, saved.data, saved.size, &scene.err);
        } else if (step == 7) {
            status = stage_merge(worker, saved.data, saved.size, &scene.err);
        } else if (step == 8) {
            status = stage_judge(worker, NULL, NULL, &judgement, &scene.err);
        }
        if (status != STAGE_CRASHED) {
            fail_msg("%s %s: status %d, %s", cases[k].stage, cases[k].arguments, (int)status,
                     scene.err.message);
        }
        kit_says(&scene, cases[k].expected);
        assert_true(worker == NULL || !stage_worker_usable(worker));
        assert_true(scene.deaths > 0);
        stage_worker_close(worker);
        buf_deinit(&saved);
        kit_scene_end(&scene);
    }
    stage_result_deinit(&result);
    kit_batch_free(&batch);
    kit_batch_free(&calm);
}

static void test_closing_survives_a_crash(void **state)
{
    struct kit_scene scene;

    (void)state;
    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "at=close,deed=segv", &defaults);
    stage_worker_close(worker_of(&scene));
    kit_scene_shut(&scene);
    assert_int_equal(scene.deaths, 1);
    kit_scene_ready(&scene, "kit_filter", "at=worker_close,deed=segv", &defaults);
    stage_worker_close(worker_of(&scene));
    kit_scene_shut(&scene);
    assert_int_equal(scene.deaths, 2);
    kit_scene_end(&scene);
}

static void test_a_late_call_is_ended(void **state)
{
    static const char *const where[] = { "open", "prepare", "worker_open", "process" };
    struct isolate_limits limits = {
        .timeout_ns = 1500000000
    }; /* enough for the calls that do answer, on any machine */
    struct stage_result result;
    struct kit_batch batch;
    const char *list[] = { "BOOM" };

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 1);
    for (int k = 0; k < 4; k++) {
        struct kit_scene scene;
        struct stage_worker *worker = NULL;
        char arguments[100];
        int64_t start;
        sluice_status status;
        begin(&scene);
        snprintf(arguments, sizeof arguments, "at=%s,deed=hang", where[k]);
        start = now_ms();
        status = kit_scene_open(&scene, "kit_filter", arguments, &limits);
        if (k > 0) {
            assert_int_equal(status, SLUICE_OK);
            status = kit_scene_prepare(&scene);
        }
        if (k > 1) {
            assert_int_equal(status, SLUICE_OK);
            status = stage_worker_open(scene.stage, &worker, &scene.err);
        }
        if (k > 2) {
            assert_int_equal(status, SLUICE_OK);
            status = stage_process(worker, &batch.batch, &result, &scene.err);
        }
        assert_int_equal(status, STAGE_TIMED_OUT);
        assert_true(now_ms() - start >= 1500);
        kit_says(&scene, "it did not answer");
        kit_says(&scene, "within 1.5 s");
        assert_non_null(strstr(scene.how, "1.5 s without an answer"));
        stage_worker_close(worker);
        kit_scene_end(&scene);
    }
    stage_result_deinit(&result);
    kit_batch_free(&batch);
}

static void test_cancellation_reaches_the_child(void **state)
{
    static const char *const deeds[] = { "at=process,deed=spin until cancelled",
                                         "at=process,deed=hang" };
    struct stage_result result;
    struct kit_batch batch;
    const char *list[] = { "BOOM" };

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 1);
    for (int k = 0; k < 2; k++) {
        _Atomic int cancelled = 0;
        struct kit_scene scene;
        struct stage_worker *worker;
        begin(&scene);
        scene.services.cancelled = &cancelled;
        kit_scene_ready(&scene, "kit_filter", deeds[k], &defaults);
        worker = worker_of(&scene);
        atomic_store(&cancelled, 1);
        assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err),
                         SLUICE_E_CANCELLED);
        stage_worker_close(worker);
        kit_scene_end(&scene);
    }
    stage_result_deinit(&result);
    kit_batch_free(&batch);
}

/* ---- bystanders and culprits ---- */

struct runner {
    struct kit_scene *scene;
    const char *text;
    int calls;
    int good, crashed, other;
    char message[944];
    struct stage_worker *worker; /* of run_until_lost */
};

static void *run_batches(void *ctx)
{
    struct runner *runner = ctx;
    struct sluice_error err = ERROR_INIT;
    struct stage_result result;
    struct kit_batch batch;
    struct stage_worker *worker = NULL;

    stage_result_init(&result);
    kit_texts(&batch, &runner->text, 1);
    for (int k = 0; k < runner->calls; k++) {
        sluice_status status = SLUICE_OK;
        if (worker == NULL) {
            status = stage_worker_open(runner->scene->stage, &worker, &err);
        }
        if (status == SLUICE_OK) {
            status = stage_process(worker, &batch.batch, &result, &err);
        }
        runner->good += status == SLUICE_OK ? 1 : 0;
        runner->crashed += status == STAGE_CRASHED ? 1 : 0;
        runner->other += status != SLUICE_OK && status != STAGE_CRASHED ? 1 : 0;
        if (status != SLUICE_OK) {
            memcpy(runner->message, err.message, sizeof runner->message);
            stage_worker_close(worker);
            worker = NULL;
        }
    }
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_batch_free(&batch);
    return NULL;
}

static void *run_until_lost(void *ctx)
{
    struct runner *runner = ctx;
    struct sluice_error err = ERROR_INIT;
    struct stage_result result;
    struct kit_batch batch;
    sluice_status status = SLUICE_OK;

    stage_result_init(&result);
    kit_texts(&batch, &runner->text, 1);
    while (status == SLUICE_OK) {
        status = stage_process(runner->worker, &batch.batch, &result, &err);
    }
    runner->crashed = status == STAGE_CRASHED ? 1 : 0;
    memcpy(runner->message, err.message, sizeof runner->message);
    stage_result_deinit(&result);
    kit_batch_free(&batch);
    return NULL;
}

static void test_only_the_culprit_fails(void **state)
{
    struct kit_scene scene;
    struct runner runners[4];
    pthread_t threads[4];

    (void)state;
    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "at=process,deed=segv", &defaults);
    for (int k = 0; k < 4; k++) {
        runners[k] = (struct runner){ .scene = &scene,
                                      .text = k == 0 ? "BOOM" : "calm",
                                      .calls = k == 0 ? 5 : 300 };
        assert_int_equal(pthread_create(&threads[k], NULL, run_batches, &runners[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(runners[k].other, 0);
        assert_int_equal(runners[k].crashed, k == 0 ? 5 : 0);
        assert_int_equal(runners[k].good, k == 0 ? 0 : 300);
    }
    assert_non_null(strstr(runners[0].message, "it crashed (SIGSEGV) in process() on 1 row"));
    kit_scene_end(&scene);
}

/* Two workers that hold something: the one whose call ends the process is named, the other says
 * that it was not its own. */
static void test_the_culprit_among_stateful_workers_is_named(void **state)
{
    static const char *const deeds[] = { "segv", "stack", "quit" };
    struct kit_batch calm;
    struct kit_batch batch;
    struct stage_result result;
    const char *list[] = { "calm", "BOOM" };

    (void)state;
    stage_result_init(&result);
    kit_texts(&calm, list, 1);
    kit_texts(&batch, list, 2);
    for (size_t k = 0; k < sizeof deeds / sizeof deeds[0]; k++) {
        struct kit_scene scene;
        struct stage_worker *workers[2];
        struct runner other = { .text = "calm" };
        char arguments[100];
        pthread_t thread;
        begin(&scene);
        snprintf(arguments, sizeof arguments, "at=process,deed=%s", deeds[k]);
        kit_scene_ready(&scene, "kit_sum", arguments, &defaults);
        for (int i = 0; i < 2; i++) {
            workers[i] = worker_of(&scene);
            assert_int_equal(stage_process(workers[i], &calm.batch, &result, &scene.err),
                             SLUICE_OK);
        }
        other.scene = &scene;
        other.worker = workers[1];
        assert_int_equal(pthread_create(&thread, NULL, run_until_lost, &other), 0);
        usleep(20000);
        assert_int_equal(stage_process(workers[0], &batch.batch, &result, &scene.err),
                         STAGE_CRASHED);
        kit_says(&scene, "in process() on 2 rows");
        pthread_join(thread, NULL);
        assert_int_equal(other.crashed, 1);
        if (strstr(other.message, "in a call of another worker, and what this one held is lost") ==
            NULL) {
            fail_msg("%s: %s", deeds[k], other.message);
        }
        stage_worker_close(workers[0]);
        stage_worker_close(workers[1]);
        kit_scene_end(&scene);
    }
    stage_result_deinit(&result);
    kit_batch_free(&calm);
    kit_batch_free(&batch);
}

static void test_a_reader_that_crashes_is_named(void **state)
{
    static const char data[200] = "one\nBOOM\n";
    struct kit_scene scene;
    struct stage_result result;
    struct stage_worker *worker;
    struct sluice_chunk chunk = {
        .size = sizeof chunk, .data = data, .n = 9, .offset = 1000, .uri = "file:///x"
    };

    (void)state;
    stage_result_init(&result);
    kit_scene_begin(&scene);
    kit_scene_ready(&scene, "kit_read", "at=read,deed=segv", &defaults);
    worker = worker_of(&scene);
    assert_int_equal(stage_read(worker, &chunk, &result, &scene.err), STAGE_CRASHED);
    kit_says(&scene, "it crashed (SIGSEGV) in read() of 9 bytes from 1000 on of file:///x");
    assert_int_equal(scene.deaths, 2); /* it was tried again, alone */
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
}

/* State and parent of a process; false = there is none. */
static bool process_state(pid_t pid, char *letter, pid_t *parent)
{
    char path[60];
    char line[400] = "";
    const char *end;
    int number = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    end = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    if (end == NULL || sscanf(end + 1, " %c %d", letter, &number) != 2) {
        return false;
    }
    *parent = number;
    return true;
}

/* A child of a process, or 0. Numbers of processes begin anew, so that a child's may be any. */
static pid_t child_of(pid_t of)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    pid_t child = 0;

    assert_non_null(processes);
    while (child == 0 && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char letter;
        pid_t parent;
        if (pid > 0 && process_state(pid, &letter, &parent) && parent == of) {
            child = pid;
        }
    }
    closedir(processes);
    return child;
}

static void test_a_child_killed_from_outside_costs_nothing(void **state)
{
    struct kit_scene scene;
    struct kit_batch batch;
    struct stage_result result;
    struct stage_worker *worker;
    pid_t pid;

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, texts, TEXTS);
    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "", &defaults);
    worker = worker_of(&scene);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
    pid = child_of(getpid());
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err), SLUICE_OK);
    assert_int_equal(result.n_verdicts, TEXTS);
    assert_int_equal(scene.deaths, 1);
    assert_string_equal(scene.how, "quality: SIGKILL");
    stage_worker_close(worker);
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_a_stage_that_dies_too_often_is_given_up(void **state)
{
    struct kit_scene scene;
    struct isolate_limits limits = { .max_deaths = 3 };
    struct kit_batch batch;
    struct stage_result result;
    const char *list[] = { "BOOM" };
    sluice_status status = SLUICE_OK;
    int crashes = 0;

    (void)state;
    stage_result_init(&result);
    kit_texts(&batch, list, 1);
    begin(&scene);
    kit_scene_ready(&scene, "kit_sum", "at=process,deed=segv", &limits);
    while (crashes < 100) {
        struct stage_worker *worker = NULL;
        status = stage_worker_open(scene.stage, &worker, &scene.err);
        if (status == SLUICE_OK) {
            status = stage_process(worker, &batch.batch, &result, &scene.err);
        }
        stage_worker_close(worker);
        if (status != STAGE_CRASHED) {
            break;
        }
        crashes++;
    }
    assert_int_equal(status, SLUICE_E_INTERNAL);
    assert_in_range(crashes, 1, 3);
    kit_says(&scene, "times in this run and is given up; last: SIGSEGV");
    kit_says(&scene, "sluice test-plugin kit_sum");
    stage_result_deinit(&result);
    kit_scene_end(&scene);
    kit_batch_free(&batch);
}

static void test_workers_beyond_the_limit_wait(void **state)
{
    struct kit_scene scene;
    struct isolate_limits limits = { .threads = 1 };
    struct runner runners[3];
    pthread_t threads[3];

    (void)state;
    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "", &limits);
    for (int k = 0; k < 3; k++) {
        runners[k] = (struct runner){ .scene = &scene, .text = "calm", .calls = 50 };
        assert_int_equal(pthread_create(&threads[k], NULL, run_batches, &runners[k]), 0);
    }
    for (int k = 0; k < 3; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(runners[k].good, 50);
    }
    kit_scene_end(&scene);
}

/* ---- nothing is left behind ---- */

static void test_no_descriptor_is_leaked(void **state)
{
    struct kit_batch batch;
    const char *list[] = { "BOOM" };
    int before = kit_open_files();

    (void)state;
    kit_texts(&batch, list, 1);
    for (int k = 0; k < 3; k++) {
        struct kit_scene scene;
        struct stage_result result;
        struct stage_worker *worker;
        stage_result_init(&result);
        begin(&scene);
        kit_scene_ready(&scene, "kit_filter", k == 0 ? "" : "at=process,deed=segv", &defaults);
        worker = worker_of(&scene);
        assert_int_equal(stage_process(worker, &batch.batch, &result, &scene.err),
                         k == 0 ? SLUICE_OK : STAGE_CRASHED);
        stage_worker_close(worker);
        stage_result_deinit(&result);
        kit_scene_end(&scene);
        assert_int_equal(kit_open_files(), before);
    }
    kit_batch_free(&batch);
}

/* This program as the parent that is killed: tells its child's pid on standard output and waits. */
static pid_t fork_doomed(int *lines)
{
    pid_t pid;

    assert_int_equal(pipe(lines), 0);
    pid = fork();
    if (pid == 0) {
        dup2(lines[1], 1);
        execl("/proc/self/exe", "test_isolate_deaths", "doomed", (char *)NULL);
        _exit(1);
    }
    close(lines[1]);
    return pid;
}

static void doomed_parent(void)
{
    struct kit_scene scene;

    begin(&scene);
    kit_scene_ready(&scene, "kit_filter", "", &defaults);
    printf("%s\n", scene.scratch);
    fflush(stdout);
    for (;;) {
        pause();
    }
}

static void test_children_end_with_their_parent(void **state)
{
    int lines[2];
    char scratch[100] = "";
    char inside[200];
    char letter = 'Z';
    pid_t parent = fork_doomed(lines);
    pid_t child;
    pid_t now;
    ssize_t n;

    (void)state;
    n = read(lines[0], scratch, sizeof scratch - 1);
    assert_true(n > 1);
    scratch[n - 1] = '\0';
    close(lines[0]);
    child = child_of(parent);
    assert_true(child > 0);
    assert_true(process_state(child, &letter, &now) && letter != 'Z');
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    /* A zombie that nobody reaps has ended as well. */
    for (int k = 0; k < 1000 && process_state(child, &letter, &now) && letter != 'Z'; k++) {
        usleep(10000);
    }
    assert_true(!process_state(child, &letter, &now) || letter == 'Z');
    snprintf(inside, sizeof inside, "%s/child-%d-0", scratch, (int)parent);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(scratch), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths_in_each_call_are_named),
        cmocka_unit_test(test_closing_survives_a_crash),
        cmocka_unit_test(test_a_late_call_is_ended),
        cmocka_unit_test(test_cancellation_reaches_the_child),
        cmocka_unit_test(test_only_the_culprit_fails),
        cmocka_unit_test(test_the_culprit_among_stateful_workers_is_named),
        cmocka_unit_test(test_a_reader_that_crashes_is_named),
        cmocka_unit_test(test_a_child_killed_from_outside_costs_nothing),
        cmocka_unit_test(test_a_stage_that_dies_too_often_is_given_up),
        cmocka_unit_test(test_workers_beyond_the_limit_wait),
        cmocka_unit_test(test_no_descriptor_is_leaked),
        cmocka_unit_test(test_children_end_with_their_parent),
    };

    isolate_kit_child(argc, argv);
    if (argc == 2 && strcmp(argv[1], "doomed") == 0) {
        doomed_parent();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
