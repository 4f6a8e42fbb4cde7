/* Stages in child processes: a broken or hostile plugin can cost rows, never a run or its data.
 * Owns the children, their shared memory and the twins of registry entries whose vtable runs in
 * them. Depends on plugin.
 *
 * A twin has the descriptor of the stage it stands for (name, options, reasons, flags, memory), and
 * functions that carry each call to a child over shared memory: one child serves an instance, with
 * a thread for each open worker, so that models load once. The child drops its rights before it
 * loads the plugin. What comes back is copied out of the shared memory, then checked in depth as
 * from any plugin that is not trusted. A parent never loads the plugin.
 *
 * When a child dies or a call takes too long, every call in flight is made once more in a fresh
 * child of its own: those that succeed there were bystanders. A call that fails there too returns
 * a status of stage_died (stage.h), its worker is unusable, and the next worker that is
 * opened in its place starts alone in a child of its own, so that the caller may narrow the fault
 * down to a row.
 *
 * Thread rule: as for stages (stage.h). isolate_wrap on one thread. */
#ifndef SLUICE_ISOLATE_ISOLATE_H
#define SLUICE_ISOLATE_ISOLATE_H

#include "plugin/registry.h"

/* What a pipeline says in `isolate = { ... }`; zeroed = the defaults. */
struct isolate_limits {
    uint32_t threads;    /* workers served at once; 0 = as many as are opened */
    uint64_t memory;     /* bytes of address space beyond what an empty child has; 0 = 4 GiB */
    uint64_t timeout_ns; /* of one call; 0 = 60 s */
    /* Children that may die before the stage is given up; 0 = 16. Of those that are started to
     * narrow a fault down, 64 times as many. */
    uint32_t max_deaths;
    bool network, gpu;    /* granted */
    bool quarantine_late; /* on_timeout = "quarantine": a row that takes too long is set aside */
};

/* What a child must load. */
struct isolate_target {
    const char *plugin; /* absolute path of a .so whose hash must be that of the entry, or NULL */
    /* The stage's name in it; without plugin: of a core stage, or of the script's stage. */
    const char *stage;
    const char *script; /* opaque text that isolate_child_main hands to `resolve`, or NULL */
    struct hash128 hash;
};

struct isolate_options {
    const char *exe;     /* started as `exe __isolate`; NULL = /proc/self/exe */
    const char *scratch; /* where children may write, each in a folder of its own; borrowed */
    /* Told of each death, once, on any thread: which stage, and how ("SIGSEGV", "exit status 3",
     * "60 s without an answer", and what it wrote last to its standard error). May be NULL. */
    void (*died)(void *ctx, const char *stage, const char *how);
    void *ctx;
};

struct isolate; /* all children of one session */

sluice_status isolate_create(const struct isolate_options *, struct isolate **out,
                             struct sluice_error *err) MUST_USE;
/* Ends the children. Every stage opened from a twin is closed. */
void isolate_destroy(struct isolate *); /* NULL is fine */

/* Gives the twin of entry; it lives until isolate_destroy, as must entry. target is copied. */
sluice_status isolate_wrap(struct isolate *, const struct registry_entry *entry,
                           const struct isolate_target *target, const struct isolate_limits *limits,
                           const struct registry_entry **out, struct sluice_error *err) MUST_USE;

/* Which guards this kernel gives a child, for people: "seccomp, Landlock (ABI 4), address-space
 * limit"; what is absent is named. */
const char *isolate_guards(char *text, size_t n);

/* Body of the hidden command `__isolate`: serves one instance over descriptor 3 until the parent
 * hangs up; returns the exit status. The process does nothing else. resolve finds the entry
 * after the rights are dropped; what it gives lives until the process ends. */
struct isolate_child {
    sluice_status (*resolve)(void *ctx, const struct isolate_target *,
                             const struct registry_entry **out, struct sluice_error *err);
    void *ctx;
};
int isolate_child_main(const struct isolate_child *);

#endif
