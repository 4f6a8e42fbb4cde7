/* Leases that the dead left, of all phases: see shift.h. */
#include <stdlib.h>

#include "run/work/shift.h"
#include "store/temp.h"

/* Removes what the dead left in a folder. */
static sluice_status sweep_folder(struct member *member, const char *folder,
                                  struct sluice_error *err)
{
    struct store_list list = { 0 };
    sluice_status status = store_list(folder, STORE_DEEP, &list, err);
    size_t left = 0;

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        char *path = store_join(folder, list.entries[i].name);
        struct buf text = BUF_INIT;
        struct holder holder;
        bool found = false;
        status = path == NULL ? error_nomem(err, "a path")
                              : store_read_all(path, 1u << 16, &text, &found, err);
        if (status == SLUICE_OK && found) {
            if (holder_parse(text.data, text.size, &holder) && member_lives(member, &holder)) {
                left++;
            } else {
                status = store_remove(path, err);
            }
        }
        buf_deinit(&text);
        free(path);
    }
    store_list_deinit(&list);
    return status == SLUICE_OK && left == 0 && (store_caps(folder) & STORE_FOLDERS) != 0
               ? temp_drop(folder, err)
               : status;
}

sluice_status shift_sweep(struct crew *crew, struct sluice_error *err)
{
    struct store_list list = { 0 };
    sluice_status status = store_list(crew_leases(crew), STORE_VERSIONS, &list, err);

    for (size_t i = 0; status == SLUICE_OK && i < list.n; i++) {
        struct hash128 name;
        char *path = hash_parse(list.entries[i].name, &name)
                         ? store_join(crew_leases(crew), list.entries[i].name)
                         : NULL;
        if (path != NULL) {
            status = sweep_folder(crew_member(crew), path, err);
        }
        free(path);
    }
    store_list_deinit(&list);
    return status;
}
