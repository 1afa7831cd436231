# Faults belong to a server; codes under `lock`, the rest atomic.
from libc.stdint cimport int16_t, int32_t, int64_t
from kafpy._core.posix cimport pthread_mutex_t

cdef enum: FAULT_HANG_UP = -195      # no code of Kafka's: close instead of answering

cdef struct FaultCode:
    FaultCode* next
    int16_t api_key
    int16_t code

cdef struct Faults:
    int32_t active                   # atomic: there are codes
    int32_t refusing                 # atomic: nobody is listened to
    int64_t delay_ns                 # atomic: how much later replies leave
    pthread_mutex_t lock
    FaultCode* first                 # in the order they were asked for, of all APIs
    FaultCode* last

cdef void faults_init(Faults* faults) noexcept nogil
cdef void faults_close(Faults* faults) noexcept nogil
cdef bint faults_add(Faults* faults, int16_t api_key, int16_t code) noexcept nogil
cdef void faults_forget(Faults* faults, int16_t api_key) noexcept nogil
cdef int16_t fault_of(Faults* faults, int16_t api_key) noexcept nogil
