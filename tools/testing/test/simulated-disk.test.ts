import t from 'tap'
import { Killed, SimulatedClock, SimulatedDisk, sectorBytes } from '../src/index.js'

const bytesOf = (length: number, value = 1): Uint8Array => new Uint8Array(length).fill(value)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

t.test('a file is created, written, read, renamed and removed', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/data/wal')
  const file = await disk.open('/data/wal/a', 'create')
  t.equal(await file.write(bytes('hello'), 0), 5)
  t.equal(file.writeOnLoop(bytes('world'), 8), 5)
  t.equal(await file.size(), 13)
  const into = new Uint8Array(20)
  t.equal(await file.read(into, 0), 13)
  t.equal(textOf(into.subarray(0, 13)), 'hello\0\0\0world', 'a hole reads as zeros')
  t.equal(await file.read(into, 13), 0, 'nothing after the end')
  t.equal(await file.read(into, 100), 0)
  await file.sync()
  await file.close()
  await disk.rename('/data/wal/a', '/data/wal/b')
  t.same(await disk.list('/data/wal'), ['b'])
  t.same(await disk.list('/data'), ['wal'])
  await disk.remove('/data/wal/b')
  t.same(await disk.list('/data/wal'), [])
})

t.test('wrong use fails with the error that Node would raise', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/d')
  await t.rejects(disk.open('/d/none', 'read'), {
    code: 'ENOENT',
    syscall: 'open',
    path: '/d/none',
    message: "ENOENT: no such file or directory, open '/d/none'",
  })
  const file = await disk.open('/d/a', 'create')
  await t.rejects(disk.open('/d/a', 'create'), { code: 'EEXIST' })
  await t.rejects(disk.open('/none/a', 'create'), { code: 'ENOENT' })
  await t.rejects(disk.open('/d', 'write'), { code: 'EISDIR' })
  await t.rejects(disk.list('/d/a'), { code: 'ENOTDIR' })
  await t.rejects(disk.list('/none'), { code: 'ENOENT' })
  await t.rejects(disk.syncDirectory('/none'), { code: 'ENOENT' })
  await t.rejects(disk.createDirectory('/d/a'), { code: 'EEXIST' })
  await t.rejects(disk.createDirectory('/d/a/b'), { code: 'ENOTDIR' })
  await t.rejects(disk.remove('/d/none'), { code: 'ENOENT' })
  await t.rejects(disk.removeDirectory('/d'), { code: 'ENOTEMPTY', syscall: 'rmdir' })
  await t.rejects(disk.removeDirectory('/none'), { code: 'ENOENT' })
  await t.rejects(disk.removeDirectory('/d/a'), { code: 'ENOTDIR' })
  await t.rejects(disk.rename('/d', '/d/below'), { code: 'EINVAL' })
  await t.rejects(disk.rename('/d/none', '/d/b'), {
    code: 'ENOENT',
    dest: '/d/b',
    message: "ENOENT: no such file or directory, rename '/d/none' -> '/d/b'",
  })
  const reader = await disk.open('/d/a', 'read')
  await t.rejects(reader.write(bytesOf(1), 0), { code: 'EBADF' })
  t.throws(() => reader.writeOnLoop(bytesOf(1), 0), { code: 'EBADF' })
  await file.close()
  await t.rejects(file.sync(), { code: 'EBADF', message: 'EBADF: bad file descriptor, fsync' })
  await t.resolves(file.close(), 'as with a FileHandle')
})

t.test('every call is counted and described', async (t) => {
  const disk = new SimulatedDisk()
  await disk.createDirectory('/d/')
  const file = await disk.open('/d/./a', 'create')
  await file.write(bytesOf(5), 3)
  await file.close()
  const other = disk.process()
  await other.rename('/d/a', '/d/b')
  t.same(disk.calls, [
    { index: 0, process: 0, kind: 'createDirectory', path: '/d' },
    { index: 1, process: 0, kind: 'open', path: '/d/a', mode: 'create' },
    { index: 2, process: 0, kind: 'write', path: '/d/a', mode: 'create', position: 3, bytes: 5 },
    { index: 3, process: 0, kind: 'close', path: '/d/a', mode: 'create' },
    { index: 4, process: 1, kind: 'rename', path: '/d/a', to: '/d/b' },
  ])
  const silent = new SimulatedDisk({ recordCalls: false })
  await silent.list('/')
  t.same([silent.callCount, silent.calls], [1, []])
})

