/**
 * One step of the system: something arrives, time passes, the disk does its part, or the coordinator
 * dies. An action is one number, so that millions of them can be remembered:
 *
 *     | who, 2 bits | lease or number, 8 bits | task, 8 bits | kind, 5 bits |
 */
const kinds = [
  'begin',
  'submit',
  'lease',
  'poll',
  'heartbeat',
  'complete',
  'complete anew',
  'complete otherwise',
  'fail',
  'kill',
  'leave',
  'tick',
  'ring',
  'write',
  'sync',
  'fail to sync',
  'crash',
  'crash, clock set back',
  'withdraw',
  'fill',
  'make room',
] as const

export type Kind = (typeof kinds)[number]

export interface Action {
  readonly kind: Kind
  /** The place in `names` of who does it. */
  readonly who: number
  readonly task: number
  /** A lease, the place of a submission in `submissions`, or how many records survive a crash. */
  readonly number: number
}

/** Who asks. The client submits and kills, the others work. */
export const names = ['client', 'w1', 'w2'] as const

/** What the client submits: two tasks, and another payload under the request id of the first. */
export const submissions = [
  { requestId: 'a', payload: Uint8Array.of(1) },
  { requestId: 'b', payload: Uint8Array.of(2) },
  { requestId: 'a', payload: Uint8Array.of(3) },
] as const

export const conflicting = 2

export function packAction(kind: Kind, parts: Partial<Omit<Action, 'kind'>> = {}): number {
  const { who = 0, task = 0, number = 0 } = parts
  return kinds.indexOf(kind) | (task << 5) | (number << 13) | (who << 21)
}

export function unpackAction(packed: number): Action {
  return {
    kind: kinds[packed & 31]!,
    task: (packed >> 5) & 255,
    number: (packed >> 13) & 255,
    who: packed >> 21,
  }
}

export function describeAction(packed: number): string {
  const { kind, who, task, number } = unpackAction(packed)
  const name = names[who]!
  const favoured = who === 0 ? '' : `; ${name} seems to have more room`
  switch (kind) {
    case 'begin':
      return 'the coordinator starts with an empty log'
    case 'submit': {
      const { requestId, payload } = submissions[number]!
      return `${name} submits payload ${payload} under request_id ${requestId}`
    }
    case 'lease':
      return `${name} asks for a task`
    case 'poll':
      return `${name} asks for a task and would wait`
    case 'heartbeat':
      return `${name} sends a heartbeat for task ${task} under lease ${number}`
    case 'complete':
      return `${name} completes task ${task} under lease ${number}`
    case 'complete anew':
      return `${name} completes task ${task} under lease ${number} by another report`
    case 'complete otherwise':
      return `${name} completes task ${task} under lease ${number} by the same report with a result`
    case 'fail':
      return `${name} fails task ${task} under lease ${number}`
    case 'kill':
      return `${name} kills task ${task}`
    case 'leave':
      return `the connection of ${name} ends`
    case 'withdraw':
      return `${name} withdraws the request that waits`
    case 'fill':
      return `${name} seems to be full`
    case 'make room':
      return `${name} connects once more, and seems to have room`
    case 'tick':
      return 'a millisecond passes'
    case 'ring':
      return `timers that are due go off${favoured}`
    case 'write':
      return 'the batch goes to the disk'
    case 'sync':
      return `the batch is durable${favoured}`
    case 'fail to sync':
      return 'the disk fails'
    case 'crash':
      return `crash: ${number} of the records on their way survive; restart`
    case 'crash, clock set back':
      return `crash: ${number} of the records on their way survive; restart with the wall clock at 1`
  }
}
