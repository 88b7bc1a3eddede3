import { strictEqual } from 'node:assert'
import { Random } from '@tenure/testing'
import t from 'tap'
import { Blobs } from '../src/store/blobs.js'
import { type HashKey, hashText } from '../src/store/hash-text.js'
import { LsnIndex } from '../src/store/lsn-index.js'
import { RequestIndex } from '../src/store/request-index.js'
import { TaskRows } from '../src/store/task-rows.js'

t.test('the LSN index equals a map after random additions and removals', (t) => {
  const random = new Random(1)
  for (const spread of [20, 4096, 100_000, 2 ** 52]) {
    const index = new LsnIndex()
    const model = new Map<number, number>()
    for (let step = 0; step < 30_000; step++) {
      const known = [...(random.chance(0.05) ? model.keys() : [])]
      const lsn = known.length > 0 ? random.pick(known) : random.integer(spread)
      strictEqual(index.get(lsn), model.get(lsn) ?? 0)
      if (model.delete(lsn)) {
        index.remove(lsn)
      } else {
        model.set(lsn, step + 1)
        index.add(lsn, step + 1)
      }
      strictEqual(index.size, model.size)
    }
    const sorted = [...model].sort(([a], [b]) => a - b)
    t.strictSame([...index.entries()], sorted, `LSNs below ${spread}`)
    const middle = sorted[sorted.length >> 1]?.[0] ?? 0
    t.strictSame([...index.entries(middle)], sorted.slice(sorted.length >> 1))
  }
  t.end()
})

t.test('the LSN index works for consecutive LSNs', (t) => {
  const index = new LsnIndex()
  const count = 3 * 4096
  for (let lsn = 1; lsn <= count; lsn++) index.add(lsn, lsn)
  for (let lsn = 0; lsn <= count + 1; lsn++) strictEqual(index.get(lsn), lsn <= count ? lsn : 0)
  for (let lsn = 2; lsn <= count; lsn += 2) index.remove(lsn)
  for (let lsn = 1; lsn <= count; lsn++) strictEqual(index.get(lsn), lsn % 2 === 1 ? lsn : 0)
  for (let lsn = 1; lsn <= count; lsn += 2) index.remove(lsn)
  t.equal(index.size, 0)
  t.strictSame([...index.entries()], [])
  t.end()
})

t.test('entries removed during an iteration of the LSN index are not yielded', (t) => {
  const index = new LsnIndex()
  for (const lsn of [1, 5000, 10_000]) index.add(lsn, lsn)
  const seen: number[] = []
  for (const [lsn] of index.entries()) {
    if (seen.length === 0) index.remove(5000)
    seen.push(lsn)
  }
  t.strictSame(seen, [1, 10_000])
  t.end()
})

t.test('the LSN index frees the memory of removed entries', (t) => {
  const index = new LsnIndex()
  const blocks = 50
  for (let lsn = 1; lsn < blocks * 4096; lsn++) index.add(lsn, lsn)
  t.equal(index.slots, blocks * 4096)
  for (let lsn = 1; lsn < blocks * 4096; lsn++) {
    if (lsn % 4096 !== 2000) index.remove(lsn)
  }
  t.equal(index.size, blocks)
  t.equal(index.slots, blocks * 8, 'the smallest table for one old task among thousands of LSNs')
  for (let lsn = 2000; lsn < blocks * 4096; lsn += 4096) strictEqual(index.get(lsn), lsn)
  for (let lsn = 2000; lsn < blocks * 4096; lsn += 4096) index.remove(lsn)
  t.equal(index.slots, 0)
  t.end()
})

t.test('a block of LSNs doubles past three quarters and halves below an eighth', (t) => {
  const index = new LsnIndex()
  const slotsAt = new Map<number, number>()
  for (let lsn = 1; lsn <= 97; lsn++) {
    index.add(lsn, lsn)
    slotsAt.set(index.size, index.slots)
  }
  t.strictSame(
    [6, 7, 12, 13, 96, 97].map((size) => slotsAt.get(size)),
    [8, 16, 16, 32, 128, 256],
  )
  for (let lsn = 97; lsn > 1; lsn--) {
    index.remove(lsn)
    slotsAt.set(index.size, index.slots)
  }
  t.strictSame(
    [32, 31, 16, 15, 2, 1].map((size) => slotsAt.get(size)),
    [256, 128, 128, 64, 16, 8],
  )
  t.end()
})

t.test('the LSN index returns 0 for a value that is not an LSN', (t) => {
  const index = new LsnIndex()
  for (let lsn = 1; lsn <= 8191; lsn++) index.add(lsn, lsn)
  for (const none of [4096.5, 5000.5, -1, -4096.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])
    t.equal(index.get(none), 0)
  for (const none of ['5', null, undefined, {}]) t.equal(index.get(none as never), 0)
  t.end()
})

