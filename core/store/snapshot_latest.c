/* The link `latest` of a dataset on a disk: see snapshot_publish.c. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/snapshotInt.h"
#include "store/store.h"
#include "store/temp.h"

#define NAME_TRIES 1000u

sluice_status snapshot_check_latest(const char *latest, struct sluice_error *err)
{
    struct stat st;

    if (lstat(latest, &st) == 0 && !S_ISLNK(st.st_mode)) {
        return error_set(err, SLUICE_E_IO,
                         "%s is no symlink, but that name is needed for the link to the newest "
                         "snapshot; move it away",
                         latest);
    }
    return SLUICE_OK;
}

static sluice_status replace_latest(const char *dir, const char *latest, uint32_t number,
                                    struct sluice_error *err)
{
    char target[24];
    char *temp = NULL;
    int errnum = EEXIST;
    sluice_status status = SLUICE_OK;

    snapshot_folder_name(number, target);
    for (uint32_t n = 0; errnum == EEXIST && n < NAME_TRIES; n++) {
        free(temp);
        temp = temp_path(dir, n);
        errnum = disk_symlink(target, temp);
    }
    if (errnum == 0) {
        errnum = disk_rename(temp, latest);
        if (errnum != 0) {
            (void)disk_unlink(temp);
        }
    }
    if (errnum != 0) {
        status = error_errno(err, errnum, "can't make %s point to %s", latest, target);
    }
    free(temp);
    return status;
}

bool snapshot_folder_there(const char *dir, uint32_t number)
{
    char name[24];
    char *path;
    struct stat st;
    bool there;

    snapshot_folder_name(number, name);
    path = store_join(dir, name);
    there = path != NULL && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    free(path);
    return there;
}

/* A slow publisher may replace a newer link by its own: it then sees the newer manifest and
 * corrects that. */
sluice_status snapshot_set_latest(const char *dir, const char *latest, uint32_t number,
                                  struct sluice_error *err)
{
    for (;;) {
        char target[64];
        ssize_t n = readlink(latest, target, sizeof target - 1);
        uint32_t now;
        uint32_t newest;
        target[n > 0 ? n : 0] = '\0';
        now = snapshot_folder_number(target);
        if (now != number && !(now > number && snapshot_folder_there(dir, now))) {
            TRY(snapshot_check_latest(latest, err));
            TRY(replace_latest(dir, latest, number, err));
        }
        TRY(snapshot_newest(dir, &newest, err));
        if (newest <= number || !snapshot_folder_there(dir, newest)) {
            return SLUICE_OK;
        }
        number = newest;
    }
}
