import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import {
  awaitStopSignal,
  ConfigError,
  flagOf,
  type Host,
  type StopSignal,
  type ValuesOf,
} from '@tenure/app-kit'
import { RejectedError, type TaskOptions, type Tenure, type TenureError } from '@tenure/client'
import { messageLimits, type Reason } from '@tenure/protocol'
import { exitCodes } from '../../command-line.js'
import type { Action } from '../../coordinator/connection.js'
import { type Line, linesInputOf, readLines } from './lines-input.js'
import {
  describeContinuation,
  type Interruption,
  LinesReporter,
  type Listener,
} from './lines-report.js'
import { type submitSettings, taskOptionsOf } from './settings.js'

type Values = ValuesOf<typeof submitSettings> & { readonly json: boolean }

/** Submits a task for each line; if interrupted, prints how to continue. */
export function submitLinesOf(values: Values): Action {
  rejectSingleTaskFlags(values)
  const { lines = '-', fromLine, json } = values
  const requestIdPrefix = checkPrefix(values.requestIdPrefix ?? `lines-${randomUUID()}`)
  const input = linesInputOf(lines)
  const task = taskOptionsOf(values)
  return async (tenure, host) => {
    const ending = new AbortController()
    const told = stopAtSignal(host, ending)
    const reporter = new LinesReporter(host, json, input.totalBytes)
    const source = readLines(input.open(ending.signal))
    const options = { ...task, requestIdPrefix, fromLine, signal: ending.signal }
    const interruption = await submitMany(tenure, source, options, reporter)
    // Stop reading the input.
    ending.abort()
    const { refused, firstRefusedLine } = reporter.end()
    const continuation = { requestIdPrefix, interruption, refused, firstRefusedLine }
    for (const line of describeContinuation(continuation)) {
      host.stderr.write(`tenure: ${line}\n`)
    }
    if (told.signal !== undefined) return 128 + constants.signals[told.signal]
    return interruption === undefined && refused === 0 ? exitCodes.done : exitCodes.failed
  }
}

/** The first signal ends the run gracefully. */
function stopAtSignal(host: Host, ending: AbortController): { signal?: StopSignal } {
  const told: { signal?: StopSignal } = {}
  void awaitStopSignal(host).then((signal) => {
    told.signal = signal
    ending.abort()
  })
  return told
}

function rejectSingleTaskFlags(values: Values): void {
  const others = (['payload', 'payloadFile', 'requestId', 'waitTimeout'] as const).filter(
    (name) => values[name] !== undefined,
  )
  const [other] = [...others, ...(values.wait ? (['wait'] as const) : [])]
  if (other === undefined) return
  const instead =
    other === 'requestId' ? `use ${flagOf('requestIdPrefix')} instead` : 'remove one of them'
  const shown = other === 'payload' ? '<payload>' : flagOf(other)
  throw new ConfigError(`${shown} cannot be combined with ${flagOf('lines')}; ${instead}`)
}

/** A request id is the prefix and the number of the line. */
function checkPrefix(prefix: string): string {
  const bytesMax = messageLimits.requestIdBytesMax - `-${Number.MAX_SAFE_INTEGER}`.length
  const bytes = Buffer.byteLength(prefix)
  if (bytes <= bytesMax) return prefix
  throw new ConfigError(
    `${flagOf('requestIdPrefix')} is ${bytes} bytes long; use at most ${bytesMax} bytes`,
  )
}

interface ManyOptions extends TaskOptions {
  readonly requestIdPrefix: string
  readonly fromLine: number
  readonly signal: AbortSignal
}

/**
 * Submits lines as tasks, with as many in flight as the coordinator accepts. An error that would
 * affect every further line ends the run; an error of one line does not.
 */
export async function submitMany(
  tenure: Tenure,
  lines: AsyncIterable<Line>,
  { requestIdPrefix, fromLine, signal, ...task }: ManyOptions,
  listener: Listener,
): Promise<Interruption | undefined> {
  const inFlight: Line[] = []
  let next = fromLine
  async function* submissions() {
    for await (const line of lines) {
      if (line.number < fromLine || line.bytes.length === 0) continue
      inFlight.push(line)
      yield { ...task, payload: line.bytes, requestId: `${requestIdPrefix}-${line.number}` }
    }
  }
  try {
    for await (const outcome of tenure.submitMany(submissions(), { signal })) {
      const line = inFlight.shift()!
      if (outcome.ok) listener.submitted(line, outcome)
      else if (isOfOneLine(outcome.error)) listener.refused(line, outcome.error)
      else return { fromLine: line.number, error: outcome.error }
      next = line.number + 1
    }
    return undefined
  } catch (error) {
    return { fromLine: next, error }
  }
}

const ofOneLine: readonly Reason[] = ['CONFLICT', 'TOO_LARGE', 'MALFORMED']

function isOfOneLine(error: TenureError): boolean {
  if (error instanceof RejectedError) return ofOneLine.includes(error.reason)
  return error.code === 'CLIENT_BAD_ARGUMENT'
}
