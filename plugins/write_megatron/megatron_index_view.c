/* Reading and checking Megatron's .idx; see megatron_index.h. Bytes may come from anywhere. */
#include <assert.h>
#include <string.h>

#include "megatron_index.h"
#include "megatron_index_fail.h"

static uint64_t number_at(const uint8_t *bytes, uint64_t at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        number |= (uint64_t)bytes[at + i] << (8 * i);
    }
    return number;
}

static uint64_t length_at(const struct megatron_view *view, uint64_t i)
{
    return number_at(view->bytes, MEGATRON_HEADER_BYTES + 4 * i, 4);
}

static uint64_t offset_at(const struct megatron_view *view, uint64_t i)
{
    return number_at(view->bytes, MEGATRON_HEADER_BYTES + 4 * view->sequences + 8 * i, 8);
}

static uint64_t boundary_at(const struct megatron_view *view, uint64_t i)
{
    return number_at(view->bytes, MEGATRON_HEADER_BYTES + 12 * view->sequences + 8 * i, 8);
}

static int32_t check_header(const uint8_t *bytes, size_t size, struct megatron_view *view,
                            struct sluice_error *err)
{
    if (size < MEGATRON_HEADER_BYTES) {
        return megatron_fail(
            err, SLUICE_E_DATA,
            "the index has %zu bytes, expected at least a header of %u; it is cut short", size,
            MEGATRON_HEADER_BYTES);
    }
    if (memcmp(bytes, MEGATRON_MAGIC, MEGATRON_MAGIC_BYTES) != 0) {
        return megatron_fail(err, SLUICE_E_DATA,
                             "the index does not begin with MMIDIDX; it is not a Megatron .idx (or "
                             "one of the legacy "
                             "TNTIDX format, which must be converted)");
    }
    uint64_t version = number_at(bytes, 9, 8);
    if (version != 1) {
        return megatron_fail(err, SLUICE_E_DATA, "the index says version %llu, expected 1",
                             (unsigned long long)version);
    }
    view->dtype = (enum megatron_dtype)bytes[17];
    if (megatron_dtype_size(view->dtype) == 0) {
        return megatron_fail(err, SLUICE_E_DATA, "the index says token type %u, expected 1 to 8",
                             bytes[17]);
    }
    uint64_t boundaries = number_at(bytes, 26, 8);
    view->sequences = number_at(bytes, 18, 8);
    view->documents = boundaries - 1;
    uint64_t left = size - MEGATRON_HEADER_BYTES;
    if (view->sequences > left / 12 || boundaries > (left - 12 * view->sequences) / 8) {
        return megatron_fail(err, SLUICE_E_DATA,
                             "the index says %llu sequences and %llu document boundaries, more "
                             "than its %zu bytes hold; "
                             "it is cut short or damaged",
                             (unsigned long long)view->sequences, (unsigned long long)boundaries,
                             size);
    }
    if (boundaries == 0) {
        return megatron_fail(err, SLUICE_E_DATA,
                             "the index has no document boundary, expected at least the first, 0");
    }
    uint64_t rest = left - 12 * view->sequences - 8 * boundaries;
    if (rest != 0 && rest != view->sequences) {
        return megatron_fail(
            err, SLUICE_E_DATA,
            "the index has %llu bytes after its arrays, expected none, or one a sequence (modes)",
            (unsigned long long)rest);
    }
    view->multimodal = rest != 0;
    return SLUICE_OK;
}

static int32_t check_sequences(struct megatron_view *view, struct sluice_error *err)
{
    uint64_t at = 0;
    uint64_t size = megatron_dtype_size(view->dtype);
    for (uint64_t i = 0; i < view->sequences; i++) {
        uint64_t length = length_at(view, i);
        uint64_t offset = offset_at(view, i);
        if (length > INT32_MAX) {
            return megatron_fail(err, SLUICE_E_DATA, "sequence %llu has a negative length (%d)",
                                 (unsigned long long)i, (int)(int32_t)(uint32_t)length);
        }
        if (offset != at) {
            return megatron_fail(err, SLUICE_E_DATA,
                                 "sequence %llu begins at byte %llu of the .bin, expected %llu, "
                                 "where the one before "
                                 "ends",
                                 (unsigned long long)i, (unsigned long long)offset,
                                 (unsigned long long)at);
        }
        at +=
            length * size; /* a step is below 2^34, so that the sum passes 2^63 long before 2^64 */
        if (at > INT64_MAX) {
            return megatron_fail(err, SLUICE_E_DATA, "sequence %llu ends beyond 2^63 bytes",
                                 (unsigned long long)i);
        }
        view->tokens += length;
    }
    view->bin_size = at;
    return SLUICE_OK;
}

static int32_t check_documents(const struct megatron_view *view, struct sluice_error *err)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i <= view->documents; i++) {
        uint64_t boundary = boundary_at(view, i);
        if (i == 0 ? boundary != 0 : boundary < before) {
            return megatron_fail(err, SLUICE_E_DATA,
                                 "document boundary %llu is %lld, expected %s%llu",
                                 (unsigned long long)i, (long long)boundary,
                                 i == 0 ? "" : "at least ", (unsigned long long)before);
        }
        if (boundary > view->sequences) {
            return megatron_fail(
                err, SLUICE_E_DATA,
                "document boundary %llu is %lld, expected at most %llu, the number of sequences",
                (unsigned long long)i, (long long)boundary, (unsigned long long)view->sequences);
        }
        before = boundary;
    }
    if (before != view->sequences) {
        return megatron_fail(
            err, SLUICE_E_DATA,
            "the last document ends at sequence %llu, expected %llu, the number of sequences",
            (unsigned long long)before, (unsigned long long)view->sequences);
    }
    return SLUICE_OK;
}

int32_t megatron_view_open(const void *bytes, size_t size, uint64_t bin_size,
                           struct megatron_view *view, struct sluice_error *err)
{
    *view = (struct megatron_view){ .bytes = bytes };
    int32_t status = check_header(bytes, size, view, err);
    if (status == SLUICE_OK) {
        status = check_sequences(view, err);
    }
    if (status == SLUICE_OK) {
        status = check_documents(view, err);
    }
    if (status == SLUICE_OK && bin_size != UINT64_MAX && bin_size != view->bin_size) {
        status = megatron_fail(err, SLUICE_E_DATA,
                               "the .bin has %llu bytes, expected %llu (%llu tokens of %u bytes): "
                               "index and tokens do not "
                               "belong together, or one is cut short",
                               (unsigned long long)bin_size, (unsigned long long)view->bin_size,
                               (unsigned long long)view->tokens, megatron_dtype_size(view->dtype));
    }
    return status;
}

void megatron_view_sequence(const struct megatron_view *view, uint64_t i, uint32_t *tokens,
                            uint64_t *offset)
{
    assert(i < view->sequences);
    *tokens = (uint32_t)length_at(view, i);
    *offset = offset_at(view, i);
}

void megatron_view_document(const struct megatron_view *view, uint64_t i, uint64_t *begin,
                            uint64_t *end)
{
    assert(i < view->documents);
    *begin = boundary_at(view, i);
    *end = boundary_at(view, i + 1);
}
