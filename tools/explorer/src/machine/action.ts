/**
 * One step of the system: a request arrives, time passes, the disk writes or syncs, or the
 * coordinator dies. An action is a single number, so that millions of them fit into memory:
 * ¶ | who, 2 bits | lease or number, 8 bits | task, 8 bits | kind, 5 bits |
 */
const kinds = [
  'begin',
  'submit',
  'lease',
  'poll',
  'heartbeat',
  'complete',
  'complete with another report',
  'complete with a result',
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
  'free capacity',
] as const

export type Kind = (typeof kinds)[number]

export interface Action {
  readonly kind: Kind
  /** Index in `names` of the peer that acts. */
  readonly who: number
  readonly task: number
  /** A lease, an index in `submissions`, or the number of records that survive a crash. */
  readonly number: number
}

/** The peers: the client submits and kills, the others are workers. */
export const names = ['client', 'w1', 'w2'] as const

/** The client submits two tasks, and another payload under the request id of the first. */
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
  const preference = who === 0 ? '' : `; ${name} reports more free capacity`
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
      return `${name} asks for a task and is willing to wait`
    case 'heartbeat':
      return `${name} sends a heartbeat for task ${task} under lease ${number}`
    case 'complete':
      return `${name} completes task ${task} under lease ${number}`
    case 'complete with another report':
      return `${name} completes task ${task} under lease ${number} with another report id`
    case 'complete with a result':
      return `${name} completes task ${task} under lease ${number} with the same report id and a result`
    case 'fail':
      return `${name} fails task ${task} under lease ${number}`
    case 'kill':
      return `${name} kills task ${task}`
    case 'leave':
      return `the connection of ${name} ends`
    case 'withdraw':
      return `${name} withdraws its waiting request`
    case 'fill':
      return `${name} reports that it is full`
    case 'free capacity':
      return `${name} connects again and reports free capacity`
    case 'tick':
      return 'a millisecond passes'
    case 'ring':
      return `due timers fire${preference}`
    case 'write':
      return 'the batch goes to the disk'
    case 'sync':
      return `the batch is durable${preference}`
    case 'fail to sync':
      return 'the disk fails'
    case 'crash':
      return `crash: ${number} of the records in flight survive; restart`
    case 'crash, clock set back':
      return `crash: ${number} of the records in flight survive; restart with the wall clock at 1`
  }
}
