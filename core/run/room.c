/* Memory for giants: see room.h. */
#include "run/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hooks.h"
#include "base/say.h"

#define MIB ((uint64_t)1 << 20)

sluice_status rooms_init(struct rooms *rooms, uint64_t share, uint64_t reserve,
                         struct sluice_error *err)
{
    memset(rooms, 0, sizeof *rooms);
    atomic_init(&rooms->share, share);
    atomic_init(&rooms->reserve, reserve);
    rooms->per_byte = 1;
    rooms->workers = 1;
    if (pthread_mutex_init(&rooms->mutex, NULL) != 0) {
        return error_nomem(err, "the run");
    }
    if (pthread_cond_init(&rooms->freed, NULL) != 0) {
        pthread_mutex_destroy(&rooms->mutex);
        return error_nomem(err, "the run");
    }
    return SLUICE_OK;
}

void rooms_deinit(struct rooms *rooms)
{
    pthread_cond_destroy(&rooms->freed);
    pthread_mutex_destroy(&rooms->mutex);
}

void rooms_shrink(struct rooms *rooms, uint64_t share, uint64_t reserve)
{
    if (share < rooms->share) {
        rooms->share = share;
    }
    if (reserve < rooms->reserve) {
        rooms->reserve = reserve;
    }
}

/* Waits until nobody has the reserve, and takes it. */
static sluice_status borrow(struct room *room, struct sluice_error *err)
{
    struct rooms *rooms = room->rooms;
    bool stopped = false;

    pthread_mutex_lock(&rooms->mutex);
    while (rooms->lent && !stopped) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000L; /* then it is seen whether the run is being stopped */
        if (until.tv_nsec >= 1000000000L) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000L;
        }
        pthread_cond_timedwait(&rooms->freed, &rooms->mutex, &until);
        stopped = room->cancelled != NULL &&
                  atomic_load_explicit(room->cancelled, memory_order_relaxed) != 0;
    }
    if (!stopped) {
        rooms->lent = true;
        room->has_reserve = true;
    }
    pthread_mutex_unlock(&rooms->mutex);
    return stopped ? error_set(err, SLUICE_E_CANCELLED, "the run is being stopped") : SLUICE_OK;
}

static void give_back(struct room *room)
{
    if (room->has_reserve) {
        pthread_mutex_lock(&room->rooms->mutex);
        room->rooms->lent = false;
        pthread_cond_signal(&room->rooms->freed);
        pthread_mutex_unlock(&room->rooms->mutex);
        room->has_reserve = false;
    }
}

/* ---- test hook ---- */

struct room_watch {
    FILE *file;
    uint64_t before; /* KiB */
    char text[200];
};

static uint64_t kib_of(const char *field)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[200];
    unsigned long long kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kib = strtoull(line + strlen(field), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

static void watch(struct room *room, const char *who, const char *name, uint64_t bytes,
                  uint64_t need)
{
    const char *path = hook_text("SLUICE_TEST_ROOM");
    FILE *peak;

    if (path == NULL) {
        return;
    }
    if (room->watch == NULL) {
        room->watch = calloc(1, sizeof *room->watch);
        room->watch->file = fopen(path, "ae");
    }
    snprintf(room->watch->text, sizeof room->watch->text, "%s\t%s\t%llu\t%llu", who,
             name == NULL ? "" : name, (unsigned long long)bytes, (unsigned long long)need);
    peak = fopen("/proc/self/clear_refs", "we");
    if (peak != NULL) {
        fputs("5", peak); /* VmHWM begins anew */
        fclose(peak);
    }
    room->watch->before = kib_of("VmRSS:");
}

void room_asked(struct room *room)
{
    struct room_watch *watched = room->watch;

    if (watched == NULL || watched->file == NULL || watched->text[0] == '\0') {
        return;
    }
    say_to(watched->file, "%s\t%lld\t%lld\n", watched->text,
           ((long long)kib_of("VmHWM:") - (long long)watched->before) * 1024,
           ((long long)kib_of("VmRSS:") - (long long)watched->before) * 1024);
    watched->text[0] = '\0';
}

static void watch_end(struct room *room)
{
    if (room->watch != NULL) {
        if (room->watch->file != NULL) {
            fclose(room->watch->file);
        }
        free(room->watch);
        room->watch = NULL;
    }
}

/* ---- asking ---- */

static unsigned long long mib(uint64_t bytes)
{
    return (unsigned long long)(bytes / MIB + (bytes % MIB > 0));
}

/* The --memory that is enough for what is asked for and, as far as it can be told from the record
 * alone, for the calls behind it: people should not have to try one number after the other. */
static uint64_t enough(const struct room *room, uint64_t need)
{
    const struct rooms *rooms = room->rooms;
    /* The next record may come when a little more is held. */
    double lacking = (double)(room->held + need) + (double)room->record / 8 -
                     (double)(rooms->share + rooms->reserve);
    uint64_t now = rooms->memory + (uint64_t)(lacking * rooms->per_byte) + MIB;
    /* A quarter more is held behind: columns that come to it. */
    double behind = (double)room->held + (double)room->record * (rooms->dearest_call + 0.25);
    uint64_t then = rooms->dearest_floor + (uint64_t)(behind * rooms->dearest_per_byte) + MIB;

    return now > then ? now : then;
}

static sluice_status refuse(const struct room *room, const char *who, const char *name,
                            uint64_t need, struct sluice_error *err)
{
    const struct rooms *rooms = room->rooms;
    uint64_t most = rooms->share + rooms->reserve;
    const char *what = room->what == NULL ? "record" : room->what;
    char fewer[40] = "";

    if (rooms->workers > 1) {
        snprintf(fewer, sizeof fewer, ", fewer --workers");
    }
    return error_field(err, SLUICE_E_NOMEM, ERROR_MEMORY,
                       "%s%s%s%s needs %llu MiB for a %s of %llu MiB, beside %llu MiB in use, and "
                       "--memory %lluMiB leaves %llu MiB to one %s: give --memory %lluMiB%s%s",
                       who, name == NULL ? "" : " '", name == NULL ? "" : name,
                       name == NULL ? "" : "'", mib(need), what, mib(room->record), mib(room->held),
                       mib(rooms->memory), mib(most), what, mib(enough(room, need)), fewer,
                       room->what == NULL
                           ? ", or s.files a max_record below it, which quarantines such records"
                           : "");
}

sluice_status room_ask(struct room *room, const char *who, const char *name, uint64_t bytes,
                       uint64_t need, struct sluice_error *err)
{
    const struct rooms *rooms = room->rooms;

    watch(room, who, name, bytes, need);
    if (rooms == NULL || rooms->share == UINT64_MAX) {
        return SLUICE_OK;
    }
    if (need > UINT64_MAX / 2 || room->held + need > rooms->share + rooms->reserve) {
        return refuse(room, who, name, need, err);
    }
    return room->has_reserve || room->held + need <= rooms->share ? SLUICE_OK : borrow(room, err);
}

void room_done(struct room *room)
{
    if (room->has_reserve && room->held <= room->rooms->share) {
        give_back(room);
    }
}

void room_deinit(struct room *room)
{
    give_back(room);
    watch_end(room);
    room->held = 0;
}
