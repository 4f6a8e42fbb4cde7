/* Private to commit.c and commit_text.c: what both of them limit. */
#ifndef SLUICE_STORE_COMMITINT_H
#define SLUICE_STORE_COMMITINT_H

#include "store/commit.h"

#define COMMIT_MAX_BYTES ((uint64_t)1 << 29) /* of a record's text */

#endif
