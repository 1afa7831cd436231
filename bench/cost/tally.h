/* What a load measures: time, CPU, and a tally of replies with their latencies. */
#ifndef COST_TALLY_H
#define COST_TALLY_H

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

enum { SLOWEST_US = 1000000 };          /* latencies above are counted as this */

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
    *tally = (struct tally){.latencies = allocate((SLOWEST_US + 1) * sizeof(uint32_t))};
}

static void tally_add(struct tally *tally, int error, double latency, int64_t bytes)
{
    double us = latency * 1e6;
    tally->latencies[us < 0 ? 0 : us > SLOWEST_US ? SLOWEST_US : (int)us]++;
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
    for (int i = 0; i <= SLOWEST_US; i++)
        into->latencies[i] += from->latencies[i];
}

static int tally_quantile(const struct tally *tally, double share)
{
    int64_t all = 0, below = 0;
    for (int i = 0; i <= SLOWEST_US; i++)
        all += tally->latencies[i];
    for (int i = 0; i <= SLOWEST_US; i++)
        if ((below += tally->latencies[i]) >= share * all)
            return i;
    return SLOWEST_US;
}

#endif
