import { deepStrictEqual, strictEqual } from 'node:assert'
import { Random } from '@tenure/testing'
import t from 'tap'
import { Blobs } from '../src/store/blobs.js'
import { hashText } from '../src/store/hash-text.js'
import { Line } from '../src/store/line.js'
import { LsnIndex } from '../src/store/lsn-index.js'
import { Names } from '../src/store/names.js'
import { RequestIndex } from '../src/store/request-index.js'
import { TaskRows } from '../src/store/task-rows.js'

t.test('rows', (t) => {
  const tasks = new TaskRows()
  const columns = Object.entries(tasks) as [
    string,
    { set(row: number, value: number): void; get(row: number): number },
  ][]
  t.ok(columns.length > 25)

  // A value of its own in every cell of rows on three pages, so that no two cells can share bytes.
  const rows = Array.from({ length: 2500 }, () => tasks.add())
  const value = (row: number, column: number) => (row * 31 + column * 7 + 1) % 251
  for (const row of rows)
    for (const [index, [, column]] of columns.entries()) column.set(row, value(row, index))
  for (const row of rows) {
    for (const [index, [name, column]] of columns.entries()) {
      strictEqual(column.get(row), value(row, index), `${name} of row ${row}`)
    }
  }
  t.equal(tasks.size, 2500)

  tasks.taskId.set(1024, 2 ** 53 - 1)
  tasks.attempt.set(1024, 2 ** 32 - 1)
  tasks.state.set(1024, 255)
  t.strictSame(
    [1024].map((row) => [tasks.taskId.get(row), tasks.attempt.get(row), tasks.state.get(row)]),
    [[2 ** 53 - 1, 2 ** 32 - 1, 255]],
  )

  tasks.remove(1024)
  t.equal(tasks.size, 2499)
  t.equal(tasks.add(), 1024, 'a row that was given back is used again')
  t.ok(
    columns.every(([, column]) => column.get(1024) === 0),
    'and it is zeros',
  )
  for (const row of [1023, 1025])
    t.ok(columns.every(([, column], index) => column.get(row) === value(row, index)))
  t.end()
})

t.test('the index of LSNs agrees with a map, through random additions and removals', (t) => {
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

t.test('the index of LSNs takes every LSN there is, in a row, and gives each back', (t) => {
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

t.test('names are kept for as long as something uses them, and numbers are used again', (t) => {
  const names = new Names()
  const [a, b] = [names.use('a'), names.use('b')]
  t.equal(names.use('a'), a)
  t.not(a, b)
  t.strictSame([names.text(a), names.find('b'), names.uses(a), names.size], ['a', b, 2, 2])
  names.drop(a)
  t.equal(names.find('a'), a)
  names.drop(a)
  t.equal(names.find('a'), undefined)
  t.equal(names.use('c'), a)
  t.strictSame(
    [...names],
    [
      ['b', b],
      ['c', a],
    ],
  )
  t.end()
})

function lineOf(tasks: TaskRows) {
  const line = new Line(tasks)
  const join = (taskId: number, due: number, chainUntil = Number.POSITIVE_INFINITY) => {
    const row = tasks.add()
    tasks.taskId.set(row, taskId)
    tasks.due.set(row, due)
    line.join(row, chainUntil)
    return row
  }
  return { line, join }
}

t.test('a line is in order of (due, task_id), through random joining and leaving', (t) => {
  const random = new Random(3)
  for (const [dues, until] of [
    [5, 3],
    [1000, 500],
    [1_000_000, 0],
    [10, Number.POSITIVE_INFINITY],
  ] as const) {
    const tasks = new TaskRows()
    const { line, join } = lineOf(tasks)
    let rows: number[] = []
    const order = (a: number, b: number) =>
      tasks.due.get(a) - tasks.due.get(b) || tasks.taskId.get(a) - tasks.taskId.get(b)
    for (let step = 1; step <= 3000; step++) {
      if (rows.length > 60 || (rows.length > 0 && random.chance(0.45))) {
        const row = random.chance(0.4) ? line.first : random.pick(rows)
        line.leave(row)
        rows = rows.filter((other) => other !== row)
        tasks.remove(row)
      } else {
        rows.push(join(step, random.integer(dues) + (random.chance(0.5) ? step : 0), until))
      }
      rows.sort(order)
      strictEqual(line.size, rows.length)
      strictEqual(line.first, rows[0] ?? 0)
      if (step % 10 === 0) deepStrictEqual([...line.rows()], rows)
    }
    t.pass(`dues below ${dues}`)
  }
  t.end()
})

t.test('a long heap gives everybody back in order', (t) => {
  const random = new Random(4)
  const tasks = new TaskRows()
  const { line, join } = lineOf(tasks)
  const dues = Array.from({ length: 5000 }, () => random.integer(1000))
  for (const [index, due] of dues.entries()) join(index + 1, due, -1)
  const left: number[] = []
  for (let row = line.first; row !== 0; row = line.first) {
    left.push(tasks.due.get(row))
    line.leave(row)
  }
  t.strictSame(
    left,
    dues.sort((a, b) => a - b),
  )
  t.end()
})

t.test('a task that is due late does not make those behind it leave the chain', (t) => {
  const tasks = new TaskRows()
  const { line, join } = lineOf(tasks)
  const late = join(1, 1000, 10)
  const rows = [2, 3, 4].map((taskId) => join(taskId, 10, 10))
  t.strictSame([...line.rows()], [...rows, late])
  t.strictSame(
    rows.map((row) => tasks.place.get(row)),
    rows.map(() => 2 ** 32 - 1),
  )
  t.end()
})

t.test('the index of request ids agrees with a map, also where hashes collide', (t) => {
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
      // A handful of hashes for everybody: what is looked for is found by its text.
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

  // Every one of the 256 tables and of 256 slots gets about its share of ids that differ little.
  for (const shift of [0, 24]) {
    const shares = new Uint32Array(256)
    for (let i = 0; i < 25_600; i++) shares[(hashText(`request ${i}`, [3, 4]) >>> shift) & 255]!++
    t.ok(Math.min(...shares) > 50 && Math.max(...shares) < 160)
  }
  t.end()
})
