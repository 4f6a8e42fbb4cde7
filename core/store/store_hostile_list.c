/* Names and lists of the hostile place: see store_hostile.c. A list comes in pages, between which
 * anything may change. */
#include "base/hooks.h"
#include "store/store_hostileInt.h"

#if HOOKS_ON

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "store/disk.h"

#define FIRST_PAGE 7 /* names in it */
#define PAGE 64      /* in those behind it */
#define LOOKS 2      /* lists of this process that lack a new object */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- names ---- */

void hostile_encode(const char *name, struct buf *out)
{
    for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++) {
        if (*p == '/') {
            buf_putc(out, ',');
        } else if (*p <= ' ' || *p == ',' || *p == '%' || *p >= 0x7f) {
            buf_printf(out, "%%%02x", *p);
        } else {
            buf_putc(out, (char)*p);
        }
    }
}

static bool decode(const char *file, struct buf *out)
{
    for (const char *p = file; *p != '\0'; p++) {
        unsigned byte;
        if (*p == '%') {
            if (sscanf(p + 1, "%2x", &byte) != 1) {
                return false;
            }
            buf_putc(out, (char)byte);
            p += 2;
        } else {
            buf_putc(out, *p == ',' ? '/' : *p);
        }
    }
    return true;
}

/* ---- lists ---- */

/* Whether a list is too old to have an object: the first looks at one that was just put, where
 * faults are on. Those of this process are counted, by the object's change and its name. */
static bool is_stale(const char *file)
{
    static struct {
        uint64_t hash;
        int looks;
    } seen[4096];
    const char *text = hook_text("SLUICE_TEST_HOSTILE");
    uint64_t hash = hash_bytes(file, strlen(file)).lo;
    bool stale;

    if (text == NULL || hostile_mix(hash + strtoull(text, NULL, 10)) % 4 != 0) {
        return false;
    }
    pthread_mutex_lock(&mutex);
    if (seen[hash % 4096].hash != hash) {
        seen[hash % 4096].hash = hash;
        seen[hash % 4096].looks = 0;
    }
    stale = seen[hash % 4096].looks++ < LOOKS;
    pthread_mutex_unlock(&mutex);
    return stale;
}

/* The files of objects below a folder that come after one, in order. */
static sluice_status read_names(const struct buf *prefix, const char *after, struct disk_names *out,
                                struct sluice_error *err)
{
    DIR *dir = opendir(hostile_root());
    size_t capacity = 0;
    struct dirent *entry;
    sluice_status status = SLUICE_OK;

    *out = (struct disk_names){ NULL, 0 };
    if (dir == NULL && errno != ENOENT) {
        return error_errno(err, errno, "can't list folder %s", hostile_root());
    }
    while (status == SLUICE_OK && dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, prefix->data, prefix->size) != 0 ||
            strcmp(entry->d_name, after) <= 0) {
            continue;
        }
        if (out->n == capacity) {
            char **more;
            capacity = capacity == 0 ? 64 : 2 * capacity;
            more = realloc(out->names, capacity * sizeof *more);
            if (more == NULL) {
                status = error_nomem(err, "a list");
                break;
            }
            out->names = more;
        }
        out->names[out->n] = str_copy(entry->d_name, strlen(entry->d_name));
        if (out->names[out->n] == NULL) {
            status = error_nomem(err, "a list");
        } else {
            out->n++;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (status != SLUICE_OK) {
        disk_names_deinit(out);
    } else if (out->n > 1) {
        qsort(out->names, out->n, sizeof *out->names, order_texts);
    }
    return status;
}

/* Adds an object to the page. */
static enum store_answer add(const char *name, size_t prefix, unsigned flags,
                             struct store_page *page, struct sluice_error *err)
{
    const char *rest = name + prefix;
    const char *slash = (flags & STORE_DEEP) != 0 ? NULL : strchr(rest, '/');
    struct store_version version;

    memset(&version, 0, sizeof version);
    if (slash == NULL && (flags & STORE_VERSIONS) != 0) {
        char *whole = str_printf("hostile://%s", name);
        int fd = -1;
        enum store_answer answer = whole == NULL ? hostile_failed(err, ENOMEM, name)
                                                 : hostile_look(whole, &fd, &version, err);
        free(whole);
        if (answer != ANSWER_DONE) {
            return answer == ANSWER_ABSENT ? ANSWER_DONE : answer;
        }
        close(fd);
    }
    return store_list_add(page->list, rest, slash != NULL ? (size_t)(slash - rest) : strlen(rest),
                          &version, slash != NULL)
               ? ANSWER_DONE
               : hostile_failed(err, ENOMEM, name);
}

enum store_answer hostile_list(const char *folder, unsigned flags, struct store_page *page,
                               struct sluice_error *err)
{
    struct disk_names names;
    struct buf plain = BUF_INIT;
    struct buf prefix = BUF_INIT;
    struct buf name = BUF_INIT;
    size_t most = page->after[0] == '\0' ? FIRST_PAGE : PAGE;
    size_t n_page = 0;
    enum store_answer answer = ANSWER_DONE;

    if (hostile_fault(NULL) == REFUSED) {
        return ANSWER_AGAIN;
    }
    buf_puts(&plain, strstr(folder, "://") + 3);
    while (plain.size > 0 && plain.data[plain.size - 1] == '/') {
        plain.size--;
    }
    if (plain.size > 0) {
        buf_putc(&plain, '/');
    }
    buf_putc(&prefix, 'o');
    hostile_encode(buf_str(&plain), &prefix);
    if (plain.failed || prefix.failed) {
        names = (struct disk_names){ NULL, 0 };
        answer = hostile_failed(err, ENOMEM, folder);
    } else if (read_names(&prefix, page->after, &names, err) != SLUICE_OK) {
        answer = ANSWER_FAILED;
    }
    for (size_t i = 0; i < names.n && answer == ANSWER_DONE; i++) {
        if (n_page == most) {
            buf_puts(&page->next, names.names[i - 1]);
            break;
        }
        buf_clear(&name);
        if (!is_stale(names.names[i]) && decode(names.names[i] + 1, &name)) {
            n_page++;
            answer = name.failed ? hostile_failed(err, ENOMEM, folder)
                                 : add(buf_str(&name), plain.size, flags, page, err);
        }
    }
    disk_names_deinit(&names);
    buf_deinit(&plain);
    buf_deinit(&prefix);
    buf_deinit(&name);
    return answer;
}

#else

typedef int store_hostile_list_is_for_tests;

#endif
