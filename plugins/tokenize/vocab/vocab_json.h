/* vocab_json.h — what the readers of a tokenizer.json's parts share. Private to vocab_json*.c.
 *
 * Owns: `struct json_reader` and the helpers to read an object strictly. Depends on: vocab.h,
 * libjansson. Promises: every member is either honoured, known not to affect the ids of plain text,
 * or refused by name. */
#ifndef TOKENIZE_VOCAB_JSON_H
#define TOKENIZE_VOCAB_JSON_H

#include <jansson.h>

#include "bpe_error.h"
#include "vocab/vocab.h"

struct json_reader {
    struct vocab *vocab;
    struct pretoken *pretoken;
    struct sluice_error *err;
    json_t *ids;                 /* model.vocab where it is an object: string to id */
    const char *prefix, *suffix; /* of the model BPE's characters, "" for none */
    int spaces;                  /* the decoder makes U+2581 a space */
    int metaspace;               /* the pre-tokenizer Metaspace was read */
};

/* vocab_json_object.c */
/* SLUICE_E_CONFIG with "tokenizer.json has <where> '<what>', which this engine does not honour". */
int32_t json_refuse(struct json_reader *r, const char *where, const char *what);
/* SLUICE_E_CONFIG: `where` is missing or of the wrong type. */
int32_t json_malformed(struct json_reader *r, const char *where);
/* Refuses an object that has a member outside `names`, which NULL ends. */
int32_t json_only(struct json_reader *r, json_t *object, const char *where,
                  const char *const *names);
/* A Boolean member, `otherwise` when it is absent or null; *bad is set for another type. */
int json_flag(json_t *object, const char *name, int otherwise, int *bad);
/* The member "type", "" without one. */
const char *json_kind(json_t *object);
/* A string of the model that may be absent or null, "" then; NULL for another type. */
const char *json_affix(json_t *model, const char *name);
/* 1 for null, or an empty string, which means the same here. */
int json_is_nothing(json_t *value);

/* vocab_json_text.c: what is done to a text before the model sees it. Sets vocab.model. */
int32_t json_read_text(struct json_reader *r, json_t *top);
/* vocab_json_model.c: model.vocab and model.merges; needs what json_read_text found. */
int32_t json_read_model(struct json_reader *r, json_t *model);
/* Gives 1 and the id of a vocabulary string, or 0; their number. */
int json_id_of(struct json_reader *r, const char *text, size_t len, uint32_t *id);
uint32_t json_n_ids(const struct json_reader *r);
/* vocab_json_added.c */
int32_t json_read_added(struct json_reader *r, json_t *list);
int32_t json_read_post_processor(struct json_reader *r, json_t *node, int depth);

#endif
