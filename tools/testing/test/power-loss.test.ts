import t from 'tap'
import { Crashed, Random, SimulatedDisk, sectorBytes, subsets } from '../src/index.js'

const bytesOf = (length: number, value = 1): Uint8Array => new Uint8Array(length).fill(value)

/** A disk with one durable file of this many sectors of zeros. */
function diskWithFile(sectors: number): SimulatedDisk {
  const disk = new SimulatedDisk()
  disk.writeFile('/d/a', new Uint8Array(sectors * sectorBytes))
  return disk
}

/** The first byte of every sector. */
function firstBytes(disk: SimulatedDisk, path: string): number[] {
  return [...disk.readFile(path)].filter((_, i) => i % sectorBytes === 0)
}

t.test('a write is visible immediately and may be lost until its file is synced', async (t) => {
  const disk = diskWithFile(2)
  const file = await disk.open('/d/a', 'write')
  await file.write(bytesOf(2 * sectorBytes), 0)
  t.same(firstBytes(disk, '/d/a'), [1, 1])
  const image = disk.snapshot()
  const after = (policy: 'keep-none' | 'keep-all') =>
    firstBytes(SimulatedDisk.from(image).powerLoss(policy), '/d/a')
  t.same(after('keep-none'), [0, 0])
  t.same(after('keep-all'), [1, 1])
  await file.sync()
  t.same(disk.pending(), [])
  t.same(firstBytes(disk.powerLoss('keep-none'), '/d/a'), [1, 1])
})

t.test('a durable write is on the medium when it returns', async (t) => {
  const disk = diskWithFile(2)
  const file = await disk.open('/d/a', 'durable')
  await file.write(bytesOf(sectorBytes), 0)
  file.writeOnLoop(bytesOf(10, 2), sectorBytes)
  t.same(firstBytes(disk.powerLoss('keep-none'), '/d/a'), [1, 2])
})

t.test('a durable write lands only its own sectors', async (t) => {
  const disk = diskWithFile(3)
  const lazy = await disk.open('/d/a', 'write')
  const durable = await disk.open('/d/a', 'durable')
  await lazy.write(bytesOf(2 * sectorBytes, 5), 0)
  await durable.write(bytesOf(1, 6), 0)
  const image = disk.snapshot()
  t.same(firstBytes(SimulatedDisk.from(image).powerLoss('keep-none'), '/d/a'), [6, 0, 0])
  t.same(
    firstBytes(SimulatedDisk.from(image).powerLoss('keep-all'), '/d/a'),
    [6, 5, 0],
    'an earlier write that lands late does not cover a later one',
  )
  t.equal(disk.powerLoss('keep-none').readFile('/d/a')[1], 5, 'sectors are whole')
})

t.test('after a power loss every call on the old disk is rejected and does nothing', async (t) => {
  const disk = diskWithFile(1)
  const file = await disk.open('/d/a', 'durable')
  const inFlight = file.write(bytesOf(1), 0)
  const found = disk.powerLoss('keep-none')
  await disk.whenCrashed()
  await t.rejects(inFlight, Crashed)
  await t.rejects(file.write(bytesOf(1), 0), Crashed)
  t.throws(() => file.writeOnLoop(bytesOf(1), 0), Crashed)
  await t.rejects(file.sync(), Crashed)
  await t.rejects(file.close(), Crashed)
  await t.rejects(disk.list('/'), Crashed)
  await t.rejects(disk.process().lock('/LOCK', 'x'), Crashed)
  t.equal(disk.crashed, true)
  t.equal(found.crashed, false)
  t.same(firstBytes(found, '/d/a'), [0])
  t.same(firstBytes(disk.powerLoss('keep-all'), '/d/a'), [1], 'the write in progress was pending')
})

t.test('a power loss releases locks and closes files', async (t) => {
  const disk = new SimulatedDisk()
  await disk.lock('/LOCK', 'first')
  t.equal((await disk.powerLoss('keep-all').lock('/LOCK', 'second')).granted, true)
})

t.test('any subset of the sectors of a write can be left', async (t) => {
  const disk = diskWithFile(3)
  const file = await disk.open('/d/a', 'durable')
  disk.failCall(disk.callCount, { kind: 'crash', when: 'before' })
  await t.rejects(file.write(bytesOf(3 * sectorBytes), 0), Crashed)
  t.same(
    disk.pending().map((change) => change.kind === 'sector' && change.sector),
    [0, 1, 2],
  )
  const outcomes = new Set<string>()
  for (const kept of subsets(3)) {
    const found = disk.powerLoss({ keep: (_, index) => kept(index) })
    outcomes.add(firstBytes(found, '/d/a').join(''))
  }
  t.same([...outcomes].sort(), ['000', '001', '010', '011', '100', '101', '110', '111'])
  t.throws(() => [...subsets(31)], RangeError)
})

