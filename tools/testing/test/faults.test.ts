import t from 'tap'
import {
  Crashed,
  type FailedSync,
  type Fault,
  SimulatedClock,
  SimulatedDisk,
  sectorBytes,
} from '../src/index.js'

const bytesOf = (length: number, value = 1): Uint8Array => new Uint8Array(length).fill(value)

/** A disk with an open, durable file of zeros. */
async function openFile(mode: 'write' | 'durable' = 'write', sectors = 2) {
  const disk = new SimulatedDisk()
  disk.writeFile('/d/a', new Uint8Array(sectors * sectorBytes))
  const file = await disk.open('/d/a', mode)
  const failNext = (fault: Fault) => disk.failCall(disk.callCount, fault)
  const seen = () => disk.readFile('/d/a')[0]
  const onMedium = () =>
    SimulatedDisk.from(disk.snapshot()).powerLoss('keep-none').readFile('/d/a')[0]
  return { disk, file, failNext, seen, onMedium }
}

t.test('a failed call changes nothing and fails as on a real disk', async (t) => {
  const { disk, file, failNext, seen } = await openFile()
  const planned = failNext({ kind: 'error', code: 'EIO' })
  await t.rejects(file.write(bytesOf(1), 0), {
    code: 'EIO',
    syscall: 'write',
    path: '/d/a',
    message: 'EIO: i/o error, write',
  })
  t.equal(seen(), 0)
  t.equal(planned.hits, 1)
  t.equal(await file.write(bytesOf(1), 0), 1, 'the fault occurred once')
  failNext({ kind: 'error', code: 'EACCES' })
  await t.rejects(disk.open('/d/a', 'read'), {
    message: "EACCES: permission denied, open '/d/a'",
  })
  failNext({ kind: 'error', code: 'EROFS' })
  t.throws(() => file.writeOnLoop(bytesOf(1), 0), { code: 'EROFS' })
  t.throws(() => disk.failCall(0, { kind: 'error', code: 'ENONSENSE' }), RangeError)
})

t.test('every kind of call can be made to fail', async (t) => {
  const kinds = new Set<string>()
  const script = async (disk: SimulatedDisk): Promise<void> => {
    await disk.createDirectory('/d')
    const lock = await disk.lock('/d/LOCK', 'me')
    const file = await disk.open('/d/a', 'create')
    await file.write(bytesOf(10), 0)
    file.writeOnLoop(bytesOf(10), 0)
    await file.read(new Uint8Array(10), 0)
    await file.size()
    await file.sync()
    await file.close()
    await disk.rename('/d/a', '/d/b')
    await disk.remove('/d/b')
    await disk.syncDirectory('/d')
    await disk.list('/d')
    if (lock.granted) await lock.release()
  }
  const whole = new SimulatedDisk()
  await script(whole)
  for (const { index, kind } of whole.calls) {
    const disk = new SimulatedDisk()
    disk.failCall(index, { kind: 'error', code: 'EIO' })
    await t.rejects(script(disk), { code: 'EIO' }, kind)
    t.equal(disk.callCount, index + 1)
    kinds.add(kind)
  }
  t.equal(kinds.size, 14)
})

t.test('a fault occurs as often as planned and can be cancelled', async (t) => {
  const { disk, file, failNext } = await openFile()
  const outcomes = async (count: number): Promise<string> => {
    let text = ''
    for (let i = 0; i < count; i++) {
      text += await file.sync().then(
        () => '+',
        () => '-',
      )
    }
    return text
  }
  failNext({ kind: 'error', code: 'EIO', times: 2 })
  t.equal(await outcomes(4), '--++')
  const forever = failNext({ kind: 'error', code: 'EIO', times: 'forever' })
  t.equal(await outcomes(3), '---')
  t.equal(forever.hits, 3)
  forever.cancel()
  t.equal(await outcomes(2), '++')
  disk.failWhen(({ kind }) => kind === 'sync', { kind: 'error', code: 'EIO' })
  await file.size()
  t.equal(await outcomes(2), '-+', 'the fault waits for a matching call')
  disk.failWhen(() => true, { kind: 'error', code: 'EIO', times: 'forever' })
  disk.heal()
  t.equal(await outcomes(1), '+')
})

