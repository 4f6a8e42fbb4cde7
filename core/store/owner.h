/* Which process a name in a file means, and whether it lives: temporary files, leases and
 * heartbeats say so of whoever made them. Only for a process of the same kernel and pid
 * namespace can that be told by looking; of others nothing is known here. */
#ifndef SLUICE_STORE_OWNER_H
#define SLUICE_STORE_OWNER_H

#include "base/error.h"

#define OWNER_TEXT 96 /* of the printed form, with its NUL */

struct owner {
    uint32_t host;  /* hash of the host's name */
    uint32_t boot;  /* of the kernel's boot id */
    uint32_t space; /* of the pid namespace */
    int pid;
    unsigned long long start; /* ticks since boot; 0 = unknown */
};

enum owner_sight {
    OWNER_LIVES,
    OWNER_DIED,
    OWNER_ELSEWHERE, /* another kernel or pid namespace: it can't be looked at */
};

/* This process. Test hook: SLUICE_TEST_HOST=NAME makes it one of another host. */
void owner_self(struct owner *);
/* Name of this host, cut to size. */
void owner_host(char *text, size_t size);
enum owner_sight owner_look(const struct owner *, const struct owner *self);

/* "HOST-BOOT-SPACE-PID-START"; returns text. */
char *owner_print(const struct owner *, char text[OWNER_TEXT]);
/* Reads it from the begin of text; *end (may be NULL): behind it. */
bool owner_parse(const char *text, struct owner *, const char **end);

#endif
