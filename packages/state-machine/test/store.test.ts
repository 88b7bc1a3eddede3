import { deepStrictEqual, strictEqual } from 'node:assert'
import {
  createState,
  findByRequestId,
  getLease,
  getTask,
  nextEligible,
  type State,
} from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import t from 'tap'
import { AttemptRows } from '../src/store/attempt-rows.js'
import { Blobs, blobLimits } from '../src/store/blobs.js'
import { DueList } from '../src/store/due-list.js'
import { Heap } from '../src/store/heap.js'
import { Names } from '../src/store/names.js'
import { TaskRows } from '../src/store/task-rows.js'
import { World } from './world.js'

t.test('rows', (t) => {
  const tasks = new TaskRows()
  const columns = Object.entries(tasks) as [
    string,
    { set(row: number, value: number): void; get(row: number): number },
  ][]
  t.ok(columns.length > 25)

  // Every cell of rows on three pages gets its own value, so that no two cells can share bytes.
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
  t.equal(tasks.add(), 1024, 'a removed row is reused')
  t.ok(
    columns.every(([, column]) => column.get(1024) === 0),
    'and it is zeros',
  )
  for (const row of [1023, 1025])
    t.ok(columns.every(([, column], index) => column.get(row) === value(row, index)))
  t.end()
})

t.test('every column is wide enough for its values', (t) => {
  const [time, lsn, count, byte] = [2 ** 52 - 1, 2 ** 53 - 1, 2 ** 32 - 1, 255]
  const widths = {
    tasks: {
      taskId: lsn,
      createdAt: time,
      stateSince: time,
      executionWindowMs: time,
      backoffMs: time,
      backoffMsMax: time,
      notBefore: time,
      currentLeaseId: lsn,
      due: lsn,
      attempt: count,
      maxRetries: count,
      failures: count,
      expiriesInARow: count,
      input: count,
      outcome: count,
      newestAttempt: count,
      queue: count,
      requestHash: count,
      previous: count,
      next: count,
      place: count,
      state: 4,
      hasNotBefore: 1,
      hasOutcome: 1,
      exponential: 1,
      requestIdBytes: 128,
      attempts: 32,
    },
    attempts: {
      leaseId: lsn,
      grantedAt: time,
      leaseExpiry: time,
      endedAt: time,
      worker: count,
      reportId: count,
      older: count,
      outcome: byte,
      cancelled: byte,
    },
  }
  const check = (rows: TaskRows | AttemptRows, largest: { readonly [name: string]: number }) => {
    const row = rows.add()
    const columns = Object.entries(rows) as [
      string,
      { set(row: number, value: number): void; get(row: number): number },
    ][]
    t.strictSame(columns.map(([name]) => name).sort(), Object.keys(largest).sort())
    for (const [name, column] of columns) column.set(row, largest[name] ?? 0)
    for (const [name, column] of columns) t.equal(column.get(row), largest[name], name)
  }
  check(new TaskRows(), widths.tasks)
  check(new AttemptRows(), widths.attempts)
  t.end()
})

t.test('a due list without start times has no heap', (t) => {
  const tasks = new TaskRows()
  const { line, join } = dueListOf(tasks)
  for (let i = 1; i < 100; i++) join(i, i)
  t.equal(line.heaped, 0)
  const rows = [200, 150].map((due, index) => join(1000 + index, due, 10))
  t.equal(line.heaped, 2)
  t.strictSame([...line.faults()], [])
  for (const row of rows) line.leave(row)
  t.equal(line.heaped, 0)
  t.end()
})

t.test('an eligible task goes to the chain, one with a later start time to the heap', (t) => {
  const world = new World()
  const eligible = [world.create(), world.create()]
  const later = world.create({ notBefore: world.at + 100 })
  const leased = world.leased().taskId
  const { state } = world
  const places = [...eligible, leased, later].map((taskId) =>
    state.authoritative.tasks.place.get(state.derived.byLsn.get(taskId)),
  )
  const inChain = 2 ** 32 - 1
  t.strictSame(places, [inChain, inChain, inChain, 1])
  t.end()
})

