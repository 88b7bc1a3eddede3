import { editOf, type Fault } from './fault.js'

const test = (name: string) => `packages/wal/test/${name}.test.ts`
const notLast = 'truncate removes only what the older of two good checkpoints covers'
const priced =
  'accepting a loss requires its exact place, keeps what it cuts off, and declares a gap'
const fenced =
  'a superseded writer is fenced by another epoch, another sequence, or an unreadable HEAD'
const torn = 'a torn write at the end is cut off, kept in quarantine, and never comes back'
const goesOn = 'every open starts a new epoch and a new segment, and continues with the next LSN'
const mark = 'after 100 ms without an append, exactly one sync mark proves the last batch'
const urgent = 'less urgent records are rejected first, and space for urgent ones is kept'

const opening = editOf('wal', 'recover/prepare-log')
const writer = editOf('wal', 'write/writer')
const tail = editOf('wal', 'write/tail')
const batches = editOf('wal', 'write/batch-queue')
const log = editOf('wal', 'log')
const head = editOf('wal', 'format/head')
const budget = editOf('wal', 'write/space-budget')
const scanner = editOf('wal', 'scan/scanner')
const checkpoint = editOf('wal', 'checkpoint/checkpoint')
const gap = editOf('wal', 'recover/declared-gap')
const spares = editOf('wal', 'disk/spare-descriptors')

/** Opening a log. */
const openingFaults: readonly Fault[] = [
  {
    name: 'an open starts no new epoch',
    test: [test('open'), goesOn],
    edits: opening('examination.highestEpoch + 1', 'Math.max(1, examination.highestEpoch)'),
  },
  {
    name: 'an open skips an LSN',
    test: [test('open'), goesOn],
    edits: opening(': end.lastLsn + 1,', ': end.lastLsn + 2,'),
  },
  {
    name: 'a torn write is not kept in quarantine',
    test: [test('open'), torn],
    edits: opening('const isCut = examination.torn !== undefined ||', 'const isCut ='),
  },
  {
    name: 'an open forgets the latest time in the log',
    test: [test('open'), 'a log that was opened with a clock ahead keeps that time'],
    edits: opening('Math.max(nowMs, examination.latestClockMs)', 'nowMs'),
  },
  {
    name: 'records missing after the older checkpoint are not reported as damage',
    test: [
      test('sealed-history'),
      'a segment after the older checkpoint that is gone is damage in history',
    ],
    edits: editOf('wal', 'recover/lineage')('if (firstMissingLsn > lastMissingLsn)', 'if (true)'),
  },
  {
    name: 'an unmarked open counts as a start',
    test: [test('format'), 'an open counts as started only after it was marked'],
    edits: tail('this.#starts = header.starts;', 'this.#starts = header.starts + 1;'),
  },
  {
    name: 'a start counts each time it is marked',
    test: [test('format'), 'an open counts as started only after it was marked'],
    edits: writer('this.#started ??= this.#writeStart();', 'this.#started = this.#writeStart();'),
  },
  {
    name: 'an open relies on data that was only in memory',
    test: [
      ...([test('open')] as const),
      'data that was only in memory and is lost during the open does not become part of the log',
    ],
    edits: opening('if (end.offset === found.offset && end.chain === found.chain)', 'if (true)'),
  },
  {
    name: 'an overtaken open continues',
    test: [
      test('open'),
      'without the lock, an open is fenced if another process opens the log meanwhile',
    ],
    edits: opening('await headFile.refuseIfChanged(examination.head);', ''),
  },
  {
    name: 'a superseded writer starts another segment',
    test: [test('open'), 'without the lock, a superseded writer is fenced at its next roll'],
    edits: writer('await this.#headFile.refuseIfSuperseded(sealed.header);', ''),
  },
  {
    name: 'a HEAD of another epoch counts as one of this writer',
    test: [test('open'), fenced],
    edits: head('head.epoch === epoch &&', ''),
  },
  {
    name: 'a HEAD of another sequence counts as one of this writer',
    test: [test('open'), fenced],
    edits: head('&& head.sequence === sequence', ''),
  },
  {
    name: 'a HEAD of a newer format counts as damaged',
    test: [
      test('open'),
      'a log of a newer format is rejected with WAL_NEWER_FORMAT, not as damaged',
    ],
    edits: head('if (version > formatVersion)', 'if (false)'),
  },
  {
    name: 'a lock held by another process is ignored',
    test: [test('open'), 'the error for a second process names the holder of the lock'],
    edits: editOf('wal', 'recover/directory-lock')('if (attempt.granted)', 'if (true)'),
  },
  {
    name: 'a loss is accepted under any place',
    test: [test('damage'), priced],
    edits: opening(
      'acceptable?.segment === acceptLoss.segment && acceptable.offset === acceptLoss.offset',
      'true',
    ),
  },
  {
    name: 'a loss is accepted without a request',
    test: [
      test('damage'),
      'damage names the file, the offset, the LSNs, and that they were acknowledged',
    ],
    edits: opening(
      'if (acceptLoss === undefined)\n        throw',
      'if (acceptLoss === undefined)\n        return;\n    if (false)\n        throw',
    ),
  },
  {
    name: 'an accepted loss declares no gap',
    test: [test('damage'), priced],
    edits: opening(
      'const isGap = damage !== undefined || restored !== undefined',
      'const isGap = restored !== undefined',
    ),
  },
  {
    name: 'a loss is accepted in an intact log',
    test: [test('open'), 'acceptLoss on an undamaged log is rejected'],
    edits: opening('if (isAcceptedAlready)', 'if (true)'),
  },
  {
    name: 'a restored log continues at an LSN that it already has',
    test: [
      test('open'),
      'a restored copy continues after a declared gap, so that no LSN is issued twice',
    ],
    edits: opening('asked <= highestLsn', 'false'),
  },
]

