/* load produce|fetch|e2e HOST PORT TOPIC [options]: a client that costs little, and what its broker spent meanwhile.
 *
 *   produce  --batch FILE --in-flight N --connections C --partitions P --acks A --rate R --hop
 *                                                              the same record batch again and again, as fast as it
 *                                                              goes, or R a second over all connections: then latency
 *                                                              counts from the time a batch was due; --hop: each
 *                                                              connection goes round the partitions
 *   fetch    --max-bytes B --connections C --partitions P --rate R
 *                                                              from offset 0 to the end, and again; a thread each; as
 *                                                              fast as it goes, or R a second
 *   e2e      --batch FILE --rate R --max-bytes B --acks A      from the time a batch was due to be sent to its arrival
 *                                                              at a long-polling consumer, so a late send counts
 *   all      --seconds S --pids PID,PID    produce also stops after --bytes N
 *
 * Speaks Produce v7 and Fetch v11 only. Prints one line of JSON. Broker CPU is that of /proc/PID/stat over the run; a
 * request is a Produce or a Fetch, in e2e one batch with all that brought it from end to end. Exit 0 when no reply had
 * an error code, 3 when one had, 1 when the load could not go on.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "client.h"
#include "tally.h"

enum {
    MOST_IN_FLIGHT = 256,
    MOST_PIDS = 16,
    REPLY_BYTES = 64 << 10,
    ENVELOPE_BYTES = 4096,          /* of a request around its batch */
    FETCH_SLACK = 2 << 20,          /* a reply above max_bytes: its envelope and a first batch that is larger */
    LONG_POLL_MS = 500,
    STALL_S = 10,
};

static struct {
    const char *kind, *host, *topic;
    int port, in_flight, connections, partitions, acks, max_bytes, hop;
    double seconds, rate;
    int64_t bytes;
    int pids[MOST_PIDS], pid_count;
    struct batch batch;
} options = {
    .in_flight = 1, .connections = 1, .partitions = 1, .acks = 1, .max_bytes = 1 << 20, .seconds = 2,
    .bytes = INT64_MAX,
};

static double broker_cpu(void)
{
    double sum = 0;
    for (int i = 0; i < options.pid_count; i++)
        sum += process_cpu(options.pids[i]);
    return sum;
}

static void wait_until(double time)
{
    double left;
    while ((left = time - now()) > 0)
        if (left > 60e-6) {             /* a sleeper wakes some 50 us late: the rest is spun */
            double sleep = left - 50e-6;
            nanosleep(&(struct timespec){(time_t)sleep, (long)((sleep - (time_t)sleep) * 1e9)}, NULL);
        }
}

/* ---- produce: all connections in one thread */

struct producer {
    int fd, request_size, have, pending, partition;
    uint8_t *request, *buffer;
    double sent[MOST_IN_FLIGHT];                    /* a ring: replies come in order */
    unsigned first, last;
};

static void producer_open(struct producer *producer, int epoll, int partition)
{
    int send_buffer = 4 << 20;
    producer->partition = partition;
    producer->fd = dial(options.host, options.port);
    setsockopt(producer->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    producer->request = allocate(options.batch.size + ENVELOPE_BYTES);
    producer->request_size = write_produce(producer->request, options.topic, partition, options.acks, &options.batch);
    producer->buffer = allocate(REPLY_BYTES);
    epoll_ctl(epoll, EPOLL_CTL_ADD, producer->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = producer});
}

static void producer_send(struct producer *producer, double due)
{
    producer->sent[producer->last++ % MOST_IN_FLIGHT] = due;
    producer->pending++;
    if (options.hop) {
        producer->partition = (producer->partition + 1) % options.partitions;
        put32(producer->request + producer->request_size - options.batch.size - 8, producer->partition);
    }
    send_all(producer->fd, producer->request, producer->request_size);
}

/* Takes what replies are there and returns their number. */
static int producer_receive(struct producer *producer, struct tally *tally)
{
    ssize_t got = recv(producer->fd, producer->buffer + producer->have, REPLY_BYTES - producer->have, MSG_DONTWAIT);
    if (got <= 0)
        fail("the broker closed the connection");
    producer->have += got;
    uint8_t *at = producer->buffer, *end = at + producer->have;
    double arrived = now();
    int replies = 0;
    for (; end - at >= 4 && end - at - 4 >= get32(at); at += 4 + get32(at), replies++) {
        int64_t base_offset;
        int error = read_produce(at + 4, &base_offset);
        tally_add(tally, error, arrived - producer->sent[producer->first++ % MOST_IN_FLIGHT], options.batch.size);
    }
    producer->pending -= replies;
    producer->have = end - at;
    memmove(producer->buffer, at, producer->have);
    return replies;
}

