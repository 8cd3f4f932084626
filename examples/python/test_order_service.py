import re
import subprocess

import pytest

from order_service import order_producer, place

LOSE_EVERY_ACK = "disconnect after produce topic=orders attempt=1 times=all"


class Fencepost:
    """A fencepost that runs as a process, with one fault rule."""

    def __init__(self, fault):
        self.process = subprocess.Popen(
            ["fencepost", "--listen", "127.0.0.1:0", "--http", "off", "--seed", "42", "--fault", fault],
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        self.address = re.search(r"Kafka at (\S+),", line)[1]

    def stop(self):
        """Ends the broker. Its exit code is 0 if every record was written exactly
        once and the fault fired, else 1; its report says what it found."""
        self.process.terminate()
        report, _ = self.process.communicate(timeout=30)
        return self.process.returncode, report


@pytest.fixture
def broker():
    broker = Fencepost(LOSE_EVERY_ACK)
    yield broker
    broker.process.kill()


def test_orders_survive_lost_acks(broker):
    place(order_producer(broker.address), 10)

    code, report = broker.stop()
    assert code == 0, report
    assert "10 acknowledgements lost" in report


def test_without_idempotence_orders_are_duplicated(broker):
    place(order_producer(broker.address, idempotent=False), 10)

    code, report = broker.stop()
    assert code == 1, report
    assert 'offsets 0 and 1 hold one record, key "o-0"' in report
