"""What the Python programs share: the jobs that they are given, and the lines that
they print. See ../require.go for the contract."""

import json
import sys
import threading
from collections import namedtuple

HEADERS = [("from", b"matrix")]

Job = namedtuple("Job", "topic records codec batch idempotent")


def parse(word):
    topic, records, codec, batch, mode = word.split(",")
    return Job(topic, int(records), codec, int(batch), mode == "idempotent")


def batches(job):
    """The numbers of the records of a job, batch by batch."""
    for first in range(0, job.records, job.batch):
        yield range(first, min(first + job.batch, job.records))


def key(number):
    return b"k-%d" % number


def value(number):
    return b"value %d" % number


def tell(**line):
    print(json.dumps(line), flush=True)


def told(job, number, partition=-1, offset=-1, error=None):
    if error is None:
        tell(topic=job.topic, n=number, partition=partition, offset=-1 if offset is None else offset)
    else:
        tell(topic=job.topic, n=number, partition=-1, offset=-1, error=str(error) or type(error).__name__)


def read(topic, partition, offset, key, headers):
    tell(topic=topic, partition=partition, offset=offset, key=key.decode(), header=headers[0][1].decode())


def input_end():
    """An event that is set when standard input ends."""
    ended = threading.Event()

    def wait():
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended
