/* pii, pii_datatrove - replace e-mail addresses and public IPv4 addresses (datatrove's
 * PIIFormatter). */
#include <stddef.h>
#include <stdio.h>

#include <xxhash.h>

#include "clean.h"
#include "pii_scan.h"

struct config {
    const char *over;
    struct sluice_list email_replacement, ip_replacement;
    uint8_t remove_emails, remove_ips, only_public;
    int32_t ranges;
};

#define EMAILS "email@example.com,firstname.lastname@example.org"
#define IPS "22.214.171.124,126.96.36.199,188.8.131.52,184.108.40.206,220.127.116.11,18.104.22.168"

static const struct sluice_option options[] = {
    { .name = "over",
      .doc = "Column that holds the text, replaced.",
      .def = "text",
      .type = SLUICE_OPT_COLUMN,
      .offset = offsetof(struct config, over) },
    { .name = "remove_emails",
      .doc = "Replace e-mail addresses.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, remove_emails) },
    { .name = "remove_ips",
      .doc = "Replace IPv4 addresses.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, remove_ips) },
    { .name = "only_public",
      .doc = "Replace IPv4 addresses of the public internet only.",
      .def = "true",
      .type = SLUICE_OPT_BOOL,
      .offset = offsetof(struct config, only_public) },
    { .name = "email_replacement",
      .doc = "What e-mail addresses become; of several, one is chosen for each address.",
      .def = EMAILS,
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, email_replacement) },
    { .name = "ip_replacement",
      .doc = "What IPv4 addresses become; of several, one is chosen for each address. datatrove's "
             "answered no ping when it was written.",
      .def = IPS,
      .type = SLUICE_OPT_LIST,
      .offset = offsetof(struct config, ip_replacement) },
    { .name = "ranges",
      .doc = "Which addresses are not public: those of Python before 3.11.10 and 3.12.4 (`old`) or "
             "since (`new`: also 192.0.0.0/24 but for .9 and .10).",
      .def = "old",
      .choices = "old|new",
      .type = SLUICE_OPT_ENUM,
      .offset = offsetof(struct config, ranges) },
};

/* What is found, and what it becomes. */
struct replacer {
    int (*next)(const char *text, size_t n, size_t from, struct pii_match *match);
    const struct sluice_list *words;
    int addresses; /* IPv4: only some are replaced */
    uint64_t turn; /* the peer's: how many were replaced */
};

struct worker {
    const struct config *config;
    int in_turn; /* the peer's choice; else by the hash of what is replaced */
    struct replacer emails, ips;
    struct sluice_bytes first; /* the text between the two replacers */
};

static sluice_status pii_open(const struct sluice_host_api *api, struct sluice_host *host,
                              const void *given, void **shared, struct sluice_error *err)
{
    const struct config *config = given;

    (void)api;
    (void)host;
    if (config->email_replacement.n == 0 || config->ip_replacement.n == 0) {
        return sluice_fail(err, SLUICE_E_CONFIG,
                           config->email_replacement.n == 0 ? "email_replacement"
                                                            : "ip_replacement",
                           "found no replacement, expected one at least; give { \"\" } to delete");
    }
    *shared = (void *)(uintptr_t)config;
    return SLUICE_OK;
}

static sluice_status pii_prepare(void *shared, struct sluice_plan *plan, struct sluice_error *err)
{
    return clean_prepare(((const struct config *)shared)->over, plan, err);
}

static sluice_status worker_make(void *shared, int in_turn, void **out, struct sluice_error *err)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (worker == NULL) {
        return sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory");
    }
    worker->config = shared;
    worker->in_turn = in_turn;
    worker->emails.next = pii_next_email;
    worker->emails.words = &worker->config->email_replacement;
    worker->ips.next = pii_next_ipv4;
    worker->ips.words = &worker->config->ip_replacement;
    worker->ips.addresses = 1;
    *out = worker;
    return SLUICE_OK;
}

static sluice_status pii_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return worker_make(shared, 0, out, err);
}

static sluice_status pii_datatrove_worker_open(void *shared, void **out, struct sluice_error *err)
{
    return worker_make(shared, 1, out, err);
}

static void pii_worker_close(void *state)
{
    struct worker *worker = state;

    sluice_bytes_free(&worker->first);
    free(worker);
}

/* Appends text with its matches replaced. */
static int replace(struct worker *worker, struct replacer *replacer, const char *text, size_t n,
                   struct sluice_bytes *out)
{
    struct pii_match match;
    size_t done = 0;
    size_t from = 0;
    int ok = sluice_bytes_reserve(out, n);

