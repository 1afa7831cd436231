/* limit PORT FILE CAPACITY: what Produce and Fetch cost in system calls and checksums alone.
 *
 * One thread, one epoll set, one log file for every topic and partition that a client names. Produce v7: the batch's
 * CRC is checked, the offset stamped; what one wake-up of a connection brought is one pwritev and one send. Fetch v11:
 * a header and a sendfile; with nothing to give it waits for the next append, or not at all if it would wait for
 * 100 ms or less. Frames are believed, memory and disk are there, nothing is recovered: this is no broker, it is the
 * cost that a broker in the same minute on the same machine cannot avoid.
 *
 * The file is allocated once and overwritten from its start after CAPACITY bytes. Port 0: a free one. Prints
 * "limit ready on PORT".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire.h"

enum {
    READ_BYTES = 256 << 10,     /* at most, of one connection in one wake-up, unless a larger frame has begun */
    BUFFER_BYTES = 4 << 20,
    PAGE_BYTES = 4096,          /* receiving to 16 bytes behind a page's start, as malloc gives, can be slow */
    REPLY_BYTES = 1 << 20,
    INDEX_INTERVAL = 4096,
    QUEUE = 64,                 /* batches in one pwritev */
    WAITERS = 1024,
    IMPATIENT_MS = 100,
};

struct fetch {
    int32_t correlation_id, partition, max_bytes;
    int64_t offset;
    int topic_size;
    char topic[256];
};

struct connection {
    int fd, have, reply_size;
    uint8_t *buffer, *reply;
    struct fetch fetch;
};

static struct {
    int fd;
    int64_t capacity, size, end_offset;
    struct { int64_t offset, position; } *index;
    long index_size;
    struct iovec queue[QUEUE];
    int queued;
    int64_t queued_bytes;
} store;

static struct connection *waiters[WAITERS];
static int waiting;

/* ---- CRC-32C, eight bytes a step */

#if defined(__x86_64__)
#include <nmmintrin.h>
#define CRC_TARGET __attribute__((target("sse4.2")))
#define CRC8(crc, v) ((uint32_t)_mm_crc32_u64(crc, v))
#define CRC1(crc, v) _mm_crc32_u8(crc, v)
#elif defined(__aarch64__)
#include <arm_acle.h>
#define CRC_TARGET __attribute__((target("+crc")))
#define CRC8(crc, v) __crc32cd(crc, v)
#define CRC1(crc, v) __crc32cb(crc, v)
#endif

CRC_TARGET static uint32_t crc32c(const uint8_t *data, int64_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        crc = CRC8(crc, word);
    }
    while (size-- > 0)
        crc = CRC1(crc, *data++);
    return ~crc;
}

/* ---- the log */

static void store_open(const char *path, int64_t capacity)
{
    store.capacity = capacity;
    store.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
    if (store.fd < 0 || fallocate(store.fd, FALLOC_FL_KEEP_SIZE, 0, capacity))
        fail(path);
    store.index = allocate((capacity / INDEX_INTERVAL + 2) * sizeof *store.index);
}

static void store_write(void)
{
    if (!store.queued)
        return;
    if (pwritev(store.fd, store.queue, store.queued, store.size) != store.queued_bytes)
        fail("pwritev");
    store.size += store.queued_bytes;
    store.queued = 0;
    store.queued_bytes = 0;
}

/* Returns the batch's base offset. It must stay where it is until store_write(). */
static int64_t store_append(uint8_t *batch, int32_t size)
{
    int64_t base = store.end_offset, position = store.size + store.queued_bytes;
    put64(batch, base);
    put32(batch + BATCH_LEADER_EPOCH, 0);
    if (!store.index_size || position - store.index[store.index_size - 1].position > INDEX_INTERVAL) {
        store.index[store.index_size].offset = base;
        store.index[store.index_size++].position = position;
    }
    store.queue[store.queued++] = (struct iovec){batch, size};
    store.queued_bytes += size;
    store.end_offset = base + get32(batch + BATCH_LAST_OFFSET_DELTA) + 1;
    if (store.queued == QUEUE)
        store_write();
    return base;
}

