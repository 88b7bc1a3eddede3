// How long a healthy client waits beside hostile peers: `pnpm bench:hostile`. The coordinator, the
// peers and the client each have a process of their own. The cases take turns for several rounds,
// because other load on the machine comes and goes. Each figure is a median.
import { type Link, openLink } from '@tenure/client'
import {
  drawTable,
  Latencies,
  machineLine,
  readOptions,
  ScriptProcess,
  type Spread,
  spreadOf,
} from '@tenure/harness'
import { Stage } from './servers/stage.js'

const { quick = false, json = false } = await readOptions('pnpm bench:hostile [--quick] [--json]', {
  quick: 'boolean',
  json: 'boolean',
})
const pace = quick ? { rounds: 3, seconds: 1 } : { rounds: 7, seconds: 3 }
const payload = Buffer.alloc(100, 7)
/** Enough tasks to fill the longest list that the coordinator answers with. */
const tasksToList = 2000
const script = new URL('./hostile/peers.js', import.meta.url)

interface Company {
  readonly name: string
  readonly manner?: string
  readonly count?: number
  /** Whether the client is measured while the peers arrive, or after all of them are connected. */
  readonly isArriving?: boolean
}

const companies: readonly Company[] = [
  { name: 'alone' },
  { name: '1,000 silent', manner: 'silent', count: 1000 },
  { name: '1,000 slow', manner: 'slow', count: 1000 },
  { name: '1,000 slow arrive', manner: 'slow', count: 1000, isArriving: true },
  { name: '100 never reading arrive', manner: 'deaf', count: 100, isArriving: true },
  { name: '1,000 never reading arrive', manner: 'deaf', count: 1000, isArriving: true },
]

interface Round {
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly submissions: number
}

const rounds = new Map<Company, Round[]>(companies.map((company) => [company, []]))
for (let round = 0; round < pace.rounds; round++) {
  for (const [company, measured] of rounds) measured.push(await measure(company))
}
report()

/**
 * Each round has a coordinator of its own, so that it starts without the peers of the one before.
 */
async function measure({ manner, count = 0, isArriving = false }: Company): Promise<Round> {
  await using stage = await Stage.set()
  const { port } = stage
  await using client = await openLink({ endpoints: [`127.0.0.1:${port}`], role: 'admin' })
  const queue = 'q'.repeat(64)
  const fill = Array.from({ length: tasksToList }, () =>
    client.request({ kind: 'submit', payload, queue }),
  )
  await Promise.all(fill)
  await submitFor(client, 0.3)
  await using peers =
    manner === undefined ? undefined : new ScriptProcess(script, [`${port}`, manner, `${count}`])
  await peers?.hear()
  peers?.tell('begin')
  if (!isArriving) await peers?.hear()
  const latencies = await submitFor(client, pace.seconds)
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => latencies.quantile(share))
  return { p50: p50!, p99: p99!, max: max!, submissions: latencies.count }
}

/** Submits one task after the other; each is answered after its sync. */
async function submitFor(client: Link, seconds: number): Promise<Latencies> {
  const latencies = new Latencies()
  const end = performance.now() + seconds * 1000
  for (let start = performance.now(); start < end; start = performance.now()) {
    const { kind } = await client.request({ kind: 'submit', payload })
    if (kind !== 'submitted') throw new Error(`the submission was answered ${kind}`)
    latencies.add(performance.now() - start)
  }
  return latencies
}

function report(): void {
  const alone = summary(rounds.get(companies[0]!)!)
  const figures = [...rounds].map(([{ name }, measured]) => {
    const { p50, p99, max } = summary(measured)
    return { name, p50, p99, max, ratio: p99.median / alone.p99.median, rounds: measured }
  })
  if (json) {
    for (const figure of figures) console.log(JSON.stringify(figure))
    return
  }
  const rows = figures.map(({ name, p50, p99, max, ratio }) => {
    return [name, show(p50), show(p99), show(max), `× ${ratio.toFixed(1)}`]
  })
  console.log(machineLine())
  console.log(`${pace.rounds} rounds of ${pace.seconds} s; medians (minimum to maximum), ms`)
  console.log(drawTable([['peers', 'p50', 'p99', 'longest', 'p99 / p99 alone'], ...rows]))
}

function summary(measured: readonly Round[]) {
  return {
    p50: spreadOf(measured.map(({ p50 }) => p50)),
    p99: spreadOf(measured.map(({ p99 }) => p99)),
    max: spreadOf(measured.map(({ max }) => max)),
  }
}

function show({ median, least, most }: Spread): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
}
