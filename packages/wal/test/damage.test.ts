import { crc32 } from 'node:zlib'
import { type DiskCall, Random, SimulatedDisk, subsets } from '@tenure/testing'
import t from 'tap'
import {
  type BatchHeader,
  decodeBatchHeader,
  encodeBatchHeader,
  Place,
} from '../src/format/batch.js'
import { decodeFileHeader, encodeFileHeader } from '../src/format/file-header.js'
import { segmentName } from '../src/format/layout.js'
import type { AcceptedLoss } from '../src/index.js'
import {
  appendOneByOne,
  appendTogether,
  forkHistory,
  outcomeOf,
  range,
  rejection,
  replayedLsns,
  World,
} from './world.js'

/** The smallest allowed segments make the smallest log with several of them. */
const tiny = { segmentBytes: 2048, appendBytesMax: 1024 }

/** A log of two epochs and several segments whose writer was just killed. */
async function crashedLog(): Promise<{ world: World; acknowledged: number }> {
  const world = new World()
  const first = await world.open(tiny)
  await appendOneByOne(first, 4)
  await first.close()
  const second = await world.open(tiny)
  await appendTogether(second, 5)
  const acknowledged = await appendOneByOne(second, 6)
  return { world: world.with(world.disk.powerLoss('keep-all')), acknowledged }
}

t.test('every single-bit flip of a small log is rejected or loses nothing', async (t) => {
  const { world, acknowledged } = await crashedLog()
  const copy = world.copier()
  const expected = range(1, acknowledged)
  const seen = new Map<string, number>()
  let flips = 0
  for (const name of world.files().filter((it) => world.isNeeded(it))) {
    const bits = world.disk.readFile(world.path(name)).length * 8
    for (let bit = 0; bit < bits; bit++) {
      const flipped = copy()
      flipped.disk.flipBit(flipped.path(name), bit)
      const outcome = await outcomeOf(t, flipped, tiny)
      flips++
      const what = 'refused' in outcome ? outcome.refused : 'whole'
      seen.set(what, (seen.get(what) ?? 0) + 1)
      if ('lsns' in outcome && outcome.lsns.length !== expected.length) {
        t.same(outcome.lsns, expected, `bit ${bit} of ${name}`)
      }
    }
  }
  t.comment(`${flips} flips: ${[...seen].map(([what, count]) => `${count} ${what}`).join(', ')}`)
  t.ok((seen.get('WAL_CORRUPT') ?? 0) > 0)
  t.ok((seen.get('whole') ?? 0) > 0)
})

t.test(
  'every shortened segment is rejected, and any other shortened file loses nothing',
  async (t) => {
    const { world, acknowledged } = await crashedLog()
    const copy = world.copier()
    let cuts = 0
    for (const name of world.files()) {
      const { length } = world.disk.readFile(world.path(name))
      for (let size = 0; size < length; size++) {
        const cut = copy()
        cut.disk.truncateFile(cut.path(name), size)
        const outcome = await outcomeOf(t, cut, tiny)
        cuts++
        const isNeeded = world.isNeeded(name)
        const isRight = isNeeded
          ? 'refused' in outcome && outcome.refused === 'WAL_CORRUPT'
          : 'lsns' in outcome && outcome.lsns.length === acknowledged
        if (!isRight)
          t.same(outcome, isNeeded ? 'refused' : 'whole', `${name} cut to ${size} bytes`)
      }
    }
    t.comment(`${cuts} truncations`)
    t.ok(cuts > 1000)
  },
)

