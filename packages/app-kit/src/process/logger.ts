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
      help: 'Lowest level to log.',
    }),
    logPretty: setting(yesOrNo(), {
      fallback: false,
      help: 'Log human-readable lines instead of JSON.',
    }),
  },
} as const

export type LoggingConfiguration = Configuration<typeof loggingSettings>

/** Writes to standard output synchronously: no line is lost when the process ends. */
export async function openLogger(
  { logLevel, logPretty }: LoggingConfiguration['values'],
  { fd, isTTY = false }: Host['stdout'],
): Promise<Logger> {
  // Loaded lazily: most commands write no log and start faster without pino.
  const { destination, pino, stdTimeFunctions } = await import('pino')
  const output = destination({ dest: fd, sync: true })
  output.on('error', (error: NodeJS.ErrnoException) => {
    // EIO: the terminal was closed. Drop the lines and let the service shut down gracefully.
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
