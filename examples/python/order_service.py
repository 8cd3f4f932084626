"""An order service: writes orders to the broker in KAFKA_BOOTSTRAP_SERVERS, each
with its own key, and waits until each is acknowledged. Ends with 1 if one is not.

    python3 order_service.py [ORDERS]     10 orders unless said

IDEMPOTENCE=false takes the producer's idempotence away.
"""

import os
import sys

from confluent_kafka import KafkaException, Producer


def order_producer(bootstrap_servers, idempotent=True):
    return Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": idempotent,  # off unless said
            "acks": "all",
            "linger.ms": 0,
            # An answer that takes longer than this is lost; a minute unless said.
            "socket.timeout.ms": 2000,
            # librdkafka waits up to ten seconds before it connects again.
            "reconnect.backoff.max.ms": 100,
        }
    )


def place(producer, orders):
    """Writes the orders, and raises if one is not acknowledged."""
    errors = []
    for n in range(orders):
        producer.produce(
            "orders",
            key=f"o-{n}",
            value=f"order {n}",
            on_delivery=lambda error, _: error and errors.append(error),
        )
        producer.flush()
        if errors:
            raise KafkaException(errors[0])


def main():
    orders = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    idempotent = os.environ.get("IDEMPOTENCE") != "false"
    try:
        place(order_producer(os.environ["KAFKA_BOOTSTRAP_SERVERS"], idempotent), orders)
    except KafkaException as e:
        sys.exit(f"not every order was acknowledged: {e}")
    print(f"{orders} orders placed")


if __name__ == "__main__":
    main()
