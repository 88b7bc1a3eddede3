import { destination, type Logger, pino, stdTimeFunctions } from 'pino'
import type { Values } from './settings.js'

/** Writes to the standard output, each line before the call returns: nothing is lost when the process ends. */
export async function openLogger({ logLevel, logPretty }: Values): Promise<Logger> {
  const output = destination({ dest: 1, sync: true })
  const options = { level: logLevel, timestamp: stdTimeFunctions.isoTime }
  if (logPretty) {
    const { prettyFactory } = await import('pino-pretty')
    const format = prettyFactory({ colorize: process.stdout.isTTY, ignore: 'pid,hostname' })
    return pino(options, { write: (line) => output.write(format(line)) })
  }
  const formatters = { level: (label: string) => ({ level: label }) }
  return pino({ ...options, formatters }, output)
}