t.test('the index of request ids equals a map, also with colliding hashes', (t) => {
  const random = new Random(5)
  const tasks = new TaskRows()
  const blobs = new Blobs()
  const index = new RequestIndex(tasks, blobs, [1, 2])
  const model = new Map<string, number>()
  const idOf = (number: number) => (number % 3 === 0 ? `ü${number}` : `request ${number}`)
  for (let step = 0; step < 30_000; step++) {
    const id = idOf(random.integer(3000))
    const row = model.get(id) ?? 0
    strictEqual(index.find(id), row)
    if (row === 0) {
      const added = tasks.add()
      tasks.input.set(added, blobs.addText(`${id}and the payload`))
      tasks.requestIdBytes.set(added, Buffer.byteLength(id))
      // Only a handful of hashes, so that the text decides.
      const hash = random.chance(0.01) ? 7 : index.hash(id)
      if (hash !== 7) {
        index.add(added, hash)
        model.set(id, added)
      }
    } else {
      index.remove(row)
      model.delete(id)
    }
    strictEqual(index.size, model.size)
  }
  t.pass(`${model.size} ids at the end`)

  const same = ['a', 'b', 'c', 'd'].map((id) => {
    const row = tasks.add()
    tasks.input.set(row, blobs.addText(id))
    tasks.requestIdBytes.set(row, 1)
    index.add(row, 99)
    return row
  })
  t.strictSame(
    ['a', 'b', 'c', 'd', 'e'].map((id) => index.find(id, 99)),
    [...same, 0],
  )
  index.remove(same[1] ?? 0)
  t.strictSame(
    ['a', 'b', 'c', 'd'].map((id) => index.find(id, 99)),
    [same[0], 0, same[2], same[3]],
  )
  t.end()
})

t.test('a request id with hash 0 is found, also after its table has grown', (t) => {
  const tasks = new TaskRows()
  const blobs = new Blobs()
  const index = new RequestIndex(tasks, blobs, [1, 2])
  // Hashes below 2^24 share a table.
  const ids = Array.from({ length: 100 }, (_, hash) => `id ${hash}`)
  const rows = ids.map((id, hash) => {
    const row = tasks.add()
    tasks.input.set(row, blobs.addText(id))
    tasks.requestIdBytes.set(row, id.length)
    index.add(row, hash)
    return row
  })
  t.strictSame(
    ids.map((id, hash) => index.find(id, hash)),
    rows,
  )
  t.end()
})

/**
 * HalfSipHash-1-3 as published by its authors, over words of two units. The last word contains the
 * length.
 */
function hashNaively(text: string, [key0, key1]: HashKey): number {
  const add = (a: number, b: number) => (a + b) >>> 0
  const xor = (a: number, b: number) => (a ^ b) >>> 0
  const turn = (a: number, by: number) => ((a << by) | (a >>> (32 - by))) >>> 0
  let [v0, v1, v2, v3] = [key0, key1, xor(key0, 0x6c796765), xor(key1, 0x74656462)]
  const round = () => {
    v0 = add(v0, v1)
    v1 = xor(turn(v1, 5), v0)
    v0 = turn(v0, 16)
    v2 = add(v2, v3)
    v3 = xor(turn(v3, 8), v2)
    v0 = add(v0, v3)
    v3 = xor(turn(v3, 7), v0)
    v2 = add(v2, v1)
    v1 = xor(turn(v1, 13), v2)
    v2 = turn(v2, 16)
  }
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  if (text.length % 2 === 0) units.push(0)
  units.push(text.length)
  for (let index = 0; index < units.length; index += 2) {
    const word = (((units[index + 1] ?? 0) << 16) | (units[index] ?? 0)) >>> 0
    v3 = xor(v3, word)
    round()
    v0 = xor(v0, word)
  }
  v2 = xor(v2, 0xff)
  for (let last = 0; last < 3; last++) round()
  return xor(v1, v3)
}

t.test('the hash of a text is HalfSipHash-1-3', (t) => {
  const random = new Random(6)
  const keys: HashKey[] = [
    [0, 0],
    [1, 2],
    [0xffff_ffff, 0x8000_0001],
  ]
  for (const key of keys) {
    for (let length = 0; length < 40; length++) {
      const units = Array.from({ length }, () => random.integer(2 ** 16))
      const text = String.fromCharCode(...units)
      strictEqual(hashText(text, key), hashNaively(text, key), `${length} units`)
    }
  }
  t.pass('every length below 40')
  t.end()
})

t.test('the hash of a text depends on every unit of it, on its length and on the key', (t) => {
  const texts = [
    '',
    '\0',
    '\0\0',
    '\0\0\0',
    ...Array.from({ length: 500 }, (_, i) => 'x'.repeat(i % 50) + String.fromCharCode(i)),
  ]
  const hashes = new Set(texts.map((text) => hashText(text, [1, 2])))
  t.equal(hashes.size, new Set(texts).size)
  t.not(hashText('a', [1, 2]), hashText('a', [1, 3]))
  t.not(hashText('a', [1, 2]), hashText('a', [2, 2]))

  // Each of the 256 tables, and of 256 slots, gets a fair share of similar ids.
  for (const shift of [0, 24]) {
    const shares = new Uint32Array(256)
    for (let i = 0; i < 25_600; i++) shares[(hashText(`request ${i}`, [3, 4]) >>> shift) & 255]!++
    t.ok(Math.min(...shares) > 50 && Math.max(...shares) < 160)
  }
  t.end()
})
