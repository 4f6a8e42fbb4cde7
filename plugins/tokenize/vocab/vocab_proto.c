/* vocab_proto.c — see the header. protobuf.dev, "Encoding". */
#include "vocab/vocab_proto.h"

static int read_varint(struct proto_field *m, uint64_t *value)
{
    unsigned shift;
    *value = 0;
    for (shift = 0; shift < 64 && m->len > 0; shift += 7) {
        const uint8_t byte = *m->bytes++;
        m->len--;
        *value |= (uint64_t)(byte & 0x7Fu) << shift;
        if (byte < 0x80) {
            return 1;
        }
    }
    return 0;
}

static int read_fixed(struct proto_field *m, unsigned bytes, uint64_t *value)
{
    unsigned i;
    if (m->len < bytes) {
        return 0;
    }
    *value = 0;
    for (i = 0; i < bytes; i++) {
        *value |= (uint64_t)m->bytes[i] << 8 * i;
    }
    m->bytes += bytes;
    m->len -= bytes;
    return 1;
}

static int read_field(struct proto_field *m, struct proto_field *field)
{
    uint64_t key;
    *field = (struct proto_field){ 0 };
    if (!read_varint(m, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3) {
        return 0;
    }
    field->number = (uint32_t)(key >> 3);
    switch (key & 7) {
    case PROTO_VARINT:
        field->wire = PROTO_VARINT;
        return read_varint(m, &field->value);
    case PROTO_FIXED64:
        field->wire = PROTO_FIXED64;
        return read_fixed(m, 8, &field->value);
    case PROTO_FIXED32:
        field->wire = PROTO_FIXED32;
        return read_fixed(m, 4, &field->value);
    case PROTO_BYTES:
        field->wire = PROTO_BYTES;
        if (!read_varint(m, &key) || key > m->len) {
            return 0;
        }
        field->bytes = m->bytes;
        field->len = (size_t)key;
        m->bytes += field->len;
        m->len -= field->len;
        return 1;
    default:
        return 0;
    }
}

int proto_next(struct proto_field *message, struct proto_field *field)
{
    if (message->len == 0 || message->broken) {
        return 0;
    }
    message->broken = !read_field(message, field);
    return !message->broken;
}
