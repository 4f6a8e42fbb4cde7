/* json_member.h — what the readers of tokenizer.json's `normalizer` and `pre_tokenizer` share: both
 * are objects with a `type`, of which nothing may be ignored. `member` names the one that is read,
 * for people. Depends on: sluice.h, libjansson. */
#ifndef TOKENIZE_JSON_MEMBER_H
#define TOKENIZE_JSON_MEMBER_H

#include <jansson.h>
#include <stdint.h>

#include "sluice.h"

/* The node's type; "" where there is none. */
const char *json_member_type(json_t *node);

/* SLUICE_E_CONFIG: `what` called `name` is not honoured. */
int32_t json_member_refuse(struct sluice_error *err, const char *what, const char *name);

/* SLUICE_E_CONFIG: a member of the type is missing or of the wrong type. */
int32_t json_member_malformed(struct sluice_error *err, const char *member, const char *type);

/* Refuses members beside `type` and these, which end with NULL. */
int32_t json_member_only(json_t *node, const char *member, const char *const *names,
                         struct sluice_error *err);

#endif
