/* Big-endian integers of Kafka's wire, and what of a record batch both programs look at. */
#ifndef COST_WIRE_H
#define COST_WIRE_H

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCE = 0, PRODUCE_VERSION = 7, FETCH = 1, FETCH_VERSION = 11 };

enum {                              /* record batch v2, offsets from its first byte */
    BATCH_LENGTH = 8,               /* of what follows these 12 bytes */
    BATCH_LEADER_EPOCH = 12,
    BATCH_CRC = 17,
    BATCH_ATTRIBUTES = 21,          /* the CRC covers all from here on */
    BATCH_LAST_OFFSET_DELTA = 23,
    BATCH_RECORD_COUNT = 57,
    BATCH_HEADER = 61,
};

#define GETTER(bits) \
    static inline int##bits##_t get##bits(const uint8_t *at) \
    { \
        uint##bits##_t wire; \
        memcpy(&wire, at, sizeof wire); \
        return (int##bits##_t)be##bits##toh(wire); \
    }

/* Writers return where the next field goes. */
#define PUTTER(bits) \
    static inline uint8_t *put##bits(uint8_t *at, int64_t value) \
    { \
        uint##bits##_t wire = htobe##bits((uint##bits##_t)value); \
        memcpy(at, &wire, sizeof wire); \
        return at + sizeof wire; \
    }

GETTER(16)
GETTER(32)
GETTER(64)
PUTTER(16)
PUTTER(32)
PUTTER(64)

static inline uint8_t *put8(uint8_t *at, int value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static inline uint8_t *put_string(uint8_t *at, const char *text, int size)
{
    at = put16(at, size);
    memcpy(at, text, size);
    return at + size;
}

static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

static inline void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        fail("memory");
    return memory;
}

#endif
