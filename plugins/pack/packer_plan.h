/* What the packing algorithms share; private to packer*.c. Depends on packer.h. */
#ifndef PACKER_PLAN_H
#define PACKER_PLAN_H

#include "packer.h"

/* Fills *err and returns code. */
__attribute__((format(printf, 4, 5))) int32_t
packer_fail(struct sluice_error *err, int32_t code, const char *field, const char *format, ...);

/* Checks the options, empties *plan and counts documents and tokens. */
int32_t packer_plan_begin(struct packer_plan *plan, const struct packer_options *options,
                          const uint32_t *lengths, size_t n, struct sluice_error *err);

/* Makes room for the arrays and sets the counts that follow from it; on error *plan is empty. */
int32_t packer_plan_alloc(struct packer_plan *plan, uint64_t rows, uint64_t segments,
                          struct sluice_error *err);

#endif
