"""The program for aiokafka; see ../require.go for the contract."""

import asyncio
import os
import sys

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

import contract

SERVERS = os.environ["KAFKA_BOOTSTRAP_SERVERS"]


async def produce(job):
    producer = AIOKafkaProducer(
        bootstrap_servers=SERVERS,
        enable_idempotence=job.idempotent,
        acks="all",
        compression_type=None if job.codec == "none" else job.codec,
        retry_backoff_ms=10,
        request_timeout_ms=5000,
        linger_ms=5,
    )
    await producer.start()
    for batch in contract.batches(job):
        sent = [await producer.send(job.topic, key=contract.key(n), value=contract.value(n), headers=contract.HEADERS)
                for n in batch]  # fmt: skip
        for number, future in zip(batch, sent):
            try:
                at = await future
                contract.told(job, number, at.partition, at.offset)
            except KafkaError as e:
                contract.told(job, number, error=e)
    await producer.stop()


async def consume(topic, group):
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=SERVERS, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    ended = contract.input_end()
    while not ended.is_set():
        polled = await consumer.getmany(timeout_ms=200)
        if not polled:
            continue
        try:
            await consumer.commit()
        except KafkaError as e:
            print(e, file=sys.stderr)  # others have read it, or will
            continue
        for records in polled.values():
            for r in records:
                contract.read(r.topic, r.partition, r.offset, r.key, r.headers)
    await consumer.stop()


async def administer(topic):
    admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=3, replication_factor=1)])
    described = (await admin.describe_topics([topic]))[0]
    listed = await admin.list_topics()
    contract.tell(version=aiokafka.__version__, listed=list(listed), partitions=len(described["partitions"]))
    await admin.close()


async def main():
    if sys.argv[1] == "produce":
        for word in sys.argv[2:]:
            await produce(contract.parse(word))
    elif sys.argv[1] == "consume":
        await consume(*sys.argv[2:])
    else:
        await administer(sys.argv[2])


asyncio.run(main())
