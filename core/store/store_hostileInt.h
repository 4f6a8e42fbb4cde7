/* What the parts of the hostile place share: store_hostile.c has requests and objects,
 * store_hostile_list.c their names and lists. */
#ifndef SLUICE_STORE_STORE_HOSTILEINT_H
#define SLUICE_STORE_STORE_HOSTILEINT_H

#include "store/store_ops.h"

enum fault { NONE, REFUSED, LOST_BEFORE, LOST_AFTER, REPEATED, N_FAULTS };

/* What befalls this request, the number-th of this process (NULL is fine). A repetition is another
 * number, so that repeating ends. */
enum fault hostile_fault(uint64_t *number);
uint64_t hostile_mix(uint64_t x);

const char *hostile_root(void);
enum store_answer hostile_failed(struct sluice_error *err, int errnum, const char *name);

/* Opens an object and reads its version. */
enum store_answer hostile_look(const char *name, int *fd, struct store_version *version,
                               struct sluice_error *err);

/* The file of an object: its name with '/' as ',' and what else is special as %XX. */
void hostile_encode(const char *name, struct buf *out);
enum store_answer hostile_list(const char *folder, unsigned flags, struct store_page *page,
                               struct sluice_error *err);

#endif
