/* Is a range of a file in the page cache? cachestat(2), Linux 6.5+. */
#ifndef KAFPY_RESIDENCY_H
#define KAFPY_RESIDENCY_H
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/types.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

static inline int file_resident(int fd, int64_t offset, int64_t size) {
  struct { uint64_t offset, size; } range = {(uint64_t)offset, (uint64_t)size};
  struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } seen;
  if (size <= 0) return 1;
  if (syscall(__NR_cachestat, fd, &range, &seen, 0)) return -1;
  uint64_t pages = (uint64_t)((offset + size - 1) / 4096 - offset / 4096 + 1);
  return seen.cached >= pages;
}
#endif
