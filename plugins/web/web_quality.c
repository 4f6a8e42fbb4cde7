/* web_quality - RefinedWeb's document rules (Penedo et al. 2023, arXiv:2306.01116) as DCLM and
 * datamap-rs define them. */
#include "web.h"

#include "web_class.h"

struct config {
    struct web_common common;
    int64_t min_chars, min_words, max_words;
    double min_word_length, max_word_length, max_symbol_ratio, max_bullet_ratio, max_ellipsis_ratio,
        max_non_alpha_ratio;
    int64_t min_stop_words;
    uint8_t unique_stop_words;
};

enum {
    CHARS = 1,
    WORDS,
    WORD_LENGTH,
    SYMBOLS,
    BULLETS,
    ELLIPSES,
    NON_ALPHA,
    STOP_WORDS,
};

static const struct sluice_option options[] = {
    WEB_OVER(config, "Column that holds the text."),
    WEB_PEER(config),
    WEB_INT(config, min_chars,
            "Fewest characters; -1 or 0 disables. DCLM has no such rule, Olmo 3 has 150.", "0"),
    WEB_INT(config, min_words, "Fewest words without punctuation; -1 disables.", "50"),
    WEB_INT(config, max_words, "Most words without punctuation; -1 disables.", "100000"),
    WEB_SHARE(config, min_word_length,
              "Smallest mean length of the words between white space; -1 disables.", "3"),
    WEB_SHARE(config, max_word_length,
              "Largest mean length of the words between white space; -1 disables.", "10"),
    WEB_SHARE(config, max_symbol_ratio,
              "Most symbols (# ... . . . \xE2\x80\xA6) per word; -1 disables.", "0.1"),
    WEB_SHARE(config, max_bullet_ratio,
              "Largest share of lines that begin with a bullet; -1 disables.", "0.9"),
    WEB_SHARE(config, max_ellipsis_ratio,
              "Largest share of lines that end in an ellipsis; -1 disables.", "0.3"),
    WEB_SHARE(config, max_non_alpha_ratio, "Largest share of words without a letter; -1 disables.",
              "0.2"),
    WEB_INT(config, min_stop_words,
            "Fewest of the words the, be, to, of, and, that, have, with; -1 or 0 disables.", "2"),
    WEB_BOOL(config, unique_stop_words, "Whether a stop word counts once only.", "false"),
};

/* What one pass over the words between white space finds. */
struct counts {
    size_t words, bytes, chars, non_alpha;
    uint32_t stop_seen; /* a bit a stop word */
    size_t stop_words;  /* with repetition */
};

/* A word of up to four bytes, in lower case, as a number. `| 32` makes a letter of a letter
 * only. */
#define WORD2(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)
#define WORD3(a, b, c) (WORD2(a, b) | (uint32_t)(c) << 16)
#define WORD4(a, b, c, d) (WORD3(a, b, c) | (uint32_t)(d) << 24)

/* The place of a word among the stop words, in any case of ASCII, or -1. Longer lower-casings
 * (U+0130, U+212A) make no stop word. */
static int stop_word(const char *word, size_t n)
{
    uint32_t value = 0;

    if (n < 2 || n > 4) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        value |= (uint32_t)((unsigned char)word[i] | 32) << 8 * i;
    }
    switch (value) {
    case WORD3('t', 'h', 'e'):
        return 0;
    case WORD2('b', 'e'):
        return 1;
    case WORD2('t', 'o'):
        return 2;
    case WORD2('o', 'f'):
        return 3;
    case WORD3('a', 'n', 'd'):
        return 4;
    case WORD4('t', 'h', 'a', 't'):
        return 5;
    case WORD4('h', 'a', 'v', 'e'):
        return 6;
    case WORD4('w', 'i', 't', 'h'):
        return 7;
    default:
        return -1;
    }
}

static bool has_letter(enum web_peer peer, const char *word, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint32_t cp = (unsigned char)word[at];
        if (cp < 0x80) {
            if ((cp | 32) >= 'a' && (cp | 32) <= 'z') {
                return true;
            }
            at++;
        } else {
            at += text_utf8_decode(word, n, at, &cp);
            if (peer == WEB_DCLM ? (text_classes(cp) & TEXT_LETTER) != 0
                                 : web_rust_alphabetic(cp)) {
                return true;
            }
        }
    }
    return false;
}