t.test(
  'the last batch is there completely or not at all, whichever of its sectors arrive',
  async (t) => {
    let cases = 0
    for (const sizes of [[100], [700], [900], [1, 0, 500], [200, 200, 200, 200, 100]]) {
      for (const fill of [0, 7]) {
        for (const before of [0, 1, 2, 3]) {
          const world = new World()
          const log = await world.open({ ...tiny, segmentBytes: 4096 })
          await appendOneByOne(log, before)
          const records = sizes.map((size) => new Uint8Array(size).fill(fill))
          world.disk.failWhen(
            (call) => call.kind.startsWith('write') && call.path.includes('.wal'),
            {
              kind: 'crash',
              when: 'before',
            },
          )
          t.equal(await rejection(log.append(log.nextLsn, records)), 'WAL_FAILED')
          const pending = world.disk.pending()
          // Other pending writes (the spare) survive in every second case, and must not matter.
          const ofBatch = pending.flatMap((change, index) =>
            change.kind === 'sector' && change.path.includes('.wal') ? [index] : [],
          )
          for (const isKept of subsets(ofBatch.length)) {
            const disk = world.disk.powerLoss({
              keep: (_, index) => {
                const at = ofBatch.indexOf(index)
                return at === -1 ? index % 2 === 0 : isKept(at)
              },
            })
            const survivor = world.with(disk)
            const reopened = await survivor.open(tiny)
            const found = reopened.durableLsn - before
            if (found !== 0 && found !== records.length)
              t.fail(`${found} of ${records.length} records`)
            const replayed: Uint8Array[] = []
            for await (const run of reopened.replay())
              for (const it of run.records) replayed.push(it.slice())
            t.same(replayed.slice(before), found === 0 ? [] : records)
            // The torn part stays cut off, and the log continues.
            await appendTogether(reopened, 2)
            await reopened.close()
            const third = await survivor.open(tiny)
            t.equal(third.durableLsn, before + found + 2)
            await third.close()
            cases++
          }
        }
      }
    }
    t.comment(`${cases} sets of sectors`)
    t.ok(cases > 100)
  },
)

t.test('every deleted file that the log needs is reported by name', async (t) => {
  const { world, acknowledged } = await crashedLog()
  for (const name of world.files()) {
    const poorer = world.copy()
    poorer.disk.removeFile(poorer.path(name))
    const outcome = await outcomeOf(t, poorer, tiny)
    const isNeeded = world.isNeeded(name)
    t.same(outcome, isNeeded ? { refused: 'WAL_CORRUPT' } : { lsns: range(1, acknowledged) }, name)
  }
})

t.test('two swapped files, or one that replaces another, are noticed', async (t) => {
  const { world, acknowledged } = await crashedLog()
  const names = world.files()
  for (const one of names) {
    for (const other of names) {
      if (one === other) continue
      const copied = world.copy()
      copied.disk.writeFile(copied.path(one), world.disk.readFile(world.path(other)))
      const whole = { lsns: range(1, acknowledged) }
      const refused = { refused: 'WAL_CORRUPT' }
      t.same(
        await outcomeOf(t, copied, tiny),
        world.isNeeded(one) ? refused : whole,
        `${other} over ${one}`,
      )
      if (one > other) continue
      const swapped = world.copy()
      swapped.disk.swapFiles(swapped.path(one), swapped.path(other))
      const expected = world.isNeeded(one) || world.isNeeded(other) ? refused : whole
      t.same(await outcomeOf(t, swapped, tiny), expected, `${one} and ${other} swapped`)
    }
  }
})

t.test('an older copy of a file is noticed, except of the newest segment', async (t) => {
  const world = new World()
  const first = await world.open(tiny)
  await appendOneByOne(first, 4)
  const early = world.copy()
  await appendOneByOne(first, 4)
  await first.close()
  const second = await world.open(tiny)
  await appendOneByOne(second, 1)
  const late = world.copy()
  await appendOneByOne(second, 2)
  const crashed = world.with(world.disk.powerLoss('keep-all'))
  const replaced = async (from: World, names: string[]) => {
    const patched = crashed.copy()
    for (const name of names)
      patched.disk.writeFile(patched.path(name), from.disk.readFile(from.path(name)))
    return outcomeOf(t, patched, tiny)
  }
  const [sealed = '', newest = ''] = crashed.segments()
  t.equal(crashed.segments().length, 2)
  t.same(await replaced(early, [sealed]), { refused: 'WAL_CORRUPT' }, 'a sealed segment')
  t.same(await replaced(early, ['HEAD']), { refused: 'WAL_CORRUPT' }, 'HEAD')
  t.same(await replaced(early, [sealed, 'HEAD']), { refused: 'WAL_CORRUPT' }, 'both')
  // Nothing in the directory can show this: an earlier crash leaves exactly the same.
  t.same(await replaced(late, [newest]), { lsns: range(1, 9) }, 'the newest segment, undetected')
})

