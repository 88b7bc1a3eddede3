import type { Answer, Leased, LeaseTerms } from './answer.js'
import { answerTypes } from './answer-types.js'
import { messageLimits } from './limits.js'
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
      if (length !== answerTypes.extended.length) return undefined
      return { kind: 'extended', id, ...readTerms() }
    case answerTypes.committed.number: {
      if (length !== answerTypes.committed.length) return undefined
      const state = reader.textOf(1, 16)
      return reader.takeNil() ? { kind: 'committed', id, state } : undefined
    }
    default:
      return undefined
  }
}

function readLeased(id: number): Leased {
  return {
    ...{ kind: 'leased', id, taskId: reader.lsn(), leaseId: reader.lsn(), attempt: reader.lsn() },
    queue: reader.textOf(1, messageLimits.queueBytesMax),
    payload: Uint8Array.prototype.slice.call(reader.bytes()),
    ...readTerms(),
  }
}

function readTerms(): LeaseTerms {
  reader.listOf(5)
  return {
    leaseExpiry: reader.whole(),
    windowEnd: reader.whole(),
    heldMs: reader.whole(),
    leaseMs: reader.whole(),
    windowMs: reader.whole(),
  }
}