/* acks=0: there is nothing to wait for. */
static void produce_blindly(struct producer *producers, struct tally *tally)
{
    double end = now() + options.seconds;
    while (now() < end && tally->bytes < options.bytes)
        for (int i = 0; i < 64; i++) {
            struct producer *producer = &producers[tally->requests % options.connections];
            send_all(producer->fd, producer->request, producer->request_size);
            tally_add(tally, 0, 0, options.batch.size);
        }
}

static int wait_for_replies(int epoll, struct epoll_event *events, int room, double most)
{
    struct timespec timeout = {(time_t)most, (long)((most - (time_t)most) * 1e9)};
    int ready = epoll_pwait2(epoll, events, room, &timeout, NULL);
    if (ready < 0 || (!ready && most >= STALL_S)) {
        fprintf(stderr, "no reply for %d s\n", STALL_S);
        exit(1);
    }
    return ready;
}

static void take_replies(int epoll, struct tally *tally, double most)
{
    struct epoll_event events[64];
    int ready = wait_for_replies(epoll, events, 64, most);
    for (int i = 0; i < ready; i++)
        producer_receive(events[i].data.ptr, tally);
}

/* Batch after batch when it is due, or as soon after as one more may be in flight. */
static void produce_on_time(struct producer *producers, int epoll, struct tally *tally)
{
    double start = now(), due, left;
    for (long n = 0; (due = start + n / options.rate) < start + options.seconds && tally->bytes < options.bytes; n++) {
        struct producer *producer = &producers[n % options.connections];
        while ((left = due - now()) > 0)            /* a sleeper wakes some 50 us late: the rest is spun */
            take_replies(epoll, tally, left > 100e-6 ? left - 60e-6 : 0);
        while (producer->pending == options.in_flight)
            take_replies(epoll, tally, STALL_S);
        producer_send(producer, due);
    }
    for (int i = 0; i < options.connections; i++)
        while (producers[i].pending)
            take_replies(epoll, tally, STALL_S);
}

static void produce(struct tally *tally)
{
    int epoll = epoll_create1(0), busy = options.connections;
    struct producer *producers = allocate(options.connections * sizeof *producers);
    for (int i = 0; i < options.connections; i++)
        producer_open(&producers[i], epoll, i % options.partitions);
    if (!options.acks) {
        produce_blindly(producers, tally);
        return;
    }
    if (options.rate) {
        produce_on_time(producers, epoll, tally);
        return;
    }
    double end = now() + options.seconds;
    for (int i = 0; i < options.connections; i++)
        for (int k = 0; k < options.in_flight; k++)
            producer_send(&producers[i], now());
    while (busy) {
        struct epoll_event events[64];
        int ready = wait_for_replies(epoll, events, 64, STALL_S);
        for (int i = 0; i < ready; i++) {
            struct producer *producer = events[i].data.ptr;
            int replies = producer_receive(producer, tally);
            if (now() < end && tally->bytes < options.bytes)
                while (replies--)
                    producer_send(producer, now());
            else if (!producer->pending)
                busy--;
        }
    }
}

/* ---- fetch: a thread per connection */

struct fetcher {
    pthread_t thread;
    int partition;
    struct tally tally;
};

/* Moves *offset behind what came; returns the error code. */
static int fetch_once(int fd, int partition, int max_wait_ms, uint8_t *reply, int *size, int64_t *offset)
{
    uint8_t request[ENVELOPE_BYTES];
    send_all(fd, request, write_fetch(request, options.topic, partition, *offset, options.max_bytes, max_wait_ms));
    *size = receive_reply(fd, reply, options.max_bytes + FETCH_SLACK);
    return read_fetch(reply, *size, offset);
}

