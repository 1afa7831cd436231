"""SQL over topics by Spark, in this process: each topic that Spark misses becomes a view of the data source kafpy."""

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException, PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from kafpy.cli.sql import COLUMNS, TEXTS, Question, SqlError, Tables
from spark_source import java, rows

TEXT = (
    "CASE WHEN is_valid_utf8(CAST({0} AS STRING)) THEN CAST({0} AS STRING) ELSE '\\\\x' || lower(hex({0})) END AS {0}"
)
_NAME = re.compile(r"`((?:[^`]|``)*)`")


@contextmanager
def run(question: Question) -> Iterator[pa.RecordBatchReader]:
    tables = Tables(question)
    try:
        java.provide()
        with _session() as spark, _one_line_of_failure():
            found = _answer(spark, question, tables)
            if question.limit is not None:
                found = found.limit(question.limit)
            yield found.toArrow().to_reader()
    except java.NoJava as error:
        raise SqlError(str(error)) from None
    finally:
        tables.close()


@contextmanager
def _one_line_of_failure() -> Iterator[None]:
    """While Spark is there: an error of the JVM's asks it for its words."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        told = re.search(r"ReadError: (.+)", text)
        raise SqlError(told[1] if told else text.strip().split("\n")[0]) from None


@contextmanager
def _session() -> Iterator[SparkSession]:
    """What Spark says while it runs goes to a file, of which one line is told where Spark does not start."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.master": "local[*]",
        "spark.app.name": "kafpy sql",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.python.unix.domain.socket.enabled": "true",
    }
    logging.getLogger("SQLQueryContextLogger").disabled = True  # tables that are missed are no errors here
    with tempfile.TemporaryFile("w+") as said:
        try:
            gateway = launch_gateway(popen_kwargs={"stderr": said})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said.seek(0)
            last = [line.strip() for line in said if line.strip()][-1:]
            raise SqlError(f"Spark does not start: {last[0] if last else error}") from None
        context = SparkContext(conf=SparkConf(_jvm=gateway.jvm).setAll(list(settings.items())), gateway=gateway)
        try:
            yield SparkSession(context)
        finally:
            context.stop()
            gateway.shutdown()


def _answer(spark: SparkSession, question: Question, tables: Tables) -> DataFrame:
    """Spark tells which table it misses; then which columns it needs of each."""
    views: list[str] = []
    while True:
        try:
            found = spark.sql(question.statement)
        except AnalysisException as error:
            views.append(_missed(error, tables, views))
            _view(spark, question, tables, views[-1], COLUMNS)
            continue
        needed = _needed(found)
        for name in views:
            _view(spark, question, tables, name, [each for each in COLUMNS if each in needed.get(name, ())])
        return spark.sql(question.statement) if views else found


def _missed(error: AnalysisException, tables: Tables, views: Sequence[str]) -> str:
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        raise error
    parts = [part.replace("``", "`") for part in _NAME.findall((error.getMessageParameters() or {})["relationName"])]
    name = ".".join(parts)
    if name not in tables.names:
        raise tables.unknown(name)
    if len(parts) > 1 or name in views:
        raise SqlError(f"names with dots or dashes stand in backquotes: `{name}`")
    return name


def _view(spark: SparkSession, question: Question, tables: Tables, name: str, needed: Sequence[str]) -> None:
    """Of all columns; those that are not needed are null, and are not read."""
    starts, ends = tables.span(name)
    properties = {**question.where.properties, "bootstrap.servers": question.where.bootstrap}
    if question.read_committed:
        properties["isolation.level"] = "read_committed"
    found = (
        spark.read.format("kafpy")
        .schema(StructType([StructField(each, rows.TYPES[each]) for each in needed or COLUMNS[:1]]))
        .options(**{f"kafka.{key}": value for key, value in properties.items()})
        .option("subscribe", name)
        .option("startingOffsets", json.dumps({name: starts}))
        .option("endingOffsets", json.dumps({name: ends}))
        .load()
    )
    shown = [_shown(each, question.as_bytes) if each in found.columns else _null(each) for each in COLUMNS]
    found.selectExpr(*shown).createOrReplaceTempView(f"`{name}`")


def _shown(column: str, as_bytes: bool) -> str:
    return TEXT.format(column) if column in TEXTS and not as_bytes else column


def _null(column: str) -> str:
    return f"CAST(NULL AS {rows.TYPES[column].simpleString()}) AS {column}"


def _needed(found: DataFrame) -> dict[str, set[str]]:
    """By topic, the columns that anything in the optimized plan refers to. Spark prunes none of a Python source."""
    plan = found._jdf.queryExecution().optimizedPlan()
    referred = {each.exprId().id() for each in _listed(plan.output())}
    sources = []
    for node in _nodes(plan):
        referred |= {each.exprId().id() for each in _listed(node.references().toSeq())}
        if node.nodeName().startswith(("RelationV2", "BatchScan", "DataSourceV2")):
            sources.append(node)
    needed: dict[str, set[str]] = {}
    for node in sources:
        relation = node.relation() if hasattr(node, "relation") else node
        topic = relation.options().get("subscribe")
        names = {each.name() for each in _listed(node.output()) if each.exprId().id() in referred}
        needed.setdefault(topic, set()).update(names)
    return needed


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for inner in (*_listed(plan.children()), *_listed(plan.subqueries())):
        yield from _nodes(inner)


def _listed(found: Any) -> list[Any]:
    return [found.apply(at) for at in range(found.size())]
