/* Giving up rights: see guards.h. The filter of system calls names what is refused, not what is
 * allowed: plugins bring libraries of all kinds. Refused calls fail with EPERM, so that honest
 * code sees an error. */
#include "isolate/guards.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- memory ---- */

#define ARENAS \
    (UINT64_C(1) << 30) /* address space that malloc reserves for threads and never touches */
#define STACKS (UINT64_C(1) << 28) /* threads' stacks, and what the core needs to serve the stage */

/* Pages of the whole address space and of private data, from /proc/self/statm. */
static bool own_size(uint64_t *space, uint64_t *data)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long long n[6];
    bool good = file != NULL && fscanf(file, "%llu %llu %llu %llu %llu %llu", &n[0], &n[1], &n[2],
                                       &n[3], &n[4], &n[5]) == 6;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (file != NULL) {
        fclose(file);
    }
    *space = good ? n[0] * page : 0;
    *data = good ? n[5] * page : 0;
    return good;
}

static void lower(int resource, uint64_t to)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) == 0 && to < limit.rlim_max) {
        limit.rlim_cur = to;
        limit.rlim_max = to;
        setrlimit((__rlimit_resource_t)resource, &limit);
    }
}

sluice_status guards_limit_memory(uint64_t memory, struct sluice_error *err)
{
    uint64_t space;
    uint64_t data;

    if (!own_size(&space, &data)) {
        return error_errno(err, errno, "cannot read /proc/self/statm to limit a child's memory");
    }
    if (memory < UINT64_MAX / 4) {
        lower(RLIMIT_DATA, data + memory + STACKS);
        lower(RLIMIT_AS, space + memory + STACKS + ARENAS);
    }
    lower(RLIMIT_CORE, 0);
    lower(RLIMIT_MEMLOCK, 0);
    return SLUICE_OK;
}

/* ---- Landlock: the kernel's headers may be older than the kernel, so names are given here ---- */

#define FS_EXECUTE (UINT64_C(1) << 0)
#define FS_WRITE_FILE (UINT64_C(1) << 1)
#define FS_READ (UINT64_C(3) << 2)          /* files and folders: never restricted */
#define FS_REMOVE (UINT64_C(3) << 4)        /* folders and files */
#define FS_MAKE (UINT64_C(0x7f) << 6)       /* char, dir, reg, sock, fifo, block, sym */
#define FS_MAKE_NODES (UINT64_C(0x29) << 6) /* of these: char, sock, block */
#define FS_REFER (UINT64_C(1) << 13)        /* ABI 2 */
#define FS_TRUNCATE (UINT64_C(1) << 14)     /* ABI 3 */
#define FS_IOCTL_DEV (UINT64_C(1) << 15)    /* ABI 5 */
#define NET_TCP UINT64_C(3)                 /* ABI 4: bind, connect */
#define SCOPES UINT64_C(3)                  /* ABI 6: abstract sockets, signals */

struct ruleset { /* struct landlock_ruleset_attr of ABI 6 */
    uint64_t fs, net, scoped;
};

static long landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return abi < 0 ? 0 : abi;
}

/* Missing files are no fault: a machine may have no such device. */
static bool allow(int ruleset, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = rights };
    struct stat info;
    long added;

    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) {
        return errno == ENOENT;
    }
    if (fstat(rule.parent_fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
        rule.allowed_access &= FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    }
    added = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
    return added == 0;
}

static const char *const gpu_devices[] = { "/dev/nvidia0",
                                           "/dev/nvidia1",
                                           "/dev/nvidia2",
                                           "/dev/nvidia3",
                                           "/dev/nvidia4",
                                           "/dev/nvidia5",
                                           "/dev/nvidia6",
                                           "/dev/nvidia7",
                                           "/dev/nvidiactl",
                                           "/dev/nvidia-uvm",
                                           "/dev/nvidia-uvm-tools",
                                           "/dev/nvidia-modeset",
                                           "/dev/nvidia-caps",
                                           "/dev/kfd",
                                           "/dev/dri" };

static sluice_status restrict_files(const struct guards_grant *grant, struct sluice_error *err)
{
    long abi = landlock_abi();
    struct ruleset rules = { .fs = FS_EXECUTE | FS_WRITE_FILE | FS_REMOVE | FS_MAKE };
    size_t size = abi >= 6 ? sizeof rules : abi >= 4 ? 16 : 8;
    int ruleset;
    bool good;

    if (abi == 0) {
        return SLUICE_OK;
    }
    rules.fs |=
        (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
    rules.net = abi >= 4 && !grant->network ? NET_TCP : 0;
    rules.scoped = abi >= 6 ? SCOPES : 0;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (ruleset < 0) {
        return error_errno(err, errno, "the kernel has Landlock but refuses the rules for a child");
    }
    good = grant->scratch == NULL ||
           allow(ruleset, grant->scratch, rules.fs & ~(FS_EXECUTE | FS_MAKE_NODES));
    good = allow(ruleset, "/dev/null", rules.fs) && good;
    for (size_t k = 0; grant->gpu && k < sizeof gpu_devices / sizeof gpu_devices[0]; k++) {
        good = allow(ruleset, gpu_devices[k], rules.fs & (FS_WRITE_FILE | FS_IOCTL_DEV)) && good;
    }
    good = good && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    close(ruleset);
    return good ? SLUICE_OK
                : error_errno(err, errno, "the kernel has Landlock but refuses it for a child");
}

/* ---- system calls ---- */

static const int refused[] = {
    /* processes, and reaching into others */
    SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(tkill), SCMP_SYS(setsid), SCMP_SYS(setpgid), SCMP_SYS(setrlimit),
    /* other worlds */
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare),
    /* the kernel's own machinery */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key),
    SCMP_SYS(request_key), SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon),
    SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(syslog),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(lookup_dcookie), SCMP_SYS(vhangup), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(fanotify_init), SCMP_SYS(memfd_secret),
    /* rights */
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid),
    SCMP_SYS(capset),
    /* what Landlock does not cover of files */
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(fchown),
    SCMP_SYS(lchown), SCMP_SYS(fchownat), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),
    SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(utimensat), SCMP_SYS(futimesat),
    /* memory that outlives a process */
    SCMP_SYS(shmget), SCMP_SYS(msgget), SCMP_SYS(semget), SCMP_SYS(mq_open)
};

