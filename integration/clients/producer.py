"""Sends numbered records with confluent-kafka to the broker in
KAFKA_BOOTSTRAP_SERVERS, each as a batch of its own, and ends with 1 if one of
them was not acknowledged.

IDEMPOTENT=true makes the producer idempotent; RECORDS says how many records;
TIMEOUT_MS how long it waits for an answer.
"""

import os
import sys

from confluent_kafka import Producer

producer = Producer(
    {
        "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
        "enable.idempotence": os.environ.get("IDEMPOTENT") == "true",
        "linger.ms": 0,
        "retry.backoff.ms": 10,
        # Without it librdkafka waits up to ten seconds before it connects again.
        "reconnect.backoff.ms": 1,
        "reconnect.backoff.max.ms": 10,
        "socket.timeout.ms": int(os.environ.get("TIMEOUT_MS", "60000")),
    }
)
failed = []


def told(error, message):
    if error is not None:
        failed.append(error)
    else:
        print(f"{message.key().decode()} stands at offset {message.offset()}")


for number in range(int(os.environ.get("RECORDS", "10"))):
    producer.produce("orders", key=f"o-{number}", value=f"value {number}", on_delivery=told)
    producer.flush()

for error in failed:
    print(f"not acknowledged: {error}", file=sys.stderr)
sys.exit(1 if failed else 0)