t.test('a segment of another log is rejected', async (t) => {
  const { world } = await crashedLog()
  const other = new World()
  const foreign = await other.open({
    ...tiny,
    randomBytes: (count) => new Uint8Array(count).fill(1),
  })
  await appendOneByOne(foreign, 4)
  await foreign.close()
  const name = world.segments()[0] ?? ''
  world.disk.writeFile(world.path(name), other.disk.readFile(other.path(name)))
  await t.rejects(world.open(tiny), { code: 'WAL_CORRUPT', message: /belongs to another log/ })
})

t.test('an unreadable disk is damage, not a shorter log', async (t) => {
  const { world } = await crashedLog()
  world.disk.failWhen(
    (call) => call.kind === 'read' && call.path.endsWith('.wal') && call.position !== 0,
    {
      kind: 'error',
      code: 'EIO',
      times: 'forever',
    },
  )
  await t.rejects(world.open(tiny), { code: 'WAL_CORRUPT' })
  world.disk.heal()
  await (await world.open(tiny)).close()
})

t.test(
  'damage names the file, the offset, the LSNs, and that they were acknowledged',
  async (t) => {
    const world = new World()
    const log = await world.open(tiny)
    await appendOneByOne(log, 3)
    const name = world.segments()[0] ?? ''
    const afterTwo = world.copy()
    afterTwo.disk.flipBit(afterTwo.path(name), (512 + 64 + 20) * 8)
    await t.rejects(afterTwo.open(tiny), {
      code: 'WAL_CORRUPT',
      damage: { kind: 'corrupt', file: name, offset: 512, firstMissingLsn: 1, lastMissingLsn: 1 },
      message: /acknowledged/,
    })
    const report = await afterTwo.verify()
    t.equal(report.damage?.offset, 512)
    t.equal(report.lastLsn, 0)
    t.same((await world.verify()).damage, undefined)
  },
)

t.test(
  'damage to the last batch is ambiguous until a sync mark proves that it was acknowledged',
  async (t) => {
    const world = new World()
    const log = await world.open(tiny)
    await appendOneByOne(log, 1)
    const unproven = world.copy()
    await world.clock.advance(100)
    const proven = world.copy()
    for (const [machine, code] of [
      [unproven, 'WAL_AMBIGUOUS'],
      [proven, 'WAL_CORRUPT'],
    ] as const) {
      const name = machine.segments()[0] ?? ''
      machine.disk.flipBit(machine.path(name), (512 + 64 + 10) * 8)
      t.equal(await rejection(machine.open(tiny)), code)
    }
  },
)

t.test(
  'accepting a loss requires its exact place, keeps what it cuts off, and declares a gap',
  async (t) => {
    const { world, acknowledged } = await crashedLog()
    const name = world.segments()[0] ?? ''
    world.disk.flipBit(world.path(name), (512 + 64 + 10) * 8)
    const { damage } = await world.verify()
    t.same(damage?.acceptable, { segment: 1, offset: 512 })
    await t.rejects(world.open({ ...tiny, acceptLoss: { segment: 1, offset: 520 } }), {
      code: 'WAL_BAD_OPTION',
      message: /starts at segment 1, byte 512/,
    })
    const log = await world.open({ ...tiny, acceptLoss: { segment: 1, offset: 512 } })
    t.ok(log.nextLsn > acknowledged + 2 ** 31, 'no LSN is issued twice')
    t.same(log.gaps, [{ firstLsn: 1, lastLsn: log.nextLsn - 1, reason: 'accepted-loss' }])
    const first = log.nextLsn
    await appendOneByOne(log, 2)
    t.same(await replayedLsns(t, log, first), [first, first + 1])
    await log.close()
    const kept = world.files().filter((file) => file.startsWith('quarantine/'))
    t.ok(
      kept.some((file) => file.endsWith('.tail')),
      'the rest of the damaged segment',
    )
    t.ok(
      kept.some((file) => file.endsWith('.wal')),
      'the segments after it',
    )
    const again = await world.open(tiny)
    t.same(again.gaps, [{ firstLsn: 1, lastLsn: first - 1, reason: 'accepted-loss' }])
    t.equal(again.nextLsn, first + 2)
    await again.close()
    t.equal((await world.verify()).damage, undefined)
  },
)

