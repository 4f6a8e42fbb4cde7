/* Places: see store.h. Which backend answers, how often it is asked, and what its answers mean.
 * What is made of such requests is in store_whole.c; texts of versions and lists are in
 * store_list.c. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hooks.h"
#include "store/store_ops.h"

#define PAUSE_MAX_MS 2000u

static const struct store_ops *const backends[] = {
    &store_disk,
#if HOOKS_ON
    &store_hostile,
    &store_alone,
#endif
};

#define N_BACKENDS (sizeof backends / sizeof *backends)

/* ---- names ---- */

/* Bytes of the scheme, 0 of a path. */
static size_t scheme_size(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

    return n > 0 && name[0] >= 'a' && strncmp(name + n, "://", 3) == 0 ? n : 0;
}

static const struct store_ops *find(const char *name)
{
    size_t n = name == NULL ? 0 : scheme_size(name);

    for (size_t i = 0; i < N_BACKENDS; i++) {
        const char *scheme = backends[i]->scheme;
        if (n == 0 ? scheme == NULL
                   : scheme != NULL && strlen(scheme) == n && memcmp(scheme, name, n) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

static sluice_status find_or_say(const char *name, const struct store_ops **ops,
                                 struct sluice_error *err)
{
    struct buf known = BUF_INIT;

    *ops = find(name);
    if (name == NULL) {
        return error_nomem(err, "a path");
    }
    if (*ops != NULL) {
        return SLUICE_OK;
    }
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (backends[i]->scheme != NULL) {
            buf_printf(&known, ", %s://", backends[i]->scheme);
        }
    }
    error_set(err, SLUICE_E_CONFIG,
              "'%s' begins with '%.*s://', which this build doesn't support; "
              "there are paths of files%s",
              name, (int)scheme_size(name), name, buf_str(&known));
    buf_deinit(&known);
    return SLUICE_E_CONFIG;
}

unsigned store_caps(const char *name)
{
    const struct store_ops *ops = find(name);

    return ops == NULL ? 0 : ops->caps;
}

bool store_is_local(const char *name)
{
    return scheme_size(name) == 0;
}

sluice_status store_check(const char *name, struct sluice_error *err)
{
    const struct store_ops *ops;

    return find_or_say(name, &ops, err);
}

size_t store_root(const char *name)
{
    size_t n = scheme_size(name);

    return n == 0 ? 0 : n + 3 + strcspn(name + n + 3, "/");
}

char *store_join(const char *folder, const char *name)
{
    size_t n = folder == NULL ? 0 : strlen(folder);

    if (folder == NULL || name == NULL) {
        return NULL;
    }
    return str_printf(n > 0 && folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

char *store_parent(const char *name, const char **last)
{
    size_t scheme = scheme_size(name);
    const char *begin = name + (scheme == 0 ? 0 : scheme + 3);
    const char *slash = strrchr(begin, '/');

    *last = slash == NULL ? begin : slash + 1;
    if (slash == NULL) {
        return scheme == 0 ? str_copy(".", 1) : str_copy(name, (size_t)(begin - name));
    }
    return str_copy(name, slash == name ? 1 : (size_t)(slash - name));
}

char *store_absolute(const char *base, const char *name)
{
    return name[0] == '/' || !store_is_local(name) ? str_copy(name, strlen(name))
                                                   : store_join(base, name);
}

/* ---- asking again ---- */

struct tries {
    const struct store_ops *ops;
    unsigned n;
};

/* Whether to ask again, after a pause. */
static bool once_more(struct tries *tries)
{
    unsigned ms = tries->ops->pause_ms;

    if (++tries->n >= tries->ops->tries) {
        return false;
    }
    for (unsigned i = 1; i < tries->n && ms < PAUSE_MAX_MS; i++) {
        ms *= 2;
    }
    ms = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
    if (ms > 0) {
        struct timespec pause = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Whether to ask again a request that may be performed any number of times. */
static bool again(struct tries *tries, enum store_answer answer)
{
    return (answer == ANSWER_AGAIN || answer == ANSWER_UNKNOWN) && once_more(tries);
}

/* What an answer means where nothing but success and absence is expected. */
static sluice_status conclude(const struct tries *tries, enum store_answer answer, const char *what,
                              const char *name, struct sluice_error *err)
{
    switch (answer) {
    case ANSWER_DONE:
    case ANSWER_ABSENT:
        return SLUICE_OK;
    case ANSWER_FAILED:
        return err != NULL && err->code != SLUICE_OK ? error_known(err->code) : SLUICE_E_IO;
    case ANSWER_AGAIN:
    case ANSWER_UNKNOWN:
        return error_set(err, SLUICE_E_IO,
                         "%s could not be %s: the store refused or lost %u requests in a row; run "
                         "again when it answers",
                         name, what, tries->n);
    case ANSWER_EXISTS:
    case ANSWER_DIFFERS:
        break;
    }
    return error_set(err, SLUICE_E_INTERNAL,
                     "%s could not be %s: the store gave an answer to "
                     "another request",
                     name, what);
}

/* ---- reading ---- */

sluice_status store_open(const char *name, struct store_file **out, bool *found,
                         struct sluice_error *err)
{
    struct sluice_error own = ERROR_INIT;
    struct sluice_error *e = err != NULL ? err : &own;
    struct store_file *file;
    struct tries tries = { NULL, 0 };
    enum store_answer answer;
    sluice_status status;

    *out = NULL;
    TRY(find_or_say(name, &tries.ops, e));
    file = calloc(1, sizeof *file);
    if (file == NULL || (file->name = str_copy(name, strlen(name))) == NULL) {
        free(file);
        return error_nomem(e, "a file");
    }
    file->ops = tries.ops;
    file->fd = -1;
    do {
        e->code = SLUICE_OK;
        answer = file->ops->open(file, e);
    } while (again(&tries, answer));
    status = conclude(&tries, answer, "opened", name, e);
    if (found != NULL) {
        *found = answer == ANSWER_DONE;
    }
    if (answer == ANSWER_DONE) {
        *out = file;
        return SLUICE_OK;
    }
    if (answer == ANSWER_ABSENT && found == NULL) {
        /* A name that somebody wrote and that leads nowhere is no lack of resources. */
        if (e->code == SLUICE_OK) {
            error_set(e, SLUICE_E_CONFIG, "%s can't be opened: No such file or directory", name);
        }
        e->code = SLUICE_E_CONFIG;
        status = SLUICE_E_CONFIG;
    }
    store_close(file);
    return status;
}

void store_close(struct store_file *file)
{
    if (file != NULL) {
        file->ops->close(file);
        free(file->name);
        free(file);
    }
}

const char *store_name(const struct store_file *file)
{
    return file->name;
}

const struct store_version *store_version(const struct store_file *file)
{
    return &file->version;
}

sluice_status store_read(struct store_file *file, struct store_extent *extents, size_t n,
                         struct sluice_error *err)
{
    struct tries tries = { file->ops, 0 };
    enum store_answer answer;

    do {
        answer = file->ops->read(file, extents, n, err);
    } while (again(&tries, answer));
    if (answer == ANSWER_ABSENT) {
        file->gone = true;
        return error_set(err, SLUICE_E_DATA, "%s was removed while it was read; run again",
                         file->name);
    }
    if (answer == ANSWER_DIFFERS) {
        file->changed = true;
        return error_set(err, SLUICE_E_DATA, "%s was changed while it was read; run again",
                         file->name);
    }
    return conclude(&tries, answer, "read", file->name, err);
}

sluice_status store_look(struct store_file *file, struct store_version *version,
                         struct sluice_error *err)
{
    struct tries tries = { file->ops, 0 };
    enum store_answer answer;

    do {
        answer = file->ops->look(file, version, err);
    } while (again(&tries, answer));
    if (answer == ANSWER_ABSENT) {
        memset(version, 0, sizeof *version);
    }
    return conclude(&tries, answer, "examined", file->name, err);
}

void store_sequential(struct store_file *file)
{
    if (file->ops->sequential != NULL) {
        file->ops->sequential(file);
    }
}

sluice_status store_stat(const char *name, struct store_version *version, bool *found,
                         struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    enum store_answer answer;

    *found = false;
    memset(version, 0, sizeof *version);
    TRY(find_or_say(name, &tries.ops, err));
    do {
        answer = tries.ops->stat(name, version, err);
    } while (again(&tries, answer));
    *found = answer == ANSWER_DONE;
    return conclude(&tries, answer, "examined", name, err);
}

sluice_status store_list(const char *folder, unsigned flags, struct store_list *out,
                         struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    struct store_page page = { .list = out, .after = "" };
    char *after = NULL;
    enum store_answer answer;
    sluice_status status;

    memset(out, 0, sizeof *out);
    TRY(find_or_say(folder, &tries.ops, err));
    for (;;) {
        tries.n = 0;
        do {
            buf_clear(&page.next);
            answer = tries.ops->list(folder, flags, &page, err);
        } while (again(&tries, answer));
        status = conclude(&tries, answer, "listed", folder, err);
        if (status == SLUICE_OK && page.next.failed) {
            status = error_nomem(err, "a list of files");
        }
        free(after);
        after = NULL;
        if (status != SLUICE_OK || page.next.size == 0) {
            break;
        }
        after = str_copy(page.next.data, page.next.size);
        if (after == NULL) {
            status = error_nomem(err, "a list of files");
            break;
        }
        page.after = after;
    }
    buf_deinit(&page.next);
    if (status != SLUICE_OK) {
        store_list_deinit(out);
        return status;
    }
    store_list_sort(out);
    return SLUICE_OK;
}

/* ---- writing ---- */

/* Whether these bytes are what is there. One that went or was replaced while it was read is not
 * what a request met: not found. */
static sluice_status compare(const char *name, const void *data, size_t n, bool *found, bool *equal,
                             struct sluice_error *err)
{
    struct store_file *file;
    struct buf theirs = BUF_INIT;
    struct store_extent extent = { 0, n, NULL, 0 };
    sluice_status status = SLUICE_OK;

    *equal = false;
    TRY(store_open(name, &file, found, err));
    if (file == NULL) {
        return SLUICE_OK;
    }
    if (file->version.size == n) {
        status = buf_reserve(&theirs, n) ? SLUICE_OK : error_nomem(err, name);
        extent.data = theirs.data;
        if (status == SLUICE_OK && n > 0) {
            status = store_read(file, &extent, 1, err);
        }
        *equal =
            status == SLUICE_OK && extent.got == n && (n == 0 || memcmp(theirs.data, data, n) == 0);
    }
    if (file->gone || file->changed) {
        *found = false;
        status = SLUICE_OK;
    }
    store_close(file);
    buf_deinit(&theirs);
    return status;
}

sluice_status store_put_new(const char *name, const void *data, size_t n, unsigned flags,
                            enum store_put *outcome, struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    unsigned removed = 0;
    enum store_answer answer;
    bool lost = false;

    *outcome = STORE_OTHER;
    TRY(find_or_say(name, &tries.ops, err));
    do {
        bool found = false;
        bool equal;
        answer = tries.ops->put_new(name, data, n, flags, err);
        lost = lost || answer == ANSWER_UNKNOWN;
        if (answer == ANSWER_DONE) {
            *outcome = STORE_MADE;
            return SLUICE_OK;
        }
        if (answer != ANSWER_EXISTS && answer != ANSWER_UNKNOWN && answer != ANSWER_AGAIN) {
            return conclude(&tries, answer, "created", name, err);
        }
        if (answer != ANSWER_AGAIN) {
            TRY(compare(name, data, n, &found, &equal, err));
        }
        if (found) {
            /* Behind an answer that was lost it is this call's own, most likely. */
            *outcome = !equal ? STORE_OTHER : lost ? STORE_MADE : STORE_EQUAL;
            return SLUICE_OK;
        }
        /* Removed since, or not there yet: that none is there is not final while the request may
         * be on its way, but the same request can do no harm. What others remove again and again
         * is no refusal: each time somebody has come further. */
    } while ((answer == ANSWER_EXISTS && ++removed < STORE_MEANWHILE_MOST) || once_more(&tries));
    return conclude(&tries, ANSWER_UNKNOWN, "created", name, err);
}

sluice_status store_replace_if(const char *name, const struct store_version *expected,
                               const void *data, size_t n, bool *done, struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    enum store_put put;
    enum store_answer answer;

    *done = false;
    TRY(find_or_say(name, &tries.ops, err));
    if (expected == NULL) {
        TRY(store_put_new(name, data, n, 0, &put, err));
        *done = put != STORE_OTHER;
        return SLUICE_OK;
    }
    if ((tries.ops->caps & STORE_REPLACE_IF) == 0) {
        return error_set(err, SLUICE_E_CONFIG,
                         "%s stands in a store that can't replace a version that is known; use one "
                         "that can",
                         name);
    }
    do {
        bool found;
        answer = tries.ops->put_if(name, expected, data, n, err);
        if (answer == ANSWER_DONE) {
            *done = true;
            return SLUICE_OK;
        }
        if (answer == ANSWER_DIFFERS || answer == ANSWER_ABSENT || answer == ANSWER_UNKNOWN) {
            /* An earlier request of this call may be what made it differ. */
            TRY(compare(name, data, n, &found, done, err));
            if (*done || answer != ANSWER_UNKNOWN) {
                return SLUICE_OK;
            }
        } else if (answer != ANSWER_AGAIN) {
            return conclude(&tries, answer, "replaced", name, err);
        }
    } while (once_more(&tries));
    return conclude(&tries, ANSWER_UNKNOWN, "replaced", name, err);
}

sluice_status store_replace(const char *name, const void *data, size_t n, unsigned flags,
                            struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    enum store_answer answer;

    TRY(find_or_say(name, &tries.ops, err));
    do {
        answer = tries.ops->put(name, data, n, flags, err);
    } while (again(&tries, answer));
    return conclude(&tries, answer, "written", name, err);
}

sluice_status store_upload(const char *name, int fd, uint64_t n, struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    enum store_answer answer;

    TRY(find_or_say(name, &tries.ops, err));
    if (tries.ops->upload == NULL) {
        return error_set(err, SLUICE_E_INTERNAL, "%s is no place to upload to", name);
    }
    do {
        answer = tries.ops->upload(name, fd, n, err);
    } while (again(&tries, answer));
    return conclude(&tries, answer, "written", name, err);
}

sluice_status store_remove(const char *name, struct sluice_error *err)
{
    struct tries tries = { NULL, 0 };
    enum store_answer answer;

    TRY(find_or_say(name, &tries.ops, err));
    do {
        answer = tries.ops->remove(name, err);
    } while (again(&tries, answer));
    return conclude(&tries, answer, "removed", name, err);
}

sluice_status store_settle(const char *folder, struct sluice_error *err)
{
    const struct store_ops *ops;

    TRY(find_or_say(folder, &ops, err));
    return ops->settle == NULL ? SLUICE_OK : ops->settle(folder, err);
}

sluice_status store_make_folder(const char *folder, bool durable, struct sluice_error *err)
{
    const struct store_ops *ops;

    TRY(find_or_say(folder, &ops, err));
    return ops->make_folder == NULL ? SLUICE_OK : ops->make_folder(folder, durable, err);
}
