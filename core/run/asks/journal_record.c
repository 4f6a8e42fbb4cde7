/* A record of the journal: see journal_record.h. */
#include "run/asks/journal_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/http.h"

#define MAGIC UINT32_C(0x4a524e53) /* "SNRJ" */
#define VERSION 2u
#define PADDING 64

/* Reads n bytes at offset; false: there are not so many, or reading failed. */
typedef bool read_fn(const void *from, void *data, size_t n, uint64_t offset);

static bool read_file(const void *from, void *data, size_t n, uint64_t offset)
{
    int fd = *(const int *)from;
    size_t at = 0;

    while (at < n) {
        ssize_t got = pread(fd, (char *)data + at, n - at, (off_t)(offset + at));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += (size_t)got;
    }
    return true;
}

static bool read_bytes(const void *from, void *data, size_t n, uint64_t offset)
{
    const struct buf *bytes = from;

    if (offset > bytes->size || n > bytes->size - offset) {
        return false;
    }
    memcpy(data, bytes->data + offset, n);
    return true;
}

static uint64_t check_of(const struct record_head *head, const char *rest)
{
    struct record_head plain = *head;
    struct hash128 parts[2];

    plain.check = 0;
    parts[0] = hash_bytes(&plain, sizeof plain);
    parts[1] = hash_bytes(rest, (size_t)(head->type_n + head->body_n));
    return hash_bytes(parts, sizeof parts).lo;
}

static bool head_valid(const struct record_head *head)
{
    return head->magic == MAGIC &&
           (head->version == VERSION || (head->version == 1 && head->when == 0)) &&
           head->type_n < 128 && head->refused <= 1 && head->body_n <= HTTP_BODY_MAX &&
           head->reserved == 0 && !hash_is_zero(head->key);
}

static char *read_by(read_fn *read, const void *from, uint64_t offset, struct record_head *head)
{
    char *rest;

    if (!read(from, head, sizeof *head, offset) || !head_valid(head)) {
        return NULL;
    }
    rest = malloc((size_t)(head->type_n + head->body_n + PADDING));
    if (rest != NULL &&
        (!read(from, rest, (size_t)(head->type_n + head->body_n), offset + sizeof *head) ||
         check_of(head, rest) != head->check)) {
        free(rest);
        rest = NULL;
    }
    return rest;
}

char *record_read(int fd, uint64_t offset, struct record_head *head)
{
    return read_by(read_file, &fd, offset, head);
}

char *record_find(const struct buf *bytes, uint64_t offset, struct record_head *head)
{
    return read_by(read_bytes, bytes, offset, head);
}

void record_answer(const struct record_head *head, char *rest, struct journal_answer *out)
{
    memset(out, 0, sizeof *out);
    out->code = head->code;
    out->refused = head->refused != 0;
    out->when_ms = head->when;
    memcpy(out->type, rest, head->type_n);
    out->body_n = (size_t)head->body_n;
    memmove(rest, rest + head->type_n, out->body_n);
    memset(rest + out->body_n, 0, PADDING);
    out->body = rest;
}

void record_put(struct hash128 key, const struct journal_answer *answer, struct record_head *head,
                struct buf *out)
{
    size_t begin = out->size;

    *head = (struct record_head){ .magic = MAGIC,
                                  .version = VERSION,
                                  .code = answer->code,
                                  .refused = answer->refused,
                                  .type_n = (uint32_t)strlen(answer->type),
                                  .body_n = answer->body_n,
                                  .key = key,
                                  .when = answer->when_ms };
    buf_append(out, head, sizeof *head);
    buf_append(out, answer->type, head->type_n);
    buf_append(out, answer->body, answer->body_n);
    if (!out->failed) {
        head->check = check_of(head, out->data + begin + sizeof *head);
        memcpy(out->data + begin, head, sizeof *head);
    }
}