t.test('a lock has one holder until released, and names it', async (t) => {
  const disk = new SimulatedDisk()
  const other = disk.process()
  const first = await disk.lock('/LOCK', 'pid 1')
  t.equal(first.granted, true)
  t.same(await other.lock('/LOCK', 'pid 2'), { granted: false, holder: 'pid 1' })
  t.same(await disk.lock('/LOCK', 'pid 1 again'), { granted: false, holder: 'pid 1' })
  if (first.granted) await first.release()
  t.equal((await other.lock('/LOCK', 'x')).granted, true)
  t.equal(textOf(disk.readFile('/LOCK')), 'x', 'nothing remains of a longer name')
  if (first.granted) await first.release()
  t.equal(
    (await disk.lock('/LOCK', 'y')).granted,
    false,
    'a second release does not release the next holder',
  )
})

t.test('without locks two processes may hold the lock', async (t) => {
  const disk = new SimulatedDisk({ locks: false })
  t.equal((await disk.lock('/LOCK', 'a')).granted, true)
  t.equal((await disk.process().lock('/LOCK', 'b')).granted, true)
})

t.test(
  'a killed process gets no answers, frees its locks, and leaves its cached writes',
  async (t) => {
    const disk = new SimulatedDisk()
    const doomed = disk.process()
    await doomed.lock('/LOCK', 'doomed')
    const file = await doomed.open('/a', 'create')
    await file.write(bytes('left'), 0)
    const inFlight = file.sync()
    doomed.kill()
    let answered = false
    const answer = (): void => {
      answered = true
    }
    inFlight.then(answer, answer)
    file.write(bytes('late'), 0).then(answer, answer)
    doomed.list('/').then(answer, answer)
    t.throws(() => file.writeOnLoop(bytes('late'), 0), Killed)
    await doomed.whenKilled()
    await new SimulatedClock().settle()
    t.notOk(answered)
    t.equal((await disk.lock('/LOCK', 'heir')).granted, true)
    t.equal(textOf(disk.readFile('/a')), 'left')
    t.equal(
      disk.pending().some(({ kind }) => kind === 'sector'),
      false,
      'the kernel completes the sync that was in progress',
    )
  },
)

t.test(
  'a full disk writes what fits, then nothing, and continues when there is space',
  async (t) => {
    const disk = new SimulatedDisk({ capacityBytes: 3 * sectorBytes })
    const file = await disk.open('/a', 'create')
    t.equal(await file.write(bytesOf(2 * sectorBytes), 0), 2 * sectorBytes)
    t.equal(await file.write(bytesOf(sectorBytes), 2 * sectorBytes - 10), sectorBytes)
    t.equal(disk.usedBytes, 3 * sectorBytes)
    t.equal(await file.write(bytesOf(100), 3 * sectorBytes - 60), 60, 'the part that fits')
    await t.rejects(file.write(bytesOf(40), 3 * sectorBytes), {
      code: 'ENOSPC',
      message: 'ENOSPC: no space left on device, write',
    })
    t.throws(() => file.writeOnLoop(bytesOf(40), 3 * sectorBytes), { code: 'ENOSPC' })
    t.equal(
      await file.write(bytesOf(3 * sectorBytes, 2), 0),
      3 * sectorBytes,
      'overwriting is free',
    )
    disk.setCapacity(4 * sectorBytes)
    t.equal(await file.write(bytesOf(40), 3 * sectorBytes), 40)
  },
)

t.test('a hole needs space once it is written', async (t) => {
  const disk = new SimulatedDisk({ capacityBytes: 2 * sectorBytes })
  const file = await disk.open('/a', 'create')
  await file.write(bytesOf(1), 9 * sectorBytes)
  t.equal(await file.size(), 9 * sectorBytes + 1)
  t.equal(disk.usedBytes, sectorBytes)
  await file.write(bytesOf(1), 0)
  await t.rejects(file.write(bytesOf(1), 4 * sectorBytes), { code: 'ENOSPC' })
})

t.test('a removed or replaced file frees its space once no process has it open', async (t) => {
  const disk = new SimulatedDisk({ capacityBytes: 4 * sectorBytes })
  const a = await disk.open('/a', 'create')
  await a.write(bytesOf(2 * sectorBytes), 0)
  const b = await disk.open('/b', 'create')
  await b.write(bytesOf(2 * sectorBytes), 0)
  await disk.remove('/a')
  t.equal(disk.usedBytes, 4 * sectorBytes)
  t.equal(await a.read(new Uint8Array(10), 0), 10, 'an open file survives without a name')
  await a.close()
  t.equal(disk.usedBytes, 2 * sectorBytes)
  await b.close()
  const c = await disk.open('/c', 'create')
  await c.write(bytesOf(1), 0)
  await disk.rename('/c', '/b')
  t.equal(disk.usedBytes, sectorBytes)
})

