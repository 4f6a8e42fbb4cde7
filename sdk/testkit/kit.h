/* The conformance kit: puts the stages of a plugin, or of a Lua file, through what the contract of
 * sdk/sluice.h promises, by the core's own lifecycle driver (plugin/stage.h). Each check runs in a
 * process of its own, this program started again as a hidden command, so that a crash, a hang or an
 * exit is contained and named.
 *
 * kit_run is the parent: it plans, starts the children and gathers results. kit_child is the body
 * of a child. kit_print and its siblings turn results into reports. All of it is a library of its
 * own, libsluice-testkit.so, which `sluice test-plugin` loads and nothing else needs: the core goes
 * without. It has its own copy of the engine below (base to lua) linked in. */
#ifndef SLUICE_TESTKIT_KIT_H
#define SLUICE_TESTKIT_KIT_H

#include "base/buf.h"
#include "plugin/registry.h"

#define KIT_CHILD "__conform" /* the hidden command */

enum kit_verdict { KIT_PASSED, KIT_WARNED, KIT_FAILED, KIT_SKIPPED };

/* What is tested, and how. Texts are borrowed until the call returns. */
struct kit_options {
    const char *path;          /* of the .so or .lua file, absolute */
    const char *module_dir;    /* Lua standard library, or NULL */
    const char *exe_dir;       /* folder of the program: providers come from its install tree */
    const char *program;       /* what children are started from; NULL = /proc/self/exe */
    const char *const *stages; /* names, or none: all */
    size_t n_stages;
    const char *const *options; /* "name=value" of stages */
    size_t n_options;
    const char *base_dir; /* what relative paths in options mean, absolute */
    const char *data;     /* JSONL with rows of the user's own, or NULL */
    const char *answers;  /* bodies that the stages' server answers with, one a line, or NULL */
    const char *only;     /* one check, or NULL */
    uint64_t seed;
    uint32_t fuzz_seconds; /* 0 = no fuzzing */
    uint32_t limit_ms;     /* of one check; 0 = 20,000 */
    bool thorough;         /* large sizes and many cases */
};

struct kit_result {
    const char *check; /* borrowed from the table of checks */
    const char *doc;   /* what a failure means and how to mend it; borrowed */
    char *stage;       /* "" for checks of the whole file */
    enum kit_verdict verdict;
    char *message; /* of a failure or warning: what was found; of a skipped check: why */
    uint32_t ms;
};

struct kit_results {
    struct kit_result *items;
    size_t n, capacity;
    uint32_t passed, failed, skipped, warned; /* warned ones are among the passed */
};

/* Called as soon as a check is done; may be NULL. */
typedef void (*kit_progress)(void *ctx, const struct kit_result *);

/* Runs the checks. An error only where nothing could be tested: the file is missing, a stage or
 * check has no such name. A file that can't be loaded is a failed check. *out is the caller's to
 * deinit, on failure as well. */
sluice_status kit_run(const struct kit_options *, kit_progress progress, void *ctx,
                      struct kit_results *out, struct sluice_error *err) MUST_USE;
void kit_results_deinit(struct kit_results *);

/* "name  what it finds" of all checks. */
void kit_list(struct buf *out);
/* One line of a result, with more lines for a failure: what it means, how to run it again. */
void kit_print(const struct kit_options *, const struct kit_result *, struct buf *out);
void kit_print_summary(const struct kit_results *, struct buf *out);
void kit_print_json(const struct kit_options *, const struct kit_results *, struct buf *out);
void kit_print_junit(const struct kit_options *, const struct kit_results *, struct buf *out);

/* ---- children ---- */

/* What a child tells its parent, in memory that both map (descriptor 3 of the child), so that it
 * survives any death. */
struct kit_report {
    _Atomic uint32_t done;   /* 1 + enum kit_verdict once decided */
    _Atomic uint32_t forked; /* the stage called fork */
    uint32_t n_stages;       /* answer of the check that lists stages */
    char call[48];           /* the lifecycle call in progress, "" outside */
    char what[256];          /* what it was given */
    char message[3000];
    char fault[200];  /* what a memory fault means, by the signal handler */
    char names[4096]; /* "name\n" of each stage */
};

/* Body of `sluice __conform ...`. catch_faults is called once, before the plugin is loaded: it
 * has handler called with the address of every memory fault, on the faulting thread, before the
 * process dies. Returns the exit status. */
int kit_child(int argc, char **argv, void (*catch_faults)(void (*handler)(const void *address)));

/* ---- the library ---- */

/* The functions above, for who loads the library. Kit and program are of one build: the version is
 * compared, nothing else. */
struct kit_api {
    const char *version; /* of the build: SLUICE_VERSION */
    __typeof__(&kit_run) run;
    __typeof__(&kit_results_deinit) results_deinit;
    __typeof__(&kit_list) list;
    __typeof__(&kit_print) print;
    __typeof__(&kit_print_summary) print_summary;
    __typeof__(&kit_print_json) print_json;
    __typeof__(&kit_print_junit) print_junit;
    __typeof__(&kit_child) child;
};

/* The one symbol that the library exports. */
const struct kit_api *sluice_testkit(void);

#endif
