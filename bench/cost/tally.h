/* What a load measures: time, CPU, and a tally of replies with their latencies. */
#ifndef COST_TALLY_H
#define COST_TALLY_H

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

/* Latencies are counted to the microsecond below EXACT_US and to a 2,048th above, as in an HDR histogram. */
enum {
    EXACT_US = 4096,
    STEPS = 2048,                       /* to each doubling above */
    DOUBLINGS = 16,                     /* to four minutes; what is slower is counted as that */
    BUCKETS = EXACT_US + DOUBLINGS * STEPS,
};

/* What one thread saw; merged at the end. */
struct tally {
    int64_t requests, errors, bytes;
    int error_code;
    uint32_t *latencies;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double process_cpu(int pid)
{
    char path[64], text[1024];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        fail(path);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    char *state = strrchr(text, ')');
    if (!state || sscanf(state + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
        fail(path);
    return (user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static double own_cpu(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static void tally_init(struct tally *tally)
{
    *tally = (struct tally){.latencies = allocate(BUCKETS * sizeof(uint32_t))};
}

static int bucket_of(double us)
{
    if (us < 0)
        return 0;
    if (us < EXACT_US)
        return (int)us;
    uint64_t whole = us;
    int doubling = 63 - __builtin_clzll(whole) - 12;
    if (doubling >= DOUBLINGS)
        return BUCKETS - 1;
    return EXACT_US + doubling * STEPS + (int)(whole >> (doubling + 1)) - STEPS;
}

/* The smallest latency that is counted there. */
static int64_t bucket_us(int bucket)
{
    if (bucket < EXACT_US)
        return bucket;
    int doubling = (bucket - EXACT_US) / STEPS;
    return (int64_t)(STEPS + (bucket - EXACT_US) % STEPS) << (doubling + 1);
}

static void tally_add(struct tally *tally, int error, double latency, int64_t bytes)
{
    tally->latencies[bucket_of(latency * 1e6)]++;
    tally->requests++;
    tally->bytes += bytes;
    if (error) {
        tally->errors++;
        tally->error_code = error;
    }
}

static void tally_merge(struct tally *into, const struct tally *from)
{
    into->requests += from->requests;
    into->errors += from->errors;
    into->bytes += from->bytes;
    if (from->error_code)
        into->error_code = from->error_code;
    for (int i = 0; i < BUCKETS; i++)
        into->latencies[i] += from->latencies[i];
}

static int64_t tally_quantile(const struct tally *tally, double share)
{
    int64_t all = 0, below = 0;
    int last = 0;
    for (int i = 0; i < BUCKETS; i++)
        all += tally->latencies[i];
    for (int i = 0; i < BUCKETS; i++)
        if (tally->latencies[i]) {
            last = i;
            if ((below += tally->latencies[i]) >= share * all)
                break;
        }
    return bucket_us(last);
}

/* [[microseconds, count], …] of what there is. */
static void print_latencies(const struct tally *tally)
{
    const char *between = "";
    printf("[");
    for (int i = 0; i < BUCKETS; i++)
        if (tally->latencies[i]) {
            printf("%s[%ld, %u]", between, (long)bucket_us(i), tally->latencies[i]);
            between = ", ";
        }
    printf("]");
}

#endif
