package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class OrderServiceTest {
  private static final String LOSE_EVERY_ACK =
      "disconnect after produce topic=orders attempt=1 times=all";

  @Test
  void ordersSurviveLostAcks() throws Exception {
    try (var broker = new Fencepost(LOSE_EVERY_ACK);
        var producer = OrderService.producer(broker.address(), true)) {
      OrderService.place(producer, 10);
      producer.close();
      String report = broker.stop();
      assertEquals(0, broker.exitCode(), report);
      assertTrue(report.contains("10 acknowledgements lost"), report);
    }
  }

  @Test
  void withoutIdempotenceOrdersAreDuplicated() throws Exception {
    try (var broker = new Fencepost(LOSE_EVERY_ACK);
        var producer = OrderService.producer(broker.address(), false)) {
      OrderService.place(producer, 10);
      producer.close();
      String report = broker.stop();
      assertEquals(1, broker.exitCode(), report);
      assertTrue(report.contains("offsets 0 and 1 hold one record, key \"o-0\""), report);
    }
  }
}
