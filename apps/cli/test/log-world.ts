import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Host, runVerbs } from '@tenure/app-kit'
import { apply, createState, encodeRecord, encodeState, type State } from '@tenure/state-machine'
import { SimulatedClock } from '@tenure/testing'
import { Book } from '@tenure/testing-histories'
import { openLog } from '@tenure/wal'
import type { Test } from 'tap'
import { program } from '../src/program.js'

export function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function copyOf(t: Test, directory: string): string {
  const copy = makeDirectory(t)
  cpSync(directory, copy, { recursive: true })
  return copy
}

/** Runs `tenure` in this process. */
export async function log(args: readonly string[], { isTTY = false, columns = 100 } = {}) {
  let [stdout, stderr] = ['', '']
  const host: Host = {
    argv: ['node', 'tenure', ...args],
    env: {},
    stdout: { isTTY, columns, fd: 1, write: (text) => (stdout += text) },
    stderr: { isTTY, columns, fd: 2, write: (text) => (stderr += text) },
    on: () => {},
    exit: () => {
      throw new Error('nothing here ends the process')
    },
  }
  const code = await runVerbs(program, host)
  return { code, stdout, stderr }
}

/** Task 1 is leased, expires, is completed by another worker and reported late; task 2 waits. */
export function twoTasks(): Book {
  const book = new Book()
  const task = book.submit({ queue: 'mail', requestId: 'r-1' })
  book.wait(5).submit({ payload: Buffer.from([0, 255]) })
  const first = book.wait(5).lease(task)
  book.wait(10_000).extend(first)
  book.expire(first)
  book.restart()
  const second = book.wait(20).lease(task, 'w-2')
  book.wait(100).complete(second, { result: Buffer.from('ok') })
  book.wait(1).cancel(first)
  return book
}

/** Many tasks in all states, over three openings of the log. */
export function manyTasks(): Book {
  const book = new Book()
  const never = { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } as const
  for (let start = 0; start < 3; start++) {
    if (start > 0) book.restart()
    for (let round = 0; round < 6; round++) {
      const ids = Array.from({ length: 5 }, () => book.wait(3).submit({ retryPolicy: never }))
      const leases = ids.slice(0, 4).map((id) => book.wait(1).lease(id))
      book.complete(leases[0]!)
      book.wait(2).fail(leases[1]!)
      book.kill(ids[2]!)
    }
  }
  return book
}

/** Writes a book as a log of small segments, with each record as a batch. */
export async function writeSmall(
  directory: string,
  book: Book,
  checkpoints: readonly number[] = [],
  startMs = Date.UTC(2026, 0, 1),
): Promise<void> {
  const state = createState()
  // Where no time passes, a busy machine leaves no idle moment that the log would mark.
  const clock = new SimulatedClock({ startMs })
  for (const [index, { firstLsn }] of book.openings.entries()) {
    const options = { sync: 'none', segmentBytes: 4096, appendBytesMax: 1024, clock } as const
    const wal = await openLog(directory, options)
    const end = book.openings[index + 1]?.firstLsn ?? book.nextLsn
    for (const { lsn, record } of book.entries.slice(firstLsn - 1, end - 1)) {
      await wal.append(lsn, encodeRecord(record))
      apply(state, lsn, record)
      if (!checkpoints.includes(lsn)) continue
      await wal.roll()
      await wal.writeCheckpoint(lsn, encodeState(state))
    }
    await wal.close()
  }
}

export function stateAfter(book: Book, lsn: number): State {
  const state = createState()
  for (const entry of book.entries.slice(0, lsn)) apply(state, entry.lsn, entry.record)
  return state
}

/** All files below the directory, except the lock. */
export function filesIn(directory: string): Map<string, Buffer> {
  const names = (readdirSync(directory, { recursive: true }) as string[]).sort()
  const files = names.filter((name) => name !== 'LOCK' && statSync(join(directory, name)).isFile())
  return new Map(files.map((name) => [name, readFileSync(join(directory, name))]))
}

export function withoutZeros(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

/** The written part of a segment from an offset on, without the stamps of sectors that are empty otherwise. */
export function writtenFrom(segment: Buffer, offset: number): Buffer {
  const bytes = Buffer.from(segment)
  for (let at = offset - (offset % 512); at < bytes.length; at += 512) {
    const content = bytes.subarray(Math.max(at, offset), at + 504)
    if (content.every((byte) => byte === 0)) bytes.fill(0, at, at + 512)
  }
  return withoutZeros(bytes.subarray(offset))
}

/** The first LSN of a segment, from its header. */
export function firstLsnOf(directory: string, name: string): number {
  return Number(filesIn(directory).get(name)!.readBigUInt64LE(48))
}

export function segmentsOf(directory: string): string[] {
  return [...filesIn(directory).keys()].filter((name) => name.endsWith('.wal'))
}
