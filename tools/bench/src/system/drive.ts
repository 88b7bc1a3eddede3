import { setTimeout as pause } from 'node:timers/promises'
import { Latencies } from '@tenure/harness'
import type { Client, Consumer, Contender } from './contender.js'
import { FifoQueue } from './fifo-queue.js'
import { handlersOf, type Shape } from './plan.js'

export interface Pace {
  readonly seconds: number
  readonly warmUpSeconds: number
}

/** Counted after the warm-up. */
export interface Drive {
  readonly opsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Returns `false` when there was nothing left to do. */
export type Operation = (client: Client) => Promise<unknown>

/**
 * A closed loop: each client keeps this many operations in flight, and starts one when one ends.
 */
export async function drive(
  clients: readonly Client[],
  inFlight: number,
  { seconds, warmUpSeconds }: Pace,
  operation: Operation,
): Promise<Drive> {
  const latencies = new Latencies()
  const countedFromMs = performance.now() + warmUpSeconds * 1000
  const endMs = countedFromMs + seconds * 1000
  let lastMs = countedFromMs
  const loop = async (client: Client) => {
    for (let begunMs = performance.now(); begunMs < endMs; ) {
      if ((await operation(client)) === false) return
      const endedMs = performance.now()
      // Includes operations that end after the time is over: a very slow one may be the only one to
      // measure.
      if (endedMs >= countedFromMs) {
        latencies.add(endedMs - begunMs)
        lastMs = endedMs
      }
      begunMs = endedMs
    }
  }
  await Promise.all(
    clients.flatMap((client) => Array.from({ length: inFlight }, () => loop(client))),
  )
  return figuresOf(latencies, (lastMs - countedFromMs) / 1000)
}

/**
 * Submits at a steady rate, whether or not earlier submissions were answered. Latency counts from
 * the time a submission was due. The number in flight is limited to that of the closed loop: with a
 * hundred thousand in flight, the load spends half its time collecting garbage and never catches
 * up.
 */
export async function driveAtRate(
  clients: readonly Client[],
  inFlight: number,
  perSecond: number,
  { seconds, warmUpSeconds }: Pace,
): Promise<Drive> {
  const latencies = new Latencies()
  const inFlightMax = clients.length * inFlight
  const startMs = performance.now()
  const countedFromMs = startMs + warmUpSeconds * 1000
  let begun = 0
  let ended = 0
  let failure: Error | undefined
  const submit = async (client: Client, dueMs: number) => {
    try {
      await client.submit()
      // Counted from the due time, so that a delayed load does not make the server look faster.
      if (dueMs >= countedFromMs) latencies.add(performance.now() - dueMs)
    } catch (cause) {
      failure ??= new Error('a submission failed', { cause })
    }
    ended++
  }
  const all = Math.floor((warmUpSeconds + seconds) * perSecond)
  while (begun < all) {
    const due = Math.min(all, ((performance.now() - startMs) / 1000) * perSecond)
    for (; begun < due && begun - ended < inFlightMax; begun++) {
      void submit(clients[begun % clients.length]!, startMs + (begun / perSecond) * 1000)
    }
    await nextTurn()
  }
  while (ended < begun) await nextTurn()
  if (failure !== undefined) throw failure
  return figuresOf(latencies, (performance.now() - countedFromMs) / 1000)
}

/**
 * A pause between turns: a load that never idles takes a processor from the threads of the server.
 */
async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve))
  Atomics.wait(nap, 0, 0, napMs)
}

const nap = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
const napMs = 0.1

/**
 * For systems that give tasks only to handlers: how many tasks their handlers begin in a second.
 */
export async function driveHandlers(
  { consume }: Contender,
  port: number,
  shape: Shape,
  { seconds, warmUpSeconds }: Pace,
): Promise<Drive> {
  const begunAtMs: number[] = []
  const consumer = await consume(port, handlersOf(shape), () => begunAtMs.push(performance.now()))
  const startMs = performance.now()
  await pause((warmUpSeconds + seconds) * 1000)
  const endMs = performance.now()
  await consumer.stop()
  // All tasks count if they lasted no longer than the warm-up.
  const isLong = (begunAtMs.at(-1) ?? 0) > startMs + 2 * warmUpSeconds * 1000
  const countedFromMs = isLong ? startMs + warmUpSeconds * 1000 : startMs
  const counted = begunAtMs.filter((at) => at >= countedFromMs && at < endMs)
  const tookMs = (counted.at(-1) ?? Number.NaN) - (counted[0] ?? Number.NaN)
  const opsPerSecond = ((counted.length - 1) / tookMs) * 1000
  return { opsPerSecond, p50Ms: Number.NaN, p99Ms: Number.NaN }
}

/** Whole lives by handlers: a task is submitted whenever an earlier one was handled. */
export async function driveLives(
  contender: Contender,
  port: number,
  clients: readonly Client[],
  shape: Shape,
  pace: Pace,
): Promise<Drive> {
  const waiting = new FifoQueue<() => void>(shape.connections * shape.inFlight)
  const consumer: Consumer = await contender.consume(port, handlersOf(shape), () =>
    waiting.shift()?.(),
  )
  const result = await drive(clients, shape.inFlight, pace, async (client) => {
    const handled = new Promise<void>((resolve) => waiting.push(resolve))
    await client.submit()
    await handled
  })
  await consumer.stop()
  return result
}

/**
 * On an idle system: the time from a submission until its handler begins, one task after the other.
 */
export async function drivePickUps(
  { consume }: Contender,
  port: number,
  client: Client,
  pickUps: number,
): Promise<Drive> {
  const latencies = new Latencies()
  let onBegun = () => {}
  const consumer = await consume(port, { connections: 1, atOnce: 1 }, () => onBegun())
  const startMs = performance.now()
  for (let count = 0; count < pickUps; count++) {
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve
    })
    const askedMs = performance.now()
    const submitted = client.submit()
    await begun
    latencies.add(performance.now() - askedMs)
    await submitted
    await pause(idleMs)
  }
  await consumer.stop()
  return figuresOf(latencies, (performance.now() - startMs) / 1000)
}

/** Long enough for the worker to ask again and for all processes to go idle. */
const idleMs = 5

function figuresOf(latencies: Latencies, seconds: number): Drive {
  return {
    opsPerSecond: latencies.count / seconds,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
  }
}
