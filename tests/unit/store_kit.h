/* For tests of the store: folders to work in, files with given bytes, and children that run under
 * the hooks of core/store/disk.h. */
#ifndef TESTS_UNIT_STORE_KIT_H
#define TESTS_UNIT_STORE_KIT_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/disk.h"

#define KIT_OK(call)                                                                      \
    do {                                                                                  \
        struct sluice_error kit_error = ERROR_INIT;                                       \
        struct sluice_error *err = &kit_error;                                            \
        if ((call) != SLUICE_OK) {                                                        \
            fail_msg("%s: status %d: %s", #call, (int)kit_error.code, kit_error.message); \
        }                                                                                 \
    } while (0)

/* A new folder; the text is valid until kit_remove(). */
__attribute__((unused)) static char *kit_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path;

    /* In memory where possible: thousands of syncs take minutes on a disk, and what they do is
     * checked by the operation log. */
    if (base == NULL) {
        base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    path = str_printf("%s/sluice-test-XXXXXX", base);

    assert_non_null(path);
    assert_non_null(mkdtemp(path));
    return path;
}

static int kit_remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

__attribute__((unused)) static void kit_clear(const char *path)
{
    (void)nftw(path, kit_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((unused)) static void kit_remove(char *path)
{
    kit_clear(path);
    free(path);
}

/* "a/b" in one of eight buffers that are used in turn. */
__attribute__((unused)) static const char *kit_path(const char *a, const char *b)
{
    static char texts[8][1024];
    static int at;
    char *text = texts[at++ % 8];

    snprintf(text, sizeof texts[0], "%s/%s", a, b);
    return text;
}

__attribute__((unused)) static void kit_write(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

__attribute__((unused)) static bool kit_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

__attribute__((unused)) static struct buf kit_read(const char *path)
{
    struct buf text = BUF_INIT;

    KIT_OK(disk_read_file(path, UINT64_MAX >> 1, &text, NULL, err));
    return text;
}

__attribute__((unused)) static size_t kit_count(const char *dir)
{
    struct disk_names names;
    size_t n;

    KIT_OK(disk_list(dir, &names, err));
    n = names.n;
    disk_names_deinit(&names);
    return n;
}

/* How many names in dir begin with .tmp- */
__attribute__((unused)) static size_t kit_temps(const char *dir)
{
    struct disk_names names;
    size_t n = 0;

    KIT_OK(disk_list(dir, &names, err));
    for (size_t i = 0; i < names.n; i++) {
        n += strncmp(names.names[i], ".tmp-", 5) == 0;
    }
    disk_names_deinit(&names);
    return n;
}

/* Runs work(ctx) in a child with one more environment variable (NULL = none); its result, or
 * -signal. */
__attribute__((unused)) static int kit_child(int (*work)(void *), void *ctx, const char *name,
                                             const char *value)
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (name != NULL) {
            setenv(name, value, 1);
        }
        disk_hooks_reload();
        _exit(work(ctx));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/* Text that compresses like text: words from a small vocabulary. */
__attribute__((unused)) static char *kit_text(size_t n, uint64_t seed)
{
    static const char *const words[] = { "the ",    "of ",    "stage ", "shard ",
                                         "commit ", "token ", "a ",     "document ",
                                         "is ",     "never ", "lost ",  "or ",
                                         "made\n",  "twice ", "while ", "crash " };
    char *text = malloc(n + 16);
    size_t used = 0;

    assert_non_null(text);
    while (used < n) {
        const char *word;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        word = words[seed >> 60];
        memcpy(text + used, word, strlen(word));
        used += strlen(word);
        if ((seed >> 32 & 7) == 0) {
            text[used - 1] = (char)('!' + (seed >> 40) % 90);
        }
    }
    return text;
}

#endif