t.test('a sector written twice may be left in each of its three states', async (t) => {
  const disk = diskWithFile(1)
  const file = await disk.open('/d/a', 'write')
  await file.write(bytesOf(sectorBytes, 1), 0)
  await file.write(bytesOf(sectorBytes, 2), 0)
  disk.powerLoss('keep-none')
  const states = [...subsets(2)].map(
    (kept) => firstBytes(disk.powerLoss({ keep: (_, i) => kept(i) }), '/d/a')[0],
  )
  t.same(states, [0, 1, 2, 2])
})

t.test('a size is lost or kept independently of the data after the old end', async (t) => {
  const disk = diskWithFile(1)
  const file = await disk.open('/d/a', 'write')
  await file.write(bytesOf(sectorBytes), sectorBytes)
  t.same(
    disk.pending().map(({ kind }) => kind),
    ['sector', 'size'],
  )
  const found = (...kinds: string[]) =>
    firstBytes(disk.powerLoss({ keep: ({ kind }) => kinds.includes(kind) }), '/d/a')
  t.same(found(), [0])
  t.same(found('sector'), [0])
  t.same(found('size'), [0, 0])
  t.same(found('sector', 'size'), [0, 1])
  const late = disk.powerLoss({ keep: ({ kind }) => kind === 'sector' })
  late.truncateFile('/d/a', 2 * sectorBytes)
  t.same(firstBytes(late, '/d/a'), [0, 0], 'data after the end does not reappear')
})

t.test('a durable write lands the size that it needs', async (t) => {
  const disk = diskWithFile(1)
  const lazy = await disk.open('/d/a', 'write')
  await lazy.write(bytesOf(3 * sectorBytes), sectorBytes)
  const durable = await disk.open('/d/a', 'durable')
  await durable.write(bytesOf(sectorBytes, 2), 2 * sectorBytes)
  t.same(firstBytes(disk.powerLoss('keep-none'), '/d/a'), [0, 0, 2])
})

t.test(
  'a new name may be lost until its directory is synced, even if the file was synced',
  async (t) => {
    const disk = new SimulatedDisk()
    await disk.createDirectory('/d')
    const file = await disk.open('/d/a', 'create')
    await file.write(bytesOf(1), 0)
    await file.sync()
    const image = disk.snapshot()
    t.same(SimulatedDisk.from(image).powerLoss('keep-none').files(), [])
    t.same(SimulatedDisk.from(image).powerLoss('keep-all').files(), ['/d/a'])
    await disk.syncDirectory('/d')
    t.same([...disk.powerLoss('keep-none').readFile('/d/a')], [1])
  },
)

t.test('a synced directory does not make its files durable', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/d')
  const file = await disk.open('/d/a', 'create')
  await file.write(bytesOf(1), 0)
  await disk.syncDirectory('/d')
  t.same([...disk.powerLoss('keep-none').readFile('/d/a')], [])
})

t.test('createDirectory makes the directory and its parents durable', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/a/b/c')
  const creating = disk.createDirectory('/x/y')
  const found = disk.powerLoss('keep-none')
  await t.rejects(creating, Crashed)
  t.same(await found.list('/a/b'), ['c'])
  await t.rejects(found.list('/x'), { code: 'ENOENT' })
  t.same(await disk.powerLoss('keep-all').list('/x'), ['y'])
})

t.test(
  'createDirectory waits until a directory created by another process is durable',
  async (t) => {
    const gates: (() => void)[] = []
    const disk = new SimulatedDisk({ latency: () => new Promise((resolve) => gates.push(resolve)) })
    const first = disk.createDirectory('/a/b')
    const second = disk.process().createDirectory('/a/b')
    gates[1]?.()
    await second
    t.same(disk.pending(), [])
    gates[0]?.()
    await first
  },
)

t.test('a rename is atomic and replaces the target in the same step', async (t) => {
  const disk = new SimulatedDisk()
  disk.writeFile('/d/HEAD', bytesOf(1, 1))
  const file = await disk.open('/d/HEAD.tmp', 'create')
  await file.write(bytesOf(1, 2), 0)
  await file.sync()
  await disk.rename('/d/HEAD.tmp', '/d/HEAD')
  t.same(
    disk.pending().map(({ kind }) => kind),
    ['create', 'rename'],
  )
  const image = disk.snapshot()
  disk.powerLoss('keep-none')
  const outcomes = [...subsets(2)].map((kept) => {
    const found = disk.powerLoss({ keep: (_, i) => kept(i) })
    return found.files().map((path) => [path, found.readFile(path)[0]])
  })
  t.same(outcomes, [
    [['/d/HEAD', 1]],
    [
      ['/d/HEAD', 1],
      ['/d/HEAD.tmp', 2],
    ],
    [['/d/HEAD', 2]],
    [['/d/HEAD', 2]],
  ])
  const synced = SimulatedDisk.from(image)
  await synced.syncDirectory('/d')
  t.same([...synced.powerLoss('keep-none').readFile('/d/HEAD')], [2])
})

