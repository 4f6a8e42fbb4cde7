/* Which process: see owner.h. */
#include "store/owner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/hooks.h"

/* Reads at most size - 1 bytes of a file of /proc; "" when that fails. */
static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* Start time of a process in ticks since boot (field 22 of its stat), 0 if there is no such
 * process, if it has died and its parent does not know yet, or without /proc. */
static unsigned long long process_start(int pid)
{
    char path[64];
    char text[1024];
    char *field;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    read_text(path, text, sizeof text);
    field = strrchr(text, ')'); /* the command's name may hold anything, also spaces and brackets */
    if (field == NULL || strncmp(field, ") Z", 3) == 0 || strncmp(field, ") X", 3) == 0) {
        return 0;
    }
    for (int i = 2; field != NULL && i < 22; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

static uint32_t hash_text(const char *text)
{
    return (uint32_t)hash_bytes(text, strlen(text)).lo;
}

void owner_host(char *text, size_t size)
{
    const char *other = hook_text("SLUICE_TEST_HOST");

    memset(text, 0, size);
    if (other != NULL) {
        snprintf(text, size, "%s", other);
    } else if (gethostname(text, size - 1) != 0) {
        text[0] = '\0';
    }
}

void owner_self(struct owner *owner)
{
    /* What a process is stays; a fork of it, or the same number in another space, is another. */
    static _Thread_local struct owner known;
    char text[256];
    struct stat st;

    *owner = known;
    owner->space = stat("/proc/self/ns/pid", &st) == 0 ? (uint32_t)st.st_ino : 0;
    owner->pid = (int)getpid();
    if (known.pid == owner->pid && known.space == owner->space) {
        return;
    }
    owner_host(text, sizeof text);
    owner->host = hash_text(text);
    read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
    owner->boot = hook_text("SLUICE_TEST_HOST") != NULL ? owner->host : hash_text(text);
    owner->start = process_start(owner->pid);
    known = *owner;
}

enum owner_sight owner_look(const struct owner *owner, const struct owner *self)
{
    if (owner->host != self->host || owner->boot != self->boot || owner->space != self->space) {
        return OWNER_ELSEWHERE;
    }
    return self->start != 0 && process_start(owner->pid) != owner->start ? OWNER_DIED : OWNER_LIVES;
}

char *owner_print(const struct owner *owner, char text[OWNER_TEXT])
{
    snprintf(text, OWNER_TEXT, "%08x-%08x-%08x-%d-%llu", owner->host, owner->boot, owner->space,
             owner->pid, owner->start);
    return text;
}

bool owner_parse(const char *text, struct owner *owner, const char **end)
{
    int n = -1;

    if (sscanf(text, "%8x-%8x-%8x-%d-%llu%n", &owner->host, &owner->boot, &owner->space,
               &owner->pid, &owner->start, &n) != 5 ||
        n < 0 || owner->pid <= 0) {
        return false;
    }
    if (end != NULL) {
        *end = text + n;
    }
    return true;
}