t.test('after any loss of files an operator can accept the loss and continue', async (t) => {
  const { world } = await crashedLog()
  for (const name of world.files().filter((it) => world.isNeeded(it))) {
    const poorer = world.copy()
    poorer.disk.removeFile(poorer.path(name))
    const acceptLoss = (await poorer.verify()).damage?.acceptable
    if (acceptLoss === undefined) throw new Error(`the loss of ${name} cannot be accepted`)
    const log = await poorer.open({ ...tiny, acceptLoss })
    const next = log.nextLsn
    await appendOneByOne(log, 2)
    await log.close()
    const again = await poorer.open(tiny)
    t.equal(again.nextLsn, next + 2, name)
    await again.close()
  }
})

t.test('a loss accepted at an unreadable sector opens the log for good', async (t) => {
  const world = new World()
  const log = await world.open(tiny)
  await appendOneByOne(log, 4)
  await log.close()
  const isBad = (call: DiskCall) =>
    call.kind === 'read' &&
    call.path.includes('0000000000000001-00000001') &&
    (call.position ?? 0) <= 600 &&
    (call.position ?? 0) + (call.bytes ?? 0) > 1100
  world.disk.failWhen(isBad, { kind: 'error', code: 'EIO', times: 'forever' })
  const acceptLoss = (await world.verify()).damage?.acceptable
  if (acceptLoss === undefined) throw new Error('the loss cannot be accepted')
  const opened = await world.open({ ...tiny, acceptLoss })
  const next = opened.nextLsn
  await appendOneByOne(opened, 1)
  await opened.close()
  const again = await world.open({ ...tiny, acceptLoss })
  t.equal(again.nextLsn, next + 1, 'naming the same loss again does no harm')
  await again.close()
})

t.test('a segment with an unreadable header is damage, and can be accepted as lost', async (t) => {
  const { world } = await crashedLog()
  const name = world.segments()[1] ?? ''
  const isHeader = (call: DiskCall) => call.kind === 'read' && call.path.endsWith(name.slice(4))
  world.disk.failWhen(isHeader, { kind: 'error', code: 'EIO', times: 'forever' })
  await t.rejects(world.open(tiny), { code: 'WAL_CORRUPT', message: /cannot be read: EIO/ })
  const acceptLoss = (await world.verify()).damage?.acceptable
  if (acceptLoss === undefined) throw new Error('the loss cannot be accepted')
  await (await world.open({ ...tiny, acceptLoss })).close()
  const again = await world.open(tiny)
  t.equal(again.gaps.length, 1)
  await again.close()
})

t.test(
  'accepting a loss can be interrupted anywhere and repeated with the same options',
  async (t) => {
    const { world } = await crashedLog()
    world.disk.flipBit(world.path(world.segments()[0] ?? ''), 600 * 8)
    const acceptLoss = (await world.verify()).damage?.acceptable
    if (acceptLoss === undefined) throw new Error('the loss cannot be accepted')
    const rehearsal = world.with(SimulatedDisk.from(world.disk.snapshot()))
    const log = await rehearsal.open({ ...tiny, acceptLoss })
    const calls = rehearsal.disk.callCount
    await log.close()
    let cases = 0
    for (let index = 0; index < calls; index++) {
      for (const policy of ['keep-none', 'keep-all', { random: new Random(index) }] as const) {
        const machine = world.copy()
        machine.disk.failCall(index, { kind: 'crash', when: 'after' })
        await rejection(machine.open({ ...tiny, acceptLoss }))
        const survivor = machine.with(machine.disk.powerLoss(policy))
        // A restart takes time.
        survivor.clock.jump(1000)
        const reopened = await survivor.open({ ...tiny, acceptLoss })
        t.ok(reopened.gaps.length >= 1)
        const next = reopened.nextLsn
        await appendOneByOne(reopened, 1)
        await reopened.close()
        const again = await survivor.open(tiny)
        t.equal(again.nextLsn, next + 1)
        await again.close()
        const kept = survivor.files().filter((file) => file.startsWith('quarantine/'))
        t.ok(
          kept.some((file) => file.includes('.tail')) && kept.some((file) => file.endsWith('.wal')),
        )
        cases++
      }
    }
    t.comment(`${cases} interruptions`)
  },
)

