import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/** A topology of one step: reads a topic, and writes each value in capitals to another. */
class Streams {
    /** The arguments are the application's id, the topic that it reads, the one that it writes, and a folder of its own. */
    public static void main(String[] args) throws Exception {
        var settings = new Properties();
        settings.put("bootstrap.servers", System.getenv("KAFKA_BOOTSTRAP_SERVERS"));
        settings.put("application.id", args[0]);
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        settings.put("auto.offset.reset", "earliest");
        settings.put("commit.interval.ms", 100);
        settings.put("state.dir", args[3]);
        settings.put("reconnect.backoff.ms", 1);
        settings.put("reconnect.backoff.max.ms", 10);
        settings.put("producer.batch.size", 500);
        var topology = new StreamsBuilder();
        topology.<String, String>stream(args[1]).mapValues(v -> v.toUpperCase()).to(args[2]);
        try (var streams = new KafkaStreams(topology.build(), settings)) {
            streams.start();
            System.in.readAllBytes();
        }
    }
}
