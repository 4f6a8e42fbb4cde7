/* Private to the child's side: child.c serves the instance, child_worker.c its workers,
 * child_host.c is the host that a stage sees there. */
#ifndef SLUICE_ISOLATE_CHILD_INT_H
#define SLUICE_ISOLATE_CHILD_INT_H

#include <pthread.h>

#include "isolate/carry.h"
#include "isolate/channel.h"

struct file { /* given by read_file, mapped until the end */
    const void *data;
    size_t size;
};

struct child { /* one for the process, which ends with it */
    const struct isolate_child *hooks;
    struct channel main;
    int service;
    pthread_mutex_t asking; /* over questions to the parent and what follows */
    struct area status, blame;
    struct budget budget;
    struct stage_services services;
    const char *scratch;
    char *open_payload; /* owned: names and paths point into it */
    const struct registry_entry *entry;
    struct stage *stage;
    struct schema schemas[STAGE_PORTS];
    struct carry_ports ports;
    bool prepared;
};

/* Takes in a packet that brings memory for a channel (OP_AREA); fd is taken. false = it can't be
 * mapped. */
bool child_area(struct child *, struct channel *, const struct packet *, int fd);
/* Answers a call with what head holds and a body of body bytes, which write fills (NULL = none);
 * or, where status says so, with err. false = the parent is gone. */
bool child_answer(struct child *, struct channel *, sluice_status, struct buf *head, size_t body,
                  void (*write)(const void *ctx, char *body), const void *ctx,
                  struct sluice_error *err);

/* Starts a thread that serves a worker over fd (taken). */
void child_worker(struct child *, int fd, uint64_t serial);

/* A crash ends the process as one, whoever put a handler there before (sanitizers do), and leaves
 * word in whose call it was. */
void blame_install(void);
/* This thread serves a worker from now on. stack: room for the handler, of blame_stack_size bytes,
 * borrowed until blame_end. */
void blame_begin(struct blame_page *, uint64_t serial, void *stack);
size_t blame_stack_size(void);
void blame_end(void);

/* Fills services: they ask the parent. */
void child_services(struct child *, const struct carry_open *);
sluice_status child_find(void *ctx, uint32_t port, const char *provider, const char *options,
                         const char *source, int32_t *field, struct sluice_error *err);
int32_t child_wanted(void *ctx, const char *name);

#endif