t.test(
  'an unreadable segment that was cut off stays cut off, wherever accepting the loss was interrupted',
  async (t) => {
    const { world } = await crashedLog()
    const name = world.segments()[1] ?? ''
    world.disk.flipBit(world.path(name), 20 * 8)
    const acceptLoss = (await world.verify()).damage?.acceptable as AcceptedLoss
    const rehearsal = world.copy()
    const log = await rehearsal.open({ ...tiny, acceptLoss })
    const calls = rehearsal.disk.callCount
    await log.close()
    const kept = `quarantine/${name.slice(4)}`
    let cutOffBefore = 0
    for (let index = 0; index < calls; index++) {
      for (const policy of ['keep-none', 'keep-all'] as const) {
        const machine = world.copy()
        machine.disk.failCall(index, { kind: 'crash', when: 'after' })
        await rejection(machine.open({ ...tiny, acceptLoss }))
        const survivor = machine.with(machine.disk.powerLoss(policy))
        // A restart takes time.
        survivor.clock.jump(1000)
        const { damage } = await survivor.verify()
        if (damage === undefined && survivor.files().includes(name)) cutOffBefore++
        const reopened = await survivor.open(damage === undefined ? tiny : { ...tiny, acceptLoss })
        t.equal(reopened.gaps.length, 1)
        await reopened.close()
        t.ok(survivor.files().includes(kept) && !survivor.files().includes(name), `call ${index}`)
      }
    }
    t.ok(cutOffBefore > 0, 'some openings found it cut off and not moved yet')
  },
)

t.test(
  'two histories can be accepted as lost after their common part, and both are kept in quarantine',
  async (t) => {
    const { world, usurper } = await forkHistory()
    await usurper.close()
    const { damage } = await world.verify()
    t.match(damage, { kind: 'corrupt', firstMissingLsn: 3 })
    const log = await world.open({ acceptLoss: damage?.acceptable as AcceptedLoss })
    const next = log.nextLsn
    t.same(await replayedLsns(t, log), [1, 2])
    await appendOneByOne(log, 1)
    await log.close()
    const again = await world.open()
    t.same(await replayedLsns(t, again), [1, 2, next])
    await again.close()
    t.equal(world.files().filter((file) => file.startsWith('quarantine/')).length, 2)
  },
)

t.test('two histories whose common part is empty can be accepted as lost', async (t) => {
  const world = new World(new SimulatedDisk({ locks: false }))
  const zombie = await world.open({ disk: world.disk.process() })
  const usurper = await world.open()
  await appendOneByOne(zombie, 2)
  await appendOneByOne(usurper, 1)
  await usurper.close()
  const { damage } = await world.verify()
  t.match(damage, { kind: 'corrupt', firstMissingLsn: 1, why: /^two histories/ })
  const log = await world.open({ acceptLoss: damage?.acceptable as AcceptedLoss })
  t.same(await replayedLsns(t, log), [])
  await log.close()
})

t.test('a segment of another copy of the log can be accepted as lost', async (t) => {
  const world = new World()
  await (await world.open()).close()
  const other = world.copy()
  for (const { machine, first } of [
    { machine: world, first: 1000 },
    { machine: other, first: 1 },
  ]) {
    const log = await machine.open(first === 1 ? {} : { restored: { nextLsn: first } })
    await appendOneByOne(log, first === 1 ? 3 : 9)
    await log.roll()
    await appendOneByOne(log, 2)
    await log.close()
  }
  const name = world.segments().at(-1) ?? ''
  world.disk.writeFile(world.path(name), other.disk.readFile(other.path(name)))
  const { damage } = await world.verify()
  t.match(damage, { kind: 'corrupt', firstMissingLsn: 1009, why: /^two histories/ })
  const log = await world.open({ acceptLoss: damage?.acceptable as AcceptedLoss })
  t.same(await replayedLsns(t, log), range(1000, 1008))
  await log.close()
  t.ok(world.files().includes(name.replace('wal/', 'quarantine/')))
})

