import { History } from '@tenure/history'
import { Book, sourceOf } from '@tenure/testing-histories'
import { recordingOfLog } from '../../src/timeline/recording.js'
import { makeTimeline, type Timeline, type TimelineOptions } from '../../src/timeline/timeline.js'

const seconds = 1000
const startAt = Date.UTC(2026, 0, 2, 12)

/** A task with two concurrent attempts, since its first worker stalls, and a task that runs once. */
export function twoTasks(): Book {
  const book = new Book({ startAt })
  const first = book.submit({ queue: 'mail' })
  const second = book.wait(400).submit({ queue: 'mail' })
  const stalled = book.wait(600).lease(first, 'ada')
  const other = book.wait(500).lease(second, 'ben')
  book.wait(7 * seconds).extend(stalled)
  book.wait(3 * seconds).extend(other)
  book.wait(9 * seconds).complete(other)
  book.expire(stalled)
  const again = book.wait(200).lease(first, 'ben')
  book.wait(6 * seconds).cancel(stalled)
  book.wait(4 * seconds).extend(again)
  book.wait(5 * seconds).complete(again)
  return book
}

/** The faults of the tour: a stall, a crash, a restart of the coordinator, a retry and a stop. */
export function someTasks(): Book {
  const book = new Book({ startAt, leaseMs: 20 * seconds })
  const plan = new Plan(book)
  const retryPolicy = { maxRetries: 2, backoff: { kind: 'fixed', delayMs: 8 * seconds } } as const
  const stalls = book.submit({ queue: 'mail' })
  const crashes = book.wait(700).submit({ queue: 'images' })
  const fine = book.wait(500).submit({ queue: 'mail' })
  const fails = book.wait(900).submit({ queue: 'mail', retryPolicy })
  const stopped = book.wait(600).submit({ queue: 'images' })
  const later = book.wait(300).submit({ queue: 'mail', notBefore: book.now + 30 * seconds })
  plan.run(1, stalls, 'ada', [6, 12], { at: 'expiry', lateAfter: 11 })
  plan.run(1.4, crashes, 'ben', [7], { at: 'expiry' })
  plan.run(2, fine, 'cora', [6, 12, 18], { at: 22, end: 'complete' })
  plan.run(3.5, fails, 'dan', [], { at: 4.8, end: 'fail' })
  plan.run(19.2, fails, 'dan', [6], { at: 9, end: 'fail' })
  plan.run(26, stopped, 'eve', [7, 14], { at: 19, end: 'kill' })
  plan.run(29.5, crashes, 'cora', [6, 12, 19], { at: 24, end: 'complete' })
  plan.run(34.3, stalls, 'dan', [7, 14], { at: 19.5, end: 'complete' })
  plan.run(37.2, later, 'ada', [], { at: 5, end: 'complete' })
  plan.run(45, fails, 'ada', [6], { at: 10, end: 'complete' })
  plan.at(40.5, () => book.restart())
  const last = book.submit({ queue: 'mail' })
  plan.run(51, last, 'eve', [6, 12], { at: 'end' })
  plan.play(66)
  return book
}

