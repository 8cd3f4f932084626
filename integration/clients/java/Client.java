import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The program for Kafka's own client; see ../require.go for the contract. */
class Client {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "produce" -> {
                for (int i = 1; i < args.length; i++) produce(args[i].split(","));
            }
            case "consume" -> consume(args[1], args[2]);
            default -> administer(args[1]);
        }
    }

    static Properties settings(Object... pairs) {
        var p = new Properties();
        p.put("bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"));
        p.put("reconnect.backoff.ms", 1);
        p.put("reconnect.backoff.max.ms", 10);
        p.put("retry.backoff.ms", 10);
        p.put("retry.backoff.max.ms", 10);
        for (int i = 0; i < pairs.length; i += 2) p.put(pairs[i], pairs[i + 1]);
        return p;
    }

    static void produce(String[] job) {
        String topic = job[0];
        int records = Integer.parseInt(job[1]), batch = Integer.parseInt(job[3]);
        var settings = settings(
            "enable.idempotence", job[4].equals("idempotent"), "acks", "all", "compression.type", job[2],
            "request.timeout.ms", 5000, "delivery.timeout.ms", 20000, "max.block.ms", 20000, "linger.ms", 5);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int first = 0; first < records; first += batch) {
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int n = first; n < Math.min(first + batch, records); n++) {
                    var record = new ProducerRecord<>(topic, "k-" + n, "value " + n);
                    record.headers().add("from", "matrix".getBytes());
                    sent.add(send(producer, record));
                }
                producer.flush();
                for (int i = 0; i < sent.size(); i++) told(topic, first + i, sent.get(i));
            }
        }
    }

    /** A producer that is dead throws, where others give a future that fails. */
    static Future<RecordMetadata> send(KafkaProducer<String, String> producer, ProducerRecord<String, String> record) {
        try {
            return producer.send(record);
        } catch (KafkaException e) {
            return java.util.concurrent.CompletableFuture.failedFuture(e);
        }
    }

    static void told(String topic, int n, Future<RecordMetadata> sent) {
        String result;
        try {
            var at = sent.get();
            result = "\"partition\":%d,\"offset\":%d".formatted(at.partition(), at.offset());
        } catch (ExecutionException | InterruptedException e) {
            result = "\"partition\":-1,\"offset\":-1,\"error\":\"%s\"".formatted(Errors.forException(e.getCause()));
        }
        System.out.println("{\"topic\":\"%s\",\"n\":%d,%s}".formatted(topic, n, result));
    }

    static void consume(String topic, String group) throws Exception {
        var protocol = System.getenv().getOrDefault("GROUP_PROTOCOL", "classic");
        var settings = settings("group.id", group, "group.protocol", protocol,
            "auto.offset.reset", "earliest", "enable.auto.commit", false);
        var ended = new Thread(Client::awaitInputEnd);
        ended.setDaemon(true);
        ended.start();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (ended.isAlive()) {
                var polled = consumer.poll(Duration.ofMillis(200));
                if (!polled.isEmpty() && committed(consumer)) polled.forEach(Client::read);
            }
        }
    }

    static void awaitInputEnd() {
        try {
            System.in.readAllBytes();
        } catch (java.io.IOException e) {
            System.err.println(e);
        }
    }

    /** Where it cannot commit, others have read the records, or will. */
    static boolean committed(KafkaConsumer<String, String> consumer) {
        try {
            consumer.commitSync();
            return true;
        } catch (CommitFailedException e) {
            System.err.println(e);
            return false;
        }
    }

    static void read(ConsumerRecord<String, String> r) {
        var header = new String(r.headers().lastHeader("from").value());
        System.out.println("{\"topic\":\"%s\",\"partition\":%d,\"offset\":%d,\"key\":\"%s\",\"header\":\"%s\"}"
            .formatted(r.topic(), r.partition(), r.offset(), r.key(), header));
    }

    static void administer(String topic) throws Exception {
        try (var admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get();
            var listed = String.join("\",\"", admin.listTopics().names().get());
            var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            System.out.println("{\"version\":\"%s\",\"listed\":[\"%s\"],\"partitions\":%d}"
                .formatted(version(), listed, described.partitions().size()));
        }
    }

    static String version() throws Exception {
        var p = new Properties();
        p.load(Client.class.getResourceAsStream("/kafka/kafka-version.properties"));
        return p.getProperty("version");
    }
}
