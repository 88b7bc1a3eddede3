import { recover } from '@tenure/coordinator-server/internal'
import { holds } from '@tenure/harness'
import { HistoryError, verifyHistory } from '@tenure/history'
import {
  checkInvariants,
  encodeState,
  hashState,
  StateDecoder,
  StateMachineError,
} from '@tenure/state-machine'
import type { Random, SimulatedDisk } from '@tenure/testing'
import { type LogReader, openLog, openReadOnly, verifyLog, WalError } from '@tenure/wal'
import type { Input, Step } from '../input/input.js'
import { mutateBytes, mutateOneOf, mutateSteps } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { codeOf } from '../input/violation.js'
import { anyHarm, harm } from '../segments/harm.js'
import {
  type BaseHistory,
  checkpointPath,
  directory,
  logOptions,
  makeBaseHistories,
} from './base-history.js'

/** The code that reads a checkpoint and the code that recovers from it. */
export interface CheckpointsParts {
  readonly openLog: typeof openLog
  readonly verifyLog: typeof verifyLog
  readonly recover: typeof recover
  readonly verifyHistory: typeof verifyHistory
  readonly openDecoder: () => StateDecoder
}

const shipped: CheckpointsParts = {
  openLog,
  verifyLog,
  recover,
  verifyHistory,
  openDecoder: () => new StateDecoder(),
}

/**
 * Damaged checkpoint files, and states (`state` steps, the chunks of one) that no encoder wrote. A
 * `history` step chooses the log.
 */
export function checkpointsTarget(parts: Partial<CheckpointsParts> = {}): Target {
  const used = { ...shipped, ...parts }
  let bases: readonly BaseHistory[] | undefined
  const baseOf = (list: readonly BaseHistory[], input: Input) => {
    const { at = 0 } = input.find(({ kind }) => kind === 'history') ?? {}
    return list[at % list.length]!
  }
  return {
    name: 'checkpoints',
    generate: (random) => [{ kind: 'history', at: random.integer(60) }],
    mutate(random, input, other) {
      if (bases === undefined) return input
      const base = baseOf(bases, input)
      const [first = { kind: 'history', at: 0 }, ...steps] = input
      if (steps.some(({ kind }) => kind === 'state')) {
        return [first, ...changeState(random, steps, other)]
      }
      if (steps.length === 0 && random.chance(0.6)) {
        const [, bytes] = random.pick([...base.states])
        return [first, ...changeState(random, chunksOf(random, bytes), other)]
      }
      if (steps.length > 0 && random.chance(0.2)) {
        return [first, ...mutateSteps(random, steps, other.filter(isHarm))]
      }
      return [first, ...steps, ...anyHarm(random, base.disk, isCheckpoint)]
    },
    async run(input) {
      bases ??= await makeBaseHistories()
      const base = baseOf(bases, input)
      const chunks = input.flatMap(({ kind, bytes }) => (kind === 'state' ? [bytes!] : []))
      if (chunks.length > 0) return tryState(used, base, chunks)
      return tryFiles(used, base, input.filter(isHarm))
    },
  }
}

function isCheckpoint(path: string): boolean {
  return path.includes('/checkpoint/')
}

function isHarm({ kind }: Step): boolean {
  return kind !== 'history' && kind !== 'state'
}

function chunksOf(random: Random, bytes: Uint8Array): Step[] {
  if (random.chance(0.5)) return [{ kind: 'state', bytes }]
  const at = random.integer(bytes.length)
  return [
    { kind: 'state', bytes: bytes.subarray(0, at) },
    { kind: 'state', bytes: bytes.subarray(at) },
  ]
}

function changeState(random: Random, steps: Input, other: Input): Input {
  const states = other.filter(({ kind }) => kind === 'state')
  if (random.chance(0.1)) return mutateSteps(random, steps, states)
  if (random.chance(0.5)) return mutateOneOf(random, steps, states)
  // Any offset: a state has structure up to its end.
  const at = random.integer(steps.length)
  const { bytes = new Uint8Array() } = steps[at]!
  if (bytes.length === 0) return steps
  const from = random.integer(bytes.length)
  const changed = mutateBytes(random, bytes.subarray(from, from + 16))
  const whole = Buffer.concat([bytes.subarray(0, from), changed, bytes.subarray(from + 16)])
  return steps.with(at, { kind: 'state', bytes: whole })
}

/** An accepted state encodes to the same bytes. */
async function tryState(
  parts: CheckpointsParts,
  base: BaseHistory,
  chunks: readonly Uint8Array[],
): Promise<string> {
  const found = decode(parts, chunks)
  if (typeof found === 'string') return found
  const encoded = [...encodeState(found.state)]
  holds(
    Buffer.compare(Buffer.concat(encoded), Buffer.concat(chunks)) === 0,
    'a state has one encoding',
    () => 'it does not encode to the same bytes',
  )
  const verdict = found.fault ?? 'sound'
  return `state ${verdict} ${await tryRecovery(parts, base, chunks)}`
}

function decode(parts: CheckpointsParts, chunks: readonly Uint8Array[]) {
  const decoder = parts.openDecoder()
  try {
    for (const chunk of chunks) decoder.add(chunk)
    const state = decoder.finish()
    return { state, fault: faultOf(() => checkInvariants(state)) }
  } catch (error) {
    const code = codeOf(error, isStateError)
    return `${code} ${(error as Error).message.replaceAll(/\d+/g, '#').slice(0, 90)}`
  }
}

function faultOf(act: () => void): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return `${codeOf(error, isStateError)} ${(error as Error).message.replaceAll(/\d+/g, '#').slice(0, 90)}`
  }
}

/**
 * Puts a decodable state into an intact file in place of the newest checkpoint, as a faulty writer
 * would. Recovery must continue from it or fail with a typed error, and verifying the log must find
 * that it differs from the records.
 */
