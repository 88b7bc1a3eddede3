import { crc32 } from 'node:zlib'
import t from 'tap'
import {
  decodeBatchHeader,
  encodeBatchHeader,
  nextBatchOffset,
  Place,
} from '../src/format/batch.js'
import { extentOf } from '../src/format/stamps.js'
import { type Disk, diagnoseLog, type SalvagedBatch } from '../src/index.js'
import { appendOneByOne, directory, recordOf, World, withFileMethods } from './world.js'

const diagnose = ({ disk }: { disk: Disk }) => diagnoseLog(directory, { disk })

/** Three epochs of several segments each, one record per batch. */
async function written(): Promise<World> {
  const world = new World()
  for (let epoch = 0; epoch < 3; epoch++) {
    const log = await world.open()
    await appendOneByOne(log, 40)
    await world.clock.advance(1000)
    await log.close()
  }
  return world
}

async function remainsOf(world: World): Promise<SalvagedBatch[]> {
  const found: SalvagedBatch[] = []
  for await (const remain of (await diagnose(world)).salvagedBatches()) found.push(remain)
  return found
}

function flip(world: World, name: string, at: number): void {
  const bytes = Buffer.from(world.disk.readFile(world.path(name)))
  bytes[at] = (bytes[at] ?? 0) ^ 1
  world.disk.writeFile(world.path(name), bytes)
}

function filesOf(world: World): [name: string, bytes: string][] {
  const hex = (name: string) => Buffer.from(world.disk.readFile(world.path(name))).toString('hex')
  return world.files().map((name) => [name, hex(name)])
}

/** The bytes with zeros for sectors of which nothing but the stamp was written. */
function withoutStamps(bytes: Uint8Array, offset: number): Buffer {
  const copy = Buffer.from(bytes)
  for (let at = 0; at < copy.length; ) {
    const end = (Math.floor((offset + at) / 512) + 1) * 512 - offset
    if (copy.subarray(at, end - 8).every((byte) => byte === 0)) copy.fill(0, at, end)
    at = end
  }
  return copy
}

function withoutZeros(bytes: Uint8Array): Buffer {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return Buffer.from(bytes.subarray(0, end))
}

t.test('a log without damage has an empty diagnosis', async (t) => {
  const world = await written()
  const { damage, tornTail, cutOff, firstLsn, lastLsn, epoch } = await diagnose(world)
  t.same(
    { damage, tornTail, cutOff, firstLsn, lastLsn, epoch },
    { damage: undefined, tornTail: undefined, cutOff: [], firstLsn: 1, lastLsn: 120, epoch: 3 },
  )
  t.same(await remainsOf(world), [])
  await t.rejects(diagnose(new World()), { code: 'WAL_NOT_A_LOG' })
})

t.test(
  'a diagnosis separates readable from unreadable records wherever a byte is changed, and changes nothing',
  async (t) => {
    const world = await written()
    let damaged = 0
    for (const name of world.segments()) {
      const { length } = world.disk.readFile(world.path(name))
      for (let at = 5; at < length; at += 331) {
        const copy = world.copy()
        flip(copy, name, at)
        const intact = copy.copy()
        const diagnosis = await diagnose(copy)
        const { damage, lastLsn, cutOff } = diagnosis
        if (damage === undefined) continue
        damaged++
        const place = `${name} at ${at}`
        let trusted = 0
        for await (const { firstLsn, records } of diagnosis.replay({ fromLsn: 1 })) {
          for (const [index, record] of records.entries()) {
            trusted = firstLsn + index
            if (!recordOf(trusted).every((byte, at) => byte === record[at])) t.fail(place)
          }
        }
        t.equal(trusted, lastLsn, `${place}: all that can be trusted is read`)
        const behind = await remainsOf(copy)
        const wrong = behind.filter(
          ({ firstLsn, records }) =>
            records !== undefined && !Buffer.from(records[0] ?? []).equals(recordOf(firstLsn)),
        )
        t.same(wrong, [], `${place}: what is read behind is what was written`)
        const lsns = behind.flatMap(({ firstLsn, records }) => (records ? [firstLsn] : []))
        const isInHeader = at < 512
        const missing = isInHeader ? 0 : 1
        // The byte may lie in a sync mark without records.
        const unread = 120 - lastLsn - lsns.length
        t.ok(unread >= 0 && unread <= missing, `${place}: one batch at most is not readable`)
        t.same(filesOf(copy), filesOf(intact), `${place}: nothing is changed`)
        const log = await copy.open({ acceptLoss: damage.acceptable! })
        await log.close()
        for (const { file, offset } of cutOff) {
          const cut = intact.disk.readFile(intact.path(file)).subarray(offset)
          const lost = withoutZeros(offset === 0 ? cut : withoutStamps(cut, offset))
          const kept = `quarantine/${file.slice('wal/'.length)}${offset === 0 ? '' : `.${offset}.tail`}`
          if (lost.length === 0 && offset > 0) continue
          const bytes = withoutZeros(copy.disk.readFile(copy.path(kept)))
          t.ok(bytes.equals(lost), `${place}: all of ${file} that is cut off is kept`)
        }
      }
    }
    t.ok(damaged > 50, `${damaged} damaged logs`)
  },
)