static int64_t store_position(int64_t offset)
{
    long low = 0, high = store.index_size;
    if (offset >= store.end_offset)
        return store.size;
    while (low < high) {
        long middle = (low + high) / 2;
        if (store.index[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? store.index[low - 1].position : 0;
}

static void store_wrap(void)
{
    if (store.size + BUFFER_BYTES > store.capacity)
        store.size = store.index_size = store.end_offset = 0;
}

/* ---- Produce and Fetch */

static void produce(struct connection *client, int32_t correlation_id, uint8_t *at)
{
    int transactional_id = get16(at);
    at += 2 + (transactional_id > 0 ? transactional_id : 0);
    int acks = get16(at);
    at += 2 + 4 + 4;                                    /* acks, timeout, one topic */
    int topic_size = get16(at);
    const char *topic = (const char *)at + 2;
    at += 2 + topic_size + 4;                           /* one partition */
    int32_t partition = get32(at), size = get32(at + 4);
    uint8_t *batch = at + 8;
    bool intact = crc32c(batch + BATCH_ATTRIBUTES, size - BATCH_ATTRIBUTES) == (uint32_t)get32(batch + BATCH_CRC);
    int64_t base = intact ? store_append(batch, size) : -1;
    if (!acks)
        return;
    uint8_t *start = client->reply + client->reply_size, *out = start + 4;
    out = put32(out, correlation_id);
    out = put32(out, 1);
    out = put_string(out, topic, topic_size);
    out = put32(out, 1);
    out = put32(out, partition);
    out = put16(out, intact ? 0 : 2);
    out = put64(out, base);
    out = put64(out, -1);                               /* log append time */
    out = put64(out, 0);                                /* log start offset */
    out = put32(out, 0);                                /* throttle time */
    put32(start, out - start - 4);
    client->reply_size += out - start;
}

static int fetch_header(uint8_t *start, const struct fetch *fetch, int32_t records)
{
    uint8_t *out = start + 4;
    out = put32(out, fetch->correlation_id);
    out = put32(out, 0);                                /* throttle time */
    out = put16(out, 0);
    out = put32(out, 0);                                /* session */
    out = put32(out, 1);
    out = put_string(out, fetch->topic, fetch->topic_size);
    out = put32(out, 1);
    out = put32(out, fetch->partition);
    out = put16(out, 0);
    out = put64(out, store.end_offset);                 /* high watermark, last stable offset, log start offset */
    out = put64(out, store.end_offset);
    out = put64(out, 0);
    out = put32(out, 0);                                /* aborted transactions */
    out = put32(out, -1);                               /* preferred read replica */
    out = put32(out, records);
    put32(start, out - start - 4 + records);
    return out - start;
}

static void fetch_answer(struct connection *client)
{
    uint8_t header[512];
    off_t position = store_position(client->fetch.offset);
    int64_t left = store.size - position;
    if (left > client->fetch.max_bytes)
        left = client->fetch.max_bytes;
    int size = fetch_header(header, &client->fetch, left);
    if (send(client->fd, header, size, MSG_NOSIGNAL | (left ? MSG_MORE : 0)) != size)
        return;
    while (left) {
        ssize_t sent = sendfile(client->fd, store.fd, &position, left);
        if (sent < 0 && errno == EAGAIN)
            poll(&(struct pollfd){client->fd, POLLOUT, 0}, 1, 1000);
        else if (sent <= 0)
            return;
        else
            left -= sent;
    }
}

static void fetch(struct connection *client, int32_t correlation_id, const uint8_t *at)
{
    struct fetch *asked = &client->fetch;
    int32_t max_wait_ms = get32(at + 4);
    at += 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4;                /* replica .. isolation level, session and epoch, one topic */
    asked->topic_size = get16(at);
    memcpy(asked->topic, at + 2, asked->topic_size);
    at += 2 + asked->topic_size + 4;                    /* one partition */
    asked->partition = get32(at);
    asked->offset = get64(at + 8);
    asked->max_bytes = get32(at + 24);
    asked->correlation_id = correlation_id;
    store_write();
    if (asked->offset < store.end_offset || max_wait_ms <= IMPATIENT_MS || waiting == WAITERS)
        fetch_answer(client);
    else
        waiters[waiting++] = client;
}

static void answer_waiters(void)
{
    for (int i = 0; i < waiting;) {
        struct connection *client = waiters[i];
        if (client->fetch.offset >= store.end_offset) {
            i++;
            continue;
        }
        waiters[i] = waiters[--waiting];
        fetch_answer(client);
    }
}

/* ---- connections */

static int listen_on(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);     /* bbr paces loopback with timers: that is not ours */
    if (bind(fd, (void *)&address, size) || listen(fd, 512) || getsockname(fd, (void *)&address, &size))
        fail("listen");
    printf("limit ready on %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void client_accept(int epoll, int listener)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct connection *client = allocate(sizeof *client);
    client->fd = fd;
    client->reply = allocate(REPLY_BYTES);
    client->buffer = aligned_alloc(PAGE_BYTES, BUFFER_BYTES);
    if (!client->buffer)
        fail("memory");
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = client});
}

static void client_close(struct connection *client)
{
    for (int i = 0; i < waiting; i++)
        if (waiters[i] == client)
            waiters[i--] = waiters[--waiting];
    close(client->fd);
    free(client->buffer);
    free(client->reply);
    free(client);
}

/* Serves every whole frame and returns how many bytes they were. */
static int client_frames(struct connection *client)
{
    uint8_t *at = client->buffer, *end = at + client->have;
    while (end - at >= 4 && end - at - 4 >= get32(at)) {
        uint8_t *body = at + 4;
        int api = get16(body), client_id = get16(body + 8);
        int32_t correlation_id = get32(body + 4);
        body += 10 + (client_id > 0 ? client_id : 0);
        if (api == PRODUCE)
            produce(client, correlation_id, body);
        else if (api == FETCH)
            fetch(client, correlation_id, body);
        at += 4 + get32(at);
    }
    return at - client->buffer;
}

static void client_read(struct connection *client)
{
    int room = client->have > READ_BYTES ? BUFFER_BYTES - client->have : READ_BYTES;
    ssize_t got = recv(client->fd, client->buffer + client->have, room, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        client_close(client);
        return;
    }
    client->have += got;
    int served = client_frames(client);
    store_write();
    if (client->reply_size && send(client->fd, client->reply, client->reply_size, MSG_NOSIGNAL) != client->reply_size)
        shutdown(client->fd, SHUT_RDWR);
    client->reply_size = 0;
    client->have -= served;
    if (client->have && served)
        memmove(client->buffer, client->buffer + served, client->have);
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "limit PORT FILE CAPACITY\n");
        return 2;
    }
    store_open(arguments[2], atoll(arguments[3]));
    int listener = listen_on(atoi(arguments[1])), epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.ptr = NULL});
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < ready; i++)
            if (events[i].data.ptr)
                client_read(events[i].data.ptr);
            else
                client_accept(epoll, listener);
        answer_waiters();
        store_wrap();
    }
}
