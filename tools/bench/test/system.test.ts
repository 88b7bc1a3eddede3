import t from 'tap'
import type { Client } from '../src/system/contender.js'
import { drive, driveAtRate } from '../src/system/drive.js'
import type { Figure, Footprint } from '../src/system/figure.js'
import { memoryOf } from '../src/system/footprint.js'
import { type Summary, summarize } from '../src/system/summary.js'
import { drawTables, drawVerdicts } from '../src/system/table.js'
import { judge } from '../src/system/targets.js'

const figure: Figure = {
  system: 'tenure',
  durability: 'before the answer',
  work: 'submit',
  liveTasks: 0,
  connections: 64,
  inFlight: 1,
  opsPerSecond: 10,
  p50Ms: 1,
  p99Ms: 2,
}
const footprint: Footprint = {
  system: 'tenure',
  durability: 'before the answer',
  work: 'hold',
  liveTasks: 1000,
  memoryBytesPerTask: 300,
  diskBytesPerTask: 200,
}

class CountingClient implements Client {
  submitted = 0
  inFlight = 0
  most = 0

  async submit(): Promise<void> {
    this.inFlight++
    this.most = Math.max(this.most, this.inFlight)
    await new Promise((resolve) => setImmediate(resolve))
    this.inFlight--
    this.submitted++
  }

  async close(): Promise<void> {}
}

t.test(
  'a closed loop keeps the given number of operations in flight, and counts them',
  async (t) => {
    const clients = [new CountingClient(), new CountingClient()]
    const pace = { warmUpSeconds: 0, seconds: 0.1 }
    const { opsPerSecond, p50Ms, p99Ms } = await drive(clients, 8, pace, (client) =>
      client.submit(),
    )
    const [one, other] = clients
    t.equal(one?.most, 8)
    t.equal(other?.most, 8)
    // The value depends on the load of the machine.
    t.ok(opsPerSecond > 0)
    t.ok(p50Ms > 0 && p50Ms <= p99Ms)
  },
)

t.test('the loop ends when there is nothing left to do', async (t) => {
  let left = 5
  const clients = [new CountingClient()]
  const pace = { warmUpSeconds: 0, seconds: 60 }
  await drive(clients, 2, pace, async () => left-- > 0)
  t.ok(left < 0)
})

t.test('no more is submitted than a steady rate allows', async (t) => {
  const clients = [new CountingClient(), new CountingClient()]
  const pace = { warmUpSeconds: 0, seconds: 0.2 }
  const { opsPerSecond } = await driveAtRate(clients, 64, 1000, pace)
  const submitted = clients.reduce((sum, client) => sum + client.submitted, 0)
  t.ok(submitted > 0 && submitted <= 201, String(submitted))
  t.ok(opsPerSecond <= 1005, String(opsPerSecond))
})

t.test('several rounds give a median, a minimum and a maximum', (t) => {
  const rounds = [30, 10, 20].map((opsPerSecond) => ({ ...figure, opsPerSecond }))
  const other = { ...figure, work: 'life' as const }
  const [first, second, third] = summarize([...rounds, other, footprint])
  t.match(first, { opsPerSecond: 20, least: 10, most: 30, rounds: 3 })
  t.match(second, { work: 'life', rounds: 1 })
  t.match(third, footprint)
  t.end()
})

t.test('each load and shape is a measurement of its own', (t) => {
  const all = [figure, { ...figure, load: 0.5 }, { ...figure, connections: 1 }, figure]
  t.equal(summarize(all).length, 3)
  t.end()
})

t.test('only measured targets are judged', (t) => {
  const found = (system: string, opsPerSecond: number): Summary => ({
    ...figure,
    system,
    opsPerSecond,
    least: 1,
    most: 1,
    rounds: 1,
  })
  const verdicts = judge([found('tenure', 60), found('beanstalkd -F', 75)])
  t.match(verdicts, [
    { name: 'submit 64 x 1 to beanstalkd -F', value: 0.8, target: 0.75, holds: true },
  ])
  const [missed] = judge([found('tenure', 50), found('beanstalkd -F', 100)])
  t.match(missed, { value: 0.5, holds: false })
  t.match(judge([footprint]), [{ name: 'memory of a waiting task', value: 300, holds: true }])
  t.match(drawVerdicts(verdicts), /0\.80x {2}target 0\.75x, aim 1x +holds/)
  t.end()
})

t.test('the table fits a terminal and leaves out missing values', (t) => {
  const handlers = { ...figure, system: 'bullmq always', p50Ms: Number.NaN, p99Ms: Number.NaN }
  const table = drawTables(summarize([figure, handlers, footprint]))
  for (const line of table.split('\n')) t.ok(line.length <= 100, line)
  t.match(table, /submit, 64 x 1\n {2}tenure .* 1\.00 ms {2}2\.00 ms\n {2}bullmq always/)
  t.match(table, /300 bytes of memory, 200 on the disk/)
  t.notMatch(table, /NaN/)
  t.end()
})

t.test(
  'the memory of a process includes its children',
  { skip: process.platform !== 'linux' },
  (t) => {
    t.ok(memoryOf(process.pid) > 10 * 2 ** 20)
    t.equal(memoryOf(2 ** 22 + 1), 0, 'no process has this id')
    t.end()
  },
)
