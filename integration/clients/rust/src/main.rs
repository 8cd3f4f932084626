//! The program for rust-rdkafka; see ../../require.go for the contract.

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::util::get_rdkafka_version;
use rdkafka::ClientContext;
use serde_json::{json, Value};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn tell(line: Value) {
    println!("{line}");
}

/// What all clients have. Without the backoffs librdkafka waits up to ten seconds
/// before it connects again.
fn config(pairs: &[(&str, &str)]) -> ClientConfig {
    let mut c = ClientConfig::new();
    c.set("bootstrap.servers", std::env::var("KAFKA_BOOTSTRAP_SERVERS").unwrap());
    c.set("reconnect.backoff.ms", "1").set("reconnect.backoff.max.ms", "10");
    for (name, value) in pairs {
        c.set(*name, *value);
    }
    c
}

/// Prints what became of each record of a job, in the words of its delivery report.
struct Reports {
    topic: String,
}

impl Reports {
    fn failed(&self, n: usize, error: &KafkaError) {
        tell(json!({"topic": self.topic, "n": n, "partition": -1, "offset": -1, "error": error.to_string()}));
    }
}

impl ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<usize>;

    fn delivery(&self, result: &DeliveryResult, n: Box<usize>) {
        match result {
            Ok(m) => tell(json!({"topic": self.topic, "n": *n, "partition": m.partition(), "offset": m.offset()})),
            Err((error, _)) => self.failed(*n, error),
        }
    }
}

fn produce(job: &str) {
    let words: Vec<&str> = job.split(',').collect();
    let (topic, records, batch) = (words[0], words[1].parse::<usize>().unwrap(), words[3].parse::<usize>().unwrap());
    let idempotent = if words[4] == "idempotent" { "true" } else { "false" };
    let producer: BaseProducer<Reports> = config(&[
        ("enable.idempotence", idempotent),
        ("compression.type", words[2]),
        ("batch.num.messages", words[3]),
        ("linger.ms", "5"),
        ("retry.backoff.ms", "10"),
        ("delivery.timeout.ms", "20000"),
    ])
    .create_with_context(Reports { topic: topic.into() })
    .unwrap();
    for first in (0..records).step_by(batch) {
        for n in first..records.min(first + batch) {
            let (key, value) = (format!("k-{n}"), format!("value {n}"));
            let headers = OwnedHeaders::new().insert(Header { key: "from", value: Some("matrix") });
            let record = BaseRecord::with_opaque_to(topic, Box::new(n)).key(&key).payload(&value).headers(headers);
            if let Err((error, _)) = producer.send(record) {
                producer.context().failed(n, &error); // the producer is dead
            }
        }
        // flush looks only every tenth of a second whether it is done.
        while producer.in_flight_count() > 0 {
            producer.poll(Duration::from_millis(5));
        }
    }
}

fn consume(topic: &str, group: &str) {
    let protocol = std::env::var("GROUP_PROTOCOL").unwrap_or("classic".into());
    let consumer: BaseConsumer = config(&[
        ("group.id", group),
        ("group.protocol", &protocol),
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"),
    ])
    .create()
    .unwrap();
    consumer.subscribe(&[topic]).unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let noted = ended.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        noted.store(true, Ordering::Relaxed);
    });
    while !ended.load(Ordering::Relaxed) {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Ok(m)) => match consumer.commit_message(&m, CommitMode::Sync) {
                Ok(()) => read(&m),
                Err(error) => eprintln!("{error}"), // others have read it, or will
            },
            Some(Err(error)) => eprintln!("{error}"),
            None => {}
        }
    }
}

fn read(m: &BorrowedMessage) {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let header = m.headers().map(|h| text(h.get(0).value)).unwrap_or_default();
    tell(json!({"topic": m.topic(), "partition": m.partition(), "offset": m.offset(), "key": text(m.key()), "header": header}));
}

fn administer(topic: &str) {
    let admin: AdminClient<DefaultClientContext> = config(&[]).create().unwrap();
    let new = [NewTopic::new(topic, 3, TopicReplication::Fixed(1))];
    let made = futures_executor::block_on(admin.create_topics(&new, &AdminOptions::new())).unwrap();
    made.into_iter().for_each(|result| {
        result.unwrap();
    });
    let all = admin.inner().fetch_metadata(None, PATIENCE).unwrap();
    let listed: Vec<&str> = all.topics().iter().map(|t| t.name()).collect();
    let partitions = all.topics().iter().find(|t| t.name() == topic).map(|t| t.partitions().len());
    let version = format!("{} (librdkafka {})", env!("CLIENT_VERSION"), get_rdkafka_version().1);
    tell(json!({"version": version, "listed": listed, "partitions": partitions}));
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args[0].as_str() {
        "produce" => args[1..].iter().for_each(|job| produce(job)),
        "consume" => consume(&args[1], &args[2]),
        _ => administer(&args[1]),
    }
}