static void count_words(enum web_peer peer, const struct web_doc *doc,
                        const struct text_spans *words, struct counts *counts)
{
    memset(counts, 0, sizeof *counts);
    counts->words = words->count;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = doc->text + words->data[i].begin;
        size_t n = words->data[i].end - words->data[i].begin;
        int stop = stop_word(word, n);
        counts->bytes += n;
        counts->non_alpha += !has_letter(peer, word, n);
        if (stop >= 0) {
            counts->stop_words++;
            counts->stop_seen |= 1u << stop;
        }
        if (!doc->ascii && peer == WEB_DCLM) {
            counts->chars += text_utf8_count(word, n);
        }
    }
    if (doc->ascii) {
        counts->chars = counts->bytes;
    }
}

#define ELLIPSIS "\xE2\x80\xA6"

static size_t count_of(const struct web_doc *doc, const char *needle)
{
    return text_count(doc->text, doc->len, needle, strlen(needle));
}

struct lines {
    size_t all, bullets, ellipses; /* dclm: stripped lines that are not empty */
    size_t filled;                 /* datamap: not empty; ellipses count among these */
};

static bool begins_with_bullet(const char *line, size_t n)
{
    return n > 0 && (line[0] == '*' || line[0] == '-' ||
                     (n >= 3 && (memcmp(line, "\xE2\x97\x8F", 3) == 0 ||
                                 memcmp(line, "\xE2\x80\xA2", 3) == 0)));
}

static bool ends_in_ellipsis(const char *line, size_t n)
{
    return n >= 3 &&
           (memcmp(line + n - 3, "...", 3) == 0 || memcmp(line + n - 3, ELLIPSIS, 3) == 0 ||
            (n >= 5 && memcmp(line + n - 5, ". . .", 5) == 0));
}

/* dclm: split at \n, stripped, empty ones left out, for both measures. datamap: bullets among all
 * pieces between \n as they are; ellipses among Rust's lines() (which end in \n or \r\n) that are
 * not empty. */
static void count_lines(enum web_peer peer, const struct web_doc *doc, struct lines *lines)
{
    size_t at = 0;

    memset(lines, 0, sizeof *lines);
    for (bool more = true; more;) {
        const char *end = at < doc->len ? memchr(doc->text + at, '\n', doc->len - at) : NULL;
        struct text_span line = { (uint32_t)at,
                                  end != NULL ? (uint32_t)(end - doc->text) : (uint32_t)doc->len };
        more = end != NULL;
        at = line.end + 1;
        if (peer == WEB_DCLM) {
            line = text_strip(doc->text, line);
            if (line.begin == line.end) {
                continue;
            }
        }
        lines->all++;
        lines->bullets += begins_with_bullet(doc->text + line.begin, line.end - line.begin);
        if (peer == WEB_DATAMAP && more && line.end > line.begin &&
            doc->text[line.end - 1] == '\r') {
            line.end--;
        }
        if (line.end > line.begin) {
            lines->filled++;
            lines->ellipses += ends_in_ellipsis(doc->text + line.begin, line.end - line.begin);
        }
    }
}

static double ratio_of(enum web_peer peer, size_t part, size_t whole)
{
    return peer == WEB_DCLM ? (double)part / (double)whole : (double)((float)part / (float)whole);
}

/* A limit as the peer compares with it. */
static double limit_of(enum web_peer peer, double limit)
{
    return peer == WEB_DCLM ? limit : (double)(float)limit;
}

