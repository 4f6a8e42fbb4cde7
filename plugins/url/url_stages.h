/* url_stages.h - the stages of this plugin. */
#ifndef URL_STAGES_H
#define URL_STAGES_H

#include <sluice.h>

extern const struct sluice_stage url_parts_stage;

#endif
