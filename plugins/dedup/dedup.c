/* dedup - deduplication of documents, sentences, lines and paragraphs, and the filter that drops
 * the rows of a list. The composites of the standard library put these stages together: only
 * hashes, ids and positions move between splits, never text. */
#include "dedup.h"
