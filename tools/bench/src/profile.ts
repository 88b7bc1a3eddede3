// Where the coordinator's time goes: `pnpm bench:profile`. Under each load a processor profile, as shares
// by package, and what an operation costs: microseconds of processor, and calls of the kernel. With
// `--out dir` the profiles are kept; the performance panel of a browser, or speedscope, draws them as flames.
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions, scratchDirectory } from '@tenure/harness'
import { sharesOf } from './profile/cpu-profile.js'
import { countCalls, processorSecondsOf } from './profile/process-cost.js'
import { isInstalled } from './servers/server.js'
import type { Client, Contender } from './system/contender.js'
import { tenureContenders } from './system/contenders/tenure.js'
import { drive, type Operation } from './system/drive.js'
import type { Shape } from './system/plan.js'
import { Stand } from './system/stand.js'

const { json = false, out } = await readOptions('pnpm bench:profile [--json] [--out directory]', {
  json: 'boolean',
  out: 'string',
})
const [tenure] = tenureContenders as [Contender]
const root = scratchDirectory()

const warm = { warmUpSeconds: 0, seconds: 2 }
const measured = { warmUpSeconds: 0, seconds: 3 }
const traced = { warmUpSeconds: 0, seconds: 1 }
/** Shares and calls below this say nothing. */
const leastShown = 0.02

const submit = (client: Client) => client.submit()
const live = async (client: Client) => {
  await client.submit()
  await client.process?.()
}

const loads: readonly (readonly [work: string, Shape, Operation])[] = [
  ['submit', { connections: 1, inFlight: 1 }, submit],
  ['submit', { connections: 64, inFlight: 1 }, submit],
  ['submit', { connections: 16, inFlight: 64 }, submit],
  ['life', { connections: 64, inFlight: 1 }, live],
  ['life', { connections: 16, inFlight: 64 }, live],
]

for (const [work, shape, operation] of loads) {
  const cost = await measureCost(shape, operation)
  const profile = await takeProfile(shape, operation)
  const shares = sharesOf(JSON.parse(readFileSync(profile, 'utf8')))
  if (json) {
    const { calls, ...rest } = cost
    const maps = { shares: Object.fromEntries(shares), calls: Object.fromEntries(calls) }
    console.log(JSON.stringify({ work, ...shape, ...rest, ...maps }))
  } else {
    console.log(describe(`${work}, ${shape.connections} x ${shape.inFlight}`, cost, shares))
  }
  if (out !== undefined) {
    mkdirSync(out, { recursive: true })
    const { connections, inFlight } = shape
    copyFileSync(profile, join(out, `${work}-${connections}x${inFlight}.cpuprofile`))
  }
}

interface Cost {
  readonly opsPerSecond: number
  readonly microseconds: number
  /** Of each name, for one operation. Empty without `strace`. */
  readonly calls: ReadonlyMap<string, number>
}

/** Without the profiler, which takes time and calls the kernel itself. */
async function measureCost({ connections, inFlight }: Shape, operation: Operation): Promise<Cost> {
  await using stand = await Stand.set(tenure, root)
  const { pid } = stand.server
  const clients = await stand.open(connections)
  await drive(clients, inFlight, warm, operation)
  const beforeSeconds = processorSecondsOf(pid)
  const { opsPerSecond } = await drive(clients, inFlight, measured, operation)
  const tookSeconds = processorSecondsOf(pid) - beforeSeconds
  const microseconds = (tookSeconds / measured.seconds / opsPerSecond) * 1e6
  const calls = new Map<string, number>()
  if (isInstalled('strace')) {
    // Whoever is watched gets slower, and makes no more calls for it.
    const [counted, { opsPerSecond: slower }] = await Promise.all([
      countCalls(pid, traced.seconds),
      drive(clients, inFlight, traced, operation),
    ])
    for (const [name, count] of counted) calls.set(name, count / (slower * traced.seconds))
  }
  return { opsPerSecond, microseconds, calls }
}

/** From the server's start to its end, which it comes to by itself, because only then it writes what was found. */
async function takeProfile(
  { connections, inFlight }: Shape,
  operation: Operation,
): Promise<string> {
  const directory = mkdtempSync(join(root, 'profiles-'))
  const nodeOptions = ['--cpu-prof', '--cpu-prof-dir', directory]
  const profiled: Contender = { ...tenure, nodeOptions, endSignal: 'SIGTERM' }
  {
    await using stand = await Stand.set(profiled, root)
    await drive(await stand.open(connections), inFlight, measured, operation)
  }
  const name = readdirSync(directory).find(isOfMainThread)
  if (name === undefined) throw new Error('the coordinator has left no profile behind')
  return join(directory, name)
}

/** `CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile`; other threads leave theirs as well. */
function isOfMainThread(name: string): boolean {
  return name.split('.')[4] === '0'
}

function describe(title: string, cost: Cost, shares: ReadonlyMap<string, number>): string {
  const head = `${title}: ${Math.round(cost.opsPerSecond).toLocaleString('en')}/s, ${cost.microseconds.toFixed(1)} µs of processor each`
  const rooms = [...shares]
    .filter(([, share]) => share >= leastShown)
    .map(([room, share]) => `  ${`${Math.round(share * 100)} %`.padStart(5)}  ${room}`)
  const calls = [...cost.calls]
    .filter(([, each]) => each >= leastShown)
    .sort(([, one], [, other]) => other - one)
    .map(([name, each]) => `${name} ${each.toFixed(2)}`)
  const counted = calls.length === 0 ? [] : [`  calls of the kernel: ${calls.join(', ')}`]
  return [head, ...rooms, ...counted, ''].join('\n')
}
