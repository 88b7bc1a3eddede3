import { SimulatedClock } from '@tenure/testing'
import { type Logger, pino } from 'pino'
import t from 'tap'
import { observeLog, observeServer } from '../src/events.js'

function listen() {
  const lines: Record<string, unknown>[] = []
  const options = { base: null, timestamp: false }
  const write = (line: string) => void lines.push(JSON.parse(line))
  const logger: Logger = pino(options, { write })
  const clock = new SimulatedClock()
  return { lines, server: observeServer(logger, clock), log: observeLog(logger), clock }
}

const refusal = { address: '10.0.0.1', reason: 'PROTOCOL', message: 'a \u001b[31mword\nof theirs' }

t.test('replay tells once a second how fast, how far and how long', async (t) => {
  const { lines, server } = listen()
  for (const ms of [10, 900, 1100, 1500, 2000, 2200]) {
    server.replaying?.({ applied: ms * 100, total: 1_000_000, ms })
  }
  t.same(lines, [
    ...[{ level: 30, recordsPerSecond: 100_000, percent: 11, secondsLeft: 9, msg: 'replaying' }],
    ...[{ level: 30, recordsPerSecond: 100_000, percent: 22, secondsLeft: 8, msg: 'replaying' }],
  ])
})

t.test('of peers that are refused ten a second get a line, the others are counted', async (t) => {
  const { lines, server, clock } = listen()
  for (let count = 0; count < 25; count++) server.refused?.(refusal)
  t.equal(lines.length, 10)
  const { address, reason, message: detail } = refusal
  t.same(lines[0], { level: 40, address, reason, detail, msg: 'peer refused' })
  await clock.advance(1000)
  t.same(lines.slice(10), [{ level: 40, leftOut: 15, msg: 'more peers refused' }])
  server.refused?.(refusal)
  t.equal(lines.length, 12)
  await clock.advance(1000)
  t.equal(lines.length, 12, 'nothing was left out, so nothing is said')
})

t.test('fewer descriptors than connections were asked for are told', async (t) => {
  const { lines, server } = listen()
  server.fewerConnections?.(3896)
  t.match(lines, [{ level: 40, connectionsMax: 3896, msg: /ulimit -n/ }])
})

t.test('a clock that has leapt since the last time in the log is told', async (t) => {
  const { lines, server } = listen()
  server.clockAhead?.(30 * 3_600_000)
  t.match(lines, [{ level: 40, aheadHours: 30, msg: /more than a day ahead/ }])
})

t.test('a log that is ahead of the clock is told, by how much and where to read on', async (t) => {
  const { lines, server } = listen()
  server.clockBehind?.(172_800_499)
  t.match(lines, [{ level: 40, behindSeconds: 172_800, see: /operations/, msg: /clock is behind/ }])
})

t.test('a start tells the whole recovery and its parts in whole milliseconds', async (t) => {
  const { lines, server } = listen()
  const facts = {
    port: 7411,
    httpPort: 7412,
    epoch: 5,
    restarts: 2,
    lastLsn: 9,
    replayed: 3,
    tasks: 1,
  }
  const parts = { openMs: 100.4, replayMs: 200.6, checkpointMs: 0, expiryMs: 7.5 }
  server.started?.({ ...facts, ...parts, recoveryMs: 896.2 })
  const rounded = { recoveryMs: 896, openMs: 100, replayMs: 201, checkpointMs: 0, expiryMs: 8 }
  t.same(lines, [{ level: 30, ...facts, ...rounded, msg: 'started' }])
})

t.test('what a start had to do without is told, and of a whole log nothing', async (t) => {
  const { lines, server } = listen()
  const whole = { badCheckpoints: [], strandedSegments: [], tornTail: undefined }
  server.recovered?.(whole)
  t.same(lines, [])
  server.recovered?.({ ...whole, badCheckpoints: [{ lsn: 17, why: 'it breaks off' }] })
  server.recovered?.({ ...whole, strandedSegments: ['0000000000000001-00000001.wal'] })
  server.recovered?.({ ...whole, tornTail: 'the header is missing' })
  t.match(lines, [
    { level: 40, lsn: 17, why: 'it breaks off', msg: /^a checkpoint cannot be read/ },
    { level: 40, segment: '0000000000000001-00000001.wal', msg: /^nothing links this segment/ },
    { level: 40, why: 'the header is missing', msg: /nothing is lost, it was cut off/ },
  ])
})

t.test('a full disk is told, and that it has room again', async (t) => {
  const { lines, log } = listen()
  log.spaceChanged?.(true)
  log.spaceChanged?.(false)
  t.match(lines, [
    { level: 50, msg: /^disk full/ },
    { level: 30, msg: 'disk has room again' },
  ])
})
