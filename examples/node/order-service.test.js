const { spawn } = require('node:child_process')
const { once } = require('node:events')
const { orderProducer, place } = require('./order-service')

const LOSE_EVERY_ACK = 'disconnect after produce topic=orders attempt=1 times=all'

// A fencepost that runs as a process, with one fault rule.
class Fencepost {
  async start(fault) {
    this.report = ''
    this.process = spawn('fencepost', [
      '--listen', '127.0.0.1:0', '--http', 'off', '--seed', '42', '--fault', fault,
    ])
    this.closed = once(this.process, 'close')
    this.address = await new Promise((resolve, reject) => {
      this.process.on('error', reject)
      this.process.stderr.on('data', (text) => { this.report += text })
      this.process.stdout.on('data', (text) => {
        this.report += text
        const found = /Kafka at (\S+),/.exec(this.report)
        if (found) resolve(found[1])
      })
      this.closed.then(() => reject(new Error(this.report)))
    })
  }

  // Ends the broker. Its exit code is 0 if every record was written exactly once
  // and the fault fired, else 1; its report says what it found.
  async stop() {
    this.process.kill('SIGTERM')
    const [code] = await this.closed
    return { code, report: this.report }
  }
}

let broker
beforeEach(async () => {
  broker = new Fencepost()
  await broker.start(LOSE_EVERY_ACK)
})
afterEach(() => { broker.process.kill('SIGKILL') })

test('orders survive lost acks', async () => {
  await place(orderProducer(broker.address), 10)

  const { code, report } = await broker.stop()
  expect(report).toContain('10 acknowledgements lost')
  expect(code).toBe(0)
}, 30_000)

test('without idempotence orders are duplicated', async () => {
  await place(orderProducer(broker.address, { idempotent: false }), 10)

  const { code, report } = await broker.stop()
  expect(report).toContain('offsets 0 and 1 hold one record, key "o-0"')
  expect(code).toBe(1)
}, 30_000)
