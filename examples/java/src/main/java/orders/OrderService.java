package orders;

import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * An order service: writes orders to the broker in KAFKA_BOOTSTRAP_SERVERS, each with its own key,
 * and waits until each is acknowledged. Ends with 1 if one is not. The first argument says how many
 * orders, 10 unless said. IDEMPOTENCE=false takes the producer's idempotence away.
 */
public final class OrderService {
  private OrderService() {}

  public static Producer<String, String> producer(String bootstrapServers, boolean idempotent) {
    return new KafkaProducer<>(
        Map.of(
            "bootstrap.servers", bootstrapServers,
            "enable.idempotence", idempotent, // on unless said, since Kafka 3.0
            "acks", "all"),
        new StringSerializer(),
        new StringSerializer());
  }

  /** Writes the orders, and throws if one is not acknowledged. */
  public static void place(Producer<String, String> producer, int orders) throws Exception {
    for (int n = 0; n < orders; n++) {
      producer.send(new ProducerRecord<>("orders", "o-" + n, "order " + n)).get();
    }
  }

  public static void main(String[] args) {
    int orders = args.length > 0 ? Integer.parseInt(args[0]) : 10;
    boolean idempotent = !"false".equals(System.getenv("IDEMPOTENCE"));
    try (var producer = producer(System.getenv("KAFKA_BOOTSTRAP_SERVERS"), idempotent)) {
      place(producer, orders);
    } catch (Exception e) {
      System.err.println("not every order was acknowledged: " + e.getMessage());
      System.exit(1);
    }
    System.out.println(orders + " orders placed");
  }
}