t.test('a rename between directories is durable once either is synced', async (t) => {
  for (const directory of ['/a', '/b']) {
    const disk = new SimulatedDisk()
    disk.writeFile('/a/x', bytesOf(1))
    await disk.createDirectory('/b')
    await disk.rename('/a/x', '/b/x')
    await disk.syncDirectory(directory)
    t.same(disk.powerLoss('keep-all').files(), ['/b/x'])
    t.same(disk.powerLoss('keep-none').files(), ['/b/x'])
  }
})

t.test('a durable change cannot be undone by an earlier change of the same name', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/a')
  await disk.createDirectory('/b')
  await disk.open('/a/x', 'create')
  await disk.rename('/a/x', '/b/x')
  await disk.syncDirectory('/b')
  t.same(disk.powerLoss('keep-all').files(), ['/b/x'])
})

t.test('a file has one name, also if only the later of two renames is kept', async (t) => {
  const disk = diskWithFile(1)
  await disk.rename('/d/a', '/d/b')
  await disk.rename('/d/b', '/d/c')
  disk.powerLoss('keep-none')
  const outcomes = [...subsets(2)].map((kept) =>
    disk.powerLoss({ keep: (_, i) => kept(i) }).files(),
  )
  t.same(outcomes, [['/d/a'], ['/d/b'], ['/d/c'], ['/d/c']])
})

t.test('renaming a directory with its content is atomic', async (t) => {
  const disk = new SimulatedDisk()
  disk.writeFile('/d/new/wal/a', bytesOf(1))
  disk.writeFile('/d/newer', bytesOf(1))
  await disk.rename('/d/new', '/d/log')
  t.same(disk.files(), ['/d/log/wal/a', '/d/newer'])
  t.same(
    disk.pending().map(({ kind }) => kind),
    ['rename-directory'],
  )
  const image = disk.snapshot()
  t.same(disk.powerLoss('keep-none').files(), ['/d/new/wal/a', '/d/newer'])
  t.same(disk.powerLoss('keep-all').files(), ['/d/log/wal/a', '/d/newer'])
  const synced = SimulatedDisk.from(image)
  await synced.syncDirectory('/d')
  const found = synced.powerLoss('keep-none')
  t.same(found.files(), ['/d/log/wal/a', '/d/newer'])
  t.same(await found.list('/d/log'), ['wal'])
  const refusing = SimulatedDisk.from(image)
  const at = refusing.callCount
  refusing.failCall(at, { kind: 'failed-sync', model: 'reverted' })
  await t.rejects(refusing.syncDirectory('/d'), { code: 'EIO' })
  t.same(await refusing.list('/d/new'), ['wal'])
})

t.test('renaming a directory with pending names throws, because it is not modelled', async (t) => {
  const disk = diskWithFile(1)
  await disk.open('/d/b', 'create')
  await t.rejects(disk.rename('/d', '/e'), { message: '/d is renamed while /d/b is pending' })
})

t.test('a removed directory may reappear until its parent is synced', async (t) => {
  const disk = diskWithFile(1)
  await disk.createDirectory('/d/empty')
  await disk.removeDirectory('/d/empty')
  const image = disk.snapshot()
  t.same(await disk.powerLoss('keep-none').list('/d'), ['empty', 'a'])
  const synced = SimulatedDisk.from(image)
  await synced.syncDirectory('/d')
  t.same(await synced.powerLoss('keep-none').list('/d'), ['a'])
})

t.test('the content of a lost directory is lost with it', async (t) => {
  const disk = new SimulatedDisk()
  const creating = disk.createDirectory('/a/b')
  const opening = disk.open('/a/b/x', 'create')
  const found = disk.powerLoss({ keep: ({ path }) => path !== '/a' })
  await t.rejects(creating, Crashed)
  await t.rejects(opening, Crashed)
  t.same([found.files(), await found.list('/')], [[], []])
})

t.test('a removed file may reappear until its directory is synced', async (t) => {
  const disk = diskWithFile(1)
  await disk.remove('/d/a')
  t.same(disk.files(), [])
  const image = disk.snapshot()
  t.same(SimulatedDisk.from(image).powerLoss('keep-none').files(), ['/d/a'])
  await disk.syncDirectory('/d')
  t.same(disk.powerLoss('keep-none').files(), [])
})