static void *fetcher_run(void *argument)
{
    struct fetcher *fetcher = argument;
    int fd = dial(options.host, options.port), size;
    uint8_t *reply = allocate(options.max_bytes + FETCH_SLACK);
    int64_t offset = 0;
    double start = now(), end = start + options.seconds, asked;
    while ((asked = now()) < end && !fetcher->tally.errors) {
        int64_t from = offset;
        int error = fetch_once(fd, fetcher->partition, 0, reply, &size, &offset);
        if (offset == from && !error) {             /* the end: not a read that anyone would time */
            offset = 0;
            continue;
        }
        tally_add(&fetcher->tally, error, now() - asked, size);
        if (options.rate)
            wait_until(start + fetcher->tally.requests / options.rate);
    }
    return NULL;
}

static void fetch(struct tally *tally)
{
    struct fetcher *fetchers = allocate(options.connections * sizeof *fetchers);
    for (int i = 0; i < options.connections; i++) {
        fetchers[i].partition = i % options.partitions;
        tally_init(&fetchers[i].tally);
        if (pthread_create(&fetchers[i].thread, NULL, fetcher_run, &fetchers[i]))
            fail("thread");
    }
    for (int i = 0; i < options.connections; i++) {
        pthread_join(fetchers[i].thread, NULL);
        tally_merge(tally, &fetchers[i].tally);
    }
}

/* ---- e2e: one thread sends on time, one takes acknowledgements, one consumes */

static struct {
    int fd;
    long count;
    int64_t first_offset;
    double *due;
    struct tally arrived, acknowledged;
} journey;

static void *acknowledgements(void *unused)
{
    uint8_t reply[ENVELOPE_BYTES];
    int64_t base_offset;
    for (long i = 0; i < journey.count && options.acks; i++) {
        receive_reply(journey.fd, reply, sizeof reply);
        tally_add(&journey.acknowledged, read_produce(reply, &base_offset), now() - journey.due[i], 0);
    }
    return unused;
}

static void *arrivals(void *unused)
{
    int fd = dial(options.host, options.port), size;
    uint8_t *reply = allocate(options.max_bytes + FETCH_SLACK);
    int64_t offset = journey.first_offset, end = offset + journey.count * options.batch.records;
    while (offset < end && !journey.arrived.errors) {
        int64_t from = offset;
        int error = fetch_once(fd, 0, LONG_POLL_MS, reply, &size, &offset);
        double arrived = now();
        if (error)
            tally_add(&journey.arrived, error, 0, 0);
        for (; from < offset && from < end; from += options.batch.records) {
            long number = (from - journey.first_offset) / options.batch.records;
            tally_add(&journey.arrived, 0, arrived - journey.due[number], options.batch.size);
        }
    }
    return unused;
}

/* One batch with acks=1, so that the consumer knows where to start. */
static void journey_begin(uint8_t *request)
{
    uint8_t reply[ENVELOPE_BYTES];
    int64_t base_offset;
    send_all(journey.fd, request, write_produce(request, options.topic, 0, 1, &options.batch));
    receive_reply(journey.fd, reply, sizeof reply);
    int error = read_produce(reply, &base_offset);
    if (error) {
        fprintf(stderr, "the first batch was refused with error %d\n", error);
        exit(3);
    }
    journey.first_offset = base_offset + options.batch.records;
}

static void e2e(struct tally *tally)
{
    pthread_t consumer, reader;
    uint8_t *request = allocate(options.batch.size + ENVELOPE_BYTES);
    journey.fd = dial(options.host, options.port);
    journey.count = options.seconds * options.rate;
    journey.due = allocate(journey.count * sizeof *journey.due);
    tally_init(&journey.arrived);
    tally_init(&journey.acknowledged);
    journey_begin(request);
    int size = write_produce(request, options.topic, 0, options.acks, &options.batch);
    double start = now() + 0.05;
    for (long i = 0; i < journey.count; i++)
        journey.due[i] = start + i / options.rate;
    if (pthread_create(&consumer, NULL, arrivals, NULL) || pthread_create(&reader, NULL, acknowledgements, NULL))
        fail("thread");
    for (long i = 0; i < journey.count; i++) {
        wait_until(journey.due[i]);
        send_all(journey.fd, request, size);
    }
    pthread_join(reader, NULL);
    pthread_join(consumer, NULL);
    tally_merge(tally, &journey.arrived);
    tally->errors += journey.acknowledged.errors;
    if (journey.acknowledged.error_code)
        tally->error_code = journey.acknowledged.error_code;
}

/* ---- the command */

