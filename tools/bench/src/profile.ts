// Where the coordinator's time goes: `pnpm bench:profile`. For each load it shows a CPU profile as
// shares by package, and the cost of one operation in microseconds of CPU time and in system calls.
// `--out directory` keeps the profiles; the performance panel of a browser, or speedscope, shows
// them as flame graphs.
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
import { RunningContender } from './system/running-contender.js'

const { json = false, out } = await readOptions('pnpm bench:profile [--json] [--out directory]', {
  json: 'boolean',
  out: 'string',
})
const [tenure] = tenureContenders as [Contender]
const root = scratchDirectory()

const warm = { warmUpSeconds: 0, seconds: 2 }
const measured = { warmUpSeconds: 0, seconds: 3 }
const traced = { warmUpSeconds: 0, seconds: 1 }
/** Smaller shares and fewer calls are noise, and are not shown. */
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
  /** System calls for one operation, by name; empty without `strace`. */
  readonly calls: ReadonlyMap<string, number>
}

/** Measured without the profiler, which takes CPU time and makes system calls itself. */
async function measureCost({ connections, inFlight }: Shape, operation: Operation): Promise<Cost> {
  await using running = await RunningContender.start(tenure, root)
  const { pid } = running.server
  const clients = await running.open(connections)
  await drive(clients, inFlight, warm, operation)
  const beforeSeconds = processorSecondsOf(pid)
  const { opsPerSecond } = await drive(clients, inFlight, measured, operation)
  const tookSeconds = processorSecondsOf(pid) - beforeSeconds
  const microseconds = (tookSeconds / measured.seconds / opsPerSecond) * 1e6
  const calls = new Map<string, number>()
  if (isInstalled('strace')) {
    // strace slows the coordinator down but does not change the number of calls for one operation.
    const [counted, { opsPerSecond: slower }] = await Promise.all([
      countCalls(pid, traced.seconds),
      drive(clients, inFlight, traced, operation),
    ])
    for (const [name, count] of counted) calls.set(name, count / (slower * traced.seconds))
  }
  return { opsPerSecond, microseconds, calls }
}

/**
 * Covers the server from its startup to its graceful shutdown: Node writes the profile only when
 * the process exits by itself.
 */
async function takeProfile(
  { connections, inFlight }: Shape,
  operation: Operation,
): Promise<string> {
  const directory = mkdtempSync(join(root, 'profiles-'))
  const nodeOptions = ['--cpu-prof', '--cpu-prof-dir', directory]
  const profiled: Contender = { ...tenure, nodeOptions, endSignal: 'SIGTERM' }
  {
    await using running = await RunningContender.start(profiled, root)
    await drive(await running.open(connections), inFlight, measured, operation)
  }
  const name = readdirSync(directory).find(isOfMainThread)
  if (name === undefined) throw new Error('the coordinator wrote no profile')
  return join(directory, name)
}

/** `CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile`. Other threads write one, too. */
function isOfMainThread(name: string): boolean {
  return name.split('.')[4] === '0'
}

function describe(title: string, cost: Cost, shares: ReadonlyMap<string, number>): string {
  const head = `${title}: ${Math.round(cost.opsPerSecond).toLocaleString('en')}/s, ${cost.microseconds.toFixed(1)} µs of CPU time each`
  const areas = [...shares]
    .filter(([, share]) => share >= leastShown)
    .map(([area, share]) => `  ${`${Math.round(share * 100)} %`.padStart(5)}  ${area}`)
  const calls = [...cost.calls]
    .filter(([, each]) => each >= leastShown)
    .sort(([, one], [, other]) => other - one)
    .map(([name, each]) => `${name} ${each.toFixed(2)}`)
  const counted = calls.length === 0 ? [] : [`  system calls: ${calls.join(', ')}`]
  return [head, ...areas, ...counted, ''].join('\n')
}
