"""The range assignor: each topic by itself, in ranges of partitions as even as can be, and members keep what they can.

Members that subscribe to the same topics get the same partitions of topics that have equally many (co-partitioning), as
far as what they had before is the same. Members of more than their share keep the lowest numbers.
"""

from kafpy.coordinator.group.modern.assignor import Draw, Problem, retained


def range_(problem: Problem) -> Draw:
    had = retained(problem)
    draw: Draw = {member_id: {} for member_id in problem.members}
    subscribers: dict[bytes, list[str]] = {}
    for member_id, member in problem.members.items():
        for topic_id in member.topics:
            subscribers.setdefault(topic_id, []).append(member_id)
    for topic_id in sorted(subscribers):
        _assign(topic_id, problem.topics[topic_id].size, subscribers[topic_id], had, draw)
    return draw


def _assign(topic_id: bytes, size: int, members: list[str], had: Draw, draw: Draw) -> None:
    quota, extra = divmod(size, len(members))
    short: list[tuple[str, int]] = []
    for member_id in members:
        owned = sorted(had[member_id].get(topic_id, ()))
        share = quota
        if len(owned) > quota and extra:
            share += 1
            extra -= 1
        draw[member_id][topic_id] = set(owned[:share])
        if len(owned) <= quota:
            short.append((member_id, quota - len(owned)))
    kept = set().union(*(draw[member_id][topic_id] for member_id in members))
    free = [each for each in range(size) if each not in kept]
    at = 0
    for member_id, lacks in short:
        if extra:
            lacks += 1
            extra -= 1
        draw[member_id][topic_id].update(free[at : at + lacks])
        at += lacks