/** Gives both sectors of HEAD this sequence and matching checksums. */
function forgeHead(world: World, sequence: bigint): void {
  const head = Buffer.from(world.disk.readFile(world.path('HEAD')))
  for (const at of [0, 512]) {
    head.writeBigUInt64LE(sequence, at + 32)
    head.writeUInt32LE(crc32(head.subarray(at + 12, at + 56)), at + 8)
  }
  world.disk.writeFile(world.path('HEAD'), head)
}

t.test('an absurd sequence in HEAD does not make a diagnosis more expensive', async (t) => {
  for (const sequence of [2n ** 40n, 2n ** 60n]) {
    const world = await written()
    const [first = '', second = ''] = world.segments()
    flip(world, second, 20)
    forgeHead(world, sequence)
    const found = await remainsOf(world)
    t.ok(found.length > 0, `${sequence}: the batches behind the bad header are found`)
    t.notOk(found.some(({ file }) => file === first))
  }
})

t.test('a header with impossible values is invalid even if its checksum is right', async (t) => {
  const world = await written()
  const [name = ''] = world.segments()
  const bytes = Buffer.from(world.disk.readFile(world.path(name)))
  bytes.writeBigUInt64LE(2n ** 60n, 64)
  bytes.writeUInt32LE(crc32(bytes.subarray(12, 512)), 8)
  world.disk.writeFile(world.path(name), bytes)
  const { damage } = await diagnose(world)
  t.match(damage, { kind: 'corrupt', why: 'its header contains values that no release writes' })
})

t.test("a damaged log's checkpoint and the trusted records after it can be read", async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 5)
  await log.roll()
  await log.writeCheckpoint(5, [Buffer.from('the state'), Buffer.from('after 5')])
  await appendOneByOne(log, 5)
  await log.close()
  const newest = world.segments().at(-1) ?? ''
  const bytes = Buffer.from(world.disk.readFile(world.path(newest)))
  const second = bytes.indexOf('TNRB', 513)
  flip(world, newest, second + 70)
  const diagnosis = await diagnose(world)
  t.match(diagnosis, { damage: { firstMissingLsn: 7 }, checkpoints: [5], lastLsn: 6 })
  const chunks: string[] = []
  for await (const chunk of diagnosis.readCheckpoint(5)) chunks.push(Buffer.from(chunk).toString())
  t.same(chunks, ['the state', 'after 5'])
  const runs = []
  for await (const { firstLsn, records } of diagnosis.replay())
    runs.push([firstLsn, records.length])
  t.same(runs, [[6, 1]])
})

