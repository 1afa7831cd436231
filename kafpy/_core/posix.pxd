# System calls that Cython's own posix package lacks, and those whose declarations there take the GIL.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "<stdlib.h>" nogil:
    void* aligned_alloc(size_t alignment, size_t size) noexcept

cdef enum:
    # Buffers that the kernel receives into start on a page. malloc's large blocks start 16 bytes behind one, and the
    # kernel's copy to there was measured up to six times slower on an AMD EPYC (64 bytes behind: as fast as at 0).
    PAGE_BYTES = 4096

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef unsigned long pthread_t
    int pthread_mutex_init(pthread_mutex_t* m, void* attr) noexcept
    int pthread_mutex_destroy(pthread_mutex_t* m) noexcept
    int pthread_mutex_lock(pthread_mutex_t* m) noexcept
    int pthread_mutex_unlock(pthread_mutex_t* m) noexcept
    int pthread_cond_init(pthread_cond_t* c, void* attr) noexcept
    int pthread_cond_destroy(pthread_cond_t* c) noexcept
    int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) noexcept
    int pthread_cond_signal(pthread_cond_t* c) noexcept
    int pthread_cond_broadcast(pthread_cond_t* c) noexcept
    int pthread_create(pthread_t* t, void* attr, void* (*main)(void*) noexcept, void* arg) noexcept
    int pthread_join(pthread_t t, void** result) noexcept
    int pthread_setname_np(pthread_t t, const char* name) noexcept

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigfillset(sigset_t* s) noexcept
    int pthread_sigmask(int how, const sigset_t* s, sigset_t* old) noexcept
    enum: SIG_SETMASK

cdef extern from "<errno.h>" nogil:
    int errno
    enum: EAGAIN
    enum: EINTR
    enum: EINVAL
    enum: ENOSYS
    enum: EOPNOTSUPP
    enum: ENOENT
    enum: EEXIST
    enum: EIO
    enum: EBADMSG
    enum: ENOSPC
    enum: EMFILE
    enum: ENFILE

cdef extern from "<time.h>" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec* t) noexcept
    int pthread_getcpuclockid(pthread_t thread, int* clock) noexcept
    enum: CLOCK_REALTIME
    enum: CLOCK_MONOTONIC

cdef extern from "<unistd.h>" nogil:
    long read(int fd, void* buf, size_t n) noexcept
    long write(int fd, const void* buf, size_t n) noexcept
    long pread(int fd, void* buf, size_t n, int64_t offset) noexcept
    long pwrite(int fd, const void* buf, size_t n, int64_t offset) noexcept
    int close(int fd) noexcept
    int fsync(int fd) noexcept
    int fdatasync(int fd) noexcept
    int ftruncate(int fd, int64_t size) noexcept
    int unlink(const char* path) noexcept
    int usleep(unsigned int us) noexcept
    int getpid() noexcept

cdef extern from "<stdio.h>" nogil:
    int rename(const char* a, const char* b) noexcept
    int snprintf(char* out, size_t n, const char* format, ...) noexcept

cdef extern from "<fcntl.h>" nogil:
    int open(const char* path, int flags, ...) noexcept
    int fallocate(int fd, int mode, int64_t offset, int64_t size) noexcept
    int posix_fadvise(int fd, int64_t offset, int64_t size, int advice) noexcept
    long sync_file_range(int fd, int64_t offset, int64_t size, unsigned int flags) noexcept
    enum: O_RDWR
    enum: O_RDONLY
    enum: O_CREAT
    enum: O_TRUNC
    enum: O_EXCL
    enum: O_CLOEXEC
    enum: O_NOFOLLOW
    enum: O_DIRECTORY
    enum: FALLOC_FL_KEEP_SIZE
    enum: POSIX_FADV_WILLNEED
    enum: SYNC_FILE_RANGE_WRITE

cdef extern from "<sys/uio.h>" nogil:
    struct iovec:
        void* iov_base
        size_t iov_len
    long pwritev(int fd, const iovec* v, int n, int64_t offset) noexcept
    long preadv2(int fd, const iovec* v, int n, int64_t offset, int flags) noexcept
    enum: RWF_NOWAIT

cdef extern from "<sys/stat.h>" nogil:
    struct stat_t "stat":
        int64_t st_size
    int fstat(int fd, stat_t* s) noexcept

cdef extern from "<sys/resource.h>" nogil:
    struct rlimit:
        unsigned long rlim_cur
    int getrlimit(int resource, rlimit* limit) noexcept
    enum: RLIMIT_NOFILE

cdef extern from "<sys/eventfd.h>" nogil:
    int eventfd(unsigned int start, int flags) noexcept
    enum: EFD_CLOEXEC
    enum: EFD_NONBLOCK

cdef extern from "<sys/sendfile.h>" nogil:
    long sendfile(int out_fd, int in_fd, int64_t* offset, size_t n) noexcept

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        void* ptr
    struct epoll_event:
        uint32_t events
        epoll_data_t data
    int epoll_create1(int flags) noexcept
    int epoll_ctl(int ep, int op, int fd, epoll_event* e) noexcept
    int epoll_wait(int ep, epoll_event* e, int n, int timeout_ms) noexcept
    enum: EPOLL_CLOEXEC
    enum: EPOLL_CTL_ADD
    enum: EPOLL_CTL_MOD
    enum: EPOLL_CTL_DEL
    enum: EPOLLIN
    enum: EPOLLOUT
    enum: EPOLLERR
    enum: EPOLLHUP
    enum: EPOLLRDHUP

cdef extern from "<sys/socket.h>" nogil:
    struct sockaddr:
        pass
    struct sockaddr_storage:
        unsigned short ss_family
    struct msghdr:
        void* msg_name
        unsigned int msg_namelen
        iovec* msg_iov
        size_t msg_iovlen
        void* msg_control
        size_t msg_controllen
        int msg_flags
    long recv(int fd, void* buf, size_t n, int flags) noexcept
    long send(int fd, const void* buf, size_t n, int flags) noexcept
    long sendmsg(int fd, const msghdr* m, int flags) noexcept
    enum: SHUT_RDWR
    int shutdown(int fd, int how) noexcept
    int accept4(int fd, sockaddr* a, unsigned int* n, int flags) noexcept
    int getsockname(int fd, sockaddr* a, unsigned int* n) noexcept
    int setsockopt(int fd, int level, int name, const void* value, unsigned int n) noexcept
    enum: MSG_DONTWAIT
    enum: MSG_NOSIGNAL
    enum: MSG_MORE
    enum: SOCK_NONBLOCK
    enum: SOCK_CLOEXEC
    enum: SOL_SOCKET
    enum: SO_SNDBUF
    enum: SO_RCVBUF
    enum: SO_KEEPALIVE
    enum: AF_INET
    enum: AF_INET6

cdef extern from "<netinet/in.h>" nogil:
    enum: IPPROTO_TCP

cdef extern from "<netinet/tcp.h>" nogil:
    enum: TCP_NODELAY
    enum: TCP_CONGESTION

cdef extern from "residency.h" nogil:
    # 1 when every page of the range is in the page cache, 0 when not, -1 when kernel and file system cannot tell
    int file_resident(int fd, int64_t offset, int64_t size) noexcept
