/* Fuzzes what the store reads back: commit records and manifests. The first byte chooses: a record
 * as it is, a record whose check is made right (so that the fuzzer gets behind it), a manifest as
 * it is, or one whose content hash is made right. What is believed must print to a text that is
 * believed again and prints the same. */
#include <stdlib.h>
#include <string.h>

#include "store/appends.h"
#include "store/commit.h"
#include "store/jsontext.h"
#include "store/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void check_commit(const char *text, size_t n)
{
    struct commit *a;
    struct commit *b;
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    struct sluice_error err = ERROR_INIT;

    if (commit_parse(text, n, &a, &err) != SLUICE_OK) {
        must(a == NULL && err.message[0] != '\0');
        return;
    }
    if (commit_print(a, &first, &err) == SLUICE_OK) {
        must(commit_parse(first.data, first.size, &b, &err) == SLUICE_OK);
        must(commit_print(b, &second, &err) == SLUICE_OK);
        must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        commit_destroy(b);
    }
    commit_destroy(a);
    buf_deinit(&first);
    buf_deinit(&second);
}

/* What it says of the files that it was made of. */
static void look_at_appends(const struct snapshot *s)
{
    struct sluice_error err = ERROR_INIT;
    struct appended all;
    enum appended_state state;

    (void)appends_hold(s, (struct hash128){ 1, 2 });
    if (appended_open(s, &all, &err) != SLUICE_OK) {
        must(err.message[0] != '\0');
        return;
    }
    for (size_t i = 0; i < all.n; i++) {
        const struct appended_file *file = &all.files[i];
        must(appended_look(&all, file->reader, file->name, file->bytes, &file->hash, &state,
                           &err) == SLUICE_OK);
        must(state == APPENDED_HELD);
    }
    appended_deinit(&all);
}

static void check_snapshot(const char *text, size_t n)
{
    struct snapshot *a;
    struct snapshot *b;
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    struct sluice_error err = ERROR_INIT;

    if (snapshot_parse(text, n, &a, &err) != SLUICE_OK) {
        must(a == NULL && err.message[0] != '\0');
        return;
    }
    must(snapshot_print(a, &first, &err) == SLUICE_OK);
    /* Members that we don't know are covered by the hash but not printed: only a text of ours comes
     * back. */
    look_at_appends(a);
    if (snapshot_parse(first.data, first.size, &b, &err) == SLUICE_OK) {
        must(snapshot_print(b, &second, &err) == SLUICE_OK);
        must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        snapshot_destroy(b);
    }
    snapshot_destroy(a);
    buf_deinit(&first);
    buf_deinit(&second);
}

/* The bytes as what stands behind a record's check. */
static void check_commit_rest(const char *rest, size_t n)
{
    struct buf text = BUF_INIT;
    char hex[33];

    hash_hex(hash_bytes(rest, n), hex);
    buf_printf(&text, "{\"check\":\"%s\",", hex);
    buf_append(&text, rest, n);
    must(!text.failed);
    check_commit(text.data, text.size);
    buf_deinit(&text);
}

/* The object in text with a right content. */
static void check_snapshot_content(const char *text, size_t n)
{
    static const char *const others[] = { "content", "number", "parent", "added", "removed" };
    json_t *kept[5];
    json_t *root;
    struct buf out = BUF_INIT;
    char hex[33];

    if (jsontext_parse(text, n, &root, NULL) != SLUICE_OK) {
        return;
    }
    for (int i = 0; i < 5; i++) {
        kept[i] = json_incref(json_object_get(root, others[i]));
        (void)json_object_del(root, others[i]);
    }
    jsontext_put_value(&out, root, 0);
    must(!out.failed);
    hash_hex(hash_bytes(out.data, out.size), hex);
    for (int i = 1; i < 5; i++) {
        if (kept[i] != NULL) {
            must(json_object_set(root, others[i], kept[i]) == 0);
        }
        json_decref(kept[i]);
    }
    json_decref(kept[0]);
    must(json_object_set_new(root, "content", json_string(hex)) == 0);
    buf_clear(&out);
    jsontext_put_value(&out, root, 1);
    check_snapshot(out.data, out.size);
    json_decref(root);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data + 1;

    if (n == 0) {
        return 0;
    }
    switch (data[0] & 3) {
    case 0:
        check_commit(text, n - 1);
        break;
    case 1:
        check_commit_rest(text, n - 1);
        break;
    case 2:
        check_snapshot(text, n - 1);
        break;
    default:
        check_snapshot_content(text, n - 1);
        break;
    }
    return 0;
}
