"""The program for kafka-python; see ../require.go for the contract."""

import os
import sys

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import KafkaError

import contract

SERVERS = os.environ["KAFKA_BOOTSTRAP_SERVERS"]

# How long a poll waits that has to join first. In 3.0.12, a poll that gives up while
# its second JoinGroup is out (the first was sent before the topic's partitions were
# known) never takes the assignment that comes: it reads nothing from then on.
JOIN_TIMEOUT_MS = 30_000


def produce(job):
    producer = KafkaProducer(
        bootstrap_servers=SERVERS,
        enable_idempotence=job.idempotent,
        acks="all",
        compression_type=None if job.codec == "none" else job.codec,
        retry_backoff_ms=10,
        reconnect_backoff_ms=1,
        reconnect_backoff_max_ms=10,
        linger_ms=5,
        request_timeout_ms=5000,
        delivery_timeout_ms=20000,
    )
    for batch in contract.batches(job):
        sent = [(number, send(producer, job, number)) for number in batch]
        producer.flush()
        for number, future in sent:
            tell(job, number, future)
    producer.close(timeout=1)


def send(producer, job, number):
    try:
        return producer.send(job.topic, key=contract.key(number), value=contract.value(number), headers=contract.HEADERS)
    except KafkaError as e:
        return e


def tell(job, number, future):
    if isinstance(future, KafkaError):
        contract.told(job, number, error=future)
        return
    try:
        at = future.get(timeout=30)
        contract.told(job, number, at.partition, at.offset)
    except KafkaError as e:
        contract.told(job, number, error=e)


def consume(topic, group):
    consumer = KafkaConsumer(
        topic, bootstrap_servers=SERVERS, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    ended = contract.input_end()
    while not ended.is_set():
        polled = consumer.poll(timeout_ms=200 if consumer.assignment() else JOIN_TIMEOUT_MS)
        if not polled:
            continue
        try:
            consumer.commit()
        except KafkaError as e:
            print(e, file=sys.stderr)  # others have read it, or will
            continue
        for records in polled.values():
            for r in records:
                contract.read(r.topic, r.partition, r.offset, r.key, r.headers)
    consumer.close()


def administer(topic):
    admin = KafkaAdminClient(bootstrap_servers=SERVERS)
    admin.create_topics([NewTopic(topic, num_partitions=3, replication_factor=1)])
    described = admin.describe_topics([topic])[0]
    contract.tell(version=kafka.__version__, listed=list(admin.list_topics()), partitions=len(described["partitions"]))
    admin.close()


if sys.argv[1] == "produce":
    for word in sys.argv[2:]:
        produce(contract.parse(word))
elif sys.argv[1] == "consume":
    consume(*sys.argv[2:])
else:
    administer(sys.argv[2])