t.test(
  'a batch with a valid checksum at the right place is rejected if it does not continue the previous one',
  async (t) => {
    const world = new World()
    const log = await world.open(tiny)
    await appendOneByOne(log, 2)
    const name = world.segments()[0] ?? ''
    const bytes = Buffer.from(world.disk.readFile(world.path(name)))
    const header = decodeFileHeader(bytes, 'segment', name)
    if (typeof header === 'string') throw new Error(header)
    const place = new Place(header.logId, header.crc)
    const second = bytes.indexOf('TNRB', 513)
    const original = decodeBatchHeader(bytes.subarray(second), place.crcAt(second))
    if (original === undefined) throw new Error('there is no second batch')
    const forgeries: Array<[Partial<BatchHeader>, RegExp]> = [
      [{ batch: original.batch + 1 }, /found batch 3 instead of 2/],
      [{ firstLsn: 1 }, /found LSN 1 instead of 2/],
      [{ chain: original.chain ^ 1 }, /continues a different batch/],
      [{ epoch: 2 }, /epoch 2 instead of 1/],
      [{ bodyBytes: 100_000 }, /extend past the end of the file/],
      [{ count: original.count + 1 }, /does not decode: record 1 starts after/],
      [{ count: 0 }, /does not decode: \d+ bytes remain/],
    ]
    for (const [change, message] of forgeries) {
      const forged = Buffer.from(bytes)
      encodeBatchHeader(forged.subarray(second), { ...original, ...change }, place.crcAt(second))
      const machine = world.copy()
      machine.disk.writeFile(machine.path(name), forged)
      await t.rejects(machine.open(tiny), { code: 'WAL_CORRUPT', message })
    }
    for (const [at, byte, message] of [
      [3, 9, /unknown type 9/],
      [2, 1, /does not decode: record 0 extends past the body's end/],
    ] as const) {
      const newer = Buffer.from(bytes)
      const body = newer.subarray(second + 64, second + 64 + original.bodyBytes)
      body[at] = byte
      const bodyCrc = crc32(body)
      encodeBatchHeader(newer.subarray(second), { ...original, bodyCrc }, place.crcAt(second))
      const machine = world.copy()
      machine.disk.writeFile(machine.path(name), newer)
      await t.rejects(machine.open(tiny), { code: 'WAL_CORRUPT', message })
    }
  },
)

t.test('proof of a missing batch is found at any distance, also across read windows', async (t) => {
  const mib = 1024 * 1024
  const large = { segmentBytes: 8 * mib, appendBytesMax: 512 * 1024 }
  for (const size of [500_000, 349_350, 349_300, 262_030]) {
    const world = new World()
    const log = await world.open({ ...large, segmentBytes: 4 * mib })
    const count = Math.floor(900_000 / size) + 1
    for (let lsn = 1; lsn <= count; lsn++) await log.append(lsn, new Uint8Array(size).fill(5))
    const name = world.segments().at(-1) ?? ''
    const first = decodeFileHeader(world.disk.readFile(world.path(name)), 'segment', name)
    if (typeof first === 'string') throw new Error(first)
    // The last batch is torn off, then the one before it is damaged. Only a header far behind
    // proves it.
    world.disk.flipBit(world.path(name), (512 + 200) * 8)
    const code = await rejection(world.copy().open(large))
    t.equal(code, log.durableLsn > first.firstLsn ? 'WAL_CORRUPT' : 'WAL_AMBIGUOUS', `${size}`)
  }
})

t.test('a copy of a log inside a record proves nothing about the outer log', async (t) => {
  const other = new World()
  const copied = await other.open(tiny)
  await appendOneByOne(copied, 4)
  await copied.close()
  // It has the same id, and later batches of the same segment.
  const bytes = other.disk.readFile(other.path(other.segments()[0] ?? ''))
  for (let shift = 0; shift < 16; shift++) {
    const world = new World()
    const log = await world.open(tiny)
    await log.append(1, Buffer.concat([Buffer.alloc(shift, 1), bytes.subarray(512, 1400)]))
    const crashed = world.copy()
    crashed.disk.flipBit(crashed.path(crashed.segments()[0] ?? ''), (512 + 64 + 2) * 8)
    t.equal(await rejection(crashed.open(tiny)), 'WAL_AMBIGUOUS', `${shift} bytes before it`)
    await log.close()
  }
})

t.test('sectors that are zero on purpose do not make damage look like a torn write', async (t) => {
  const world = new World()
  const log = await world.open({ ...tiny, segmentBytes: 4096 })
  const record = new Uint8Array(1000)
  record[0] = 1
  await log.append(1, record)
  const name = world.segments()[0] ?? ''
  const crashed = world.copy()
  crashed.disk.flipBit(crashed.path(name), (512 + 64 + 4) * 8)
  t.equal(await rejection(crashed.open(tiny)), 'WAL_AMBIGUOUS')
  await log.close()
})

t.test('a segment that has grown is rejected', async (t) => {
  const { world } = await crashedLog()
  const name = world.path(world.segments()[1] ?? '')
  world.disk.writeFile(name, Buffer.concat([world.disk.readFile(name), new Uint8Array(512)]))
  await t.rejects(world.open(tiny), { code: 'WAL_CORRUPT', message: /bytes instead of the/ })
})

t.test('one sector of HEAD may be lost if the other one is newer', async (t) => {
  const { world, acknowledged } = await crashedLog()
  const outcomes: string[] = []
  for (const at of [0, 512]) {
    const flipped = world.copy()
    flipped.disk.flipBit(flipped.path('HEAD'), (at + 20) * 8)
    const outcome = await outcomeOf(t, flipped, tiny)
    if ('lsns' in outcome) t.same(outcome.lsns, range(1, acknowledged))
    outcomes.push('refused' in outcome ? outcome.refused : 'whole')
  }
  t.same(outcomes.sort(), ['WAL_CORRUPT', 'whole'])
})

t.test('everything cut off is kept byte for byte and never overwritten', async (t) => {
  const { world } = await crashedLog()
  const [first = '', second = ''] = world.segments()
  world.disk.flipBit(world.path(first), 600 * 8)
  const tail = Buffer.from(world.disk.readFile(world.path(first)).subarray(512))
  const cut = Buffer.from(world.disk.readFile(world.path(second)))
  const segmentFile = second.slice(4)
  await world.disk.createDirectory(world.path('quarantine'))
  world.disk.writeFile(world.path(`quarantine/${segmentFile}`), Buffer.from('from an earlier day'))
  const acceptLoss = (await world.verify()).damage?.acceptable as AcceptedLoss
  await (await world.open({ ...tiny, acceptLoss })).close()
  const kept = world.disk.readFile(world.path(`quarantine/${first.slice(4)}.512.tail`))
  t.equal(Buffer.compare(kept, tail.subarray(0, kept.length)), 0)
  t.notOk(tail.subarray(kept.length).some((byte) => byte !== 0))
  t.equal(Buffer.compare(world.disk.readFile(world.path(`quarantine/${segmentFile}.2`)), cut), 0)
  t.equal(world.disk.readFile(world.path(`quarantine/${segmentFile}`)).length, 19)
})

t.test('an accepted loss names the segment, too', async (t) => {
  const { world } = await crashedLog()
  world.disk.flipBit(world.path(world.segments()[0] ?? ''), 600 * 8)
  const acceptLoss = { segment: 2, offset: 512 }
  t.equal(await rejection(world.open({ ...tiny, acceptLoss })), 'WAL_BAD_OPTION')
})

t.test('no LSN is issued twice, whichever files are left', async (t) => {
  const world = new World()
  const log = await world.open(tiny)
  for (let round = 0; round < 3; round++) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
  }
  await appendOneByOne(log, 2)
  const last = log.durableLsn
  const epoch = log.recovery.epoch
  await log.close()
  const newest = new RegExp(world.segments().at(-1) ?? '')
  for (const keeps of [/\.wal$/, /\.ckpt$/, /^HEAD$/, newest]) {
    const poorer = world.copy()
    for (const name of poorer.files()) {
      if (!keeps.test(name) && name !== 'LOCK') poorer.disk.removeFile(poorer.path(name))
    }
    const acceptLoss = (await poorer.verify()).damage?.acceptable as AcceptedLoss
    const opened = await poorer.open({ ...tiny, acceptLoss })
    t.ok(opened.nextLsn > (keeps.source === '^HEAD$' ? 0 : last), String(keeps))
    if (!keeps.test('checkpoint/0000000000000030.ckpt')) t.ok(opened.recovery.epoch > epoch)
    await opened.close()
  }
})

