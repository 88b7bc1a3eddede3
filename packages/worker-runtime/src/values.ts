import { messageLimits } from '@tenure/protocol'
import { badOption } from './errors.js'

/** Checks of what a caller gave; JavaScript has no types to do it. */

export function queueNames(queues: readonly string[]): readonly string[] {
  const { queuesMax, queueBytesMax } = messageLimits
  if (!Array.isArray(queues) || queues.length === 0 || queues.length > queuesMax) {
    throw badOption('queues', describe(queues), `a list of 1 to ${queuesMax} names`)
  }
  for (const [index, queue] of queues.entries()) {
    const bytes = typeof queue === 'string' ? Buffer.from(queue) : Buffer.alloc(0)
    const isWhole = bytes.toString() === queue
    if (isWhole && bytes.length >= 1 && bytes.length <= queueBytesMax) continue
    const expected = `a text of 1 to ${queueBytesMax} bytes, in whole characters`
    throw badOption(`queues[${index}]`, describe(queue), expected)
  }
  return queues
}

export function yesOrNo(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw badOption(name, describe(value), 'true or false')
}

export function texts(name: string, value: readonly string[]): readonly string[] {
  if (Array.isArray(value) && value.every((text) => typeof text === 'string')) return value
  throw badOption(name, describe(value), 'a list of texts')
}

export function callable<F>(name: string, value: F): F {
  if (typeof value === 'function') return value
  throw badOption(name, describe(value), 'a function')
}

export function whole(name: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number
  }
  throw badOption(name, describe(value), `a whole number from ${min} to ${max}`)
}

export function wholeOrForever(name: string, value: unknown, max: number): number {
  if (value === Number.POSITIVE_INFINITY) return value
  if (Number.isInteger(value)) return whole(name, value, 1, max)
  throw badOption(name, describe(value), `a whole number from 1 to ${max}, or Infinity`)
}

export function part(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value
  throw badOption(name, describe(value), 'a number from 0 to below 1')
}

export function describe(value: unknown): string {
  return Array.isArray(value) ? `a list of ${value.length}` : String(value)
}
