/* What the stages of minhash share: see minhash_stages.h. */
#include "minhash_stages.h"

sluice_status minhash_nomem(struct sluice_error *err)
{
    return sluice_fail(err, SLUICE_E_NOMEM, "",
                       "out of memory; give a larger --memory or fewer --workers");
}