t.test('a log of which only a checkpoint is left continues after it for good', async (t) => {
  const world = new World()
  const log = await world.open(tiny)
  await appendOneByOne(log, 3)
  await log.roll()
  await log.writeCheckpoint(3, [Buffer.from('state')])
  await appendOneByOne(log, 2)
  await log.close()
  const reopened = await world.open(tiny)
  const { epoch } = reopened.recovery
  await appendOneByOne(reopened, 2)
  await reopened.close()
  const [first = '', ...others] = world.segments()
  world.disk.removeFile(world.path('HEAD'))
  world.disk.removeFile(world.path(first))
  for (const name of others) world.disk.flipBit(world.path(name), 0)
  const acceptLoss = (await world.verify()).damage?.acceptable as AcceptedLoss
  const opened = await world.open({ ...tiny, acceptLoss })
  const { nextLsn } = opened
  t.equal(opened.recovery.epoch, epoch + 1)
  await appendOneByOne(opened, 2)
  await opened.close()
  for (let times = 0; times < 2; times++) {
    const again = await world.open(tiny)
    t.same(await replayedLsns(t, again, nextLsn), [nextLsn, nextLsn + 1])
    await again.close()
  }
  t.equal((await world.verify()).damage, undefined)
})

t.test('segments after a missing one, and twin segments, are rejected by name', async (t) => {
  const { world } = await crashedLog()
  const log = await world.open(tiny)
  await appendOneByOne(log, 8)
  await log.close()
  const names = world.segments()
  const holed = world.copy()
  holed.disk.removeFile(holed.path(names[1] ?? ''))
  await t.rejects(holed.open(tiny), {
    code: 'WAL_CORRUPT',
    message: /which precedes it, is missing/,
  })

  // Another writer made a segment of the same sequence, under another epoch's name.
  const twin = world.copy()
  const name = names[1] ?? ''
  const bytes = Buffer.from(twin.disk.readFile(twin.path(name)))
  const header = decodeFileHeader(bytes, 'segment', name)
  if (typeof header === 'string') throw new Error(header)
  const forged = encodeFileHeader({ ...header, epoch: 1 })
  bytes.set(forged.bytes, 0)
  const other = `wal/${segmentName(header.sequence, 1)}`
  twin.disk.writeFile(twin.path(other), bytes)
  await t.rejects(twin.open(tiny), { code: 'WAL_CORRUPT', message: /two histories/ })
})

