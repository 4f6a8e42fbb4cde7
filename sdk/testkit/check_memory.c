/* Checks of memory: read-only input, allocations that fail, and what is left behind. See kitInt.h.
 *
 * Two kinds of allocations are made to fail: those through the host (struct sluice_host_api), and
 * the stage's own (malloc and its kin), by pointing the entries of the plugin's global offset table
 * at functions here. Only the plugin's own calls are reached, not those of libraries it uses. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "testkit/kitInt.h"

#define ROWS 10

void check_input_read_only(struct kit *kit)
{
    struct kit_bench_options options = { 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;

    kit_outcome_init(&outcome);
    kit_what(kit, "input that can't be written to");
    if (!kit_bench_need(kit, &options, &bench)) {
    } else if (kit_reader(kit)) {
        struct buf file = BUF_INIT;
        struct kit_reading reading = { .chunk = 1000, .read_only = true };
        if (kit_file_make(kit, 0, 8000, &file)) {
            reading.data = file.data;
            reading.n = file.size;
            kit_read(&bench, &reading, &outcome);
        }
        buf_deinit(&file);
    } else {
        int64_t cuts[] = { 20, 60 };
        uint64_t *ids = kit_ids(60);
        struct kit_work work = {
            .ids = ids, .n = 60, .cuts = cuts, .n_cuts = 2, .read_only = true
        };
        for (uint32_t decoys = 0; ids != NULL && decoys < 2; decoys++) {
            work.decoys = decoys == 1;
            kit_outcome_deinit(&outcome);
            kit_drive(&bench, &work, &outcome);
        }
        free(ids);
    }
    kit_outcome_deinit(&outcome);
    kit_bench_close(&bench);
}

/* ---- malloc and its kin ---- */

/* Global: the functions that stand in have no argument for it. */
static struct {
    const struct kit_report *report; /* its call tells when the stage is at work */
    _Atomic uint64_t calls;
    _Atomic uint64_t fail_at; /* 0 = none */
} own;

static bool denied(void)
{
    uint64_t number;

    if (own.report->call[0] == '\0') {
        return false; /* a stage of the same file is making columns */
    }
    number = atomic_fetch_add(&own.calls, 1) + 1;
    if (number != atomic_load(&own.fail_at)) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void *in_malloc(size_t n)
{
    return denied() ? NULL : malloc(n);
}

static void *in_calloc(size_t n, size_t size)
{
    return denied() ? NULL : calloc(n, size);
}

static void *in_realloc(void *memory, size_t n)
{
    return denied() ? NULL : realloc(memory, n);
}

static void *in_aligned_alloc(size_t alignment, size_t n)
{
    return denied() ? NULL : aligned_alloc(alignment, n);
}

static int in_posix_memalign(void **out, size_t alignment, size_t n)
{
    return denied() ? ENOMEM : posix_memalign(out, alignment, n);
}

static char *in_strdup(const char *text)
{
    return denied() ? NULL : strdup(text);
}

static const struct {
    const char *name;
    void *function;
} stand_ins[] = {
    { "malloc", (void *)in_malloc },
    { "calloc", (void *)in_calloc },
    { "realloc", (void *)in_realloc },
    { "aligned_alloc", (void *)in_aligned_alloc },
    { "posix_memalign", (void *)in_posix_memalign },
    { "strdup", (void *)in_strdup },
};

#if defined(__x86_64__)
#define SLOT_TYPE(info) \
    (ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT || ELF64_R_TYPE(info) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define SLOT_TYPE(info) \
    (ELF64_R_TYPE(info) == R_AARCH64_JUMP_SLOT || ELF64_R_TYPE(info) == R_AARCH64_GLOB_DAT)
#else
#define SLOT_TYPE(info) false
#endif

static void patch_slot(void **slot, void *function)
{
    void *page = (void *)((uintptr_t)slot & ~(uintptr_t)4095);

    /* The table is read-only once relocated. */
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE) == 0 ||
        mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) {
        *slot = function;
    }
}

