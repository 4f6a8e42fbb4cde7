/* Columns as the batch that a stage is given: nothing is copied or owned. Depends on sluice.h. */
#ifndef SLUICE_PLUGIN_BATCH_VIEW_H
#define SLUICE_PLUGIN_BATCH_VIEW_H

#include <string.h>

#include "sluice.h"

struct batch_view {
    struct sluice_batch batch; /* for stage_process */
    struct ArrowArray array;
    struct ArrowArray absent; /* stands for an optional column that is not there */
    const void *buffers[1];
};

/* A batch of length rows of the n columns, which live as long as the view does. The caller says
 * which port it is for and which rows are selected, where not all are: view->batch.port, .rows and
 * .n. The view must not be moved. */
static inline void batch_view_init(struct batch_view *view, struct ArrowArray **columns, uint32_t n,
                                   int64_t length)
{
    memset(view, 0, sizeof *view);
    view->array.length = length;
    view->array.n_buffers = 1;
    view->array.buffers = view->buffers;
    view->array.n_children = n;
    view->array.children = columns;
    view->batch.size = sizeof view->batch;
    view->batch.array = &view->array;
    view->batch.n = length;
}

#endif
