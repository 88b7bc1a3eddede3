import { readFileSync } from 'node:fs'
import { ConfigError, flagOf } from '@tenure/app-kit'

interface Given {
  readonly payload: string | undefined
  readonly payloadFile: string | undefined
}

const standardInput = 0

/** Checks that there is one payload, which is read when it is needed: the standard input may take its time. */
export function payloadOf({ payload, payloadFile }: Given): () => Uint8Array {
  if ((payload === undefined) === (payloadFile === undefined)) {
    const which = payload === undefined ? 'neither is there' : 'both are there'
    throw new ConfigError(
      `either <payload> or ${flagOf('payloadFile')} says what is submitted; ${which}. See tenure submit --help.`,
    )
  }
  return () => (payloadFile === undefined ? Buffer.from(payload!) : readBytes(payloadFile))
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(path === '-' ? standardInput : path)
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? cause.code : cause
    const where = `${flagOf('payloadFile')} names ${path}, which cannot be read: ${why}`
    throw new ConfigError(where, { cause })
  }
}