/** Writing and reading a log, and removing parts of it. */
const writingFaults: readonly Fault[] = [
  {
    name: 'an append settles before it is written',
    test: [test('append'), 'an append resolves only when its record is durable'],
    edits: writer('this.#batches.sent();', 'this.#batches.sent(); batch.resolve(batch.lastLsn);'),
  },
  {
    name: 'an append is accepted under a different LSN',
    test: [
      ...([test('append')] as const),
      'an append with an unexpected LSN is rejected before anything is written',
    ],
    edits: writer('firstLsn !== this.#nextLsn ||', ''),
  },
  {
    name: 'the last batch is never proved',
    test: [test('append'), mark],
    edits: writer('this.#watch(this.#writeMark());', ';'),
  },
  {
    name: 'a sync mark follows another one',
    test: [test('append'), mark],
    edits: writer('this.#isMarked = batch.count === 0;', 'this.#isMarked = false;'),
  },
  {
    name: 'a sync mark does not wait for the last append',
    test: [test('append'), 'a sync mark waits for 100 ms after the last append, not the first'],
    edits: writer('if (idleMs < syncMarkDelayMs)', 'if (false)'),
  },
  {
    name: 'the clock in the log goes backwards',
    test: [test('append'), "the log's clock never goes back"],
    edits: tail('Math.max(this.#clockMs, this.#clock.now())', 'this.#clock.now()'),
  },
  {
    name: 'appends after a failed write are not rejected',
    test: [
      ...([test('append')] as const),
      'a failed write stops the log: pending appends are rejected, and nothing is written or retried',
    ],
    edits: batches(
      'this.#inFlight?.reject(error);\n        this.rejectWaiting(error);',
      'this.#inFlight?.reject(error);',
    ),
  },
  {
    name: 'no space is reserved for urgent records',
    test: [test('space'), urgent],
    edits: budget('low: 1 / 2', 'low: 0'),
  },
  {
    name: 'reports may not use the reserved space',
    test: [test('space'), urgent],
    edits: budget('high: 0', 'high: 1 / 8'),
  },
  {
    name: 'a new segment takes records before the disk has reserved its space',
    test: [
      ...([test('space')] as const),
      'space for urgent records is kept, however late the disk reports that it is full',
    ],
    edits: writer(
      'await Promise.all([file.close(), this.#prepareNext()]);',
      'void this.#prepareNext();\nawait file.close();',
    ),
  },
  {
    name: 'reserved space is reserved twice',
    test: [test('space'), 'a claim keeps its space until it is used or released'],
    edits: budget('this.#usage.usedBytes() + this.#claimedBytes', 'this.#usage.usedBytes()'),
  },
  {
    name: 'a released claim keeps its space',
    test: [test('space'), 'a claim keeps its space until it is used or released'],
    edits: budget('this.#claimedBytes -= largestExtent(claim.bytes);', ''),
  },
  {
    name: 'a single checkpoint lets covered segments be removed',
    test: [test('checkpoint'), 'with a single checkpoint nothing is removed'],
    edits: log(
      'const [newest = 0, older] = good;',
      'const [newest = 0, older = newest || undefined] = good;',
    ),
  },
  {
    name: 'segments are removed up to the newest checkpoint',
    test: [test('checkpoint'), notLast],
    edits: log('Math.min(older, (keepFromLsn', 'Math.min(newest, (keepFromLsn'),
  },
  {
    name: 'the caller cannot keep covered segments',
    test: [test('checkpoint'), 'truncate keeps the records from keepFromLsn on'],
    edits: log('(keepFromLsn ?? Number.POSITIVE_INFINITY)', 'Number.POSITIVE_INFINITY'),
  },
  {
    name: 'the first record to keep is removed',
    test: [test('checkpoint'), 'keepFromLsn is exact to the record'],
    edits: log(
      '(keepFromLsn ?? Number.POSITIVE_INFINITY) - 1',
      '(keepFromLsn ?? Number.POSITIVE_INFINITY)',
    ),
  },
  {
    name: 'a checkpoint is made in the middle of a segment',
    test: [test('checkpoint'), 'a checkpoint is accepted only at the end of a sealed segment'],
    edits: log('({ end }) => end.lastLsn === lsn', '({ end }) => end.lastLsn >= lsn'),
  },
  {
    name: 'bytes after the end of a checkpoint are accepted',
    test: [
      test('checkpoint'),
      'a checkpoint with bytes after its end, or under another name, is not used',
    ],
    edits: checkpoint('if (alignUp(scanner.end.offset, sectorBytes) !== fileBytes)', 'if (false)'),
  },
  {
    name: 'a checkpoint under a wrong name is accepted',
    test: [
      test('checkpoint'),
      'a checkpoint with bytes after its end, or under another name, is not used',
    ],
    edits: checkpoint('if (header.previous.lastLsn === lsn)', 'if (true)'),
  },
  {
    name: 'a checkpoint of another log counts',
    test: [test('checkpoint'), 'truncate ignores checkpoints of another log'],
    edits: editOf('wal', 'checkpoint/checkpoints')(
      'refuseForeignCheckpoint(await verifyCheckpoint(disk, layout.checkpoint(lsn), lsn), segments);',
      'await verifyCheckpoint(disk, layout.checkpoint(lsn), lsn);',
    ),
  },
  {
    name: 'the checksum of a body is not checked',
    test: [
      test('damage'),
      'damage to the last batch is ambiguous until a sync mark proves that it was acknowledged',
    ],
    edits: scanner(
      'if (crc32(written.subarray(batchHeaderBytes, contentBytes)) !== header.bodyCrc)',
      'if (false)',
    ),
  },
  {
    name: 'the chain between batches is not checked',
    test: [
      ...([test('damage')] as const),
      'a batch with a valid checksum at the right place is rejected if it does not continue the previous one',
    ],
    edits: scanner('if (why !== undefined)', 'if (false)'),
  },
]

