/* text.h — Sluice's text library, everything.
 *
 * Owns nothing itself: it includes the header of each noun. All functions are pure: they read
 * (const char *utf8, size_t len), write into memory the caller owns and reuses, and keep no state.
 * Any bytes are memory-safe input; the results are meaningful for well-formed UTF-8 (check with
 * text_utf8_valid). Unicode version: TEXT_UNICODE_VERSION. Functions that can fail return a status
 * of sluice.h and take `struct sluice_error *err` last (may be NULL).
 * Every function is safe to call from several threads at once on different outputs and scratches.
 */
#ifndef TEXT_H
#define TEXT_H

#include "text/text_base64.h"
#include "text/text_buffer.h"
#include "text/text_c4.h"
#include "text/text_class.h"
#include "text/text_doc.h"
#include "text/text_fineweb.h"
#include "text/text_gopher.h"
#include "text/text_lines.h"
#include "text/text_measure.h"
#include "text/text_pieces.h"
#include "text/text_sentences.h"
#include "text/text_set.h"
#include "text/text_simplify.h"
#include "text/text_span.h"
#include "text/text_tally.h"
#include "text/text_utf8.h"
#include "text/text_words.h"

#endif
