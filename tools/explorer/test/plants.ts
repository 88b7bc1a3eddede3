import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import {
  type CoordinatorParts,
  type recover as Recover,
  recover,
} from '@tenure/coordinator-server/internal'
import { decodeRecord, encodeRecord } from '@tenure/state-machine'
import { type ExploredCoordinator, type Subject, shipped } from '../src/machine/subject.js'
import { logOf } from '../src/states/durable-state.js'

/** A fault, as a change of one line of the built code. */
export interface Plant {
  readonly name: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** The rule that it breaks. */
  readonly rule: RegExp
  /** For faults that only show with two concurrent requests, or with a waiting one. */
  readonly requestsInFlight?: number
  readonly pollMs?: number
  readonly mayFill?: boolean
}

export const plants: readonly Plant[] = [
  {
    name: 'an answer that does not wait for the disk',
    file: 'core/commits.js',
    from: 'this.#inFlight.push({ lsn, bytes, taskId, requestId, reply })',
    to: 'this.#inFlight.push({ lsn, bytes, taskId, requestId }), reply?.to.answer(reply.answer(this.#state))',
    rule: /^nothing is answered before its record is durable$/,
  },
  {
    name: 'an expired lease that is treated as valid',
    file: 'decide/lease-judgement.js',
    from: 'return now < standing.leaseExpiry',
    to: 'return now <= standing.leaseExpiry',
    rule: /^every record follows from a request or from time$/,
  },
  {
    name: 'a stale lease that is treated as the current one',
    file: 'decide/lease-judgement.js',
    from: "case 'EXPIRED': {",
    to: "case 'EXPIRED': { return { kind: 'valid', standing };",
    rule: /^every record follows from a request or from time$/,
  },
  {
    name: 'a heartbeat that resurrects an expired lease',
    file: 'decide/lease-manager.js',
    from: 'judgeLease(context, request, caller)',
    to: 'judgeLease({ ...context, now: 0 }, request, caller)',
    rule: /^every record follows from a request or from time$/,
  },
  {
    name: 'a second decision about a task while the first is in flight',
    file: 'core/coordinator.js',
    from: 'if (tasks.isLocked(taskId)) {',
    to: 'if (false) {',
    rule: /^every record follows from a request or from time$/,
    requestsInFlight: 2,
  },
  {
    name: 'a second task under a request id that is in flight',
    file: 'core/coordinator.js',
    from: 'requestId !== undefined && this.#commits.requestIds.isLocked(requestId)',
    to: 'false',
    rule: /^every record follows from a request or from time$/,
    requestsInFlight: 2,
  },
  {
    name: 'a TaskCancelled for every late report',
    file: 'decide/task-manager.js',
    from: 'if (standing.cancelled)',
    to: 'if (false)',
    rule: /^every record follows from a request or from time$/,
  },
  {
    name: 'a changed result under the report_id of the first report',
    file: 'decide/task-manager.js',
    from: 'isSameResult(request.result, viewResult(state, request.taskId))',
    to: 'true',
    rule: /^an answer matches the log$/,
  },
  {
    name: 'an alarm that is not set for the next lease',
    file: 'core/coordinator.js',
    from: 'if (this.#isStopping || !this.#hasStarted)\n            return;\n        timekeeper.arm();',
    to: 'if (this.#isStopping || !this.#hasStarted)\n            return;',
    rule: /^no due time is missed$/,
  },
  {
    name: 'a poll that is not woken when a task becomes available again',
    file: 'core/coordinator.js',
    from: 'this.#queuesToOffer.add(getQueue(state, record.taskId));\n                break;\n            // A WAITING task is',
    to: 'break;\n            // A WAITING task is',
    rule: /^every request is answered$/,
    pollMs: 2,
  },
  {
    name: 'a poll that waits for an expiry and outlives its connection',
    file: 'core/coordinator.js',
    from: 'else if (request.waitMs === 0) {',
    to: 'else if (request.waitMs === 0 || expiring !== undefined) {',
    rule: /^every record follows from a request or from time$|^every request is answered$/,
    pollMs: 1,
  },
  {
    name: 'a task for a worker that is full',
    file: 'decide/lease-manager.js',
    from: 'if (rankOf(advice) === noCapacity)',
    to: 'if (false)',
    rule: /^every record follows from a request or from time$/,
    mayFill: true,
  },
  {
    name: 'a poll that is not woken when its worker has free capacity again',
    file: 'polls/waiting-polls.js',
    from: 'return rankBefore === noCapacity ? [...worker.fifos.keys()] : [];',
    to: 'return [];',
    rule: /^every request is answered$/,
    pollMs: 2,
    mayFill: true,
  },
  {
    name: 'a start that expires no lease',
    file: 'core/coordinator.js',
    from: 'while (timekeeper.expireDue(startedAt, true).length > 0)',
    to: 'while (timekeeper.expireDue(startedAt, false).length > 0)',
    rule: /^every record follows from a request or from time$/,
  },
]

/** A copy of the coordinator with the plant, in a directory that is removed after the test. */
export async function plant(
  { file, from, to }: Plant,
  teardown: (remove: () => void) => void,
): Promise<Subject> {
  const built = dirname(fileURLToPath(import.meta.resolve('@tenure/coordinator-server')))
  const home = join(built, '..', '..')
  const directory = mkdtempSync(join(tmpdir(), 'tenure-explorer-'))
  teardown(() => rmSync(directory, { recursive: true, force: true }))
  cpSync(built, join(directory, 'src'), { recursive: true })
  cpSync(join(home, 'package.json'), join(directory, 'package.json'))
  symlinkSync(join(home, 'node_modules'), join(directory, 'node_modules'), 'junction')
  const path = join(directory, 'src', file)
  const text = readFileSync(path, 'utf8')
  if (text.split(from).length !== 2) throw new Error(`${file} must contain exactly once: ${from}`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  const url = pathToFileURL(join(directory, 'src', 'core/coordinator.js')).href
  const { Coordinator } = (await import(url)) as { Coordinator: CoordinatorClass }
  return { ...shipped, createCoordinator: (parts) => new Coordinator(parts) }
}

type CoordinatorClass = new (parts: CoordinatorParts) => ExploredCoordinator

/** Starts whose state differs from the log. */
export const forgetfulStarts: Readonly<Record<string, typeof Recover>> = {
  'a start that forgets request ids': async (log) => {
    const records: Uint8Array[] = []
    for await (const run of log.replay({ fromLsn: 1 })) records.push(...run.records)
    return recover(logOf(records.map(withoutRequestId)))
  },
  'a start that loses the last record': async (log) => {
    const records: Uint8Array[] = []
    for await (const run of log.replay({ fromLsn: 1 })) records.push(...run.records)
    return recover(logOf(records.slice(0, -1)))
  },
}

function withoutRequestId(bytes: Uint8Array): Uint8Array {
  const record = decodeRecord(bytes)
  if (record.type !== 'TaskCreated') return bytes
  const { requestId: _, ...rest } = record
  return encodeRecord(rest)
}
