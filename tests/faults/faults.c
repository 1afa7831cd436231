/* Preloaded into a broker: counts its storage system calls below one folder, over all threads, and makes one of them fail.

   Every call that changes files is one point: a test names the K-th, and the process is killed there as by kill -9 (a
   write is torn: half of its bytes are in the file), or gets an error, or writes less than asked. Reads are counted
   apart. strace can inject all of this too, but counts per thread. `faults_log` names a file that gets one line per
   call: the name, the path, what was done to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_size;
static long seen, kill_at = -1;
static int torn, log_fd = -1;
static char fail_name[32], fail_path[256];
static long fail_seen, fail_at = -1;
static int fail_errno, fail_short, fail_on;

enum { GO, TEAR, FAIL, SHORT };

void faults_arm(const char* folder, long kill_point, int tear)
{
    pthread_mutex_lock(&lock);
    snprintf(root, sizeof root, "%s", folder);
    root_size = strlen(root);
    seen = 0;
    kill_at = kill_point;
    torn = tear;
    pthread_mutex_unlock(&lock);
}

/* The nth call of `name` on a path that contains `path`, and if `on` every one after it; error 0: a short write. */
void faults_fail(const char* name, const char* path, long nth, int error, int on)
{
    pthread_mutex_lock(&lock);
    snprintf(fail_name, sizeof fail_name, "%s", name);
    snprintf(fail_path, sizeof fail_path, "%s", path);
    fail_seen = 0;
    fail_at = nth;
    fail_errno = error;
    fail_short = error == 0;
    fail_on = on;
    pthread_mutex_unlock(&lock);
}

