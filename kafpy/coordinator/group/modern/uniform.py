"""The uniform assignor: everybody gets as many partitions as the others, and keeps what it can.

Where all members subscribe to the same topics, sizes differ by one at most, and only what has to move for that moves.
Else partitions go to whoever has the least of those who want them, and are moved from one to another while that brings
two sizes closer.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from kafpy.coordinator.group.modern.assignor import Draw, Problem, retained


def uniform(problem: Problem) -> Draw:
    if not problem.members:
        return {}
    return _same_topics(problem) if problem.is_homogeneous else _different_topics(problem)


def _same_topics(problem: Problem) -> Draw:
    draw = retained(problem)
    topics = sorted(next(iter(problem.members.values())).topics)
    total = sum(problem.topics[topic_id].size for topic_id in topics)
    quota, extra = divmod(total, len(draw))
    sizes = {member_id: sum(map(len, held.values())) for member_id, held in draw.items()}
    for member_id, held in draw.items():
        allowed = quota
        if sizes[member_id] > quota and extra:
            allowed += 1
            extra -= 1
        if sizes[member_id] > allowed:
            _drop(held, sizes[member_id] - allowed)
            sizes[member_id] = allowed
    free = _unassigned(problem, draw, topics)
    for member_id, held in draw.items():
        lacks = quota - sizes[member_id]
        if lacks >= 0 and extra:
            lacks += 1
            extra -= 1
        for _ in range(lacks):
            topic_id, partition = next(free)
            held.setdefault(topic_id, set()).add(partition)
    return draw


def _drop(held: dict[bytes, set[int]], count: int) -> None:
    """From where there is most of, so that what is left is of all topics."""
    heap = [(-len(partitions), topic_id) for topic_id, partitions in held.items()]
    heapify(heap)
    for _ in range(count):
        size, topic_id = heappop(heap)
        held[topic_id].remove(max(held[topic_id]))
        heappush(heap, (size + 1, topic_id))


def _unassigned(problem: Problem, draw: Draw, topics: list[bytes]) -> Iterator[tuple[bytes, int]]:
    taken: dict[bytes, set[int]] = {topic_id: set() for topic_id in topics}
    for held in draw.values():
        for topic_id, partitions in held.items():
            taken[topic_id] |= partitions
    for topic_id in topics:
        for partition in range(problem.topics[topic_id].size):
            if partition not in taken[topic_id]:
                yield topic_id, partition


def _different_topics(problem: Problem) -> Draw:
    draw = retained(problem)
    subscribers: dict[bytes, list[str]] = {}
    for member_id, member in problem.members.items():
        for topic_id in member.topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    sizes = {member_id: sum(map(len, held.values())) for member_id, held in draw.items()}
    # Topics that few want first: the others can make up for them
    order = sorted(subscribers, key=lambda topic_id: (len(subscribers[topic_id]), topic_id))
    for topic_id in order:
        heap = [(sizes[member_id], member_id) for member_id in subscribers[topic_id]]
        heapify(heap)
        for _, partition in _unassigned(problem, _only(draw, topic_id), [topic_id]):
            size, member_id = heappop(heap)
            draw[member_id].setdefault(topic_id, set()).add(partition)
            sizes[member_id] = size + 1
            heappush(heap, (size + 1, member_id))
    moved = True
    while moved:  # each move makes the sum of the squares of sizes less
        moved = False
        for topic_id in order:
            moved |= _level(draw, sizes, topic_id, subscribers[topic_id])
    return draw


def _only(draw: Draw, topic_id: bytes) -> Draw:
    return {member_id: {topic_id: held[topic_id]} for member_id, held in draw.items() if topic_id in held}


def _level(draw: Draw, sizes: dict[str, int], topic_id: bytes, subscribers: list[str]) -> bool:
    """Moves this topic's partitions from the largest to the smallest; whether any moved."""
    largest = [(-sizes[each], each) for each in subscribers if draw[each].get(topic_id)]
    smallest = [(sizes[each], each) for each in subscribers]
    heapify(largest)
    heapify(smallest)
    moved = False
    while largest:
        giver = largest[0][1]
        if -largest[0][0] != sizes[giver] or not draw[giver].get(topic_id):
            heappop(largest)
            if draw[giver].get(topic_id):
                heappush(largest, (-sizes[giver], giver))
            continue
        size, taker = smallest[0]
        if size != sizes[taker]:
            heappop(smallest)
            heappush(smallest, (sizes[taker], taker))
            continue
        if sizes[giver] - size <= 1:
            break
        partition = max(draw[giver][topic_id])
        draw[giver][topic_id].remove(partition)
        draw[taker].setdefault(topic_id, set()).add(partition)
        sizes[giver] -= 1
        sizes[taker] += 1
        moved = True
        heappush(largest, (-sizes[taker], taker))
    return moved
