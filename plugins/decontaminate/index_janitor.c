/* The rule of EleutherAI's janitor (lm-evaluation-harness, decontamination/janitor.py; GPT-3's,
 * Brown et al. 2020, appendix C): n-grams of 13 words, cut by white space, in ASCII lower case
 * without ASCII punctuation. Each hit is cut out of the text with 200 characters on either side;
 * what is left in pieces of 200 characters or fewer goes too; a text of more than 10 hits goes
 * whole. */
#include "decont.h"

static void normalise(const char *word, size_t n, struct text_buffer *out)
{
    out->len = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)word[i];
        if ((c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
            (c >= 123 && c <= 126)) {
            continue;
        }
        out->data[out->len++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
}

/* The normal forms of the words, joined. With `empty`, words of nothing but punctuation stand as
 * nothing between two spaces, as in a text that is judged: they keep an n-gram from matching. In a
 * reference they vanish. */
static sluice_status words_of(struct decont_worker *worker, const char *text, size_t n, bool empty,
                              struct joined *out, struct sluice_error *err)
{
    sluice_status status = text_words(TEXT_WORDS_WHITESPACE, text, n, &worker->raw, err);

    out->text.len = 0;
    out->words.count = 0;
    for (size_t i = 0; status == SLUICE_OK && i < worker->raw.count; i++) {
        struct text_span span = worker->raw.data[i];
        worker->simple.len = 0;
        status = text_buffer_reserve(&worker->simple, span.end - span.begin, err);
        if (status != SLUICE_OK) {
            break;
        }
        normalise(text + span.begin, span.end - span.begin, &worker->simple);
        if (empty || worker->simple.len > 0) {
            status = joined_add(out, worker->simple.data, worker->simple.len, err);
        }
    }
    return status;
}

sluice_status decont_index_janitor(struct decont_index *index, struct sluice_error *err)
{
    struct decont_worker worker = { 0 };
    sluice_status status = SLUICE_OK;

    for (size_t i = 0; status == SLUICE_OK && i < index->reference.n; i++) {
        for (int part = 0; status == SLUICE_OK && part < PARTS; part++) {
            const struct text_buffer *text = &index->reference.items[i].parts[part];
            if (text->len == 0) {
                continue;
            }
            status = words_of(&worker, text->data, text->len, false, &worker.joined, err);
            for (size_t k = 0; status == SLUICE_OK && k + index->ngram <= worker.joined.words.count;
                 k++) {
                size_t n;
                int fresh;
                const char *gram = joined_gram(&worker.joined, k, index->ngram, &n);
                if (grams_add(&index->grams, gram, n, (uint32_t)i, &fresh) == UINT32_MAX) {
                    status = sluice_nomem(err);
                }
            }
        }
    }
    decont_worker_deinit(&worker);
    return status;
}

/* The place `count` code points behind (or, negative, before) a place. */
static size_t step(const char *text, size_t n, size_t at, int64_t count)
{
    for (; count > 0 && at < n; count--) {
        at = text_utf8_next(text, n, at);
    }
    for (; count < 0 && at > 0; count++) {
        at = text_utf8_prev(text, at, NULL);
    }
    return at;
}

/* A place in bytes and in code points. */
struct place {
    size_t byte;
    int64_t chars;
};

static sluice_status keep_piece(const struct decont_index *index, struct decont_worker *worker,
                                const char *text, size_t begin, size_t end,
                                struct sluice_error *err)
{
    const char *join = index->options->join;
    sluice_status status = SLUICE_OK;

    if (begin >= end) {
        return SLUICE_OK;
    }
    if (worker->kept.len > 0 && join[0] != '\0') {
        status = text_buffer_append(&worker->kept, join, strlen(join), err);
    }
    return status == SLUICE_OK ? text_buffer_append(&worker->kept, text + begin, end - begin, err)
                               : status;
}

static sluice_status note_hit(const struct decont_index *index, struct finding *finding,
                              uint32_t item, const char *gram, size_t n, size_t word,
                              struct sluice_error *err)
{
    const struct decont_item *found = &index->reference.items[item];
    json_t *hit;

    if (!finding->found) {
        finding->item = item;
        finding->report = json_pack("{s:s, s:s, s:s, s:[]}", "rule", "janitor", "item", found->id,
                                    "task", found->task, "hits");
    }
    finding->found = true;
    hit = json_pack("{s:s, s:s, s:s%, s:I}", "item", found->id, "task", found->task, "ngram", gram,
                    n, "word", (json_int_t)word);
    if (finding->report == NULL || hit == NULL ||
        json_array_append_new(json_object_get(finding->report, "hits"), hit) != 0) {
        return sluice_nomem(err);
    }
    return SLUICE_OK;
}

sluice_status decont_judge_janitor(const struct decont_index *index, struct decont_worker *worker,
                                   const char *text, size_t n, struct finding *finding,
                                   struct sluice_error *err)
{
    const struct decont_options *options = index->options;
    sluice_status status = words_of(worker, text, n, true, &worker->joined, err);
    struct place splice = { 0, 0 };
    struct place last = { 0, -1 }; /* where the last hit's window ends */
    struct place seen = { 0, 0 };  /* code points counted so far */
    int64_t hits = 0;
    int64_t total;

    worker->kept.len = 0;
    for (size_t i = 0; status == SLUICE_OK && i + index->ngram <= worker->joined.words.count; i++) {
        size_t size;
        const char *gram = joined_gram(&worker->joined, i, index->ngram, &size);
        uint32_t number = grams_find(&index->grams, gram, size);
        struct place start;
        struct place end;
        if (number == UINT32_MAX) {
            continue;
        }
        if (hits++ >= options->max_hits) {
            finding->drop = true;
            break;
        }
        status = note_hit(index, finding, index->grams.items[number].item, gram, size, i, err);
        start.byte = worker->raw.data[i].begin;
        seen.chars += (int64_t)text_utf8_count(text + seen.byte, start.byte - seen.byte);
        seen.byte = start.byte;
        start.chars = seen.chars - options->window > 0 ? seen.chars - options->window : 0;
        start.byte = step(text, n, start.byte, -options->window);
        /* The end is the place of the last character, not the one behind it. */
        end.byte = text_utf8_prev(text, worker->raw.data[i + index->ngram - 1].end, NULL);
        end.chars = seen.chars + (int64_t)text_utf8_count(text + seen.byte, end.byte - seen.byte);
        size = step(text, n, end.byte, options->window);
        end.chars += (int64_t)text_utf8_count(text + end.byte, size - end.byte);
        end.byte = size;
        if (status == SLUICE_OK && start.chars - splice.chars > options->min_piece) {
            status = keep_piece(index, worker, text, splice.byte, start.byte, err);
        }
        splice = end;
        last = end;
    }
    finding->value = (double)hits;
    finding->limit = (double)options->max_hits;
    if (status != SLUICE_OK || finding->drop || (hits == 0 && !options->peer)) {
        return status;
    }
    total = seen.chars + (int64_t)text_utf8_count(text + seen.byte, n - seen.byte);
    if (last.chars < total - options->min_piece) {
        size_t from = last.chars < 0 ? 0 : step(text, n, last.byte, 1);
        status = keep_piece(index, worker, text, from, n, err);
    }
    finding->edited = true;
    finding->drop = worker->kept.len == 0;
    return status;
}