void faults_log(const char* path)
{
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

long faults_count(void)
{
    return seen;
}

static void die(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static void note(const char* name, const char* path, const char* what)
{
    char line[PATH_MAX + 64];
    int size;
    if (log_fd < 0)
        return;
    size = snprintf(line, sizeof line, "%s %s %s\n", name, path, what);
    syscall(SYS_write, log_fd, line, (size_t)size);
}

static int decide(const char* name, const char* path, int changes, int writes)
{
    int what = GO;
    if (!root_size || strncmp(path, root, root_size))
        return GO;
    pthread_mutex_lock(&lock);
    if (changes && ++seen == kill_at) {
        note(name, path, "killed");
        if (!writes || !torn)
            die();
        what = TEAR;
    } else if (fail_at > 0 && !strcmp(name, fail_name) && strstr(path, fail_path)
               && (++fail_seen == fail_at || (fail_on && fail_seen > fail_at))) {
        what = fail_short ? SHORT : FAIL;
        note(name, path, fail_short ? "short" : "failed");
    } else if (changes) {
        note(name, path, "done");
    }
    pthread_mutex_unlock(&lock);
    return what;
}

static int on_file(const char* name, int fd, int changes, int writes)
{
    char link[64], path[PATH_MAX];
    ssize_t size;
    int kept = errno;
    if (!root_size)
        return GO;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    size = readlink(link, path, sizeof path - 1);
    errno = kept;
    if (size < 0)
        return GO;
    path[size] = 0;
    return decide(name, path, changes, writes);
}

static int on_path(const char* name, int at, const char* path)
{
    char link[64], full[PATH_MAX * 2];
    ssize_t size;
    if (!root_size)
        return GO;
    if (path[0] == '/' || at == AT_FDCWD)
        return decide(name, path, 1, 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    size = readlink(link, full, PATH_MAX);
    if (size < 0)
        return GO;
    snprintf(full + size, sizeof full - size, "/%s", path);
    return decide(name, full, 1, 0);
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) \
        real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define STOP(what) \
    if ((what) == FAIL) { \
        errno = fail_errno; \
        return -1; \
    }

static ssize_t part(int what, ssize_t done)
{
    if (what == TEAR)
        die();
    return done;
}

ssize_t write(int fd, const void* data, size_t size)
{
    REAL(ssize_t, write, int, const void*, size_t);
    int what = on_file("write", fd, 1, 1);
    STOP(what);
    return part(what, real(fd, data, what == GO ? size : size / 2));
}

#define PWRITE(function) \
ssize_t function(int fd, const void* data, size_t size, off_t at) \
{ \
    REAL(ssize_t, pwrite, int, const void*, size_t, off_t); \
    int what = on_file("pwrite64", fd, 1, 1); \
    STOP(what); \
    return part(what, real(fd, data, what == GO ? size : size / 2, at)); \
}
PWRITE(pwrite)
PWRITE(pwrite64)

static ssize_t half_of(int fd, const struct iovec* pieces, int count, off_t at)
{
    size_t total = 0, left, done = 0;
    for (int i = 0; i < count; i++)
        total += pieces[i].iov_len;
    left = total / 2;
    for (int i = 0; i < count && left; i++) {
        size_t size = pieces[i].iov_len < left ? pieces[i].iov_len : left;
        done += syscall(SYS_pwrite64, fd, pieces[i].iov_base, size, at + (off_t)done);
        left -= size;
    }
    return (ssize_t)done;
}

#define PWRITEV(function) \
ssize_t function(int fd, const struct iovec* pieces, int count, off_t at) \
{ \
    REAL(ssize_t, pwritev, int, const struct iovec*, int, off_t); \
    int what = on_file("pwritev", fd, 1, 1); \
    STOP(what); \
    return part(what, what == GO ? real(fd, pieces, count, at) : half_of(fd, pieces, count, at)); \
}
PWRITEV(pwritev)
PWRITEV(pwritev64)

#define OF_FILE(result, function, name, parameters, arguments, ...) \
result function parameters \
{ \
    REAL(result, function, __VA_ARGS__); \
    STOP(on_file(name, fd, 1, 0)); \
    return real arguments; \
}
OF_FILE(int, fsync, "fsync", (int fd), (fd), int)
OF_FILE(int, fdatasync, "fdatasync", (int fd), (fd), int)
OF_FILE(int, ftruncate, "ftruncate", (int fd, off_t size), (fd, size), int, off_t)
OF_FILE(int, ftruncate64, "ftruncate", (int fd, off_t size), (fd, size), int, off_t)
OF_FILE(int, fallocate, "fallocate", (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), int, int, off_t, off_t)
OF_FILE(int, fallocate64, "fallocate", (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), int, int, off_t, off_t)

#define OF_PATH(function, name, at, path, parameters, arguments, ...) \
int function parameters \
{ \
    REAL(int, function, __VA_ARGS__); \
    STOP(on_path(name, at, path)); \
    return real arguments; \
}
OF_PATH(rename, "rename", AT_FDCWD, to, (const char* from, const char* to), (from, to), const char*, const char*)
OF_PATH(renameat, "rename", b, to, (int a, const char* from, int b, const char* to), (a, from, b, to), int, const char*, int, const char*)
OF_PATH(unlink, "unlink", AT_FDCWD, path, (const char* path), (path), const char*)
OF_PATH(unlinkat, "unlink", at, path, (int at, const char* path, int flags), (at, path, flags), int, const char*, int)
OF_PATH(rmdir, "rmdir", AT_FDCWD, path, (const char* path), (path), const char*)
OF_PATH(mkdir, "mkdir", AT_FDCWD, path, (const char* path, mode_t mode), (path, mode), const char*, mode_t)
OF_PATH(mkdirat, "mkdir", at, path, (int at, const char* path, mode_t mode), (at, path, mode), int, const char*, mode_t)

#define OPEN(function) \
int function(const char* path, int flags, ...) \
{ \
    REAL(int, function, const char*, int, ...); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (flags & O_CREAT) \
        STOP(on_path("openat", AT_FDCWD, path)); \
    return real(path, flags, mode); \
}
OPEN(open)
OPEN(open64)

#define OPENAT(function) \
int function(int at, const char* path, int flags, ...) \
{ \
    REAL(int, function, int, const char*, int, ...); \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (flags & O_CREAT) \
        STOP(on_path("openat", at, path)); \
    return real(at, path, flags, mode); \
}
OPENAT(openat)
OPENAT(openat64)

/* ---- reads: no crash points, but a disk can fail them */

#define PREAD(function) \
ssize_t function(int fd, void* data, size_t size, off_t at) \
{ \
    REAL(ssize_t, pread, int, void*, size_t, off_t); \
    STOP(on_file("read", fd, 0, 0)); \
    return real(fd, data, size, at); \
}
PREAD(pread)
PREAD(pread64)

#define PREADV2(function) \
ssize_t function(int fd, const struct iovec* pieces, int count, off_t at, int flags) \
{ \
    REAL(ssize_t, preadv2, int, const struct iovec*, int, off_t, int); \
    STOP(on_file("read", fd, 0, 0)); \
    return real(fd, pieces, count, at, flags); \
}
PREADV2(preadv2)
PREADV2(preadv64v2)

#define SENDFILE(function) \
ssize_t function(int out, int in, off_t* at, size_t size) \
{ \
    REAL(ssize_t, sendfile, int, int, off_t*, size_t); \
    STOP(on_file("read", in, 0, 0)); \
    return real(out, in, at, size); \
}
SENDFILE(sendfile)
SENDFILE(sendfile64)
