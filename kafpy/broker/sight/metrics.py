"""/metrics: one page of everything, made when it is asked for; nothing is counted but what the core counts anyway.

State that belongs to the loop is looked at on the loop, a bit at a time; what costs time, a line for each partition and
each committed offset, is made on a thread.
"""

import threading
import time

import trio

from kafpy import __version__
from kafpy._core.plane import Planes
from kafpy.broker.sight import groups, process, requests, topics
from kafpy.broker.sight.exposition import Page, labels
from kafpy.broker.state import BrokerState
from kafpy.coordinator.group.shard import Overview
from kafpy.metadata import Image

LOOP = "loop"


class Metrics:
    def __init__(self, planes: Planes, state: BrokerState, address: str) -> None:
        self._planes = planes
        self._state = state
        self._address = address
        self._flows = topics.Flows()
        self._loop_clock = time.pthread_getcpuclockid(threading.get_ident())
        self._idleness = requests.Idleness(self._spent())
        self._one_at_a_time = trio.Lock()

    async def page(self) -> bytes:
        async with self._one_at_a_time:
            overviews: list[Overview] = []
            for each in self._state.groups.overviews():
                overviews += each
                await trio.lowlevel.checkpoint()
            return await trio.to_thread.run_sync(self._write, self._state.image, overviews)

    def _write(self, image: Image, overviews: list[Overview]) -> bytes:
        page = Page()
        looked = topics.look(image, self._state.partitions, self._state.settings)
        topics.write(page, looked, self._flows.look({name: flow for name, (_, _, flow) in looked.items()}))
        ends = {
            (name, each.partition.index): each.end for name, (_, seen, _) in looked.items() for each in seen if each.log
        }
        groups.write(page, overviews, ends)
        requests.write(page, self._planes)
        self._write_broker(page)
        process.write(page)
        return page.text()

    def _write_broker(self, page: Page) -> None:
        node_id, counted = self._state.node_id, self._planes.statistics()
        page.family("kafka_broker_info", "gauge", "Brokers of the cluster.")
        page.sample("kafka_broker_info", labels({"id": node_id, "address": self._address}), 1)
        page.family("kafpy_build_info", "gauge", "What runs here.")
        page.sample("kafpy_build_info", labels({"version": __version__}), 1)
        offline = sum(each.offline for each in self._state.partitions.contents())
        for name, kind, help_text, value in (
            ("kafka_brokers", "gauge", "Brokers of the cluster.", 1),
            ("kafka_controller_kafkacontroller_activecontrollercount", "gauge", "1 where it decides.", 1),
            ("kafka_controller_kafkacontroller_activebrokercount", "gauge", "Brokers that are up.", 1),
            ("kafka_controller_controllerstats_uncleanleaderelections_total", "counter", "Never on one broker.", 0),
            ("kafka_log_logmanager_offlinelogdirectorycount", "gauge", "Failed log directories.", offline),
            (
                "kafka_server_socket_server_metrics_connection_count",
                "gauge",
                "Connections of clients.",
                counted["connections"],
            ),
            (
                "kafka_server_brokertopicmetrics_failedproducerequests_total",
                "counter",
                "Batches that were refused.",
                counted["failed_produces"],
            ),
            (
                "kafka_server_brokertopicmetrics_failedfetchrequests_total",
                "counter",
                "Reads of partitions that were refused.",
                counted["failed_fetches"],
            ),
            (
                "kafpy_throttled_replies_total",
                "counter",
                "Replies that told a client to slow down.",
                counted["throttled"],
            ),
            ("kafpy_network_bytes_in_total", "counter", "Received, requests whole.", counted["bytes_in"]),
            ("kafpy_network_bytes_out_total", "counter", "Sent, replies whole.", counted["bytes_out"]),
            ("kafpy_fetch_sessions", "gauge", "Incremental fetch sessions.", counted["fetch_sessions"]),
        ):
            page.one(name, kind, help_text, value)
        self._write_idleness(page)

    def _spent(self) -> dict[str, int]:
        planes = {str(index): ns for index, ns in enumerate(self._planes.cpu_ns())}
        return {**planes, LOOP: time.clock_gettime_ns(self._loop_clock)}

    def _write_idleness(self, page: Page) -> None:
        idle = self._idleness.look(self._spent())
        loop = idle.pop(LOOP)
        name = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent"
        page.one(name, "gauge", "Of the thread that decides, since the last scrape; 1 is idle.", loop)
        name = "kafka_network_socketserver_networkprocessoravgidle_percent"
        page.one(
            name, "gauge", "Of the planes, since the last scrape; 1 is idle.", sum(idle.values()) / max(len(idle), 1)
        )
        each = [(labels({"networkprocessor": index}), value) for index, value in idle.items()]
        page.many("kafka_network_processor_idlepercent", "gauge", "Of each plane, since the last scrape.", each)
