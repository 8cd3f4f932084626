// The program for @platformatic/kafka; see ../require.go for the contract.
'use strict';

const { readFileSync } = require('node:fs');
const { setTimeout } = require('node:timers/promises');
const { Admin, Consumer, MessagesStreamModes, ProduceAcks, Producer } = require('@platformatic/kafka');
const { servers, batches, record, tell, told, failed, read, inputEnd, run } = require('./contract');

const common = { bootstrapBrokers: servers, requestTimeout: 5000, retries: 10, retryDelay: 50 };

async function produce(job) {
  const producer = new Producer({ ...common, clientId: 'producer', idempotent: job.idempotent, acks: ProduceAcks.ALL });
  for (const batch of batches(job)) {
    const messages = batch.map((n) => {
      const { key, value, headers } = record(n);
      const bytes = { key: Buffer.from(key), value: Buffer.from(value) };
      return { topic: job.topic, partition: 0, ...bytes, headers: new Map([['from', Buffer.from(headers.from)]].map(([k, v]) => [Buffer.from(k), v])) };
    });
    try {
      const { offsets } = await producer.send({ messages, compression: job.codec });
      const { partition, offset } = offsets[0];
      for (const [i, n] of batch.entries()) told(job, n, partition, offset < 0n ? -1 : Number(offset) + i);
    } catch (error) {
      for (const n of batch) failed(job, n, deepest(error));
    }
  }
  await producer.close();
}

// deepest is the broker's own error, which comes wrapped.
function deepest(error) {
  const inner = error.errors?.at(-1) ?? error.cause;
  return inner ? deepest(inner) : { name: error.apiId ?? error.message };
}

const heartbeatInterval = 500; // ms

async function consume(topic, groupId) {
  const consumer = new Consumer({ ...common, clientId: 'consumer', groupId, groupProtocol: process.env.GROUP_PROTOCOL });
  const stream = await consumer.consume({ autocommit: false, topics: [topic], mode: MessagesStreamModes.COMMITTED, fallbackMode: 'earliest', sessionTimeout: 10000, heartbeatInterval, maxWaitTime: 200 });
  inputEnd().then(async () => {
    await stream.close();
    await consumer.close();
    process.exit(0);
  });
  // Records of a partition that is another's by now still come: a commit of theirs
  // would set the group back.
  const isMine = (m) => consumer.assignments?.some((a) => a.topic === topic && a.partitions.includes(m.partition));
  try {
    for await (const m of stream) {
      if (!(await commit(m, isMine))) continue;
      read(topic, m.partition, m.offset, m.key, m.headers.get(Buffer.from('from')) ?? [...m.headers.values()][0]);
    }
  } catch (error) {
    console.error(error);
  }
}

// commit says whether a record was committed: it is not if it is another's. In the new
// protocol a commit may come between the group's new epoch and the heartbeat that tells
// of it, and is then for its sender to repeat.
async function commit(m, isMine) {
  while (isMine(m)) {
    try {
      await m.commit();
      return true;
    } catch (error) {
      if (deepest(error).name !== 'STALE_MEMBER_EPOCH') throw error;
      await setTimeout(heartbeatInterval);
    }
  }
  return false;
}

async function administer(topic) {
  const admin = new Admin({ ...common, clientId: 'admin' });
  await admin.createTopics({ topics: [topic], partitions: 3, replicas: 1 });
  const listed = await admin.listTopics();
  const metadata = await admin.metadata({ topics: [topic] });
  const { version } = JSON.parse(readFileSync(`${process.env.NODE_PATH}/@platformatic/kafka/package.json`));
  tell({ version, listed, partitions: metadata.topics.get(topic).partitionsCount });
  await admin.close();
}

run({ produce, consume, administer });
