// The program for @confluentinc/kafka-javascript; see ../require.go for the contract.
'use strict';

const { Kafka, logLevel } = require('@confluentinc/kafka-javascript').KafkaJS;
const { librdkafkaVersion } = require('@confluentinc/kafka-javascript');
const { version } = require('@confluentinc/kafka-javascript/package.json');
const { servers, batches, record, tell, told, failed, read, inputEnd, run } = require('../node/contract');

const kafka = new Kafka({
  'bootstrap.servers': servers.join(','),
  // Without these librdkafka waits up to ten seconds before it connects again.
  'reconnect.backoff.ms': 1,
  'reconnect.backoff.max.ms': 10,
  kafkaJS: { logLevel: logLevel.NOTHING },
});

async function produce(job) {
  const producer = kafka.producer({
    'enable.idempotence': job.idempotent,
    'compression.type': job.codec,
    'batch.num.messages': job.batch,
    'linger.ms': 5,
    'retry.backoff.ms': 10,
    'delivery.timeout.ms': 20000,
  });
  await producer.connect();
  for (const batch of batches(job)) {
    const sent = batch.map((n) => producer.send({ topic: job.topic, messages: [record(n)] }));
    for (const [i, result] of (await Promise.allSettled(sent)).entries()) {
      if (result.status === 'rejected') failed(job, batch[i], result.reason);
      else told(job, batch[i], result.value[0].partition, result.value[0].baseOffset);
    }
  }
  await producer.disconnect();
}

async function consume(topic, group) {
  const consumer = kafka.consumer({
    'group.id': group, 'group.protocol': process.env.GROUP_PROTOCOL, 'auto.offset.reset': 'earliest', 'enable.auto.commit': false,
  });
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }]);
      const from = message.headers.from;
      read(topic, partition, message.offset, message.key, Array.isArray(from) ? from[0] : from);
    },
  });
  await inputEnd();
  await consumer.disconnect();
}

async function administer(topic) {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 3, replicationFactor: 1 }] });
  const listed = await admin.listTopics();
  const described = await admin.fetchTopicMetadata({ topics: [topic] });
  tell({ version: `${version} (librdkafka ${librdkafkaVersion})`, listed, partitions: (described.topics ?? described)[0].partitions.length });
  await admin.disconnect();
}

run({ produce, consume, administer });
