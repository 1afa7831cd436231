from kafpy._core.partition cimport CLog

cdef void log_init(CLog* log) noexcept nogil
cdef void log_quiesce(CLog* log) noexcept nogil
cdef void log_release(CLog* log) noexcept nogil
cdef bint log_is_open(CLog* log) noexcept nogil     # with `disk` held
cdef bint flush_once(CLog* log) noexcept nogil      # with `disk` held
cdef bint sync_directory(const char* directory) noexcept nogil
