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
import { type BrokenOff, LinesTeller, type Listener, tellHowToGoOn } from './lines-report.js'
import { type submitSettings, taskOptionsOf } from './settings.js'

type Values = ValuesOf<typeof submitSettings> & { readonly json: boolean }

/** A task for each line; and where it stops before the end, how to go on. */
export function submitLinesOf(values: Values): Action {
  checkAlone(values)
  const { lines = '-', fromLine, json } = values
  const requestIdPrefix = checkPrefix(values.requestIdPrefix ?? `lines-${randomUUID()}`)
  const input = linesInputOf(lines)
  const task = taskOptionsOf(values)
  return async (tenure, host) => {
    const ending = new AbortController()
    const told = stopAtSignal(host, ending)
    const teller = new LinesTeller(host, json, input.totalBytes)
    const source = readLines(input.open(ending.signal))
    const options = { ...task, requestIdPrefix, fromLine, signal: ending.signal }
    const brokenOff = await submitMany(tenure, source, options, teller)
    // What is still being read is of no use any more.
    ending.abort()
    const { refused, firstRefusedLine } = teller.end()
    const continuation = { requestIdPrefix, brokenOff, refused, firstRefusedLine }
    for (const line of tellHowToGoOn(continuation)) {
      host.stderr.write(`tenure: ${line}\n`)
    }
    if (told.signal !== undefined) return 128 + constants.signals[told.signal]
    return brokenOff === undefined && refused === 0 ? exitCodes.done : exitCodes.failed
  }
}

/** The first signal ends it in good order, with a word on how to go on. */
function stopAtSignal(host: Host, ending: AbortController): { signal?: StopSignal } {
  const told: { signal?: StopSignal } = {}
  void awaitStopSignal(host).then((signal) => {
    told.signal = signal
    ending.abort()
  })
  return told
}

function checkAlone(values: Values): void {
  const others = (['payload', 'payloadFile', 'requestId', 'waitTimeout'] as const).filter(
    (name) => values[name] !== undefined,
  )
  const [other] = [...others, ...(values.wait ? (['wait'] as const) : [])]
  if (other === undefined) return
  const instead = other === 'requestId' ? `; give ${flagOf('requestIdPrefix')}` : ''
  const shown = other === 'payload' ? '<payload>' : flagOf(other)
  throw new ConfigError(`${shown} is for one task, and ${flagOf('lines')} for many${instead}`)
}

/** With the number of a line behind it, it is a request id. */
function checkPrefix(prefix: string): string {
  const bytesMax = messageLimits.requestIdBytesMax - `-${Number.MAX_SAFE_INTEGER}`.length
  if (Buffer.byteLength(prefix) <= bytesMax) return prefix
  throw new ConfigError(
    `${flagOf('requestIdPrefix')} is longer than ${bytesMax} bytes; choose a shorter one`,
  )
}

interface ManyOptions extends TaskOptions {
  readonly requestIdPrefix: string
  readonly fromLine: number
  readonly signal: AbortSignal
}

/**
 * Lines as tasks, as many on their way at once as the coordinator takes. What would meet every
 * further line, too, breaks it off; what is wrong with one line does not.
 */
export async function submitMany(
  tenure: Tenure,
  lines: AsyncIterable<Line>,
  { requestIdPrefix, fromLine, signal, ...task }: ManyOptions,
  listener: Listener,
): Promise<BrokenOff | undefined> {
  const onTheirWay: Line[] = []
  let next = fromLine
  async function* submissions() {
    for await (const line of lines) {
      if (line.number < fromLine || line.bytes.length === 0) continue
      onTheirWay.push(line)
      yield { ...task, payload: line.bytes, requestId: `${requestIdPrefix}-${line.number}` }
    }
  }
  try {
    for await (const outcome of tenure.submitMany(submissions(), { signal })) {
      const line = onTheirWay.shift()!
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
