/* members HOST PORT SCRIPT SECONDS PERIOD_MS PID: members of groups, each on a connection of its own, that send a
 * heartbeat and a commit every period, evenly spread over it.
 *
 * SCRIPT holds, for each member, two requests ready to be sent: heartbeat, commit. Each is three int32, big-endian, and
 * the bytes: where the error code stands in the reply (behind its size), the least size of the reply, the size of the
 * request. Latencies count from the time a request was due. Prints one line of JSON; exit 3 when a reply had an error.
 */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "client.h"
#include "tally.h"

enum { KINDS = 2, MOST_WAITING = 64, REPLY_BYTES = 4096 };

struct request {
    int error_at, least, size;
    const uint8_t *data;
};

struct member {
    int fd, have;
    struct request request[KINDS];
    struct { int kind; double due; } waiting[MOST_WAITING];     /* a ring: replies come in order */
    unsigned first, last;
    uint8_t buffer[REPLY_BYTES];
};

static const char *NAMES[KINDS] = {"heartbeat", "commit"};

static struct member *read_script(const char *path, int *count)
{
    struct stat status;
    FILE *file = fopen(path, "r");
    if (!file || fstat(fileno(file), &status))
        fail(path);
    uint8_t *data = allocate(status.st_size), *end = data + status.st_size;
    if (fread(data, 1, status.st_size, file) != (size_t)status.st_size)
        fail(path);
    fclose(file);
    struct member *members = NULL;
    for (*count = 0; data < end; ++*count) {
        if (!(*count & (*count - 1)))
            members = realloc(members, (*count ? *count * 2 : 1) * sizeof *members);
        memset(&members[*count], 0, sizeof *members);
        for (int kind = 0; kind < KINDS; kind++) {
            members[*count].request[kind] = (struct request){get32(data), get32(data + 4), get32(data + 8), data + 12};
            data += 12 + get32(data + 8);
        }
    }
    return members;
}

static void send_due(struct member *member, int kind, double due)
{
    if (member->last - member->first == MOST_WAITING)
        fail("the broker does not keep up");
    member->waiting[member->last % MOST_WAITING].kind = kind;
    member->waiting[member->last++ % MOST_WAITING].due = due;
    send_all(member->fd, member->request[kind].data, member->request[kind].size);
}

static void receive(struct member *member, struct tally *tallies)
{
    ssize_t got = recv(member->fd, member->buffer + member->have, REPLY_BYTES - member->have, MSG_DONTWAIT);
    if (got <= 0)
        fail("the broker closed the connection");
    member->have += got;
    uint8_t *at = member->buffer, *end = at + member->have;
    double arrived = now();
    for (; end - at >= 4 && end - at - 4 >= get32(at); at += 4 + get32(at)) {
        int kind = member->waiting[member->first % MOST_WAITING].kind;
        struct request *request = &member->request[kind];
        int error = get32(at) < request->least ? -1 : get16(at + 4 + request->error_at);
        tally_add(&tallies[kind], error, arrived - member->waiting[member->first++ % MOST_WAITING].due, 0);
    }
    member->have = end - at;
    memmove(member->buffer, at, member->have);
}

static void arm(int timer, double at)
{
    struct itimerspec when = {.it_value = {(time_t)at, (long)((at - (time_t)at) * 1e9)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: members HOST PORT SCRIPT SECONDS PERIOD_MS PID\n");
        return 2;
    }
    struct rlimit files = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_NOFILE, &files);
    int count, epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), pid = atoi(argv[6]);
    struct member *members = read_script(argv[3], &count);
    for (int i = 0; i < count; i++) {
        members[i].fd = dial(argv[1], atoi(argv[2]));
        epoll_ctl(epoll, EPOLL_CTL_ADD, members[i].fd, &(struct epoll_event){EPOLLIN, {.ptr = &members[i]}});
    }
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &(struct epoll_event){EPOLLIN, {.ptr = NULL}});
    struct tally tallies[KINDS];
    tally_init(&tallies[0]);
    tally_init(&tallies[1]);
    double step = atof(argv[5]) / 1e3 / (count * KINDS), begin = now() + 0.1;
    int64_t sent = 0, all = (int64_t)(atof(argv[4]) / step);
    double cpu = process_cpu(pid), own = own_cpu();
    arm(timer, begin);
    while (tallies[0].requests + tallies[1].requests < all) {
        struct epoll_event events[256];
        int ready = epoll_wait(epoll, events, 256, 10000);
        if (ready <= 0)
            fail("no reply for 10 s");
        for (int i = 0; i < ready; i++)
            if (events[i].data.ptr)
                receive(events[i].data.ptr, tallies);
        for (; sent < all && begin + sent * step <= now(); sent++) {
            int64_t turn = sent / KINDS;
            send_due(&members[turn * 7919 % count], sent % KINDS, begin + sent * step);
        }
        arm(timer, sent < all ? begin + sent * step : now() + 60);
    }
    double seconds = now() - begin;
    printf("{\"seconds\": %.3f, \"broker_cpu_s\": %.3f, \"client_cpu_s\": %.3f", seconds, process_cpu(pid) - cpu, own_cpu() - own);
    int failed = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        struct tally *tally = &tallies[kind];
        printf(", \"%s\": {\"requests\": %ld, \"errors\": %ld, \"error_code\": %d, \"p50_us\": %d, \"p99_us\": %d, \"max_us\": %d}",
               NAMES[kind], (long)tally->requests, (long)tally->errors, tally->error_code, tally_quantile(tally, 0.5),
               tally_quantile(tally, 0.99), tally_quantile(tally, 1));
        failed |= tally->errors > 0;
    }
    printf("}\n");
    return failed ? 3 : 0;
}