/* The tests on characters and words without punctuation. */
static sluice_status judge_length(struct web_worker *worker, const struct web_doc *doc,
                                  struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    sluice_status status = SLUICE_OK;
    size_t n;

    if (config->min_chars > 0) {
        n = doc->ascii ? doc->len : text_utf8_count(doc->text, doc->len);
        if (n < (uint64_t)config->min_chars) {
            return web_drop(verdict, CHARS, (double)n, (double)config->min_chars);
        }
    }
    if (config->min_words < 0 && config->max_words < 0) {
        return SLUICE_OK;
    }
    if (config->common.peer == WEB_DCLM) {
        n = web_count_fasttext(doc->text, doc->len);
    } else {
        status = web_count_page(doc->text, doc->len, &worker->other, &n, err);
    }
    if (status == SLUICE_OK && config->min_words >= 0 && n < (uint64_t)config->min_words) {
        return web_drop(verdict, WORDS, (double)n, (double)config->min_words);
    }
    if (status == SLUICE_OK && config->max_words >= 0 && n > (uint64_t)config->max_words) {
        return web_drop(verdict, WORDS, (double)n, (double)config->max_words);
    }
    return status;
}

/* A document without words fails every test of words: dclm returns early, datamap compares 0/0. */
static bool judge_word_length(const struct config *config, const struct counts *counts,
                              struct web_verdict *verdict)
{
    enum web_peer peer = (enum web_peer)config->common.peer;
    double mean =
        counts->words == 0
            ? 0
            : ratio_of(peer, peer == WEB_DCLM ? counts->chars : counts->bytes, counts->words);
    double low = limit_of(peer, config->min_word_length);
    double high = limit_of(peer, config->max_word_length);

    if (config->min_word_length >= 0 && (counts->words == 0 || mean < low)) {
        web_drop(verdict, WORD_LENGTH, mean, low);
    } else if (config->max_word_length >= 0 && (counts->words == 0 || mean > high)) {
        web_drop(verdict, WORD_LENGTH, mean, high);
    }
    return verdict->reason == 0;
}

static bool judge_symbols(const struct config *config, const struct web_doc *doc,
                          const struct counts *counts, struct web_verdict *verdict)
{
    enum web_peer peer = (enum web_peer)config->common.peer;
    size_t spaced = count_of(doc, ". . .");
    size_t symbols = count_of(doc, "#") + count_of(doc, "...") + spaced +
                     (doc->ascii ? 0 : count_of(doc, ELLIPSIS));
    size_t words = counts->words;
    double limit = limit_of(peer, config->max_symbol_ratio);
    double ratio;

    if (peer == WEB_DATAMAP) {
        words -= 2 * spaced; /* they count as "..." here: two spaces less */
        words = words > 0 ? words : 1;
    } else if (words == 0) {
        web_drop(verdict, SYMBOLS, 0, limit);
        return false;
    }
    ratio = ratio_of(peer, symbols, words);
    if (ratio > limit) {
        web_drop(verdict, SYMBOLS, ratio, limit);
    }
    return verdict->reason == 0;
}

/* dclm compares counts with limit x lines, datamap the share with the limit: this decides at the
 * limit itself. */
static bool judge_lines(const struct config *config, const struct web_doc *doc,
                        struct web_verdict *verdict)
{
    enum web_peer peer = (enum web_peer)config->common.peer;
    double bullet_limit = limit_of(peer, config->max_bullet_ratio);
    double ellipsis_limit = limit_of(peer, config->max_ellipsis_ratio);
    struct lines lines;
    size_t filled;
    double bullets;
    double ellipses;

    count_lines(peer, doc, &lines);
    filled = lines.filled > 0 ? lines.filled : 1;
    bullets = ratio_of(peer, lines.bullets, lines.all > 0 ? lines.all : 1);
    ellipses = ratio_of(peer, lines.ellipses, filled);
    if (config->max_bullet_ratio >= 0 &&
        (peer == WEB_DCLM ? (double)lines.bullets > bullet_limit * (double)lines.all
                          : bullets > bullet_limit)) {
        web_drop(verdict, BULLETS, bullets, bullet_limit);
    } else if (config->max_ellipsis_ratio >= 0 &&
               (peer == WEB_DCLM ? (double)lines.ellipses > ellipsis_limit * (double)lines.all
                                 : ellipses > ellipsis_limit)) {
        web_drop(verdict, ELLIPSES, ellipses, ellipsis_limit);
    }
    return verdict->reason == 0;
}

