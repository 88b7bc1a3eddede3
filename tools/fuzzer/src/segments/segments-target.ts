import { holds } from '@tenure/harness'
import { SimulatedClock, SimulatedDisk } from '@tenure/testing'
import {
  backupLog,
  diagnoseLog,
  type Log,
  type LogOptions,
  openLog,
  openReadOnly,
  type Verification,
  verifyLog,
  WalDamageError,
  WalError,
} from '@tenure/wal'
import type { Input, Step } from '../input/input.js'
import { mutateOneOf, mutateSteps } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { codeOf } from '../input/violation.js'
import { type BaseLog, directory, logOptions, makeBaseLogs, recordOf } from './base-log.js'
import { anyHarm, type HarmedDisk, harm } from './harm.js'
import { checkPrefix, type Reading, readAll } from './witness.js'

/** The functions that open a log and those that only read one. */
export interface SegmentsParts {
  readonly openLog: typeof openLog
  readonly openReadOnly: typeof openReadOnly
  readonly verifyLog: typeof verifyLog
  readonly diagnoseLog: typeof diagnoseLog
  readonly backupLog: typeof backupLog
}

const shipped: SegmentsParts = { openLog, openReadOnly, verifyLog, diagnoseLog, backupLog }

/** Damaged files of a log; a `log` step chooses the log. */
export function segmentsTarget(parts: Partial<SegmentsParts> = {}): Target {
  const used = { ...shipped, ...parts }
  let bases: readonly BaseLog[] | undefined
  const baseOf = (list: readonly BaseLog[], { at = 0 }: Step) => list[at % list.length]!
  return {
    name: 'segments',
    generate(random) {
      // The logs are created by the first run; before it, only their number is known.
      return [{ kind: 'log', at: random.integer(60) }]
    },
    mutate(random, input, other) {
      const steps = input.filter(({ kind }) => kind !== 'log')
      const log = logOf(input)
      const base = bases === undefined ? undefined : baseOf(bases, log)
      if (base === undefined || (steps.length > 0 && random.chance(0.3))) {
        // A complete file of another log in place of the only one is a valid log; no reader could
        // tell.
        const isKin = bases !== undefined && baseOf(bases, logOf(other)) === base
        const kin = isKin ? other : input
        const changed = steps.length === 0 ? kin : changeSteps(random, steps, kin)
        return [log, ...changed.filter(({ kind }) => kind !== 'log')]
      }
      return [log, ...steps, ...anyHarm(random, base.disk)]
    },
    async run(input) {
      bases ??= await makeBaseLogs()
      return tryLog(used, baseOf(bases, logOf(input)), input)
    },
  }
}

function logOf(input: Input): Step {
  return input.find(({ kind }) => kind === 'log') ?? { kind: 'log', at: 0 }
}

function changeSteps(random: Parameters<Target['mutate']>[0], steps: Input, other: Input): Input {
  return random.chance(0.5) ? mutateSteps(random, steps, other) : mutateOneOf(random, steps, other)
}

async function tryLog(parts: SegmentsParts, base: BaseLog, input: Input): Promise<string> {
  const harmed = harm(base, input)
  const { disk, isForged } = harmed
  const before = contentOf(disk)
  const report = await resultOrCode(() => parts.verifyLog(directory, { disk }))
  await checkReader(parts, base, harmed)
  await checkDiagnosis(parts, base, harmed, report)
  await checkBackup(parts, base, harmed)
  holds(contentOf(disk) === before, 'readers change nothing', () => base.name)
  const { copyOf } = base
  const opened = await tryToOpen(parts, disk, { copyOf })
  if (!(opened instanceof Refusal)) {
    holds(
      isForged || typeof report === 'string' || report.damage === undefined,
      'a damaged log does not open',
      () => JSON.stringify(report),
    )
    await checkOpened(parts, base, harmed, opened)
    return `${base.name}: opens ${opened.recovery.tornTail === undefined ? '' : 'torn'} ${opened.recovery.badCheckpoints.length}`
  }
  const { acceptable, code } = opened
  holds(
    isForged || code === report || (typeof report !== 'string' && report.damage !== undefined),
    'an intact log opens',
    () => `${code}: ${opened.message}`,
  )
  // A copy gets lost records from the shared log again.
  if (acceptable === undefined || copyOf !== undefined) return `${base.name}: ${code}`
  await checkAccepted(parts, base, harmed, acceptable)
  return `${base.name}: ${code} ${shape(opened.message)}`
}

