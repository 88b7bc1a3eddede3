import type { Logger } from 'pino'
import type { Host } from '../host.js'
import { choice, yesOrNo } from '../settings/kinds.js'
import { setting } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'

export type { Logger }

export const loggingSettings = {
  Logging: {
    logLevel: setting(choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), {
      fallback: 'info',
      help: 'The least that is worth a line.',
    }),
    logPretty: setting(yesOrNo(), {
      fallback: false,
      help: 'Lines for people in place of JSON.',
    }),
  },
} as const

export type LoggingConfiguration = Configuration<typeof loggingSettings>

/** Writes to the standard output, each line before the call returns: nothing is lost when the process ends. */
export async function openLogger(
  { logLevel, logPretty }: LoggingConfiguration['values'],
  { fd, isTTY = false }: Host['stdout'],
): Promise<Logger> {
  // Loaded here, because most commands write no log and start sooner without it.
  const { destination, pino, stdTimeFunctions } = await import('pino')
  const output = destination({ dest: fd, sync: true })
  output.on('error', (error: NodeJS.ErrnoException) => {
    // The terminal was closed. Nobody reads on, and what is being done is to be ended in order.
    if (error.code !== 'EIO') throw error
    output.write = () => true
  })
  const options = { level: logLevel, timestamp: stdTimeFunctions.isoTime }
  if (logPretty) {
    const { prettyFactory } = await import('pino-pretty')
    const format = prettyFactory({ colorize: isTTY, ignore: 'pid,hostname', singleLine: true })
    return pino(options, { write: (line) => output.write(format(line)) })
  }
  const formatters = { level: (label: string) => ({ level: label }) }
  return pino({ ...options, formatters }, output)
}
