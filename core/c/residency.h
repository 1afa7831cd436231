/* Is a range of a file in the page cache? cachestat(2), Linux 6.5+; before that by reading it without waiting. */
#ifndef KAFPY_RESIDENCY_H
#define KAFPY_RESIDENCY_H
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <sys/types.h>

#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

static inline int readable_at_once(int fd, int64_t offset, int64_t size) {
  char scratch[16384];
  while (size > 0) {
    struct iovec v = {scratch, size < (int64_t)sizeof scratch ? (size_t)size : sizeof scratch};
    ssize_t n = preadv2(fd, &v, 1, offset, RWF_NOWAIT);
    if (n < 0 && errno != EAGAIN) return -1;
    if (n <= 0) return 0;
    offset += n;
    size -= n;
  }
  return 1;
}

static inline int file_resident(int fd, int64_t offset, int64_t size) {
  struct { uint64_t offset, size; } range = {(uint64_t)offset, (uint64_t)size};
  struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } seen;
  if (size <= 0) return 1;
  if (syscall(__NR_cachestat, fd, &range, &seen, 0)) return readable_at_once(fd, offset, size);
  uint64_t pages = (uint64_t)((offset + size - 1) / 4096 - offset / 4096 + 1);
  return seen.cached >= pages;
}
#endif