/** A reader returns all that it can, and fails with a typed error where it has to stop. */
async function checkReader(
  parts: SegmentsParts,
  base: BaseLog,
  { disk, isForged }: HarmedDisk,
): Promise<void> {
  const { clock } = logOptions(disk)
  const reader = await resultOrCode(() => {
    return parts.openReadOnly(directory, { disk, clock: withoutWaits(clock) })
  })
  if (typeof reader === 'string') return
  for (const lsn of reader.checkpoints) await resultOrCode(() => drain(reader.readCheckpoint(lsn)))
  const records = new Map<number, Uint8Array>()
  await resultOrCode(() => readAll(reader, records))
  if (!isForged) checkPrefix(base, { records, gaps: reader.gaps }, 'a reader')
}

async function checkDiagnosis(
  parts: SegmentsParts,
  base: BaseLog,
  { disk, isForged }: HarmedDisk,
  report: Verification | string,
): Promise<void> {
  const diagnosis = await resultOrCode(() => parts.diagnoseLog(directory, { disk }))
  if (typeof diagnosis === 'string' || typeof report === 'string') {
    holds(
      isForged || diagnosis === report,
      'all readers agree',
      () => `verify: ${JSON.stringify(report)}; diagnose: ${JSON.stringify(diagnosis)}`,
    )
    return
  }
  holds(
    isForged || (diagnosis.damage === undefined) === (report.damage === undefined),
    'all readers agree',
    () => `verify: ${JSON.stringify(report.damage)}; diagnose: ${JSON.stringify(diagnosis.damage)}`,
  )
  const remains = await resultOrCode(async () => {
    const found: [lsn: number, record: Uint8Array][] = []
    for await (const { firstLsn, records = [] } of diagnosis.salvagedBatches()) {
      for (const [index, record] of records.entries())
        found.push([firstLsn + index, record.slice()])
    }
    return found
  })
  if (isForged || typeof remains === 'string') return
  for (const [lsn, record] of remains) {
    const written = base.records.get(lsn) ?? base.removed.get(lsn)
    const isRight = written !== undefined && Buffer.compare(written, record) === 0
    holds(isRight, 'records read as they were written', () => `after the damage: LSN ${lsn}`)
  }
}

/** A backup is complete or absent. */
async function checkBackup(
  parts: SegmentsParts,
  base: BaseLog,
  { disk, isForged }: HarmedDisk,
): Promise<void> {
  const copied = SimulatedDisk.from(disk.snapshot(), { recordCalls: false })
  const { clock } = logOptions(copied)
  const destination = '/backups/one'
  const options = { disk: copied, clock: withoutWaits(clock) }
  const backup = await resultOrCode(() => parts.backupLog(directory, destination, options))
  const left = copied.files().filter((path) => path.startsWith('/backups/'))
  if (typeof backup === 'string') {
    holds(left.length === 0, 'a backup is complete or absent', () => `${backup}: ${left}`)
    return
  }
  const report = await parts.verifyLog(destination, { disk: copied })
  holds(
    report.damage === undefined && report.lastLsn === backup.lastLsn,
    'a backup is complete or absent',
    () => JSON.stringify(report),
  )
  if (isForged) return
  const reader = await parts.openReadOnly(destination, {
    disk: copied,
    clock: withoutWaits(clock),
  })
  checkPrefix(base, await readAll(reader), 'a copy')
}

/** An opened log is intact, accepts records, and is intact when it is opened again. */
async function checkOpened(
  parts: SegmentsParts,
  base: BaseLog,
  { disk, isForged }: HarmedDisk,
  log: Log,
): Promise<void> {
  if (isForged) {
    await resultOrCode(() => readAll(log))
    await log.close()
    return
  }
  const reading = await readOpened(log)
  checkPrefix(base, reading, 'an open log')
  checkLoss(base, disk, log, reading)
  const added = [recordOf(1), recordOf(5)]
  const { nextLsn } = log
  await log.append(nextLsn, added)
  await log.close()
  const again = await parts.openLog(directory, { ...logOptions(disk), copyOf: base.copyOf })
  const reread = await readOpened(again)
  await again.close()
  const expected = new Map(reading.records).set(nextLsn, added[0]!).set(nextLsn + 1, added[1]!)
  holds(
    isEqual(reread.records, expected),
    'an opened log continues at its next LSN',
    () =>
      `it had LSNs ${[...reading.records.keys()]}, then appended ${nextLsn} and the next; now it has ${[...reread.records.keys()]}`,
  )
  const report = await parts.verifyLog(directory, { disk })
  holds(report.damage === undefined, 'an opened log is intact', () => JSON.stringify(report.damage))
}