t.test('a log of which only a damaged HEAD is left has no log id', async (t) => {
  const world = await written()
  for (const name of world.segments()) world.disk.removeFile(world.path(name))
  for (const at of [20, 532]) flip(world, 'HEAD', at)
  const told = { logId: '', damage: { file: 'HEAD', firstMissingLsn: 1 } }
  t.match(await diagnose(world), told)
  t.match(await world.verify(), told)
})

t.test('a batch after the damage is found at any offset', async (t) => {
  const large = { segmentBytes: 8 * 1024 * 1024, appendBytesMax: 3 * 1024 * 1024 }
  // The trusted part ends at an unaligned place. The batch after it starts near the end of the
  // first read window.
  for (let before = 24; before <= 112; before += 8) {
    const world = new World()
    const log = await world.open(large)
    await log.append(1, Buffer.alloc(80, 1))
    const second = log.segments[0]!.usedBytes
    const third = nextBatchOffset(second + 1024 * 1024 - before)
    let bytes = third - second - 68
    const endWith = (count: number) => second + extentOf(second, count + 4).contentBytes
    while (nextBatchOffset(endWith(bytes)) > third) bytes--
    await log.append(2, Buffer.alloc(bytes, 2))
    await log.append(3, Buffer.alloc(100, 3))
    await log.close()
    flip(world, world.segments()[0]!, second + 20)
    const found = await remainsOf(world)
    t.same(
      found.map(({ offset, firstLsn }) => [offset, firstLsn]),
      [[third, 3]],
    )
  }
})

t.test('a batch that is longer than its file is reported without records', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 3)
  await log.close()
  const [name = ''] = world.segments()
  const bytes = Buffer.from(world.disk.readFile(world.path(name)))
  const second = bytes.indexOf('TNRB', 513)
  const third = bytes.indexOf('TNRB', second + 1)
  const place = new Place(bytes.subarray(16, 32), bytes.readUInt32LE(8))
  const header = decodeBatchHeader(bytes.subarray(third), place.crcAt(third))!
  encodeBatchHeader(bytes.subarray(third), { ...header, bodyBytes: 5000 }, place.crcAt(third))
  world.disk.writeFile(world.path(name), bytes)
  flip(world, name, second + 20)
  let readTo = 0
  const disk = withFileMethods(world.disk, (file) => ({
    read(into, position) {
      readTo = Math.max(readTo, position + into.length)
      return file.read(into, position)
    },
  }))
  const diagnosis = await diagnose({ disk })
  readTo = 0
  const found: SalvagedBatch[] = []
  for await (const remain of diagnosis.salvagedBatches()) found.push(remain)
  t.same(found, [{ file: name, offset: third, firstLsn: 3, count: 1 }])
  t.equal(readTo, bytes.length, 'nothing is asked for behind its end')
})

t.test('bytes inside a record are not taken for a batch', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 2)
  const [name = ''] = world.segments()
  const { usedBytes: end, firstLsn } = log.segments[0]!
  t.equal(firstLsn, 1)
  // An attacker that knows the place can forge a valid header of a later batch.
  const at = nextBatchOffset(end)
  const record = Buffer.alloc(400, 7)
  const forged = at + 64 + 4 + 100 + ((8 - ((at + 64 + 4 + 100) % 8)) % 8)
  const header = {
    batch: 9,
    firstLsn: 900,
    count: 1,
    bodyBytes: 8,
    bodyCrc: crc32(Buffer.from([4, 0, 0, 1, 1, 2, 3, 4])),
    chain: 0,
    epoch: 1,
    clockMs: 0,
    unsyncedBefore: 0,
    starts: 0,
  }
  const life = Buffer.from(world.disk.readFile(world.path(name))).readUInt32LE(8)
  const place = new Place(Buffer.alloc(16, 0xa5), life)
  encodeBatchHeader(record.subarray(forged - at - 68), header, place.crcAt(forged))
  await log.append(3, record)
  await log.close()
  const second = Buffer.from(world.disk.readFile(world.path(name))).indexOf('TNRB', 513)
  flip(world, name, second + 20)
  const found = await remainsOf(world)
  t.same(
    found.map((remain) => remain.firstLsn),
    [3],
  )
})
