/* Fuzzes saved states (store/saved.h): bytes as they are, or as the content of blocks with right
 * checksums, from which an edge, notes, an account and a compressed file are restored. What is
 * nonsense is refused and does no harm. */
#include <stdlib.h>
#include <string.h>

#include "run/chain/ledger.h"
#include "run/chain/notes.h"
#include "run/edge/table.h"
#include "store/outcodec.h"
#include "store/saved.h"
#include "store/store.h"

#define PATH "/tmp/sluice-fuzz-saved"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct hash128 of = { 1, 2 };

static void must(bool good)
{
    if (!good) {
        abort();
    }
}

static void restore_edge(struct restored *in, uint8_t kind)
{
    struct schema schema;
    struct edge_spec spec = { (enum edge_partition)(kind % 3), kind % 3 == 0 ? 1 : 2, &schema };
    struct port *port;

    schema_init(&schema);
    must(schema_add_text(&schema, "key", "fixed[16]", NULL, NULL) == SLUICE_OK &&
         schema_add_text(&schema, "_pos", "uint64", NULL, NULL) == SLUICE_OK &&
         schema_add_text(&schema, "text", "utf8?", NULL, NULL) == SLUICE_OK);
    must(port_open("/tmp", &spec, "/tmp", 1 << 20, &port, NULL) == SLUICE_OK);
    if (port_restore(port, in, NULL) == SLUICE_OK) {
        struct edge_directory directory;
        uint64_t rows;
        if (port_finish(port, &directory, &rows, NULL) == SLUICE_OK) {
            edge_directory_deinit(&directory);
        }
    }
    port_destroy(port);
    schema_deinit(&schema);
}

static void restore_notes(struct restored *in)
{
    struct notes notes = { 0 };
    struct ledger_op entry = { .n_reasons = 2 };

    entry.dropped = calloc(3, sizeof *entry.dropped);
    must(entry.dropped != NULL);
    if (notes_restore(&notes, 5, in, NULL) == SLUICE_OK) {
        notes_sort(&notes);
        (void)!ledger_restore(&entry, in, NULL);
    }
    for (uint32_t k = 0; k < entry.n_measures; k++) {
        free(entry.measures[k].name);
    }
    free(entry.measures);
    free(entry.dropped);
    notes_deinit(&notes);
}

static void restore_stream(const uint8_t *data, size_t n, uint8_t kind)
{
    struct outcodec *codec;
    struct outcodec_again *again;
    struct pending *pending;

    must(outcodec_create((enum outcodec_kind)(kind % 3), 1 * (kind % 3 != 0), &codec, NULL) ==
         SLUICE_OK);
    must(pending_open("/tmp", &pending, NULL) == SLUICE_OK);
    must(outcodec_begin(codec, pending, NULL) == SLUICE_OK);
    must(outcodec_again_begin(codec, &again, NULL) == SLUICE_OK);
    (void)!outcodec_again_take(again, data, n, NULL);
    outcodec_again_end(again);
    outcodec_destroy(codec);
    pending_abort(pending);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct restored *in;
    struct saved *out;
    struct buf text = BUF_INIT;
    uint64_t bytes;
    bool found;
    uint8_t what = n > 0 ? data[0] : 0;

    if (n < 2 || n > 1 << 20) {
        return 0;
    }
    if (what % 4 == 0) {
        must(store_replace(PATH, data + 1, n - 1, STORE_LOOSE, NULL) == SLUICE_OK);
        if (restored_open(PATH, of, &in, &found, NULL) == SLUICE_OK) {
            restored_get_bytes(in, UINT64_MAX, &text);
            (void)!restored_end(in, NULL);
            restored_close(in);
        }
    } else if (what % 4 == 1) {
        restore_stream(data + 2, n - 2, data[1]);
    } else if (what % 4 > 1) {
        must(saved_begin("/tmp", of, NULL, &out, NULL) == SLUICE_OK);
        saved_put_raw(out, data + 2, n - 2);
        must(saved_publish(out, "sluice-fuzz-saved", &bytes, NULL) == SLUICE_OK);
        must(restored_open(PATH, of, &in, &found, NULL) == SLUICE_OK && found);
        if (what % 4 == 2) {
            restore_edge(in, data[1]);
        } else {
            restore_notes(in);
        }
        restored_close(in);
    }
    buf_deinit(&text);
    return 0;
}
