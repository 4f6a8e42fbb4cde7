/* web.h - what the stages of this plugin share: the text column, the peer whose definitions hold,
 * the scratch memory of a worker.
 *
 * Depends on sluice.h, sdk/text. Each config begins with struct web_common. */
#ifndef WEB_H
#define WEB_H

#include <sluice_arrays.h>
#include <stddef.h>

#include "text/text.h"
#include "web_ngrams.h"
#include "web_words.h"

struct web_common {
    const char *over;
    int32_t peer; /* enum web_peer */
};

#define WEB_OVER(config, text)                                                 \
    {                                                                          \
        .name = "over", .doc = text, .def = "text", .type = SLUICE_OPT_COLUMN, \
        .offset = offsetof(struct config, common.over)                         \
    }
#define WEB_PEER(config)                                                                        \
    {                                                                                           \
        .name = "peer", .def = "dclm", .choices = "dclm|datamap", .type = SLUICE_OPT_ENUM,      \
        .doc = "Whose definitions: dclm (characters, doubles) or datamap (datamap-rs, Olmo 3: " \
               "bytes, single precision).",                                                     \
        .offset = offsetof(struct config, common.peer)                                          \
    }
#define WEB_INT(config, member, text, value)                                           \
    {                                                                                  \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_INT, .min = -1, \
        .max = 1e15, .offset = offsetof(struct config, member)                         \
    }
#define WEB_SHARE(config, member, text, value)                                           \
    {                                                                                    \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_FLOAT, .min = -1, \
        .max = 1e6, .offset = offsetof(struct config, member)                            \
    }
#define WEB_BOOL(config, member, text, value)                                \
    {                                                                        \
        .name = #member, .doc = text, .def = value, .type = SLUICE_OPT_BOOL, \
        .offset = offsetof(struct config, member)                            \
    }

/* An opened instance. */
struct web {
    const void *config; /* a copy, the stage's config_size bytes */
    const struct web_common *common;
    const struct sluice_stage *stage;
    struct sluice_host *host;
    const struct sluice_host_api *api;
    void *extra; /* what the stage's open made; released by `release` */
    void (*release)(void *extra);
};

struct web_worker {
    const struct web *web;
    struct text_spans words, lines, other;
    struct web_ngrams ngrams;
    struct text_buffer text, edits;
    void *extra; /* the stage's; released by `release` */
    void (*release)(void *extra);
};

/* A document as a judge sees it. spans are those of the provider `words{rule=uax29}`, when the
 * stage asked for them. */
struct web_doc {
    const char *text;
    size_t len; /* bytes */
    const struct text_span *spans;
    size_t n_spans;
    bool ascii;
};

struct web_verdict {
    int32_t reason; /* 0 keeps */
    double value, limit;
};

sluice_status web_open(const struct sluice_stage *, const struct sluice_host_api *,
                       struct sluice_host *, const void *config, void **shared,
                       struct sluice_error *);
void web_close(void *shared);
sluice_status web_worker_open(void *shared, void **worker, struct sluice_error *);
void web_worker_close(void *worker);

/* Needs the text (child 0), and its words by UAX #29 (child 1) when `words` is true. */
sluice_status web_need(const struct web *, struct sluice_plan *, bool words, struct sluice_error *);

/* Judges every selected row and emits the verdicts. */
typedef sluice_status (*web_judge_fn)(struct web_worker *, const struct web_doc *,
                                      struct web_verdict *, struct sluice_error *);
sluice_status web_judge(struct web_worker *, const struct sluice_batch *, struct sluice_emit *,
                        bool words, web_judge_fn, struct sluice_error *);

/* Edits every selected row: `edit` judges, and leaves the new text of a row it keeps in
 * worker->text. `verdicts` says whether to emit them. */
sluice_status web_edit(struct web_worker *, const struct sluice_batch *, struct sluice_emit *,
                       bool words, bool verdicts, web_judge_fn edit, struct sluice_error *);

/* The row is dropped for `reason`. */
static inline sluice_status web_drop(struct web_verdict *verdict, int32_t reason, double value,
                                     double limit)
{
    verdict->reason = reason;
    verdict->value = value;
    verdict->limit = limit;
    return SLUICE_OK;
}

extern const struct sluice_stage web_quality_stage, web_repetition_stage, web_lines_stage,
    web_newlines_stage, web_madlad_stage;

#endif