/** 2,000 tasks within six minutes, a few of them with faults. Always the same tasks. */
export function manyTasks({ tasks = 2000, workers = 90 } = {}): Book {
  const random = seeded(11)
  const book = new Book({ startAt, leaseMs: 30 * seconds })
  const plan = new Plan(book)
  const waiting: number[] = []
  for (let at = 0; at < tasks; at++) {
    const queue = random() < 0.3 ? 'images' : 'mail'
    plan.at(at * 0.17 + random(), () => waiting.push(book.submit({ queue })))
  }
  const work = (worker: string, clock: number): void => {
    const taskId = waiting.shift()
    if (taskId === undefined) {
      plan.at(clock + 2 + random(), () => work(worker, clock + 3))
      return
    }
    const luck = random()
    const took = 2 + 36 * random() ** 2
    const beats = [10, 20, 30].filter((beat) => beat < took)
    const lease = plan.begin(taskId, worker, clock, beats)
    if (luck < 0.018) {
      const expiry = clock + (beats.at(-1) ?? 0) + 30
      plan.at(expiry, () => {
        book.expire(lease)
        waiting.push(taskId)
      })
      const isLate = luck < 0.011
      if (isLate) plan.at(expiry + 3 + 20 * random(), () => book.cancel(lease))
      plan.at(expiry + 40, () => work(worker, expiry + 40))
    } else {
      const fails = luck < 0.06
      plan.at(clock + took, () => {
        if (fails) book.fail(lease, 'connection reset')
        else book.complete(lease)
        if (fails) plan.at(clock + took + 1.2, () => waiting.push(taskId))
        work(worker, clock + took)
      })
    }
  }
  for (let at = 0; at < workers; at++) {
    const name = `worker-${String.fromCharCode(97 + (at % 4))}-${at}`
    plan.at(1 + at / 10, () => work(name, 1 + at / 10))
  }
  plan.at(118, () => book.restart())
  plan.at(251, () => book.restart())
  plan.play(388)
  return book
}

interface End {
  /** Seconds after the grant. */
  readonly at: number | 'expiry' | 'end'
  readonly end?: 'complete' | 'fail' | 'kill'
  readonly lateAfter?: number
}

/** Plans events in seconds from the beginning, and writes them in the order of time. */
class Plan {
  readonly #book: Book
  readonly #start: number
  readonly #steps: { readonly at: number; readonly act: () => unknown }[] = []

  constructor(book: Book) {
    this.#book = book
    this.#start = book.now
  }

  at(seconds: number, act: () => unknown): void {
    const at = this.#start + Math.round(seconds * 1000)
    const behind = this.#steps.findIndex((step) => step.at > at)
    this.#steps.splice(behind === -1 ? this.#steps.length : behind, 0, { at, act })
  }

  /** A lease at this time, with heartbeats at these seconds after the grant. */
  begin(taskId: number, worker: string, clock: number, beats: readonly number[]): number {
    const lease = this.#book.lease(taskId, worker)
    for (const beat of beats) this.at(clock + beat, () => this.#book.extend(lease))
    return lease
  }

  run(clock: number, taskId: number, worker: string, beats: readonly number[], end: End): void {
    this.at(clock + 3, () => {
      const book = this.#book
      const lease = this.begin(taskId, worker, clock + 3, beats)
      const expiry = clock + 3 + (beats.at(-1) ?? 0) + book.leaseMs / 1000
      if (end.at === 'end') return
      if (end.at === 'expiry') this.at(expiry, () => book.expire(lease))
      if (end.lateAfter !== undefined) this.at(expiry + end.lateAfter, () => book.cancel(lease))
      if (typeof end.at !== 'number') return
      this.at(clock + 3 + end.at, () => {
        if (end.end === 'complete') book.complete(lease)
        else if (end.end === 'fail') book.fail(lease, 'SMTP 451: try again later')
        else book.kill(taskId, 'an operator said so')
      })
    })
  }

  play(seconds: number): void {
    const until = this.#start + seconds * 1000
    for (let step = this.#steps.shift(); step && step.at <= until; step = this.#steps.shift()) {
      this.#book.now = Math.max(this.#book.now, step.at)
      step.act()
    }
  }
}

/** Mulberry32: deterministic random numbers. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** The timeline of a book. */
export async function timelineOf(
  book: Book,
  options: Partial<TimelineOptions> = {},
  source: Parameters<typeof sourceOf>[1] = {},
): Promise<Timeline> {
  const recording = await recordingOfLog('log data', new History(sourceOf(book, source)))
  const timeline = await makeTimeline(recording, { lanesBy: 'tasks', lanesMax: 40, ...options })
  if (timeline === undefined) throw new Error('nothing is recorded there')
  return timeline
}
