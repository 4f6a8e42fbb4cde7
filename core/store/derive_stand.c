/* Publishing what was made of another snapshot: see derive.h. A file of its own, as publishing
 * itself goes by what snapshots were made of. */
#include "store/derive.h"

sluice_status derive_stand(const char *dataset_dir, const struct snapshot *from,
                           struct snapshot *next, uint32_t *number, struct sluice_error *err)
{
    next->over = from->number;
    TRY(snapshot_publish(dataset_dir, next, NULL, NULL, err));
    *number = next->number;
    return SLUICE_OK;
}