t.test('a fault does not affect calls of another kind', async (t) => {
  const { file, failNext, disk } = await openFile()
  const planned = failNext({ kind: 'short-write' })
  t.equal(await file.read(new Uint8Array(10), 0), 10)
  t.equal(planned.hits, 0)
  const any = disk.failWhen(() => true, { kind: 'short-read' })
  await file.write(bytesOf(10), 0)
  t.equal(any.hits, 0)
  t.equal(await file.read(new Uint8Array(10), 0), 5)
  t.equal(any.hits, 1)
})

t.test('a short write returns the number of written bytes', async (t) => {
  const { disk, file, failNext } = await openFile('durable')
  failNext({ kind: 'short-write', bytes: 3 })
  t.equal(await file.write(bytesOf(10), 0), 3)
  failNext({ kind: 'short-write' })
  t.equal(file.writeOnLoop(bytesOf(10, 2), 100), 5)
  failNext({ kind: 'short-write', bytes: 0 })
  t.equal(await file.write(bytesOf(10), 5000), 0)
  const found = disk.powerLoss('keep-none').readFile('/d/a')
  t.same([...found.subarray(0, 5)], [1, 1, 1, 0, 0])
  t.same([...found.subarray(100, 106)], [2, 2, 2, 2, 2, 0])
  t.equal(found.length, 2 * sectorBytes)
})

