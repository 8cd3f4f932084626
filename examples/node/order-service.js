// An order service: writes orders to the broker in KAFKA_BOOTSTRAP_SERVERS, each
// with its own key, and waits until each is acknowledged. Ends with 1 if one is not.
//
//   node order-service.js [ORDERS]     10 orders unless said
//
// IDEMPOTENCE=false takes the producer's idempotence away.
const { Kafka, logLevel } = require('kafkajs')

function orderProducer(bootstrapServers, { idempotent = true } = {}) {
  const kafka = new Kafka({
    clientId: 'order-service',
    brokers: bootstrapServers.split(','),
    logLevel: logLevel.NOTHING,
    requestTimeout: 2000, // an answer that takes longer is lost; 30 s unless said
    retry: { initialRetryTime: 50, retries: 8 },
  })
  return kafka.producer({ idempotent }) // off unless said
}

// place writes the orders, and rejects if one is not acknowledged. It sends one
// after the other: kafkajs lets concurrent sends overtake each other, which those of
// an idempotent producer must not. An order has a timestamp of its own, since kafkajs
// would give it a new one each time that it is sent.
async function place(producer, orders) {
  await producer.connect()
  try {
    for (let n = 0; n < orders; n++) {
      await producer.send({
        topic: 'orders',
        acks: -1,
        messages: [{ key: `o-${n}`, value: `order ${n}`, timestamp: String(Date.now()) }],
      })
    }
  } finally {
    await producer.disconnect()
  }
}

async function main() {
  const orders = Number(process.argv[2] ?? 10)
  const idempotent = process.env.IDEMPOTENCE !== 'false'
  await place(orderProducer(process.env.KAFKA_BOOTSTRAP_SERVERS, { idempotent }), orders)
  console.log(`${orders} orders placed`)
}

if (require.main === module) {
  main().catch((error) => {
    console.error(`not every order was acknowledged: ${error.message}`)
    process.exit(1)
  })
}

module.exports = { orderProducer, place }