static const int network_calls[] = { SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect),
                                     SCMP_SYS(bind),   SCMP_SYS(listen),     SCMP_SYS(accept),
                                     SCMP_SYS(accept4) };

/* Files without a name hold memory that no limit counts; drivers of accelerators make them. */
static const int memory_calls[] = { SCMP_SYS(memfd_create) };

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/* Calls that this architecture does not have are no fault. */
static int refuse(scmp_filter_ctx filter, int number)
{
    int failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);

    return failed == -EDOM ? 0 : failed;
}

static int refuse_all(scmp_filter_ctx filter, const int *numbers, size_t n)
{
    int failed = 0;

    for (size_t k = 0; failed == 0 && k < n; k++) {
        failed = refuse(filter, numbers[k]);
    }
    return failed;
}

static int add_rules(scmp_filter_ctx filter, const struct guards_grant *grant)
{
    uint64_t self = (uint64_t)getpid();
    static const int signals[] = { SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                                   SCMP_SYS(rt_tgsigqueueinfo) };
    static const int kept_states[] = { PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER };
    int failed = refuse(filter, SYS_fchmodat2);

    if (failed == 0) {
        failed = refuse_all(filter, refused, sizeof refused / sizeof refused[0]);
    }
    if (failed == 0 && !grant->network) {
        failed = refuse_all(filter, network_calls, sizeof network_calls / sizeof network_calls[0]);
    }
    if (failed == 0 && !grant->gpu) {
        failed = refuse_all(filter, memory_calls, sizeof memory_calls / sizeof memory_calls[0]);
    }
    /* Threads, but no processes; clone3 hides its flags in memory, and glibc then takes clone. */
    if (failed == 0) {
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    }
    if (failed == 0) {
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    }
    for (size_t k = 0; failed == 0 && k < sizeof signals / sizeof signals[0]; k++) {
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), signals[k], 1,
                                  SCMP_A0(SCMP_CMP_NE, self, 0));
    }
    for (size_t k = 0; failed == 0 && k < sizeof kept_states / sizeof kept_states[0]; k++) {
        failed =
            seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint32_t)kept_states[k]));
    }
    /* Limits may be read. */
    if (failed == 0) {
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                                  SCMP_A2(SCMP_CMP_NE, 0, 0));
    }
    return failed;
}

static bool seccomp_there(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

static sluice_status filter_calls(const struct guards_grant *grant, struct sluice_error *err)
{
    scmp_filter_ctx filter;
    int failed;

    if (!seccomp_there()) {
        return SLUICE_OK;
    }
    filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter == NULL) {
        return error_nomem(err, "a filter of system calls");
    }
    /* A program of another architecture's numbers would get past the rules. */
    failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    if (failed == 0) {
        failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    }
    if (failed == 0) {
        failed = add_rules(filter, grant);
    }
    /* Without it the kernel slows the process down against attacks across rights that it no
     * longer has; old kernels lack it. The order of a binary tree makes the filter cheap. */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (failed == 0) {
        failed = seccomp_load(filter);
    }
    seccomp_release(filter);
    return failed == 0 ? SLUICE_OK
                       : error_errno(err, -failed,
                                     "the kernel has seccomp but refuses the filter for a child");
}

/* ---- all of them ---- */

/* Root keeps the right to read other people's files, which a child may do; writing them is
 * Landlock's to refuse. */
static sluice_status drop_capabilities(struct sluice_error *err)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3, .pid = 0 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    uint32_t kept = UINT32_C(1) << CAP_DAC_READ_SEARCH;

    memset(sets, 0, sizeof sets);
    if (landlock_abi() > 0) {
        kept |= UINT32_C(1) << CAP_DAC_OVERRIDE;
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, sets) == 0) {
        kept &= sets[0].permitted;
    }
    memset(sets, 0, sizeof sets);
    sets[0].permitted = kept;
    sets[0].effective = kept;
    if (syscall(SYS_capset, &header, sets) != 0) {
        return error_errno(err, errno, "cannot drop the capabilities of a child process");
    }
    return SLUICE_OK;
}

sluice_status guards_apply(const struct guards_grant *grant, struct sluice_error *err)
{
    TRY(guards_limit_memory(grant->memory, err));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return error_errno(err, errno, "cannot give up rights in a child process");
    }
    TRY(restrict_files(grant, err));
    TRY(drop_capabilities(err));
    /* No dump of a crash, whatever handles dumps on this machine; and the child ends with
     * whoever started it. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    return filter_calls(grant, err);
}

const char *guards_describe(char *text, size_t n)
{
    long abi = landlock_abi();
    const char *calls = seccomp_there()
                            ? "seccomp (no processes, no sockets)"
                            : "NO seccomp (a plugin may start processes and open sockets)";

    if (abi > 0) {
        snprintf(text, n, "%s, Landlock ABI %ld (writes only in its scratch folder), memory limit",
                 calls, abi);
    } else {
        snprintf(text, n, "%s, NO Landlock (a plugin may write files), memory limit", calls);
    }
    return text;
}
