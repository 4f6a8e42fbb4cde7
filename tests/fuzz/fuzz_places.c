/* fuzz_places.c — libFuzzer target over the small texts that processes leave for each other where a
 * run is, and that anybody may have written: versions of files, owners, holders of leases, beating
 * hearts, orders to stop, failures, attempts.
 *
 * The first byte chooses the kind; the rest is the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/work/attempts.h"
#include "run/work/stop.h"
#include "run/work/troubles.h"
#include "store/disk.h"
#include "store/member.h"
#include "store/store.h"
#include "store/temp.h"

#define ID "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool right)
{
    if (!right) {
        abort();
    }
}

static void version(const char *text, size_t n)
{
    struct store_version v;
    struct store_version again;
    char printed[STORE_VERSION_TEXT];

    if (store_version_parse(text, n, &v)) {
        store_version_print(&v, printed);
        check(strlen(printed) == n && memcmp(printed, text, n) == 0);
        check(store_version_parse(printed, n, &again) && store_version_equal(&v, &again));
    }
}

static void owner(const char *text, size_t n)
{
    char *copy = str_copy(text, n);
    struct owner o;
    struct owner again;
    char printed[OWNER_TEXT];
    char reprinted[OWNER_TEXT];
    const char *end;

    if (copy != NULL && owner_parse(copy, &o, &end)) {
        check(end > copy && end <= copy + strlen(copy));
        owner_print(&o, printed);
        check(owner_parse(printed, &again, &end) && *end == '\0');
        check(strcmp(owner_print(&again, reprinted), printed) == 0);
    }
    free(copy);
}

static void holder(const char *text, size_t n)
{
    struct holder h;

    if (holder_parse(text, n, &h)) {
        check(h.id[0] != '\0' && strlen(h.id) < sizeof h.id && strlen(h.host) < sizeof h.host &&
              strlen(h.words) < sizeof h.words);
    }
}

/* ---- files ---- */

static char folder[64];

static void forget(void)
{
    sluice_status ignored = temp_remove(folder, NULL);
    (void)ignored;
}

static void put(const char *name, const char *text, size_t n)
{
    char path[256];
    struct sluice_error err = ERROR_INIT;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    check(store_replace(path, text, n, STORE_LOOSE, &err) == SLUICE_OK);
}

static void on_line(void *ctx, const json_t *line)
{
    check(line != NULL);
    ++*(size_t *)ctx;
}

static void files(const char *text, size_t n)
{
    struct sluice_error err = ERROR_INIT;
    struct stop_order order;
    struct member_file *members = NULL;
    struct troubles *troubles = NULL;
    char workers[128];
    size_t lines = 0;
    char name[128];
    char hex[33];
    struct hash128 phase = hash_bytes("phase", 5);

    put("stop", text, n);
    check(stop_read(folder, &order, &err) != SLUICE_OK || order.given);
    put("attempts/000001-" ID ".0000.jsonl", text, n);
    check(attempts_read(folder, 1, UINT64_MAX, on_line, &lines, &err) == SLUICE_OK && lines <= n);
    put("workers/" ID, text, n);
    snprintf(workers, sizeof workers, "%s/workers", folder);
    check(member_files(workers, &members, &lines, &err) == SLUICE_OK && lines <= 1);
    free(members);
    hash_hex(phase, hex);
    snprintf(name, sizeof name, "failures/%s/0.1", hex);
    put(name, text, n);
    check(troubles_open(folder, phase, &troubles, &err) == SLUICE_OK);
    check(troubles_read(troubles, 0, &err) == SLUICE_OK);
    (void)troubles_state(troubles, 0);
    troubles_close(troubles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;

    if (folder[0] == '\0') {
        bool memory = access("/dev/shm", W_OK) == 0;
        snprintf(folder, sizeof folder, "%s/sluice-fuzz-places-XXXXXX",
                 memory ? "/dev/shm" : "/tmp");
        check(mkdtemp(folder) != NULL && atexit(forget) == 0);
    }
    if (size == 0 || size > 4096) {
        return 0;
    }
    switch (data[0] % 4) {
    case 0:
        version(text, size - 1);
        break;
    case 1:
        owner(text, size - 1);
        break;
    case 2:
        holder(text, size - 1);
        break;
    default:
        files(text, size - 1);
        break;
    }
    return 0;
}
