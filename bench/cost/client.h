/* The client's side of a connection: blocking sends and receives, Produce v7 and Fetch v11 for one partition. */
#ifndef COST_CLIENT_H
#define COST_CLIENT_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "wire.h"

struct batch {
    uint8_t *data;
    int size, records;
};

static int dial(const char *host, int port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        fprintf(stderr, "%s is not an IPv4 address\n", host);
        exit(1);
    }
    if (connect(fd, (void *)&address, sizeof address))
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void send_all(int fd, const uint8_t *data, int size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            fail("send");
        data += sent;
        size -= sent;
    }
}

static void receive_all(int fd, uint8_t *data, int size)
{
    while (size > 0) {
        ssize_t got = recv(fd, data, size, 0);
        if (got <= 0)
            fail("the broker closed the connection");
        data += got;
        size -= got;
    }
}

/* A reply without its size, into `buffer`. */
static int receive_reply(int fd, uint8_t *buffer, int room)
{
    uint8_t prefix[4];
    receive_all(fd, prefix, sizeof prefix);
    int size = get32(prefix);
    if (size < 0 || size > room) {
        fprintf(stderr, "a reply of %d bytes\n", size);
        exit(1);
    }
    receive_all(fd, buffer, size);
    return size;
}

/* ---- messages, written with their size in front; read without it */

static uint8_t *write_header(uint8_t *start, int api, int version)
{
    uint8_t *out = put16(start + 4, api);
    out = put16(out, version);
    out = put32(out, 1);                            /* correlation id: replies come in order */
    return put_string(out, "load", 4);
}

static int write_produce(uint8_t *start, const char *topic, int partition, int acks, const struct batch *batch)
{
    uint8_t *out = write_header(start, PRODUCE, PRODUCE_VERSION);
    out = put16(out, -1);                           /* no transaction */
    out = put16(out, acks);
    out = put32(out, 30000);
    out = put32(out, 1);
    out = put_string(out, topic, strlen(topic));
    out = put32(out, 1);
    out = put32(out, partition);
    out = put32(out, batch->size);
    memcpy(out, batch->data, batch->size);
    out += batch->size;
    put32(start, out - start - 4);
    return out - start;
}

static int write_fetch(uint8_t *start, const char *topic, int partition, int64_t offset, int max_bytes, int max_wait_ms)
{
    uint8_t *out = write_header(start, FETCH, FETCH_VERSION);
    out = put32(out, -1);                           /* a consumer */
    out = put32(out, max_wait_ms);
    out = put32(out, 1);                            /* min bytes */
    out = put32(out, max_bytes);
    out = put8(out, 0);                             /* read uncommitted */
    out = put32(out, 0);                            /* no session */
    out = put32(out, -1);
    out = put32(out, 1);
    out = put_string(out, topic, strlen(topic));
    out = put32(out, 1);
    out = put32(out, partition);
    out = put32(out, -1);                           /* any leader epoch */
    out = put64(out, offset);
    out = put64(out, -1);                           /* log start offset: for followers */
    out = put32(out, max_bytes);
    out = put32(out, 0);                            /* forgotten topics */
    out = put_string(out, "", 0);                   /* rack */
    put32(start, out - start - 4);
    return out - start;
}

/* The one partition's error code and base offset. */
static int read_produce(const uint8_t *reply, int64_t *base_offset)
{
    const uint8_t *at = reply + 4 + 4;              /* correlation id, one topic */
    at += 2 + get16(at) + 4 + 4;                    /* its name, one partition, index */
    *base_offset = get64(at + 2);
    return get16(at);
}

/* The error code; *next becomes the offset after the last whole batch. */
static int read_fetch(const uint8_t *reply, int size, int64_t *next)
{
    const uint8_t *at = reply + 4 + 4, *end = reply + size;
    int error = get16(at);
    if (error)
        return error;
    at += 2 + 4 + 4;                                /* session, one topic */
    at += 2 + get16(at) + 4 + 4;
    error = get16(at);
    at += 2 + 8 + 8 + 8;
    int aborted = get32(at);
    at += 4 + (aborted > 0 ? aborted * 16 : 0) + 4 + 4;
    if (error)
        return error;
    while (end - at >= BATCH_HEADER && end - at >= 12 + get32(at + BATCH_LENGTH)) {
        *next = get64(at) + get32(at + BATCH_LAST_OFFSET_DELTA) + 1;
        at += 12 + get32(at + BATCH_LENGTH);
    }
    return 0;
}

#endif
