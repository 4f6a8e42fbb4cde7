/* Fuzzes the files of the journal of answers: bytes as they are, or records that the input
 * describes, cut where it says. What is whole at the begin of the file is given out as it stands
 * there, the first answer to an ask; nothing else is. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/asks/journal_record.h"
#include "store/disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

/* A record for each four bytes and what they count: code, type and body of these lengths, key. */
static void describe(const uint8_t *data, size_t n, struct buf *out)
{
    while (n >= 4) {
        struct journal_answer answer = { .code = 100u + data[0] % 200u * 2u,
                                         .refused = data[0] & 1 };
        size_t type_n = data[1] % 128u < n - 4 ? data[1] % 128u : n - 4;
        size_t body_n = data[2] < n - 4 - type_n ? data[2] : n - 4 - type_n;
        struct record_head head;
        memcpy(answer.type, data + 4, type_n);
        answer.body = (char *)(uintptr_t)(data + 4 + type_n);
        answer.body_n = body_n;
        record_put(hash_bytes(data + 3, 1), &answer, &head, out);
        data += 4 + type_n + body_n;
        n -= 4 + type_n + body_n;
    }
}

static void write_file(const char *path, const struct buf *bytes)
{
    struct sluice_error err = ERROR_INIT;
    int fd;

    must(disk_open(path, O_RDWR | O_CREAT | O_TRUNC, &fd) == 0);
    must(disk_write_all(fd, path, bytes->data, bytes->size, &err) == SLUICE_OK);
    must(close(fd) == 0);
}

/* Each record of the file in turn: the journal gives out the first one with its key. */
static void compare(struct journal *journal, int fd)
{
    struct record_head head;
    struct sluice_error err = ERROR_INIT;
    uint64_t at = 0;
    char *rest;

    while ((rest = record_read(fd, at, &head)) != NULL) {
        struct journal_answer mine;
        struct journal_answer given;
        struct record_head first;
        bool found;
        uint64_t earlier = 0;
        char *other = NULL;
        free(rest);
        do { /* the first with that key */
            free(other);
            other = record_read(fd, earlier, &first);
            must(other != NULL);
            earlier += sizeof first + first.type_n + first.body_n;
        } while (!hash_equal(first.key, head.key));
        record_answer(&first, other, &mine);
        must(journal_read(journal, head.key, &found, &given, &err) == SLUICE_OK && found);
        must(given.code == mine.code && given.refused == mine.refused &&
             given.body_n == mine.body_n && memcmp(given.type, mine.type, sizeof mine.type) == 0 &&
             memcmp(given.body, mine.body, mine.body_n) == 0);
        free(mine.body);
        free(given.body);
        at += sizeof head + head.type_n + head.body_n;
    }
}

static char folder[] = "/dev/shm/sluice-fuzz-XXXXXX";

static void remove_folder(void)
{
    (void)rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char path[64];
    struct buf bytes = BUF_INIT;
    struct sluice_error err = ERROR_INIT;
    struct journal *journal;
    size_t cut;
    int fd;

    if (path[0] == '\0') {
        must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
        snprintf(path, sizeof path, "%s/1.answers", folder);
    }
    if (n > 2 && data[0] % 2 == 1) {
        describe(data + 2, n - 2, &bytes);
        cut = (size_t)data[1] * data[1];
        bytes.size -= cut < bytes.size ? cut : 0;
    } else {
        buf_append(&bytes, data, n);
    }
    must(!bytes.failed);
    write_file(path, &bytes);
    must(journal_open(folder, NULL, NULL, &journal, &err) == SLUICE_OK);
    must(disk_open(path, O_RDONLY, &fd) == 0);
    compare(journal, fd);
    journal_close(journal);
    must(close(fd) == 0 && disk_unlink(path) == 0);
    buf_deinit(&bytes);
    return 0;
}
