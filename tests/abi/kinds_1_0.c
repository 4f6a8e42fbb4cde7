/* The plugin of kinds.h as its author built it in the days of ABI 1.0: against the frozen header. It must run for ever. */
#include "tests/abi/sluice_1_0.h"

#include "tests/abi/kinds.h"
