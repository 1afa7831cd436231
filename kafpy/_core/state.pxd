# What planes work on, on one page. Everything belongs to one plane and is touched by its thread alone, except:
#   Server      settings fixed at the start; counters atomic; inbox, addresses and quotas under their locks; table as in table.pxd
#   Slot        handed to Python by its token (plane.pyx) while `outside`; nobody but the plane reads or writes it meanwhile
#   Waiter      see partition.pxd
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from kafpy._core.addresses cimport Addresses, Host
from kafpy._core.faults cimport Faults
from kafpy._core.meter cimport Meter, Sample
from kafpy._core.partition cimport Append, CLog, Located, Position, Slice, Waiter
from kafpy._core.posix cimport pthread_mutex_t, pthread_t
from kafpy._core.quotas cimport QuotaClient, QuotaGrip, Quotas
from kafpy._core.runtime cimport CRuntime, Job, Letter, Mailbox
from kafpy._core.table cimport Table
from kafpy._core.times cimport Times

cdef enum: INLINE_REPLY = 232
cdef enum: MAX_PLANES = 64
cdef enum: SLOTS_PER_CONNECTION = 256            # requests of one client under way; beyond, it is not read
cdef enum: UNSENT_PER_CONNECTION = 4 << 20       # bytes of replies, and of requests that wait; beyond, it is not read

cdef struct Address:
    uint16_t port
    bint six
    uint8_t host[16]

cdef enum SlotState:
    SLOT_PENDING
    SLOT_READY

cdef struct FilePiece:
    int64_t after            # goes out behind this many bytes of the slot's data
    Slice slice

cdef struct Slot:            # one request and its reply; replies leave in the order of the requests
    Slot* next
    Connection* connection   # NULL: the client is gone, the slot is freed when it comes back
    SlotState state
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    bint silent              # acks=0: nothing is sent
    bint hang_up             # close instead of replying
    bint outside             # with Python
    int16_t fault            # the code it is answered with because somebody asked for that; 0: none
    int64_t due_ns           # its reply does not leave before, real; 0: at once
    int32_t request_size     # header and body
    int64_t arrived_ns       # real
    int32_t held             # bytes that the request holds elsewhere until it is answered; part of its connection's `unsent`
    void* fetch              # Fetch* that waits to fill it
    void* commit             # Commit* that waits to release it
    uint8_t* data
    int32_t size
    int32_t room
    int64_t sent
    FilePiece* pieces
    int32_t piece_count
    int32_t piece_room
    int32_t pieces_sent
    uint8_t local[INLINE_REPLY]

cdef enum Source:                # what an epoll event points to; first member of each
    SOURCE_CONNECTION
    SOURCE_MAILBOX
    SOURCE_LISTENER

cdef struct Listener:
    Source source
    int fd                       # the caller's
    int32_t number

cdef enum TimerKind:
    TIMER_FETCH                  # Fetch*
    TIMER_COMMIT                 # Commit*
    TIMER_MUTE                   # Connection*
    TIMER_LATE                   # Connection*

cdef struct Timer:
    int64_t deadline_ns          # of the broker's clock
    int32_t at                   # in the heap; -1: not set
    TimerKind kind
    void* owner

cdef struct Connection:
    Source source
    Plane* plane
    int fd                   # -1: closed, or a connection without a socket
    int32_t listener
    Address peer
    Address own
    uint8_t* buffer          # bytes of requests that are not whole, or may not be served yet
    int64_t have
    int64_t room
    uint8_t* input           # what this turn received and did not serve; in the arena or in `buffer`
    int64_t input_size
    int64_t frame_since      # when the unfinished frame in `buffer` was begun, real ns; 0: none
    bint starved             # wants memory that the broker does not give it now
    Slot* first
    Slot* last
    int32_t slots
    int64_t unsent
    Timer mute               # set: its client is above a quota, nothing is read until then
    Timer late               # set: a reply is held back until then
    bint unwelcome           # not served, and closed when `mute` fires: its address connects too fast
    QuotaGrip quota
    int64_t spent_ns         # of this thread's time, not charged yet; only while some quota asks
    bint blocked             # a Produce is outside the plane: nothing behind it is served
    bint hang_up             # close at the end of the turn
    bint closed
    bint touched             # in the turn's list
    uint32_t interest        # what epoll was told
    Connection* next_touched
    Connection* newer        # by last activity
    Connection* older
    int64_t active_ns        # real

cdef struct Arrival:         # a new connection, on its way to the plane that gets it
    Letter letter            # first member
    Connection* connection

cdef struct Group:           # a turn's appends to one log
    Group* next
    Group* same_hash
    CLog* log
    Append* first
    Append* last

cdef struct ProducePart:
    Append append            # first member
    CLog* log                # counted
    bint grouped

cdef struct Produce:         # one request of this turn
    Produce* next
    Slot* slot
    const uint8_t* body
    const uint8_t* end
    int16_t version
    int16_t acks
    int32_t timeout_ms
    bint flexible
    int32_t parts
    ProducePart* part

cdef struct Commit:          # an acks=all produce that waits for high watermarks; its reply is written already
    Slot* slot
    Plane* plane
    Timer timer
    int32_t waiting
    int32_t count
    Waiter** waiters         # NULL where the partition is done
    int32_t* error_at        # where in the reply its error code stands

cdef enum: TOPIC_BUCKETS = 256

cdef struct FetchTopic:
    FetchTopic* next
    FetchTopic* next_hash
    FetchTopic* next_shown
    FetchPart* shown         # partitions of the reply being written
    FetchPart* shown_last
    int32_t shown_count
    uint8_t id[16]
    int16_t name_size
    char name[250]

