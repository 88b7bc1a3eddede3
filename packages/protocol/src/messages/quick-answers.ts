import { messageLimits } from '../limits.js'
import type { Answer, Extended, Leased } from './answer.js'
import { answerTypes } from './answer-types.js'
import { QuickReader } from './quick-reader.js'

const reader = new QuickReader()

/**
 * Reads the answers that come all the time, as `readQuickly` of requests does: what is not as our own
 * coordinator writes it is `undefined`, to be read carefully. A payload is copied, because whoever gets
 * it may keep it for long.
 */
export function readAnswerQuickly(body: Uint8Array): Answer | undefined {
  return reader.attempt(body, readAnswer)
}

function readAnswer(): Answer | undefined {
  const length = reader.list()
  const number = reader.whole()
  return readFields(number, length, reader.wholeOf(0, 0xffff_ffff))
}

function readFields(number: number, length: number, id: number): Answer | undefined {
  switch (number) {
    case answerTypes.submitted.number:
      if (length !== answerTypes.submitted.length) return undefined
      return { kind: 'submitted', id, taskId: reader.lsn(), known: reader.boolean() }
    case answerTypes.leased.number:
      return length === answerTypes.leased.length ? readLeased(id) : undefined
    case answerTypes.empty.number:
      return length === answerTypes.empty.length ? { kind: 'empty', id } : undefined
    case answerTypes.extended.number:
      return length === answerTypes.extended.length ? readExtended(id) : undefined
    case answerTypes.committed.number: {
      if (length !== answerTypes.committed.length) return undefined
      const state = reader.textOf(1, 16)
      return reader.takeNil() ? { kind: 'committed', id, state } : undefined
    }
    default:
      return undefined
  }
}

/** Each field by its name: a spread would take longer than all the reading. */
function readLeased(id: number): Leased {
  const taskId = reader.lsn()
  const leaseId = reader.lsn()
  const attempt = reader.lsn()
  const queue = reader.textOf(1, messageLimits.queueBytesMax)
  const payload = Uint8Array.prototype.slice.call(reader.bytes())
  reader.listOf(termsLength)
  return {
    kind: 'leased',
    id,
    taskId,
    leaseId,
    attempt,
    queue,
    payload,
    leaseExpiry: reader.whole(),
    windowEnd: reader.whole(),
    heldMs: reader.whole(),
    leaseMs: reader.whole(),
    windowMs: reader.whole(),
  }
}

function readExtended(id: number): Extended {
  reader.listOf(termsLength)
  return {
    kind: 'extended',
    id,
    leaseExpiry: reader.whole(),
    windowEnd: reader.whole(),
    heldMs: reader.whole(),
    leaseMs: reader.whole(),
    windowMs: reader.whole(),
  }
}

const termsLength = 5