/** The LSN at which a log continues when unknown LSNs may have been issued. */
const gapFaults: readonly Fault[] = [
  {
    name: 'a clock behind the log decides the next LSN',
    test: [
      test('restore'),
      'a restore rejects a clock that is before the newest time in the backup',
    ],
    edits: gap('if (nowMs < latestClockMs)', 'if (false)'),
  },
  {
    name: 'a clock before 2026 decides the next LSN',
    test: [test('restore'), 'a restore rejects a clock before 2026'],
    edits: gap('if (firstLsn > highestLsn)', 'if (firstLsn < 0 || firstLsn > highestLsn)'),
  },
  {
    name: 'the clock decides the next LSN of a log that is ahead of it',
    test: [
      test('restore'),
      'a log whose LSNs are ahead of the clock is restored only with nextLsn',
    ],
    edits: gap('if (firstLsn > highestLsn)', 'if (firstLsn > 0)'),
  },
  {
    name: 'a clock past the time of the last LSN decides the next LSN',
    test: [test('restore'), 'a restore rejects a clock past the last possible LSN'],
    edits: gap('if (firstLsn > lsnMax)', 'if (false)'),
  },
]

/** Spare descriptors of a log. */
const descriptorFaults: readonly Fault[] = [
  {
    name: 'a log keeps no spare descriptors',
    test: [test('roll'), 'a log continues over several segments without free descriptors'],
    edits: spares('sparesMax = 8', 'sparesMax = 0'),
  },
  {
    name: 'a spare descriptor that was used is not replaced',
    test: [test('roll'), 'a log continues over several segments without free descriptors'],
    edits: spares(
      'closeSync(fd);\n        this.#fill();\n        return true;',
      'closeSync(fd);\n        return true;',
    ),
  },
  {
    name: 'spare descriptors stay open after their log',
    test: [test('roll'), 'close frees the spare descriptors'],
    edits: spares('this.#spares.splice(0)', '[]'),
  },
]

export const logFaults: readonly Fault[] = [
  ...openingFaults,
  ...writingFaults,
  ...gapFaults,
  ...descriptorFaults,
]