cdef struct FetchPart:
    FetchPart* next          # all of the session, in the order they came
    FetchPart* previous
    FetchPart* next_hash
    uint64_t hash_value
    FetchPart* next_fresh    # those to look at
    FetchPart* next_shown
    FetchSession* session
    FetchTopic* topic
    int32_t index
    int32_t leader_epoch     # as the client knows it; -1: it does not say
    int64_t offset
    int32_t max_bytes
    CLog* log                # counted; NULL: not known here
    Waiter* waiter           # NULL: not registered
    void* search             # Search* on a helper
    bint tried               # a helper has searched for this request
    bint fresh
    bint told                # high watermark and start below were sent
    int64_t told_high_watermark
    int64_t told_log_start
    int16_t error
    Position position
    Slice slice
    bint searched            # `slice` came from a helper and fits `offset`
    Located located          # what that helper found
    bint sent                # went out with the last reply; until the client names a new offset there is more to send

cdef struct FetchSession:
    int32_t id               # 0: lives for one request
    int32_t epoch
    bint by_id
    FetchTopic* topics
    FetchTopic* last_topic
    FetchTopic** topic_hash  # NULL in a session of one request
    int32_t topic_count
    FetchPart* first
    FetchPart* last
    FetchPart** hash
    int32_t hash_room
    int32_t parts
    FetchPart* fresh_first
    FetchPart* fresh_last
    Fetch* fetch             # the request that waits
    FetchSession* next       # of the plane
    FetchSession* previous
    int64_t used_ns

cdef struct Fetch:
    Slot* slot
    FetchSession* session
    Timer timer
    int32_t min_bytes
    int32_t max_bytes
    bint committed_only
    bint full                # every partition is shown
    bint replica             # replica id >= 0
    bint expired
    bint superseded          # its client has asked again
    int64_t bytes

cdef struct Search:          # a helper finds and warms a slice
    Job job                  # first member
    Letter letter            # right behind it (turn.read_mail)
    Mailbox* mailbox
    CLog* log                # counted
    FetchPart* part          # NULL: nobody waits any more
    int64_t offset
    int64_t max_bytes
    bint committed_only
    bint min_one
    int located
    Position position
    Slice slice

cdef struct Chunk:
    Chunk* next
    int64_t room
    int64_t used

cdef struct InboxItem:
    InboxItem* next
    Slot* slot
    Plane* plane
    Address peer
    Address own
    int32_t listener
    int16_t fault
    QuotaClient* client          # counted; NULL: its time is not metered
    Meter* meter
    double bound
    int64_t spent_ns
    int32_t size
    uint8_t frame[1]

cdef struct Inbox:
    pthread_mutex_t lock
    InboxItem* head
    InboxItem* tail
    int event_fd

cdef struct Limits:
    int32_t max_request_bytes
    int32_t max_connections      # atomic
    int64_t idle_ms
    int32_t fetch_max_bytes
    int32_t fetch_sessions       # per plane
    int64_t queued_max_bytes

cdef struct Refusals:            # connections that were closed for what their clients sent
    pthread_mutex_t lock
    int64_t count
    Address last
    int64_t crowded              # others, for want of descriptors
    int64_t alarm_ns             # real: no alarm before

cdef struct Server:
    CRuntime* runtime
    Table table
    Inbox inbox
    Limits limits
    int32_t planes
    int32_t connections          # atomic
    int64_t queued_bytes         # atomic: requests held in memory, unfinished or with Python
    int32_t stopping             # atomic
    Plane* plane[MAX_PLANES]
    int32_t next_plane           # of the accepting plane
    Listener listeners[16]
    int32_t listener_count
    Addresses addresses
    Quotas quotas
    Refusals refusals
    Faults faults
    Meter accepted               # connections; plane 0's
    Sample* accepted_samples
    int64_t accept_rate          # atomic: connections per second; 0: no limit

cdef enum: TURN_BUCKETS = 256

cdef struct Plane:
    Server* server
    int32_t index
    pthread_t thread
    bint started
    int epoll_fd
    Mailbox mailbox
    int64_t reading              # table epoch; 0: holds nothing
    int64_t real_ns              # this turn's time
    int64_t now_ns
    int64_t now_ms
    int64_t reply_ns             # when replies were last about to leave, real
    int64_t delay_ns             # how much later replies leave
    bint timed                   # some quota is on a thread's time
    Letter* news                 # waiters of this plane that this turn's appends woke
    uint8_t* arena               # what this turn received
    int64_t arena_used
    Chunk* chunks                # this turn's small objects
    Produce* produces
    Produce* last_produce
    Group* groups
    Group* last_group
    Group* group_of[TURN_BUCKETS]
    Connection* touched
    Connection* oldest           # by activity
    Connection* newest
    Connection* graves           # closed, freed at the end of the turn
    int64_t connections          # counter
    int32_t unfinished           # connections with part of a frame
    int32_t starved
    int64_t sweep_ns             # when connections were last looked over, real
    int64_t accept_ns            # accepting is paused until then, real; 0: it is not
    Source mailbox_source
    Slot* free_slots
    int32_t free_slot_count
    uint8_t* spare[8]            # receive buffers of 256 KiB to 32 MiB, by size
    Timer** timers               # heap
    int32_t timer_count
    int32_t timer_room
    FetchSession* sessions
    int64_t session_count        # counter
    int32_t next_session
    int64_t requests             # counters to the end: this plane adds, anyone looks
    int64_t bytes_in
    int64_t bytes_out
    int64_t produced
    int64_t fetched
    int64_t throttled
    int64_t failed_produces      # partitions that were refused
    int64_t failed_fetches
    Times* times                 # by API key
