// A first look at how fast the coordinator serves: `pnpm bench:smoke`. The coordinator runs in a
// process of its own, on a log in the system's temporary directory, every answer after its sync.
import { cpus } from 'node:os'
import { Latencies } from './latencies.js'
import { LoadConnection } from './load-connection.js'
import { BenchCoordinator } from './other-process.js'

const secondsOfWork = process.argv.includes('--quick') ? 1 : 5
const payload = Buffer.alloc(100, 7)

/** One operation: gives 1 when it did what it was to do. */
type Work = (connection: LoadConnection) => Promise<number>

const ping: Work = async (connection) =>
  (await connection.ask({ kind: 'ping' })).kind === 'pong' ? 1 : 0

const submit: Work = async (connection) => {
  const answer = await connection.ask({ kind: 'submit', payload })
  return answer.kind === 'submitted' ? 1 : 0
}

const leaseAndComplete: Work = async (connection) => {
  const leased = await connection.ask({ kind: 'lease', queues: ['default'], waitMs: 0 })
  if (leased.kind !== 'leased') return 0
  const { taskId, leaseId } = leased
  const answer = await connection.ask({ kind: 'complete', taskId, leaseId, reportId: 'r' })
  return answer.kind === 'committed' ? 1 : 0
}

{
  await using coordinator = await BenchCoordinator.start()
  const { port } = coordinator
  console.log(
    `${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}; each line ${secondsOfWork} s`,
  )
  console.log('work               connections  in flight   operations/s    p50 ms    p99 ms')
  for (const [name, work] of [
    ['ping', ping],
    ['submit', submit],
    ['lease + complete', leaseAndComplete],
  ] as const) {
    for (const [connections, inFlight] of [
      [1, 1],
      [64, 1],
      [16, 64],
    ] as const) {
      await measure(port, name, work, connections, inFlight)
    }
  }
}

async function measure(
  port: number,
  name: string,
  work: Work,
  connections: number,
  inFlight: number,
): Promise<void> {
  const open = Array.from({ length: connections }, (_, index) =>
    LoadConnection.open(port, `w${index}`),
  )
  const all = await Promise.all(open)
  const latencies = new Latencies()
  let done = 0
  const start = performance.now()
  const end = start + secondsOfWork * 1000
  const loop = async (connection: LoadConnection) => {
    for (let now = performance.now(); now < end; now = performance.now()) {
      // Not `done += await …`, which would read `done` before the wait.
      const outcome = await work(connection)
      done += outcome
      latencies.add(performance.now() - now)
    }
  }
  await Promise.all(
    all.flatMap((connection) => Array.from({ length: inFlight }, () => loop(connection))),
  )
  const perSecond = Math.round((done / (performance.now() - start)) * 1000)
  const quantile = (share: number) => latencies.quantile(share).toFixed(2).padStart(10)
  console.log(
    `${name.padEnd(18)}${String(connections).padStart(12)}${String(inFlight).padStart(11)}${String(perSecond).padStart(15)}${quantile(0.5)}${quantile(0.99)}`,
  )
  for (const connection of all) connection.close()
}