static uint32_t patch_table(const struct link_map *map, const ElfW(Rela) * relocations, size_t n,
                            const ElfW(Sym) * symbols, const char *strings)
{
    uint32_t found = 0;

    for (size_t k = 0; k < n; k++) {
        const char *name = strings + symbols[ELF64_R_SYM(relocations[k].r_info)].st_name;
        for (size_t i = 0;
             SLOT_TYPE(relocations[k].r_info) && i < sizeof stand_ins / sizeof stand_ins[0]; i++) {
            if (strcmp(name, stand_ins[i].name) == 0) {
                patch_slot((void **)(map->l_addr + relocations[k].r_offset), stand_ins[i].function);
                found++;
            }
        }
    }
    return found;
}

/* Puts the stand-ins into the file's table; how many it found. */
static uint32_t stand_in(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    struct link_map *map = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const ElfW(Rela) *plt = NULL;
    const ElfW(Rela) *rela = NULL;
    size_t plt_size = 0;
    size_t rela_size = 0;
    uint32_t found = 0;

    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        return 0;
    }
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = (const char *)entry->d_un.d_ptr;
            break;
        case DT_JMPREL:
            plt = (const ElfW(Rela) *)entry->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            plt_size = entry->d_un.d_val;
            break;
        case DT_RELA:
            rela = (const ElfW(Rela) *)entry->d_un.d_ptr;
            break;
        case DT_RELASZ:
            rela_size = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (symbols != NULL && strings != NULL) {
        found += plt != NULL ? patch_table(map, plt, plt_size / sizeof *plt, symbols, strings) : 0;
        found +=
            rela != NULL ? patch_table(map, rela, rela_size / sizeof *rela, symbols, strings) : 0;
    }
    return found;
}

/* ---- failing each in turn ---- */

struct failing {
    bool host;      /* through the host, else the stage's own */
    uint64_t calls; /* of a run in which none fails */
    struct kit_outcome expected;
};

/* One run in which allocation number k fails (0 = none): what a stage may answer is that memory is
 * used up, or the same as ever. */
static bool run_failing(struct kit *kit, struct failing *failing, uint64_t k)
{
    struct kit_bench_options options = { .fail_at = failing->host ? k : 0 };
    struct kit_bench bench;
    struct kit_outcome outcome;
    struct buf why = BUF_INIT;
    const char *whose = failing->host ? "the host's" : "its own";
    uint64_t held;
    bool opened;
    bool ok = true;

    kit_outcome_init(&outcome);
    kit_what(kit, "allocation %llu of %llu (%s) gives NULL", (unsigned long long)k,
             (unsigned long long)failing->calls, whose);
    atomic_store(&own.calls, 0);
    atomic_store(&own.fail_at, failing->host ? 0 : k);
    opened = kit_bench_open(kit, &options, &bench);
    if (opened) {
        kit_exercise(&bench, ROWS, KIT_ORDINARY, NULL, NULL, &outcome);
    }
    if (k == 0) {
        failing->calls = failing->host ? atomic_load(&bench.allocations) : atomic_load(&own.calls);
        failing->expected = outcome;
    } else if (!opened) {
        ok = bench.status == SLUICE_E_NOMEM ||
             kit_fail(kit,
                      "when allocation %llu of %llu (%s) fails, %s says %s instead of "
                      "SLUICE_E_NOMEM: %s",
                      (unsigned long long)k, (unsigned long long)failing->calls, whose,
                      bench.failed_call, bench.status == SLUICE_OK ? "OK" : "another error",
                      bench.error.message);
    } else if (outcome.status != SLUICE_OK) {
        ok = outcome.status == SLUICE_E_NOMEM || outcome.status == failing->expected.status ||
             kit_fail(kit,
                      "when allocation %llu of %llu (%s) fails, %s ends with another error "
                      "than SLUICE_E_NOMEM: %s",
                      (unsigned long long)k, (unsigned long long)failing->calls, whose,
                      outcome.failed_call, outcome.error.message);
    } else if (!kit_outcome_equal(&failing->expected, "memory for all", &outcome,
                                  "one allocation failing", &why)) {
        ok = kit_fail(kit,
                      "when allocation %llu of %llu (%s) fails, it carries on with another "
                      "result, though memory must never decide a row's fate: %s",
                      (unsigned long long)k, (unsigned long long)failing->calls, whose,
                      buf_str(&why));
    }
    atomic_store(&own.fail_at, 0);
    if (k > 0) {
        kit_outcome_deinit(&outcome);
    }
    held = kit_bench_close(&bench);
    if (ok && held > 0) {
        ok = kit_fail(kit,
                      "%llu bytes of the host's memory are still held after close, when "
                      "allocation %llu of %llu failed",
                      (unsigned long long)held, (unsigned long long)k,
                      (unsigned long long)failing->calls);
    }
    buf_deinit(&why);
    return ok;
}

