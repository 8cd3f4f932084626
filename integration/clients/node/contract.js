// What the Node programs share: the jobs that they are given, and the lines that
// they print. See ../require.go for the contract.
'use strict';

const servers = process.env.KAFKA_BOOTSTRAP_SERVERS.split(',');

function parse(word) {
  const [topic, records, codec, batch, mode] = word.split(',');
  return { topic, records: Number(records), codec, batch: Number(batch), idempotent: mode === 'idempotent' };
}

// batches are the numbers of the records of a job, batch by batch.
function* batches(job) {
  for (let first = 0; first < job.records; first += job.batch) {
    const count = Math.min(job.batch, job.records - first);
    yield Array.from({ length: count }, (_, i) => first + i);
  }
}

const record = (n) => ({ key: `k-${n}`, value: `value ${n}`, headers: { from: 'matrix' } });

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// told prints what became of one record.
function told(job, n, partition, offset) {
  tell({ topic: job.topic, n, partition, offset: Number(offset ?? -1) });
}

function failed(job, n, error) {
  tell({ topic: job.topic, n, partition: -1, offset: -1, error: String(error.type ?? error.code ?? error.name ?? error) });
}

function read(topic, partition, offset, key, header) {
  tell({ topic, partition, offset: Number(offset), key: String(key), header: String(header) });
}

// inputEnd is fulfilled when standard input ends.
const inputEnd = () => new Promise((resolve) => process.stdin.on('end', resolve).resume());

// run does what the arguments ask for, and ends the process.
async function run({ produce, consume, administer }) {
  const [command, ...args] = process.argv.slice(2);
  if (command === 'produce') {
    for (const word of args) await produce(parse(word));
  } else if (command === 'consume') {
    await consume(...args);
  } else {
    await administer(args[0]);
  }
  process.stdout.write('', () => process.exit(0));
}

module.exports = { servers, batches, record, tell, told, failed, read, inputEnd, run };