t.test('an empty queue does not hide tasks of another queue', (t) => {
  const world = new World()
  const taskId = world.create({ queue: 'a' })
  world.leased({ queue: 'empty' })
  for (const queues of [
    ['a', 'empty'],
    ['empty', 'a'],
    ['a', 'none'],
  ])
    t.equal(nextEligible(world.state, queues, world.at), taskId)
  t.end()
})

t.test('an empty state has no task, no lease and no request_id', (t) => {
  const state = createState()
  t.equal(getTask(state, 1), undefined)
  t.equal(getLease(state, 1), undefined)
  t.equal(findByRequestId(state, 'a'), undefined)
  t.end()
})

t.test('names are kept while they are used, and their numbers are reused', (t) => {
  const names = new Names()
  const [a, b] = [names.use('a'), names.use('b')]
  t.equal(names.use('a'), a)
  t.not(a, b)
  t.strictSame([names.text(a), names.find('b'), names.uses(a), names.size], ['a', b, 2, 2])
  names.drop(a)
  t.equal(names.find('a'), a)
  names.drop(a)
  t.equal(names.find('a'), undefined)
  t.equal(names.text(a), '', 'its text is removed, too')
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

function dueListOf(tasks: TaskRows) {
  const line = new DueList(tasks)
  const join = (taskId: number, due: number, chainUntil = Number.POSITIVE_INFINITY) => {
    const row = tasks.add()
    tasks.taskId.set(row, taskId)
    tasks.due.set(row, due)
    line.join(row, chainUntil)
    return row
  }
  return { line, join }
}

t.test('a due list is ordered by (due, task_id) after random additions and removals', (t) => {
  const random = new Random(3)
  for (const [dues, until] of [
    [5, 3],
    [1000, 500],
    [1_000_000, 0],
    [10, Number.POSITIVE_INFINITY],
  ] as const) {
    const tasks = new TaskRows()
    const { line, join } = dueListOf(tasks)
    let rows: number[] = []
    const order = (a: number, b: number) =>
      tasks.due.get(a) - tasks.due.get(b) || tasks.taskId.get(a) - tasks.taskId.get(b)
    for (let step = 1; step <= 3000; step++) {
      if (rows.length > 60 || (rows.length > 0 && random.chance(0.45))) {
        const row = random.chance(0.4) ? line.first : random.pick(rows)
        line.leave(row)
        strictEqual(tasks.place.get(row), 0)
        rows = rows.filter((other) => other !== row)
        tasks.remove(row)
      } else {
        rows.push(join(step, random.integer(dues) + (random.chance(0.5) ? step : 0), until))
      }
      rows.sort(order)
      strictEqual(line.size, rows.length)
      strictEqual(line.first, rows[0] ?? 0)
      if (step % 10 === 0) deepStrictEqual([...line.rows()], rows)
      const most = random.integer(70)
      for (const [index, row] of rows.entries())
        strictEqual(line.countBefore(row, most), Math.min(index, most))
    }
    t.pass(`dues below ${dues}`)
  }
  t.end()
})

t.test('a heap allocates with its first task and frees after its last one', (t) => {
  const tasks = new TaskRows()
  const heap = new Heap(tasks)
  t.equal(heap.slots, 0)
  t.equal(heap.first, 0)
  const rows = Array.from({ length: 1000 }, (_, index) => {
    const row = tasks.add()
    tasks.taskId.set(row, index + 1)
    heap.add(row)
    return row
  })
  t.equal(heap.slots, 1024, 'it doubles when it is full')
  for (const row of rows.slice(0, 744)) heap.remove(row)
  t.equal(heap.slots, 1024, 'a quarter is used')
  heap.remove(rows[744] ?? 0)
  t.equal(heap.slots, 512, 'less than a quarter')
  for (const row of rows.slice(745, -1)) heap.remove(row)
  t.equal(heap.slots, 8, 'the minimum, for one task')
  t.equal(heap.first, rows.at(-1))
  t.end()
})

/** Places below place 5, whose children are at 18 to 21, and theirs at 70 to 85. */
function isBelowFifth(place: number): boolean {
  return (place >= 18 && place <= 21) || (place >= 70 && place <= 85)
}

t.test('a heap stays in order whichever task is removed', (t) => {
  for (let leaving = 1; leaving <= 90; leaving++) {
    const tasks = new TaskRows()
    const heap = new Heap(tasks)
    // Each task stays where it is added, because none is due before its parent, so the row equals
    // the place.
    for (let place = 1; place <= 90; place++) {
      const row = tasks.add()
      tasks.taskId.set(row, place)
      tasks.due.set(row, place === 5 || isBelowFifth(place) ? 1000 + place : place)
      heap.add(row)
      strictEqual(tasks.place.get(row), place)
    }
    heap.remove(leaving)
    deepStrictEqual([...heap.faults()], [], `${leaving} has left`)
  }
  t.pass('90 heaps')
  t.end()
})

t.test('a long heap returns all tasks in order', (t) => {
  const random = new Random(4)
  const tasks = new TaskRows()
  const { line, join } = dueListOf(tasks)
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

t.test('a task that is due late does not push later ones out of the chain', (t) => {
  const tasks = new TaskRows()
  const { line, join } = dueListOf(tasks)
  const late = join(1, 1000, 10)
  const rows = [2, 3, 4].map((taskId) => join(taskId, 10, 10))
  t.strictSame([...line.rows()], [...rows, late])
  t.strictSame(
    rows.map((row) => tasks.place.get(row)),
    rows.map(() => 2 ** 32 - 1),
  )
  t.end()
})

// ---- blobs

t.test('the number of a blob tells small from large ones, up to the last page', (t) => {
  const { firstLarge, cellsPerPage, pagesMax } = blobLimits
  const last = (pagesMax - 1) * cellsPerPage + (cellsPerPage - 1) + 1
  t.ok(last < firstLarge)
  t.ok(last + cellsPerPage >= firstLarge, 'and one more page would not fit')
  t.end()
})

t.test('a full blob store throws, and accepts more after removals', (t) => {
  const blobs = new Blobs(2)
  const made = Array.from({ length: 2 * 4096 }, (_, index) => blobs.addText(`n ${index}`))
  for (let again = 0; again < 2; again++) {
    t.throws(() => blobs.add(1), { code: 'STATE_FULL', message: /at most 2 pages/ })
    t.throws(() => blobs.add(100), { code: 'STATE_FULL' })
  }
  t.strictSame([blobs.count, blobs.pages], [made.length, 2])
  t.equal(
    blobs.bytes,
    made.map((blob) => blobs.length(blob)).reduce((sum, bytes) => sum + bytes),
  )
  blobs.remove(made[5000] ?? 0)
  t.equal(blobs.addText('new'), made[5000])
  t.equal(blobs.add(20_000), 2 ** 31, 'large ones are counted separately')
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

t.test('pages of removed blobs are reused', (t) => {
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

t.test('pages of small blobs are filled completely, and the first one is reused', (t) => {
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

t.test('the pages of one cell size are reused for another size', (t) => {
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

t.test('large blobs have 32-bit numbers, which are reused', (t) => {
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

t.test('texts can be written anywhere in a blob', (t) => {
  const blobs = new Blobs()
  const blob = blobs.addText('..........')
  blobs.writeText(blob, 2, 'ab', 2)
  blobs.writeText(blob, 5, 'ü', 2)
  t.equal(blobs.text(blob), '..ab.ü...')
  t.equal(blobs.text(blob, 5), 'ü...')
  t.equal(blobs.text(blob, 5, 2), 'ü')
  t.end()
})

/** The blobs that a task or attempt refers to. */
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

t.test('blobs of a task are removed when they are replaced, and with the task', (t) => {
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