/**
 * Reads from the first record; if that one is bad and a checkpoint covers it, from the checkpoint.
 */
async function readOpened(log: Log): Promise<Reading> {
  const whole = await resultOrCode(() => readAll(log))
  if (typeof whole !== 'string') return whole
  const firstLsn = Math.max(log.firstLsn, log.checkpointLsn + 1)
  const { gaps } = log
  return readAll({ firstLsn, gaps, replay: (options) => log.replay(options) })
}

/** Records at the end that are lost silently have left no trace on the disk. */
function checkLoss(base: BaseLog, disk: SimulatedDisk, log: Log, { records }: Reading): void {
  if (log.recovery.tornTail !== undefined) return
  const last = Math.max(0, ...records.keys())
  const left = lastContent(disk)
  for (const [lsn, record] of base.records) {
    const isDeclared = log.gaps.some(({ firstLsn, lastLsn }) => firstLsn <= lsn && lsn <= lastLsn)
    const isKept = lsn <= Math.max(last, log.checkpointLsn)
    if (isKept || isDeclared || record.every((byte) => byte === 0)) continue
    holds(
      !left.includes(Buffer.from(record)),
      'no record on the disk is lost silently',
      () => `LSN ${lsn}`,
    )
  }
}

/** Content of the newest segment from before the log was opened. */
function lastContent(disk: SimulatedDisk): Buffer {
  const paths = disk.files().filter((path) => path.endsWith('.wal'))
  const path = paths.at(-2)
  return path === undefined ? Buffer.alloc(0) : Buffer.from(disk.readFile(path))
}

/** A loss that can be accepted is accepted once it is named, and the log continues. */
async function checkAccepted(
  parts: SegmentsParts,
  base: BaseLog,
  harmed: HarmedDisk,
  acceptLoss: NonNullable<Refusal['acceptable']>,
): Promise<void> {
  // Later than the log was written, so that new records can be told apart.
  const clock = new SimulatedClock({ startMs: Date.UTC(2026, 6, 1) })
  const opened = await tryToOpen(parts, harmed.disk, { acceptLoss, clock })
  if (opened instanceof Refusal) {
    holds(harmed.isForged, 'an acceptable loss can be accepted', () => opened.message)
    return
  }
  await checkOpened(parts, base, harmed, opened)
}

class Refusal {
  readonly code: string
  readonly message: string
  readonly acceptable: WalDamageError['damage']['acceptable']

  constructor(error: unknown) {
    this.code = codeOf(error, isWalError)
    this.message = (error as WalError).message
    this.acceptable = error instanceof WalDamageError ? error.damage.acceptable : undefined
  }
}

async function tryToOpen(
  { openLog }: SegmentsParts,
  disk: SimulatedDisk,
  options: LogOptions,
): Promise<Log | Refusal> {
  try {
    return await openLog(directory, { ...logOptions(disk), ...options })
  } catch (error) {
    return new Refusal(error)
  }
}

/** The result, or the code of the error. */
async function resultOrCode<T>(act: () => Promise<T>): Promise<T | string> {
  try {
    return await act()
  } catch (error) {
    return codeOf(error, isWalError)
  }
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}

function isWalError(error: Error): boolean {
  return error instanceof WalError
}

function isEqual(one: Reading['records'], other: Reading['records']): boolean {
  if (one.size !== other.size) return false
  return [...one].every(([lsn, record]) => {
    const its = other.get(lsn)
    return its !== undefined && Buffer.compare(its, record) === 0
  })
}

function contentOf(disk: SimulatedDisk): string {
  return disk
    .files()
    .map((path) => `${path} ${Buffer.from(disk.readFile(path)).toString('latin1')}`)
    .join('\n')
}

/** A clock on which every wait ends immediately. */
function withoutWaits(clock: NonNullable<LogOptions['clock']>): NonNullable<LogOptions['clock']> {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    soon: (callback) => clock.soon(callback),
    setTimer(_delayMs, callback) {
      clock.soon(callback)
      return { cancel() {} }
    },
  }
}

function shape(message: string): string {
  return message.replaceAll(/\d+/g, '#').slice(0, 120)
}
