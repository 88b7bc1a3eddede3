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
import { messageLimits } from '@tenure/protocol'
import { exitCodes } from '../../command-line.js'
import type { Action } from '../../coordinator/connection.js'
import { readLines } from '../../submit/line-reader.js'
import { LinesTeller } from '../../submit/lines-teller.js'
import { submitMany } from '../../submit/many.js'
import { linesInputOf } from './lines-input.js'
import { tellHowToGoOn } from './lines-report.js'
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
