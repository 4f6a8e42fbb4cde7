/* What most commands need: a script or a run directory turned into a registry, a graph, a plan and,
 * if asked, a run. Depends on everything below. */
#ifndef SLUICE_CMD_SESSION_H
#define SLUICE_CMD_SESSION_H

#include "base/arena.h"
#include "cmd/args.h"
#include "lua/script/script.h"
#include "run/run.h"

enum session_depth { SESSION_GRAPH, SESSION_SCHEMAS, SESSION_PLAN, SESSION_RUN };

struct session;
struct isolate;
struct freeze;

struct session_options {
    const char *script;      /* path of a script, or NULL: run_dir tells */
    const char *script_text; /* what stands for the file's text, or NULL */
    bool testing;            /* a script without a pipeline will do; for SESSION_GRAPH */
    const char *run_dir; /* directory or pipeline name, or NULL: .sluice/NAME beside the script */
    const char *scratch;
    const char *const *words; /* name=value arguments of the script */
    size_t n_words;
    const char *const *plugins; /* --plugin files */
    size_t n_plugins;
    bool trust;
    bool contained;  /* this process is a child that runs a stage */
    bool in_process; /* for debuggers: nothing is isolated */
    uint64_t limit_files;
    uint32_t workers; /* 0 = what is granted */
    uint64_t memory;  /* 0 = what is granted */
    uint64_t batch_bytes;
    bool fresh, lock;
    bool take_over;   /* datasets that belong to others */
    const char *kind; /* of a run's worker: "run", "work", "task" */
    /* A run of the frozen plan of run_dir apart from the one that was: the state of the run is
     * below this folder of this machine, and so are the datasets, by their writers' names; answers
     * of servers are those of run_dir, and nobody is asked. NULL: no. */
    const char *apart;
    bool other_program;    /* a frozen plan may have been made by another program or plugin */
    bool read_only;        /* don't write plan.json or what it names */
    bool freeze;           /* SESSION_PLAN of a script: write them */
    bool locked;           /* refuse what the lock file does not list */
    const char *lock_file; /* NULL = SCRIPT with .lock in place of .lua */
    struct run_events events;
    void (*log)(void *ctx, int32_t level, const char *stage, const char *message);
    /* May change the graph between script and plan, and set run_dir; NULL = nothing to do. */
    sluice_status (*edit)(void *ctx, struct session *, struct sluice_error *);
    void *edit_ctx;
    /* See script_options. */
    void (*declared)(void *ctx, const char *type, const struct sluice_option *);
    void *declared_ctx;
};

struct session {
    struct session_options options;
    struct arena arena; /* of the texts here */
    const char *exe_dir, *module_dir, *cwd, *script_path, *base_dir, *run_dir, *scratch;
    const char *frozen_dir; /* whose plan was loaded: run_dir but with options.apart; NULL = none */
    const char
        *local_dir; /* run_dir, or what stands for it on this machine where that is no path */
    char data_home[4096];
    struct registry *registry;
    struct script *script;
    struct graph *graph;
    struct budget budget;
    struct stage_services services;
    struct statcache *cache; /* what is known of files: in local_dir */
    struct statcache *known; /* of programs, plugins, models: user_cache, else cache */
    struct statcache *user_cache;
    struct filemaps *maps; /* of stages; NULL = none yet */
    struct plan *plan;
    struct run *run;
    struct isolate *isolate; /* children of isolated stages (isolate.h), or NULL */
    char *isolate_dir;       /* where they may write */
    /* SESSION_RUN: they write below scratch, else below the system's folder for temporary files */
    bool runs;
    _Atomic uint32_t isolate_deaths;
    struct json_t *used;       /* what the plan is made of (used.h), or NULL */
    struct freeze *freeze;     /* the plan's files (freeze/freeze.h) */
    bool keeps;                /* they are kept in the run directory */
    const char **stored_words; /* arguments read from plan.json */
    size_t n_stored_words;
    /* Where a file is that the script names, for a child process whose plan is not here: pairs of
     * path and place, n of both. */
    const char *const *places;
    size_t n_places;
};

sluice_status session_open(const struct session_options *, enum session_depth, struct session *,
                           struct sluice_error *) MUST_USE;
void session_close(struct session *);
/* What plan.json of options.run_dir says, and nothing of it loaded: a session for freeze_missing
 * alone. */
sluice_status session_frozen(const struct session_options *, struct session *,
                             struct sluice_error *) MUST_USE;
/* Fills session->services, for stages that are opened without a plan. */
void session_services(struct session *);
/* Has plans survey files for readers that want to know their columns. */
void session_describes(struct session *, struct plan_options *);
/* A registry alone, for inspect and plugins. */
sluice_status session_registry(const struct session_options *, struct session *,
                               struct sluice_error *) MUST_USE;

/* Loads the script that session names (paths, words, registry are set). */
sluice_status session_script(struct session *, struct sluice_error *) MUST_USE;

/* The run directory that a RUN argument means: a directory, or NAME = .sluice/NAME here. NULL = out
 * of memory. Gives. */
char *session_run_dir(const char *text);

/* Where the lock file of a script stands if nobody says otherwise. Gives; NULL = out of memory. */
char *session_lock_path(const char *script);

/* Signals: SIGINT, SIGTERM and SIGUSR1 set drain: nothing new is begun. The second one, or the
 * end of a grace, sets cancelled: what runs is given up. The grace is half a second; with
 * SIGUSR1 it is SLUICE_DRAIN seconds (90 if that is not set), and with SIGTERM too where it is
 * set. The process ends with 130 unless it had published before. */
extern _Atomic int session_drain, session_cancelled;
/* Of clock_ns(): until when what is in hand may be finished; 0 = that is short. */
extern _Atomic uint64_t session_deadline;
/* How long a task is at work before it saves its state: SLUICE_SAVE seconds, ten minutes if that is
 * not set; 0 = it does not. */
uint64_t session_save_ns(void);
void session_signals(void);
/* The same by an order (`sluice stop`); now: with the short grace. On any thread. */
void session_stop(bool now);

/* Prints "sluice: MESSAGE" to stderr (JSON with json) and returns the exit status. */
int session_fail(const struct sluice_error *, bool json);

#endif