t.test('a sync lands writes from before its start, and none from later', async (t) => {
  const gates: (() => void)[] = []
  const disk = new SimulatedDisk({
    latency: ({ kind }) =>
      kind === 'sync' ? new Promise((resolve) => gates.push(resolve)) : Promise.resolve(),
  })
  disk.writeFile('/a', new Uint8Array(2 * sectorBytes))
  const file = await disk.open('/a', 'write')
  await file.write(bytesOf(1), 0)
  const syncing = file.sync()
  await file.write(bytesOf(1), sectorBytes)
  t.equal(disk.pending().length, 2, 'nothing is durable during the sync')
  gates[0]?.()
  await syncing
  t.same(firstBytes(disk.powerLoss('keep-none'), '/a'), [1, 0])
})

t.test('a directory sync lands names from before its start, and none from later', async (t) => {
  const gates: (() => void)[] = []
  const disk = new SimulatedDisk({
    latency: ({ kind }) =>
      kind === 'syncDirectory' ? new Promise((resolve) => gates.push(resolve)) : Promise.resolve(),
  })
  await disk.createDirectory('/d')
  await disk.open('/d/a', 'create')
  const syncing = disk.syncDirectory('/d')
  await disk.open('/d/b', 'create')
  gates[0]?.()
  await syncing
  t.same(disk.powerLoss('keep-none').files(), ['/d/a'])
})

t.test(
  'the same seed gives the same disk, and all seeds together give every outcome',
  async (t) => {
    const disk = diskWithFile(3)
    const file = await disk.open('/d/a', 'write')
    await file.write(bytesOf(3 * sectorBytes), 0)
    const outcomes = new Set<string>()
    for (let seed = 0; seed < 200; seed++) {
      const [one, two] = [0, 1].map(() =>
        firstBytes(disk.powerLoss({ random: new Random(seed) }), '/d/a').join(''),
      )
      if (one !== two) t.fail(`seed ${seed} gave ${one} and ${two}`)
      outcomes.add(one ?? '')
    }
    t.equal(outcomes.size, 8)
  },
)

t.test('capacity and settings survive a power loss', async (t) => {
  const disk = new SimulatedDisk({ capacityBytes: 2 * sectorBytes, locks: false })
  disk.setCapacity(sectorBytes)
  const found = disk.powerLoss('keep-all')
  const file = await found.open('/a', 'create')
  t.equal(await file.write(bytesOf(600), 0), sectorBytes)
  t.equal((await found.lock('/a', '')).granted, true)
  t.equal((await found.lock('/a', '')).granted, true)
  const roomy = found.powerLoss('keep-all', { capacityBytes: 4096 })
  t.equal(await (await roomy.open('/a', 'write')).write(bytesOf(600), 0), 600)
})

t.test('random histories: keep-all equals what reads saw, keep-none what was synced', async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed)
    const disk = new SimulatedDisk()
    await disk.createDirectory('/d')
    const names = ['/d/a', '/d/b', '/d/c']
    // A naive model: names and bytes as plain values; each sync copies the durable ones.
    let seen = new Map<string, { now: number[]; durable: number[] }>()
    let durable = new Map<string, { now: number[]; durable: number[] }>()
    for (let step = 0; step < 40; step++) {
      const path = random.pick(names)
      const known = seen.get(path)
      const at = random.integer(1500)
      const data = random.bytes(1 + random.integer(1200))
      const action = random.integer(6)
      if (action === 0) {
        await disk.syncDirectory('/d')
        durable = new Map(seen)
      } else if (known === undefined) {
        await (await disk.open(path, 'create')).close()
        seen = new Map(seen).set(path, { now: [], durable: [] })
      } else if (action === 1) {
        const to = random.pick(names.filter((name) => name !== path))
        await disk.rename(path, to)
        seen = new Map(seen).set(to, known)
        seen.delete(path)
      } else if (action === 2) {
        await disk.remove(path)
        seen = new Map(seen)
        seen.delete(path)
      } else if (action === 3) {
        const file = await disk.open(path, 'write')
        await file.sync()
        await file.close()
        known.durable = [...known.now]
      } else {
        const file = await disk.open(path, 'write')
        await file.write(data, at)
        await file.close()
        while (known.now.length < at + data.length) known.now.push(0)
        for (const [i, byte] of data.entries()) known.now[at + i] = byte
      }
    }
    const show = (from: SimulatedDisk) =>
      Object.fromEntries(from.files().map((path) => [path, [...from.readFile(path)]]))
    const model = (of: typeof seen, part: 'now' | 'durable') =>
      Object.fromEntries([...of].map(([path, file]) => [path, file[part]]))
    const image = disk.snapshot()
    const copy = () => SimulatedDisk.from(image)
    if (
      !(
        t.same(show(disk), model(seen, 'now'), `seed ${seed}: seen`) &&
        t.same(show(copy().powerLoss('keep-all')), model(seen, 'now'), `seed ${seed}: all kept`) &&
        t.same(show(copy().powerLoss('keep-none')), model(durable, 'durable'), `seed ${seed}: none`)
      )
    ) {
      return
    }
  }
})