t.test('damage affects the cache and the medium alike', async (t) => {
  const prepared = new SimulatedDisk()
  prepared.writeFile('/d/a', bytes('aaaa'))
  prepared.writeFile('/d/b', bytes('bb'))
  const image = prepared.snapshot()
  t.same(image.files, ['/d/a', '/d/b'])
  const after = (damage: (disk: SimulatedDisk) => void): Record<string, string> => {
    const disk = SimulatedDisk.from(image)
    damage(disk)
    const show = (shown: SimulatedDisk) =>
      Object.fromEntries(shown.files().map((path) => [path, textOf(shown.readFile(path))]))
    const seen = show(disk)
    t.same(show(disk.powerLoss('keep-none')), seen)
    return seen
  }
  t.same(
    after((disk) => disk.flipBit('/d/a', 9)),
    { '/d/a': 'acaa', '/d/b': 'bb' },
  )
  t.same(
    after((disk) => disk.truncateFile('/d/a', 1)),
    { '/d/a': 'a', '/d/b': 'bb' },
  )
  t.same(
    after((disk) => {
      disk.truncateFile('/d/a', 1)
      disk.truncateFile('/d/a', 3)
    }),
    { '/d/a': 'a\0\0', '/d/b': 'bb' },
  )
  t.same(
    after((disk) => disk.removeFile('/d/a')),
    { '/d/b': 'bb' },
  )
  t.same(
    after((disk) => disk.renameFile('/d/a', '/d/b')),
    { '/d/b': 'aaaa' },
  )
  t.same(
    after((disk) => disk.swapFiles('/d/a', '/d/b')),
    { '/d/a': 'bb', '/d/b': 'aaaa' },
  )
  t.same(
    after((disk) => disk.writeFile('/d/b', bytes('c'))),
    { '/d/a': 'aaaa', '/d/b': 'c' },
  )
  t.throws(() => SimulatedDisk.from(image).flipBit('/d/b', 16), RangeError)
  t.throws(() => SimulatedDisk.from(image).removeFile('/d/none'), { message: 'ENOENT' })
})

t.test('disks from one image are independent', async (t) => {
  const prepared = new SimulatedDisk()
  prepared.writeFile('/a', bytesOf(1000))
  const image = prepared.snapshot()
  const [one, two] = [SimulatedDisk.from(image), SimulatedDisk.from(image)]
  const file = await one.open('/a', 'durable')
  await file.write(bytesOf(10, 9), 0)
  const own = await prepared.open('/a', 'durable')
  await own.write(bytesOf(10, 7), 0)
  t.equal(one.readFile('/a')[0], 9)
  t.equal(one.powerLoss('keep-none').readFile('/a')[0], 9)
  t.equal(two.readFile('/a')[0], 1)
  t.equal(two.powerLoss('keep-all').readFile('/a')[0], 1)
  t.equal(SimulatedDisk.from(image).readFile('/a')[0], 1)
  t.equal(prepared.readFile('/a')[0], 7)
})

t.test('an image includes pending changes', async (t) => {
  const disk = new SimulatedDisk()
  const file = await disk.open('/a', 'create')
  await file.write(bytesOf(10), 0)
  const copy = SimulatedDisk.from(disk.snapshot())
  t.same(copy.pending(), disk.pending())
  t.same(copy.powerLoss('keep-none').files(), [])
  t.equal(disk.crashed, false)
})

t.test('the latency of calls can use a simulated clock', async (t) => {
  const clock = new SimulatedClock()
  const disk = new SimulatedDisk({
    latency: ({ kind }) =>
      new Promise((resolve) => clock.setTimer(kind === 'sync' ? 10 : 1, resolve)),
  })
  const done: string[] = []
  const work = (async () => {
    const file = await disk.open('/a', 'create')
    done.push('open')
    await file.write(bytesOf(1), 0)
    done.push('write')
    await file.sync()
    done.push('sync')
  })()
  await clock.advance(1)
  t.same(done, ['open'])
  await clock.advance(10)
  t.same(done, ['open', 'write'])
  await clock.advance(1)
  t.same(done, ['open', 'write', 'sync'])
  await work
})

t.test('a thousand variations of a prepared disk are cheap', async (t) => {
  const prepared = new SimulatedDisk()
  for (let i = 0; i < 6; i++) prepared.writeFile(`/wal/${i}`, bytesOf(65_536, i))
  const image = prepared.snapshot()
  for (let i = 0; i < 1000; i++) {
    const disk = SimulatedDisk.from(image)
    disk.flipBit('/wal/3', i)
    const file = await disk.open('/wal/3', 'durable')
    await file.write(bytesOf(512), 0)
    await file.close()
  }
  t.equal(prepared.readFile('/wal/3')[0], 3)
})