static void read_batch(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail(path);
    options.batch.size = ftell(file);
    rewind(file);
    options.batch.data = allocate(options.batch.size);
    if (options.batch.size < BATCH_HEADER || fread(options.batch.data, options.batch.size, 1, file) != 1)
        fail(path);
    fclose(file);
    options.batch.records = get32(options.batch.data + BATCH_RECORD_COUNT);
}

static void read_pids(char *text)
{
    for (char *pid = strtok(text, ","); pid && options.pid_count < MOST_PIDS; pid = strtok(NULL, ","))
        options.pids[options.pid_count++] = atoi(pid);
}

static int usage(void)
{
    fprintf(stderr, "load produce|fetch|e2e HOST PORT TOPIC [--batch FILE] [--in-flight N] [--connections C]\n"
                    "     [--partitions P] [--acks A] [--max-bytes B] [--rate R] [--seconds S] [--bytes N]\n"
                    "     [--pids PID,PID] [--hop]\n");
    return 2;
}

static int read_options(int count, char **arguments)
{
    static const struct option known[] = {
        {"batch", 1, NULL, 'f'}, {"in-flight", 1, NULL, 'n'}, {"connections", 1, NULL, 'c'},
        {"partitions", 1, NULL, 'p'}, {"acks", 1, NULL, 'a'}, {"max-bytes", 1, NULL, 'b'}, {"rate", 1, NULL, 'r'},
        {"seconds", 1, NULL, 's'}, {"bytes", 1, NULL, 'N'}, {"pids", 1, NULL, 'P'},
        {"hop", 0, NULL, 'h'}, {0},
    };
    int option;
    while ((option = getopt_long(count, arguments, "", known, NULL)) != -1)
        switch (option) {
        case 'f': read_batch(optarg); break;
        case 'n': options.in_flight = atoi(optarg); break;
        case 'c': options.connections = atoi(optarg); break;
        case 'p': options.partitions = atoi(optarg); break;
        case 'a': options.acks = atoi(optarg); break;
        case 'b': options.max_bytes = atoi(optarg); break;
        case 'r': options.rate = atof(optarg); break;
        case 's': options.seconds = atof(optarg); break;
        case 'N': options.bytes = atoll(optarg); break;
        case 'P': read_pids(optarg); break;
        case 'h': options.hop = 1; break;
        default: return 0;
        }
    if (count - optind != 4 || options.in_flight > MOST_IN_FLIGHT)
        return 0;
    options.kind = arguments[optind];
    options.host = arguments[optind + 1];
    options.port = atoi(arguments[optind + 2]);
    options.topic = arguments[optind + 3];
    if (!strcmp(options.kind, "e2e") && !options.rate)
        return 0;
    return !strcmp(options.kind, "fetch") || options.batch.data;
}

static void print_result(const struct tally *tally, double seconds, double broker, double client)
{
    int64_t requests = tally->requests ? tally->requests : 1;
    printf("{\"requests\": %ld, \"errors\": %ld, \"error_code\": %d, \"seconds\": %.3f, \"mb_s\": %.2f, "
           "\"broker_cpu_s\": %.2f, \"broker_us\": %.3f, \"client_cpu_s\": %.3f, \"client_us\": %.3f, "
           "\"p50_us\": %ld, \"p99_us\": %ld, \"p999_us\": %ld, \"max_us\": %ld, \"latencies\": ",
           (long)tally->requests, (long)tally->errors, tally->error_code, seconds, tally->bytes / seconds / 1e6,
           broker, broker / requests * 1e6, client, client / requests * 1e6, (long)tally_quantile(tally, 0.5),
           (long)tally_quantile(tally, 0.99), (long)tally_quantile(tally, 0.999), (long)tally_quantile(tally, 1));
    print_latencies(tally);
    printf("}\n");
}

int main(int count, char **arguments)
{
    struct tally tally;
    if (!read_options(count, arguments))
        return usage();
    tally_init(&tally);
    double broker = broker_cpu(), client = own_cpu(), start = now();
    if (!strcmp(options.kind, "produce"))
        produce(&tally);
    else if (!strcmp(options.kind, "fetch"))
        fetch(&tally);
    else if (!strcmp(options.kind, "e2e"))
        e2e(&tally);
    else
        return usage();
    double seconds = now() - start;
    print_result(&tally, seconds, broker_cpu() - broker, own_cpu() - client);
    return tally.errors ? 3 : 0;
}
