import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { systemClock } from '@tenure/seams'
import { SharedLogError } from './errors.js'
import type { SharedLog } from './shared-log.js'

/** Registers one test, like `test` of most runners. */
export type ContractTest = (name: string, run: () => Promise<void>) => unknown

/** A new, empty shared log, to which several users connect. */
export interface EmptyLog {
  connect(user: string): Promise<SharedLog> | SharedLog
  /** Removes it. */
  remove(): Promise<void> | void
}

/**
 * Tests an implementation of `SharedLog` against everything that its users rely on. `make` is called
 * once for each test.
 */
export function testSharedLog(make: () => Promise<EmptyLog> | EmptyLog, test: ContractTest): void {
  for (const [name, check] of Object.entries(checks)) {
    test(name, async () => {
      const log = await make()
      const users: SharedLog[] = []
      const connect = async (user: string) => {
        const shared = await log.connect(user)
        users.push(shared)
        return shared
      }
      try {
        await check(connect)
      } finally {
        for (const user of users) await user.close()
        await log.remove()
      }
    })
  }
}

type Connect = (user: string) => Promise<SharedLog>

const checks: { readonly [name: string]: (connect: Connect) => Promise<void> } = {
  async 'a new log is empty'(connect) {
    const log = await connect('a')
    const { first, last, bytesMax } = await log.range()
    deepEqual([first, last], [0, 0])
    ok(bytesMax > 0)
    deepEqual(await log.checkpoints.list(), [])
  },

  async 'entries are stored one after the other, and followed in order'(connect) {
    const log = await connect('a')
    await appendAll(log, 0, ['one', 'two', 'three'])
    const { first, last, bytes, bytesMax } = await log.range()
    deepEqual([first, last], [1, 3])
    ok(bytes > 0 && bytes <= bytesMax)
    deepEqual(await take(log, 0, 3), ['1 one', '2 two', '3 three'])
    deepEqual(await take(log, 2, 1), ['3 three'])
  },

  async 'an entry is stored only directly after the last one'(connect) {
    const log = await connect('a')
    equal(await log.append(1, bytesOf('too far'), never), 'overtaken')
    await appendAll(log, 0, ['one', 'two'])
    equal(await log.append(0, bytesOf('too early'), never), 'overtaken')
    equal(await log.append(1, bytesOf('too early'), never), 'overtaken')
    equal((await log.range()).last, 2)
  },

  async 'of two entries for the same place exactly one is stored'(connect) {
    const [a, b] = [await connect('a'), await connect('b')]
    for (let after = 0; after < 30; after++) {
      const outcomes = await Promise.all([
        a.append(after, bytesOf(`a${after}`), is(`a${after}`)),
        b.append(after, bytesOf(`b${after}`), is(`b${after}`)),
      ])
      deepEqual([...outcomes].sort(), ['overtaken', 'stored'])
      const [entry] = await take(a, after, 1)
      equal(entry, `${after + 1} ${outcomes[0] === 'stored' ? 'a' : 'b'}${after}`)
    }
  },

  async 'an entry that is sent again is stored once'(connect) {
    const [log, other] = [await connect('a'), await connect('b')]
    equal(await log.append(0, bytesOf('mine'), is('mine')), 'stored')
    equal(await log.append(0, bytesOf('mine'), is('mine')), 'stored')
    equal(await other.append(0, bytesOf('yours'), is('yours')), 'overtaken')
    equal((await log.range()).last, 1)
  },

  async 'a follower gets entries as they are stored, from every user'(connect) {
    const [a, b, reader] = [await connect('a'), await connect('b'), await connect('reader')]
    const seen = take(reader, 0, 40)
    for (let after = 0; after < 40; after++) {
      await appendAll(after % 2 === 0 ? a : b, after, [`entry ${after + 1}`])
    }
    deepEqual(
      await seen,
      Array.from({ length: 40 }, (_, index) => `${index + 1} entry ${index + 1}`),
    )
  },

  async 'a follower ends when its signal is aborted, also while it waits'(connect) {
    const log = await connect('a')
    await appendAll(log, 0, ['one'])
    const abort = new AbortController()
    const seen: string[] = []
    for await (const { seq, bytes } of log.follow(0, abort.signal)) {
      seen.push(`${seq} ${textOf(bytes)}`)
      systemClock.soon(() => abort.abort())
    }
    deepEqual(seen, ['1 one'])
  },

  async 'a large entry is stored whole'(connect) {
    const log = await connect('a')
    const large = new Uint8Array(700_000).map((_, index) => index * 31)
    const isMine = (found: Uint8Array) => Buffer.compare(found, large) === 0
    equal(await log.append(0, large, isMine), 'stored')
    for await (const { bytes } of log.follow(0, new AbortController().signal)) {
      equal(Buffer.compare(bytes, large), 0)
      break
    }
  },

  async 'truncation removes the oldest entries, and numbering goes on'(connect) {
    const log = await connect('a')
    await appendAll(log, 0, ['one', 'two', 'three', 'four'])
    await log.truncate(0)
    equal((await log.range()).first, 1)
    await log.truncate(2)
    deepEqual(pick(await log.range()), [3, 4])
    deepEqual(await take(log, 2, 2), ['3 three', '4 four'])
    await rejects(take(log, 1, 1), isTruncated)
    await log.truncate(99)
    deepEqual(pick(await log.range()), [4, 4], 'the last entry stays')
    await appendAll(log, 4, ['five'])
    deepEqual(await take(log, 3, 2), ['4 four', '5 five'])
    await log.truncate(1)
    deepEqual(pick(await log.range()), [4, 5])
  },

  async 'a checkpoint is listed when it is complete, and reads back in its chunks'(connect) {
    const { checkpoints } = await connect('a')
    await checkpoints.write(7, chunksOf(['state', '', 'after seven']))
    await checkpoints.write(12, chunksOf(['x'.repeat(300_000)]))
    deepEqual(await checkpoints.list(), [12, 7])
    deepEqual(await readAll(checkpoints.read(7)), ['state', '', 'after seven'])
    deepEqual(await readAll(checkpoints.read(12)), ['x'.repeat(300_000)])
    await checkpoints.write(7, chunksOf(['other']))
    deepEqual(await readAll(checkpoints.read(7)), ['other'])
    await checkpoints.remove(7)
    deepEqual(await checkpoints.list(), [12])
    await rejects(readAll(checkpoints.read(7)))
  },

  async 'a checkpoint whose writer fails is not listed, and can be written again'(connect) {
    const [a, b] = [await connect('a'), await connect('b')]
    await rejects(a.checkpoints.write(5, failingChunks()), { message: 'as planned' })
    deepEqual(await b.checkpoints.list(), [])
    await rejects(readAll(b.checkpoints.read(5)))
    await b.checkpoints.write(5, chunksOf(['whole']))
    deepEqual(await readAll(a.checkpoints.read(5)), ['whole'])
  },

  async 'after close a follower ends and an append is rejected'(connect) {
    const log = await connect('a')
    await appendAll(log, 0, ['one'])
    const following = take(log, 1, 1)
    await log.close()
    deepEqual(await following, [])
    await rejects(log.append(1, bytesOf('two'), never))
  },
}

async function appendAll(log: SharedLog, after: number, texts: readonly string[]): Promise<void> {
  for (const [index, text] of texts.entries()) {
    equal(await log.append(after + index, bytesOf(text), is(text)), 'stored')
  }
}

/** The next entries after a place, as texts with their places. */
async function take(log: SharedLog, after: number, count: number): Promise<string[]> {
  const abort = new AbortController()
  const seen: string[] = []
  for await (const { seq, bytes } of log.follow(after, abort.signal)) {
    seen.push(`${seq} ${textOf(bytes)}`)
    if (seen.length === count) abort.abort()
  }
  return seen
}

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = []
  for await (const chunk of chunks) texts.push(textOf(chunk))
  return texts
}

async function* chunksOf(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytesOf(text)
}

async function* failingChunks(): AsyncGenerator<Uint8Array> {
  yield bytesOf('a beginning')
  throw new Error('as planned')
}

function pick({ first, last }: { readonly first: number; readonly last: number }) {
  return [first, last]
}

function isTruncated(error: unknown): boolean {
  return error instanceof SharedLogError && error.code === 'LOG_TRUNCATED'
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

function is(text: string): (found: Uint8Array) => boolean {
  return (found) => textOf(found) === text
}

const never = () => false
