import { strictEqual } from 'node:assert'
import type { State } from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import t from 'tap'
import { Blobs, blobLimits } from '../src/store/blobs.js'
import { World } from './world.js'

t.test('a blob is a small one or a large one by its number, up to the last page', (t) => {
  const { firstLarge, cellsPerPage, pagesMax } = blobLimits
  const last = (pagesMax - 1) * cellsPerPage + (cellsPerPage - 1) + 1
  t.ok(last < firstLarge)
  t.ok(last + cellsPerPage >= firstLarge, 'and there is no room for one page more')
  t.end()
})

t.test('a state that is full of bytes says so, and takes more when some have gone', (t) => {
  const blobs = new Blobs(2)
  const made = Array.from({ length: 2 * 4096 }, (_, index) => blobs.addText(`n ${index}`))
  for (let again = 0; again < 2; again++) {
    t.throws(() => blobs.add(1), { code: 'STATE_FULL', message: /no more than 2 pages/ })
    t.throws(() => blobs.add(100), { code: 'STATE_FULL' })
  }
  t.strictSame([blobs.count, blobs.pages], [made.length, 2])
  t.equal(
    blobs.bytes,
    made.map((blob) => blobs.length(blob)).reduce((sum, bytes) => sum + bytes),
  )
  blobs.remove(made[5000] ?? 0)
  t.equal(blobs.addText('new'), made[5000])
  t.equal(blobs.add(20_000), 2 ** 31, 'large ones are counted for themselves')
  t.end()
})

t.test('blobs of every size keep their bytes, through random additions and removals', (t) => {
  const random = new Random(2)
  const blobs = new Blobs()
  const model = new Map<number, Uint8Array>()
  const check = (blob: number) => {
    const bytes = model.get(blob) ?? new Uint8Array()
    strictEqual(blobs.length(blob), bytes.length)
    strictEqual(blobs.view(blob).equals(bytes), true)
  }
  const sizes = [
    1, 11, 12, 13, 16, 17, 28, 29, 60, 61, 100, 136, 4092, 4093, 16_380, 16_381, 70_000,
  ]
  for (let step = 0; step < 20_000; step++) {
    if (model.size > 300 || (model.size > 0 && random.chance(0.45))) {
      const blob = random.pick([...model.keys()])
      check(blob)
      blobs.remove(blob)
      model.delete(blob)
    } else {
      const length = random.chance(0.5)
        ? random.pick(sizes.slice(0, random.chance(0.9) ? 12 : 17))
        : random.integer(300)
      const bytes = random.bytes(length)
      const blob = blobs.addBytes(bytes)
      strictEqual(model.has(blob), false)
      if (length > 0) model.set(blob, bytes)
      else strictEqual(blob, 0)
    }
  }
  for (const blob of model.keys()) check(blob)
  t.equal(
    blobs.bytes,
    [...model.values()].reduce((sum, { length }) => sum + length, 0),
  )
  t.pass(`${model.size} blobs at the end`)
  t.end()
})

t.test('every length of blob from nothing to past the largest cell', (t) => {
  const blobs = new Blobs()
  const made: number[] = []
  for (let length = 0; length <= 20_000; length += length < 2000 ? 1 : 97) {
    const blob = blobs.add(length)
    blobs.write(blob, 0, new Uint8Array(length).fill(length))
    made.push(blob, length)
  }
  for (let index = 0; index < made.length; index += 2) {
    const [blob = 0, length = 0] = made.slice(index, index + 2)
    strictEqual(blobs.length(blob), length)
    strictEqual(blobs.view(blob).equals(new Uint8Array(length).fill(length)), true)
  }
  t.end()
})

t.test('the pages of blobs that have gone are used again', (t) => {
  const blobs = new Blobs()
  const fill = () =>
    Array.from({ length: 20_000 }, (_, index) => blobs.addText(`a blob, number ${index}`))
  const first = fill()
  for (const blob of first) blobs.remove(blob)
  const second = fill()
  const pages = (of: readonly number[]) => new Set(of.map((blob) => Math.floor((blob - 1) / 4096)))
  t.ok(pages(second).size <= pages(first).size)
  t.ok([...pages(second)].every((page) => pages(first).has(page)))
  t.equal(blobs.text(second[19_999] ?? 0), 'a blob, number 19999')
  t.end()
})

t.test('pages of small blobs are full to the last cell, and the first one is used again', (t) => {
  const blobs = new Blobs()
  const made = Array.from({ length: 2 * 4096 }, (_, index) => blobs.addText(`n ${index}`))
  t.equal(new Set(made).size, made.length)
  for (const [index, blob] of made.entries()) strictEqual(blobs.text(blob), `n ${index}`)
  for (const place of [0, 4095, 4096]) {
    blobs.remove(made[place] ?? 0)
    t.equal(blobs.addText('new'), made[place])
  }
  t.equal(blobs.text(made[4097] ?? 0), 'n 4097')
  t.end()
})

