"""The program for confluent-kafka; see ../require.go for the contract."""

import os
import sys

import confluent_kafka
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import contract

COMMON = {
    "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
    # Without these librdkafka waits up to ten seconds before it connects again.
    "reconnect.backoff.ms": 1,
    "reconnect.backoff.max.ms": 10,
}


def produce(job):
    producer = Producer(
        COMMON
        | {
            "enable.idempotence": job.idempotent,
            "compression.type": job.codec,
            "batch.num.messages": job.batch,
            "retry.backoff.ms": 10,
            "delivery.timeout.ms": 20000,
        }
    )
    for batch in contract.batches(job):
        pending = set(batch)
        try:
            for number in batch:
                send(producer, job, number, pending)
            producer.flush()
        except (confluent_kafka.KafkaException, SystemError) as e:
            # A fatal error is raised out of whatever callback runs at the time.
            for number in pending:
                contract.told(job, number, error=type(e).__name__)


def send(producer, job, number, pending):
    def told(error, message):
        if error is not None:
            contract.told(job, number, error=error.name())
        else:
            contract.told(job, number, message.partition(), message.offset())
        pending.remove(number)

    producer.produce(
        job.topic, key=contract.key(number), value=contract.value(number),
        headers=contract.HEADERS, on_delivery=told,
    )


def consume(topic, group):
    protocol = os.environ.get("GROUP_PROTOCOL", "classic")
    consumer = Consumer(
        COMMON
        | {"group.id": group, "group.protocol": protocol, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    ended = contract.input_end()
    while not ended.is_set():
        messages = [m for m in consumer.consume(100, timeout=0.2) if m.error() is None]
        if not messages:
            continue
        try:
            consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as e:
            print(e, file=sys.stderr)  # others have read it, or will
            continue
        for m in messages:
            contract.read(m.topic(), m.partition(), m.offset(), m.key(), m.headers())
    consumer.close()


def administer(topic):
    admin = AdminClient(COMMON)
    admin.create_topics([NewTopic(topic, num_partitions=3, replication_factor=1)])[topic].result()
    described = admin.list_topics(timeout=30).topics
    version = f"{confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})"
    contract.tell(version=version, listed=list(described), partitions=len(described[topic].partitions))


if sys.argv[1] == "produce":
    for word in sys.argv[2:]:
        produce(contract.parse(word))
elif sys.argv[1] == "consume":
    consume(*sys.argv[2:])
else:
    administer(sys.argv[2])