t.test('segments whose headers form a loop are rejected', async (t) => {
  const { world } = await crashedLog()
  for (const name of world.segments().slice(1)) {
    const bytes = Buffer.from(world.disk.readFile(world.path(name)))
    const header = decodeFileHeader(bytes, 'segment', name)
    if (typeof header === 'string') throw new Error(header)
    for (let sequence = 1; sequence <= header.previous.sequence; sequence++) {
      const forged = world.copy()
      bytes.set(encodeFileHeader({ ...header, sequence }).bytes, 0)
      forged.disk.writeFile(forged.path(name), bytes)
      await t.rejects(forged.open(tiny), { code: 'WAL_CORRUPT' }, `${name} as ${sequence}`)
    }
  }
})

t.test('a segment with sequence 0 that follows another one is rejected', async (t) => {
  const world = new World()
  await (await world.open(tiny)).close()
  const [name = ''] = world.segments()
  const bytes = Buffer.from(world.disk.readFile(world.path(name)))
  const header = decodeFileHeader(bytes, 'segment', name)
  if (typeof header === 'string') throw new Error(header)
  const previous = { ...header.previous, sequence: 5 }
  bytes.set(encodeFileHeader({ ...header, sequence: 0, previous }).bytes, 0)
  world.disk.writeFile(world.path(name), bytes)
  await t.rejects(world.open(tiny), { code: 'WAL_CORRUPT', damage: { file: name } })
})

t.test('an impossible epoch in a file name is ignored', async (t) => {
  const { world } = await crashedLog()
  const name = 'wal/0000000000000999-99999999999.wal'
  world.disk.writeFile(world.path(name), Buffer.from('anything'))
  const acceptLoss = (await world.verify()).damage?.acceptable as AcceptedLoss
  const log = await world.open({ ...tiny, acceptLoss })
  t.equal(log.recovery.epoch, 3)
  await log.close()
})

t.test('with an accepted loss, nextLsn cannot be an LSN that may have been issued', async (t) => {
  const world = new World()
  const log = await world.open({ ...tiny, segmentBytes: 4096 })
  await appendOneByOne(log, 20)
  const crashed = world.copy()
  crashed.disk.flipBit(crashed.path(crashed.segments()[0] ?? ''), 600 * 8)
  const acceptLoss = { segment: 1, offset: 512 }
  const asked = crashed.open({ ...tiny, acceptLoss, restored: { nextLsn: 5 } })
  t.equal(await rejection(asked), 'WAL_BAD_OPTION')
  const opened = await crashed.open({ ...tiny, acceptLoss, restored: { nextLsn: 1_000_000 } })
  t.equal(opened.nextLsn, 1_000_000)
  await opened.close()
  await log.close()
})
