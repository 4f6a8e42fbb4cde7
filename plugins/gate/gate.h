/* What the files of gate share: the options, and the baseline's number of rows. */
#ifndef GATE_H
#define GATE_H

#include <sluice_arrays.h>

extern const struct sluice_stage contract_rows_stage, contract_check_stage, contract_profile_stage,
    contract_infer_stage;

struct gate_config {
    int64_t rows_min, rows_max;
    double pass_rate_min, pass_rate_max, rows_ratio_min, rows_ratio_max;
    const char *of, *baseline;
    struct sluice_map null_max, schema;
    struct sluice_list nulls, require;
    int32_t action;
};

/* Rows of the snapshot that reference ("PATH@N", absolute) names, from its manifest.
 * SLUICE_E_CONFIG: no such reference, file or number. */
sluice_status gate_baseline(const struct sluice_host_api *, struct sluice_host *,
                            const char *reference, int64_t *rows, struct sluice_error *);

/* A share written as text, 0 to 1. SLUICE_E_CONFIG names the option. */
sluice_status gate_share(const char *option, const char *key, const char *text, double *share,
                         struct sluice_error *);

#endif
