"""The states of a classic group, and from where each may be entered (Kafka's ClassicGroupState).

    Empty ──first join──▶ PreparingRebalance ──all joined or time out──▶ CompletingRebalance ──leader's sync──▶ Stable
      ▲                     │    ▲    ▲                                        │                                  │
      └──nobody left────────┘    │    └──join, leave, time-out, missing sync───┘                                  │
                                 └──join with news, leave, time-out───────────────────────────────────────────────┘

Only Empty and Stable are in the log: a broker that comes back finds the last of those, and members rejoin.
"""

from enum import Enum


class State(Enum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    """Of groups that do not exist."""


ENTERED_FROM = {
    State.EMPTY: {State.PREPARING_REBALANCE},
    State.PREPARING_REBALANCE: {State.STABLE, State.COMPLETING_REBALANCE, State.EMPTY},
    State.COMPLETING_REBALANCE: {State.PREPARING_REBALANCE},
    State.STABLE: {State.COMPLETING_REBALANCE},
    State.DEAD: set(State),
}
REBALANCING = frozenset({State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE})