/* Which calls of malloc can be reached is known before the stage is opened. */
static bool fail_each(struct kit *kit, bool host, uint64_t *calls)
{
    struct failing failing = { .host = host };
    uint64_t most = kit->options.thorough ? 3000 : 60;
    bool ok = run_failing(kit, &failing, 0);

    *calls = failing.calls;
    for (uint64_t i = 1; ok && i <= failing.calls && i <= most; i++) {
        /* The first ones, then a sample of the rest. */
        uint64_t k =
            failing.calls <= most || i <= most / 2
                ? i
                : most / 2 + (failing.calls - most / 2) * (i - most / 2) / (most - most / 2);
        ok = run_failing(kit, &failing, k);
    }
    kit_outcome_deinit(&failing.expected);
    return ok;
}

void check_allocations(struct kit *kit)
{
    const char *wanted = kit_option_wanted(kit, kit->kind);
    uint64_t through_host = 0;
    uint64_t of_own = 0;

    if (wanted != NULL) {
        kit_skip(kit, "the option '%s' must be given: --option %s=...", wanted, wanted);
        return;
    }
    if (!fail_each(kit, true, &through_host)) {
        return;
    }
    own.report = kit->report;
    if (kit->script == NULL && stand_in(kit->options.path) > 0) {
        fail_each(kit, false, &of_own);
    }
    if (through_host == 0 && of_own == 0 && !kit_failed(kit)) {
        kit_skip(kit, "it allocates nothing that the kit can refuse");
    }
}

/* ---- leaks ---- */

static size_t mapped_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file != NULL) {
        if (fscanf(file, "%lu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages;
}

void check_leaks(struct kit *kit)
{
    enum { WARM = 4, CYCLES = 10 };
    struct kit_bench_options options = { 0 };
    size_t used[CYCLES];
    size_t pages[CYCLES];
    size_t grown = 0;
    size_t mapped = 0;

    for (int cycle = 0; cycle < CYCLES; cycle++) {
        struct kit_bench bench;
        struct kit_outcome outcome;
        struct mallinfo2 info;
        uint64_t held;
        bool ok;
        kit_outcome_init(&outcome);
        kit_what(kit, "open, ordinary rows and close, for the %dth time", cycle + 1);
        ok = kit_bench_need(kit, &options, &bench) &&
             kit_exercise(&bench, 40, KIT_ORDINARY, NULL, NULL, &outcome);
        kit_outcome_deinit(&outcome);
        held = kit_bench_close(&bench);
        if (!ok) {
            return;
        }
        if (held > 0) {
            kit_fail(kit, "%llu bytes of the host's memory are still held after close",
                     (unsigned long long)held);
            return;
        }
        info = mallinfo2();
        used[cycle] = info.uordblks + info.hblkhd;
        pages[cycle] = mapped_pages();
    }
    for (int cycle = WARM; cycle < CYCLES; cycle++) {
        grown += used[cycle] > used[cycle - 1] ? 1 : 0;
        mapped += pages[cycle] > pages[cycle - 1] ? 1 : 0;
    }
    if (used[CYCLES - 1] == 0) {
        return; /* a sanitizer's allocator: it keeps what is freed, and tells of leaks at the end */
    }
    if (grown == CYCLES - WARM) {
        kit_fail(kit,
                 "each time it is opened, used and closed, about %zu bytes more stay "
                 "allocated",
                 (used[CYCLES - 1] - used[WARM - 1]) / (CYCLES - WARM));
    } else if (mapped == CYCLES - WARM &&
               (pages[CYCLES - 1] - pages[WARM - 1]) / (CYCLES - WARM) >= 256) {
        kit_fail(kit, "each time it is opened, used and closed, about %zu KiB more stay mapped",
                 (pages[CYCLES - 1] - pages[WARM - 1]) / (CYCLES - WARM) * 4);
    }
}