t.test('a short read returns the number of read bytes', async (t) => {
  const { file, failNext } = await openFile()
  await file.write(bytesOf(10), 0)
  const into = new Uint8Array(10)
  failNext({ kind: 'short-read', bytes: 4 })
  t.equal(await file.read(into, 0), 4)
  t.same([...into], [1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
  failNext({ kind: 'short-read' })
  t.equal(
    await file.read(new Uint8Array(1), 0),
    1,
    'at least one, since none would mean the end of the file',
  )
})

t.test('a crash before a call leaves only its pending sectors', async (t) => {
  const { disk, file, failNext } = await openFile('durable')
  failNext({ kind: 'crash', when: 'before' })
  await t.rejects(file.write(bytesOf(2 * sectorBytes), 0), Crashed)
  t.same(
    disk.pending().map(({ kind }) => kind),
    ['sector', 'sector'],
  )
  t.equal(disk.powerLoss('keep-none').readFile('/d/a')[0], 0)
  t.equal(disk.powerLoss('keep-all').readFile('/d/a')[0], 1)

  const lazy = await openFile('write')
  lazy.failNext({ kind: 'crash', when: 'before' })
  await t.rejects(lazy.file.write(bytesOf(1), 0), Crashed)
  t.same(lazy.disk.pending(), [])

  const syncing = await openFile('write')
  await syncing.file.write(bytesOf(1), 0)
  syncing.failNext({ kind: 'crash', when: 'before' })
  await t.rejects(syncing.file.sync(), Crashed)
  t.equal(syncing.disk.pending().length, 1)
})

t.test('a crash after a call leaves its work done, without an answer', async (t) => {
  const { disk, file, failNext } = await openFile('durable')
  failNext({ kind: 'crash', when: 'after' })
  t.throws(() => file.writeOnLoop(bytesOf(1), 0), Crashed)
  t.equal(disk.powerLoss('keep-none').readFile('/d/a')[0], 1)
  await t.rejects(file.size(), Crashed)

  const lazy = await openFile('write')
  await lazy.file.write(bytesOf(1), 0)
  lazy.failNext({ kind: 'crash', when: 'after' })
  await t.rejects(lazy.file.sync(), Crashed)
  t.equal(lazy.disk.powerLoss('keep-none').readFile('/d/a')[0], 1)

  const refused = await openFile()
  refused.failNext({ kind: 'crash', when: 'after' })
  await t.rejects(refused.disk.open('/d/none', 'read'), Crashed, 'a failing call crashes as well')
})

t.test('a process is killed at a call, before or after its work', async (t) => {
  for (const when of ['before', 'after'] as const) {
    const disk = new SimulatedDisk()
    disk.writeFile('/a', new Uint8Array(1))
    const doomed = disk.process()
    const file = await doomed.open('/a', 'write')
    disk.failCall(disk.callCount, { kind: 'kill', when })
    const answer = (): void => {
      t.fail('a killed process received an answer')
    }
    file.write(bytesOf(1), 0).then(answer, answer)
    await doomed.whenKilled()
    await new SimulatedClock().settle()
    t.equal(doomed.killed, true)
    t.equal(disk.readFile('/a')[0], when === 'before' ? 0 : 1)
    t.equal(await (await disk.open('/a', 'read')).size(), 1, 'other processes continue')
  }
})

/** Makes a sync or a durable write fail in the given way, after writing ones. */
const stories: Record<string, (fault: Fault) => Promise<Story>> = {
  sync: async (fault) => {
    const world = await openFile('write')
    await world.file.write(bytesOf(1), 0)
    world.failNext(fault)
    const failing = world.file.sync()
    return { ...world, failing, again: () => world.file.sync() }
  },
  'durable write': async (fault) => {
    const world = await openFile('durable')
    world.failNext(fault)
    const failing = world.file.write(bytesOf(1), 0)
    return { ...world, failing, again: () => world.file.write(bytesOf(1, 3), sectorBytes) }
  },
  'durable write on the loop': async (fault) => {
    const world = await openFile('durable')
    world.failNext(fault)
    const failing = (async () => world.file.writeOnLoop(bytesOf(1), 0))()
    return { ...world, failing, again: async () => world.file.writeOnLoop(bytesOf(1, 3), 512) }
  },
}

type Story = Awaited<ReturnType<typeof openFile>> & {
  readonly failing: Promise<unknown>
  readonly again: () => Promise<unknown>
}

function failedSync(model: FailedSync['model']): Fault {
  return { kind: 'failed-sync', model }
}

for (const [name, tell] of Object.entries(stories)) {
  t.test(`a failed ${name} leaves a clean page that no later sync writes`, async (t) => {
    const { disk, file, failing, again, seen, onMedium } = await tell(failedSync('clean-page'))
    await t.rejects(failing, { code: 'EIO' })
    t.equal(seen(), 1)
    await again()
    t.equal(onMedium(), 0, 'although the later sync succeeded')
    await file.write(bytesOf(1, 1), 0)
    await file.sync()
    t.equal(onMedium(), 1, 'writing it again makes it durable')
    disk.dropCleanPages()
    t.equal(seen(), 1)
  })

  t.test(`a failed ${name} reverts what reads see`, async (t) => {
    const { failing, again, seen, onMedium } = await tell(failedSync('reverted'))
    await t.rejects(failing, { code: 'EIO' })
    t.equal(seen(), 0)
    await again()
    t.equal(onMedium(), 0)
  })

  t.test(`a late failure of a ${name} is reported by the next one`, async (t) => {
    const { file, failing, again, seen, onMedium } = await tell(failedSync('late'))
    await t.resolves(failing)
    t.equal(seen(), 1)
    t.equal(onMedium(), 0)
    await t.rejects(again(), { code: 'EIO' })
    t.equal(onMedium(), 0)
    await t.resolves(file.sync(), 'and only once')
  })

  t.test(`a dead device after a failed ${name} rejects every change`, async (t) => {
    const { disk, file, failing, again, seen } = await tell(failedSync('dead'))
    await t.rejects(failing, { code: 'EIO' })
    await t.rejects(again(), { code: 'EIO' })
    await t.rejects(file.write(bytesOf(1), 0), { code: 'EIO' })
    await t.rejects(disk.process().open('/d/b', 'create'), { code: 'EIO' })
    await t.rejects(disk.rename('/d/a', '/d/b'), { code: 'EIO' })
    await t.rejects(disk.remove('/d/a'), { code: 'EIO' })
    await t.rejects(disk.createDirectory('/e'), { code: 'EIO' })
    await t.rejects(disk.syncDirectory('/d'), { code: 'EIO' })
    await t.rejects(disk.lock('/d/LOCK', ''), { code: 'EIO' })
    t.equal(await file.read(new Uint8Array(1), 0), 1, 'reads still work')
    t.equal(seen(), 1)
    t.equal(disk.pending().length, 1, 'the write may still land')
    disk.heal()
    await t.resolves(file.sync())
  })
}

t.test('dropping clean pages shows the content of the medium', async (t) => {
  const { disk, file, failNext, seen } = await openFile('write')
  await file.write(bytesOf(1), 0)
  failNext(failedSync('clean-page'))
  await t.rejects(file.sync(), { code: 'EIO' })
  await file.write(bytesOf(1, 4), sectorBytes)
  disk.dropCleanPages()
  t.equal(seen(), 0)
  t.equal(disk.readFile('/d/a')[sectorBytes], 4, 'dirty pages stay')
})

t.test('some sectors of a failed sync may have landed', async (t) => {
  const { disk, file, failNext } = await openFile('durable')
  failNext({
    kind: 'failed-sync',
    model: 'clean-page',
    landed: (change) => change.kind === 'sector' && change.sector === 1,
  })
  await t.rejects(file.write(bytesOf(2 * sectorBytes), 0), { code: 'EIO' })
  const found = disk.powerLoss('keep-none').readFile('/d/a')
  t.same([found[0], found[sectorBytes]], [0, 1])
})

t.test('writing again restores a lost file size', async (t) => {
  const { disk, file, failNext } = await openFile('write')
  await file.write(bytesOf(1), 2 * sectorBytes)
  failNext(failedSync('clean-page'))
  await t.rejects(file.sync(), { code: 'EIO' })
  await file.write(bytesOf(1), 2 * sectorBytes)
  await file.sync()
  t.equal(disk.powerLoss('keep-none').readFile('/d/a').length, 2 * sectorBytes + 1)
})

t.test('the sync of a directory fails in the same ways', async (t) => {
  const world = async (model: FailedSync['model']) => {
    const disk = new SimulatedDisk()
    disk.writeFile('/d/old', bytesOf(1))
    await disk.rename('/d/old', '/d/new')
    disk.failCall(disk.callCount, failedSync(model))
    return { disk, failing: disk.syncDirectory('/d') }
  }
  const left = (disk: SimulatedDisk) => disk.powerLoss('keep-all').files()

  const clean = await world('clean-page')
  await t.rejects(clean.failing, { code: 'EIO', syscall: 'fsync' })
  await clean.disk.syncDirectory('/d')
  t.same(clean.disk.files(), ['/d/new'])
  t.same(left(clean.disk), ['/d/old'])

  const reverted = await world('reverted')
  await t.rejects(reverted.failing, { code: 'EIO' })
  t.same(reverted.disk.files(), ['/d/old'])

  const late = await world('late')
  await late.failing
  await t.rejects(late.disk.syncDirectory('/d'), { code: 'EIO' })
  t.same(left(late.disk), ['/d/old'])

  const dead = await world('dead')
  await t.rejects(dead.failing, { code: 'EIO' })
  await t.rejects(dead.disk.syncDirectory('/d'), { code: 'EIO' })
})

t.test('a directory that is being created survives the failed sync of its parent', async (t) => {
  let proceed = (): void => {}
  const held = new Promise<void>((resolve) => {
    proceed = resolve
  })
  const disk = new SimulatedDisk({
    latency: ({ kind }) => (kind === 'createDirectory' ? held : Promise.resolve()),
  })
  disk.failWhen(({ kind }) => kind === 'syncDirectory', failedSync('reverted'))
  const creating = disk.createDirectory('/e')
  await t.rejects(disk.syncDirectory('/'), { code: 'EIO' })
  proceed()
  await creating
  t.same(await disk.powerLoss('keep-none').list('/'), ['e'])
})

/** The number of bytes written by a write that is cut at a sector. */
async function takenOf(position: number, length: number): Promise<number> {
  const disk = new SimulatedDisk()
  disk.writeFile('/a', new Uint8Array(4096))
  const file = await disk.open('/a', 'write')
  disk.failWhen(() => true, { kind: 'short-write', toSector: true })
  return file.write(new Uint8Array(length).fill(1), position)
}

t.test('a write cut with toSector ends at the end of a sector', async (t) => {
  t.equal(await takenOf(0, 2000), 512)
  t.equal(await takenOf(100, 2000), 924)
  t.equal(await takenOf(500, 1000), 12)
  t.equal(await takenOf(512, 1024), 512)
})

t.test('a write within one sector is not cut with toSector', async (t) => {
  t.equal(await takenOf(0, 600), 600)
  t.equal(await takenOf(10, 20), 20)
})