t.test('the pages of blobs of one size are used again for another size', (t) => {
  const blobs = new Blobs()
  const pageOf = (blob: number) => Math.floor((blob - 1) / 4096)
  const fill = (length: number) => Array.from({ length: 10_000 }, () => blobs.add(length))
  const small = fill(40)
  for (const blob of small) blobs.remove(blob)
  const highest = Math.max(...small.map(pageOf))
  const large = fill(20).map(pageOf)
  t.ok(Math.max(...large) <= highest)
  t.end()
})

t.test('large blobs have numbers of 32 bits, which are used again', (t) => {
  const blobs = new Blobs()
  const [first, second] = [blobs.add(20_000), blobs.add(20_000)]
  t.strictSame([first, second], [2 ** 31, 2 ** 31 + 1])
  blobs.remove(first)
  t.strictSame(
    [first, second].map((blob) => blobs.holds(blob)),
    [false, true],
  )
  t.equal(blobs.add(30_000), first)
  t.equal(blobs.length(first), 30_000)
  t.end()
})

t.test('texts stand anywhere in a blob', (t) => {
  const blobs = new Blobs()
  const blob = blobs.addText('..........')
  blobs.writeText(blob, 2, 'ab', 2)
  blobs.writeText(blob, 5, 'ü', 2)
  t.equal(blobs.text(blob), '..ab.ü...')
  t.equal(blobs.text(blob, 5), 'ü...')
  t.equal(blobs.text(blob, 5, 2), 'ü')
  t.end()
})

/** The blobs that something keeps. */
function keptIn({ authoritative: { blobs } }: State): Set<number> {
  const kept = new Set<number>()
  const [add, remove] = [blobs.add.bind(blobs), blobs.remove.bind(blobs)]
  blobs.add = (length) => {
    const blob = add(length)
    if (blob !== 0) kept.add(blob)
    return blob
  }
  blobs.remove = (blob) => {
    kept.delete(blob)
    remove(blob)
  }
  return kept
}

t.test('what a task kept in blobs goes when it is replaced, and with the task', (t) => {
  const world = new World()
  const kept = keptIn(world.state)
  const payload = Buffer.alloc(20_000, 7)
  const completed = world.leased({ payload }).taskId
  t.strictSame(world.task(completed).payload, Uint8Array.from(payload), 'a large payload')
  t.equal(kept.size, 1)
  world.complete(completed)
  t.equal(kept.size, 0, 'a COMPLETED task keeps no payload')
  const named = world.leased({ payload, requestId: 'r' }).taskId
  world.complete(named, { result: payload, reportId: 'p' })
  t.strictSame(world.task(named).result, Uint8Array.from(payload), 'a large result')
  t.equal(kept.size, 3, 'its digest, its result, its report')

  const retried = world.create({
    retryPolicy: { maxRetries: 99, backoff: { kind: 'fixed', delayMs: 0 } },
  })
  for (let i = 0; i < 40; i++) {
    world.grant(retried)
    world.fail(retried, { reportId: `report ${i}` })
  }
  t.equal(kept.size, 3 + 2 + 32, 'its payload, its reason, the reports of 32 attempts')
  world.kill(retried)
  world.forget(world.nextLsn - 1)
  t.equal(kept.size, 0)
  t.end()
})

t.test('texts in blobs', (t) => {
  const blobs = new Blobs()
  for (const text of [
    '',
    'a',
    'ascii text',
    'x'.repeat(64),
    'y'.repeat(65),
    'ünï',
    '☂'.repeat(30),
    '💥',
    'z'.repeat(20_000),
  ]) {
    const blob = blobs.addText(text)
    const bytes = Buffer.byteLength(text)
    t.equal(blobs.text(blob), text)
    t.equal(blobs.beginsWithText(blob, bytes, text), true)
    t.equal(blobs.beginsWithText(blob, bytes, `${text}x`), false)
    t.equal(blobs.beginsWithText(blob, bytes, text.slice(1)), text === '')
    t.equal(blobs.beginsWithText(blob, bytes, `${text.slice(0, -1)}\u0001`), false)
  }
  const two = blobs.add(9)
  blobs.writeText(two, 0, 'für', 4)
  blobs.write(two, 4, Buffer.from('hallo'))
  t.equal(blobs.text(two, 0, 4), 'für')
  t.equal(blobs.view(two, 4).toString(), 'hallo')
  t.equal(blobs.beginsWithText(two, 4, 'für'), true)
  t.end()
})
