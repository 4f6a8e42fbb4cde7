/* vocab_proto.h — walks the fields of a protocol buffer message (the wire format) in memory.
 *
 * Owns: nothing; fields point into the message. Depends on: libc.
 * Promises: never reads outside the message, whatever it holds; a message that breaks the format is
 * told by `broken`. Groups, which nothing here uses, count as broken. */
#ifndef TOKENIZE_VOCAB_PROTO_H
#define TOKENIZE_VOCAB_PROTO_H

#include <stddef.h>
#include <stdint.h>

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

/* A field, and a message to walk: its bytes are what is left of it. */
struct proto_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t value;       /* of the wires other than PROTO_BYTES */
    const uint8_t *bytes; /* of PROTO_BYTES */
    size_t len;
    int broken;
};

static inline struct proto_field proto_message(const void *data, size_t size)
{
    struct proto_field message = { .wire = PROTO_BYTES, .bytes = data, .len = size };
    return message;
}

/* Gives 1 and the next field of the message; 0 at its end, or with message->broken set. */
int proto_next(struct proto_field *message, struct proto_field *field);

#endif