    while (ok && replacer->next(text, n, from, &match)) {
        const char *found = text + match.begin;
        size_t length = match.end - match.begin;
        const char *word;
        uint64_t chosen;
        uint32_t address;
        from = match.end;
        if (replacer->addresses && (!pii_read_ipv4(found, length, &address) ||
                                    (worker->config->only_public != 0 &&
                                     !pii_is_public(address, worker->config->ranges)))) {
            continue;
        }
        chosen = worker->in_turn ? replacer->turn : XXH3_64bits(found, length);
        word = replacer->words->items[chosen % replacer->words->n];
        replacer->turn = (replacer->turn + 1) % replacer->words->n;
        ok = sluice_bytes_add(out, text + done, match.begin - done) &&
             sluice_bytes_add(out, word, strlen(word));
        done = match.end;
    }
    return ok && sluice_bytes_add(out, text + done, n - done);
}

static sluice_status edit(void *state, const char *text, size_t n, struct sluice_bytes *out,
                          struct sluice_error *err)
{
    struct worker *worker = state;
    int ok = 1;

    if (worker->config->remove_emails != 0 && worker->config->remove_ips != 0) {
        worker->first.size = 0;
        ok = replace(worker, &worker->emails, text, n, &worker->first) &&
             replace(worker, &worker->ips, worker->first.data, (size_t)worker->first.size, out);
    } else if (worker->config->remove_emails != 0 || worker->config->remove_ips != 0) {
        ok = replace(worker, worker->config->remove_emails != 0 ? &worker->emails : &worker->ips,
                     text, n, out);
    } else {
        ok = sluice_bytes_add(out, text, n);
    }
    return ok ? SLUICE_OK : sluice_fail(err, SLUICE_E_NOMEM, "", "out of memory for the text");
}

static sluice_status pii_process(void *worker, const struct sluice_batch *batch,
                                 struct sluice_emit *emit, struct sluice_error *err)
{
    return clean_process(worker, edit, batch, emit, err);
}

/* After an error the host goes back to the last save: whose turn it is must be in it. */
static sluice_status pii_datatrove_save(void *state, struct sluice_io *io, struct sluice_error *err)
{
    const struct worker *worker = state;
    const uint64_t turns[2] = { worker->emails.turn, worker->ips.turn };

    (void)err;
    return io->write(io, turns, sizeof turns);
}

static sluice_status pii_datatrove_load(void *state, struct sluice_io *io, uint64_t version,
                                        struct sluice_error *err)
{
    struct worker *worker = state;
    uint64_t turns[2];
    sluice_status status = io->read(io, turns, sizeof turns);

    (void)version;
    if (status == SLUICE_OK &&
        (turns[0] >= worker->emails.words->n || turns[1] >= worker->ips.words->n)) {
        status = sluice_fail(err, SLUICE_E_DATA, "", "the saved turns are beyond the replacements");
    }
    if (status == SLUICE_OK) {
        worker->emails.turn = turns[0];
        worker->ips.turn = turns[1];
    }
    return status;
}

const struct sluice_stage clean_pii_stage = {
    .size = sizeof clean_pii_stage,
    .name = "pii",
    .version = "1.0",
    .bytes_per_batch = 3,
    .summary = "Replaces e-mail addresses and public IPv4 addresses",
    .doc =
        "Finds what datatrove 0.10's PIIFormatter (formatters/pii.py) finds, and replaces it with "
        "one of datatrove's words, chosen by a hash of the address (XXH3): the same address "
        "becomes the same word everywhere, whatever the order and the splits. datatrove takes its "
        "words in turn, over all documents of a task: that is `pii_datatrove`. IP addresses are "
        "searched after e-mail addresses were replaced; digits around one (a version number of "
        "five parts) do not protect it, and 01.2.3.4 is none.",
    .example = "docs | s.pii { email_replacement = { \"<email>\" } }",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_STATELESS,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .open = pii_open,
    .prepare = pii_prepare,
    .worker_open = pii_worker_open,
    .process = pii_process,
    .worker_close = pii_worker_close,
};

const struct sluice_stage clean_pii_datatrove_stage = {
    .size = sizeof clean_pii_datatrove_stage,
    .name = "pii_datatrove",
    .version = "1.0",
    .bytes_per_batch = 4,
    .summary = "Replaces e-mail addresses and public IPv4 addresses, taking its words in turn as "
               "datatrove's PIIFormatter",
    .doc =
        "As `pii`, but the words are taken in turn over the documents of an input split, so that "
        "what an address becomes depends on the order and the cut of the input. Use `pii` unless "
        "you repeat a run of datatrove.",
    .example = "docs | s.pii_datatrove {}",
    .role = SLUICE_ROLE_ANNOTATOR,
    .mode = SLUICE_MODE_ORDERED,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .option_stride = sizeof options[0],
    .config_size = sizeof(struct config),
    .bytes_worker = 1 << 20,
    .state_version = 1,
    .open = pii_open,
    .prepare = pii_prepare,
    .worker_open = pii_datatrove_worker_open,
    .process = pii_process,
    .save = pii_datatrove_save,
    .load = pii_datatrove_load,
    .worker_close = pii_worker_close,
};