static void judge_letters(const struct config *config, const struct counts *counts,
                          struct web_verdict *verdict)
{
    enum web_peer peer = (enum web_peer)config->common.peer;
    double limit = limit_of(peer, config->max_non_alpha_ratio);
    double ratio = counts->words == 0 ? 1 : ratio_of(peer, counts->non_alpha, counts->words);
    size_t stop_words = config->unique_stop_words ? (size_t)__builtin_popcount(counts->stop_seen)
                                                  : counts->stop_words;

    if (config->max_non_alpha_ratio >= 0 &&
        (counts->words == 0 || (peer == WEB_DATAMAP && counts->words == 1) || ratio > limit)) {
        web_drop(verdict, NON_ALPHA, ratio, limit);
    } else if (config->min_stop_words > 0 && stop_words < (uint64_t)config->min_stop_words) {
        web_drop(verdict, STOP_WORDS, (double)stop_words, (double)config->min_stop_words);
    }
}

static sluice_status judge(struct web_worker *worker, const struct web_doc *doc,
                           struct web_verdict *verdict, struct sluice_error *err)
{
    const struct config *config = worker->web->config;
    enum web_peer peer = (enum web_peer)config->common.peer;
    struct counts counts;
    sluice_status status = judge_length(worker, doc, verdict, err);

    if (status == SLUICE_OK && verdict->reason == 0) {
        status = web_split(peer, doc->text, doc->len, &worker->words, err);
    }
    if (status != SLUICE_OK || verdict->reason != 0) {
        return status;
    }
    count_words(peer, doc, &worker->words, &counts);
    if (judge_word_length(config, &counts, verdict) &&
        (config->max_symbol_ratio < 0 || judge_symbols(config, doc, &counts, verdict)) &&
        judge_lines(config, doc, verdict)) {
        judge_letters(config, &counts, verdict);
    }
    return SLUICE_OK;
}

static sluice_status stage_open(const struct sluice_host_api *api, struct sluice_host *host,
                                const void *config, void **shared, struct sluice_error *err)
{
    return web_open(&web_quality_stage, api, host, config, shared, err);
}

static sluice_status stage_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return web_need(shared, plan, false, err);
}

static sluice_status stage_process(void *worker, const struct sluice_batch *batch,
                                   struct sluice_emit *emit, struct sluice_error *err)
{
    return web_judge(worker, batch, emit, false, judge, err);
}

const struct sluice_stage web_quality_stage = {
    .size = sizeof web_quality_stage,
    .name = "web_quality",
    .version = "1.0",
    .bytes_per_batch = 1,
    .summary =
        "RefinedWeb's document rules as DCLM and Olmo 3 run them: lengths, symbols, bullets, "
        "ellipses, letters, stop words",
    .doc =
        "Penedo et al. 2023 (arXiv:2306.01116), with the definitions of DCLM "
        "(baselines/mappers/filters/content_filters.py) or of datamap-rs (src/map_fxn.rs), which "
        "filtered "
        "Olmo 3's web pages. Tests run in the order of the reasons.\n\n"
        "`peer = \"dclm\"`: lengths are characters, words without punctuation are fastText's "
        "tokens that begin "
        "with a letter or digit, lines are stripped and empty ones left out, counts of bullets and "
        "ellipses are "
        "compared with limit x lines.\n\n"
        "`peer = \"datamap\"`: ratios are of single precision, word lengths are bytes, words "
        "without "
        "punctuation are runs of letters and digits in an ASCII text (\"don't\" has two) and "
        "Unicode words in any "
        "other, bullets are seen at column 0 of all lines (empty ones count), ellipses at the end "
        "of lines that "
        "are not empty, a document of one word fails the test of letters, \". . .\" counts as one "
        "word in the "
        "symbol ratio. Where the peer stops with a panic (a missing text) the text is empty here.",
    .example = "docs | s.web_quality {}",
    .role = SLUICE_ROLE_FILTER,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .reasons =
        "page_length_char|page_length_word|word_length|symbol_ratio|bullet_count|ellipsis_count|"
        "alphabetic_word_ratio|stop_word",
    .bytes_worker = 1 << 20,
    .open = stage_open,
    .prepare = stage_prepare,
    .worker_open = web_worker_open,
    .process = stage_process,
    .worker_close = web_worker_close,
    .close = web_close,
};