async function tryRecovery(
  { openLog, recover, verifyHistory }: CheckpointsParts,
  base: BaseHistory,
  chunks: readonly Uint8Array[],
): Promise<string> {
  const { disk } = harm({ disk: base.disk, earlier: [] }, [])
  const lsn = base.checkpointLsns.at(-1)!
  const log = await openLog(directory, logOptions(disk))
  disk.removeFile(checkpointPath(lsn))
  await log.writeCheckpoint(lsn, chunks)
  const outcome = await recover(log).then(
    (state) => (hashState(state) === base.hash ? 'the same' : 'another state'),
    (error: unknown) => codeOf(error, isTyped),
  )
  await log.close()
  const { checkpoints } = await verifyHistory(await openReader(disk))
  const verdicts = new Map(checkpoints.map(({ lsn, verdict }) => [lsn, verdict]))
  for (const lsn of base.checkpointLsns) {
    holds(verdicts.has(lsn), 'verifyHistory reports every checkpoint', () => `LSN ${lsn}`)
  }
  const isSame = Buffer.compare(Buffer.concat(chunks), base.states.get(lsn)!) === 0
  const verdict = verdicts.get(lsn)
  // Without the beginning of the log, the older checkpoint is the base, and the newer one is
  // compared with it.
  holds(
    (verdict === 'equal') === isSame,
    'verifyHistory finds a checkpoint that differs from its records',
    () => `${verdict}; the state is ${isSame ? 'the same' : 'different'}`,
  )
  return `${outcome} ${verdict}`
}

/**
 * Damaged files are reported. The remaining ones suffice for recovery, or the log does not open.
 */
async function tryFiles(parts: CheckpointsParts, base: BaseHistory, steps: Input): Promise<string> {
  const { disk, isForged } = harm({ disk: base.disk, earlier: [] }, steps)
  const sound = base.checkpointLsns.filter((lsn) => isUntouched(base, disk, lsn))
  const report = await parts.verifyLog(directory, { disk }).catch((error: unknown) => {
    return codeOf(error, isTyped)
  })
  if (typeof report === 'string') {
    holds(isForged, 'a damaged checkpoint is reported', () => report)
    return `files: ${report}`
  }
  if (!isForged) await checkReport(base, disk, sound, report)
  let log: Awaited<ReturnType<typeof openLog>>
  try {
    log = await parts.openLog(directory, logOptions(disk))
  } catch (error) {
    const code = codeOf(error, isTyped)
    const isEnough = sound.length > 0 || !base.isTruncated
    holds(isForged || !isEnough, 'a bad checkpoint does not stop a log from opening', () =>
      String(error),
    )
    return `files ${code}`
  }
  const outcome = await parts
    .recover(log)
    .then(hashState, (error: unknown) => codeOf(error, isTyped))
  const { checkpointLsn } = log
  const bad = log.recovery.badCheckpoints.length
  await log.close()
  holds(
    isForged || outcome === base.hash,
    'the state matches the records',
    () => `recovered from LSN ${checkpointLsn}: ${outcome}`,
  )
  return `files: continues from ${base.checkpointLsns.indexOf(checkpointLsn)}, ${bad} bad, ${report.goodCheckpoints.length} good`
}

/** A checkpoint file is either reported as bad or has its original content. */
async function checkReport(
  base: BaseHistory,
  disk: SimulatedDisk,
  sound: readonly number[],
  { goodCheckpoints, badCheckpoints }: Awaited<ReturnType<typeof verifyLog>>,
): Promise<void> {
  const bad = badCheckpoints.map(({ lsn }) => lsn)
  for (const lsn of sound) {
    holds(
      goodCheckpoints.includes(lsn),
      'an intact checkpoint is reported as good',
      () => `LSN ${lsn}`,
    )
  }
  for (const lsn of goodCheckpoints) {
    holds(
      base.checkpointLsns.includes(lsn),
      'every reported checkpoint was written',
      () => `LSN ${lsn}`,
    )
    const held = await lookInto(base, disk, lsn)
    holds(
      held === 'the same',
      'a good checkpoint has its original content',
      () => `LSN ${lsn}: ${held}`,
    )
  }
  for (const lsn of base.checkpointLsns) {
    const isThere = disk.files().includes(checkpointPath(lsn))
    const isTold = goodCheckpoints.includes(lsn) || bad.includes(lsn)
    holds(isThere === isTold, 'every checkpoint is reported', () => `LSN ${lsn}`)
  }
}

/** Whether a reader gets the original state, or the code of the error that prevents it. */
async function lookInto(base: BaseHistory, disk: SimulatedDisk, lsn: number): Promise<string> {
  const chunks: Uint8Array[] = []
  try {
    const reader = await openReader(disk)
    for await (const chunk of reader.readCheckpoint(lsn)) chunks.push(Uint8Array.from(chunk))
  } catch (error) {
    return codeOf(error, isTyped)
  }
  return base.states.get(lsn)!.equals(Buffer.concat(chunks)) ? 'the same' : 'something else'
}

function openReader(disk: SimulatedDisk): Promise<LogReader> {
  const { clock } = logOptions(disk)
  return openReadOnly(directory, { disk, clock: clock! })
}

function isUntouched({ disk: before }: BaseHistory, disk: SimulatedDisk, lsn: number): boolean {
  const path = checkpointPath(lsn)
  if (!disk.files().includes(path)) return false
  return Buffer.compare(disk.readFile(path), before.readFile(path)) === 0
}

function isTyped(error: Error): boolean {
  return error instanceof WalError || isStateError(error) || error instanceof HistoryError
}

function isStateError(error: Error): boolean {
  return error instanceof StateMachineError
}
