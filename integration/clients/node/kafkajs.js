// The program for kafkajs; see ../require.go for the contract.
'use strict';

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = require('kafkajs');
const snappy = require('kafkajs-snappy');
const { version } = require('kafkajs/package.json');
const { servers, batches, record, tell, told, failed, read, inputEnd, run } = require('./contract');

CompressionCodecs[CompressionTypes.Snappy] = snappy;
const codecs = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy };

const kafka = new Kafka({
  brokers: servers,
  logLevel: logLevel.NOTHING,
  requestTimeout: 5000,
  retry: { initialRetryTime: 10, maxRetryTime: 100, retries: 10 },
});

async function produce(job) {
  const producer = kafka.producer({ idempotent: job.idempotent, maxInFlightRequests: 1, retry: { retries: 10 } });
  await producer.connect();
  for (const batch of batches(job)) {
    try {
      const answers = await producer.send({
        topic: job.topic, compression: codecs[job.codec], messages: batch.map(record),
      });
      const { partition, baseOffset } = answers[0];
      // After DUPLICATE_SEQUENCE_NUMBER there is no offset.
      for (const [i, n] of batch.entries()) told(job, n, partition, baseOffset < 0 ? -1 : Number(baseOffset) + i);
    } catch (error) {
      for (const n of batch) failed(job, n, error.cause ?? error);
    }
  }
  await producer.disconnect();
}

async function consume(topic, groupId) {
  const consumer = kafka.consumer({ groupId });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
      const next = (BigInt(batch.lastOffset()) + 1n).toString();
      await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }]);
      for (const m of batch.messages) {
        read(topic, batch.partition, m.offset, m.key, m.headers.from);
        resolveOffset(m.offset);
      }
      await heartbeat();
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
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  tell({ version, listed, partitions: topics[0].partitions.length });
  await admin.disconnect();
}

run({ produce, consume, administer });
