import {
  CopyClock,
  Replica,
  type ReplicaCopy,
  ReplicaTime,
} from '@tenure/coordinator-server/internal'
import { Violation } from '@tenure/harness'
import {
  decodeEntry,
  type Fate,
  MemoryEngine,
  type Passage,
  type SharedLog,
} from '@tenure/shared-log'
import { apply, createState, decodeRecord, encodeRecord, type State } from '@tenure/state-machine'
import { DuelClock } from './duel-clock.js'

/** How often each thing may happen on one path. */
export interface Budget {
  readonly submissions: number
  readonly questions: number
  readonly losses: number
  readonly late: number
  readonly restarts: number
  readonly ticks: number
}

/** The code that is explored. A test plants bugs in it. */
export interface DuelSubject {
  readonly replica: typeof Replica
  /** The shared log as the coordinators see it. */
  readonly see: (shared: SharedLog, engine: MemoryEngine) => SharedLog
}

export const shippedDuel: DuelSubject = { replica: Replica, see: (shared) => shared }

const identity = { logId: '00112233445566778899aabbccddeeff', era: 1 }
const ttlMs = 300
/** Long enough for a take-over in between. */
const lateMs = 700

interface Message {
  readonly passage: Passage
  readonly resolve: (fate: Fate) => void
}

/** Two coordinators on one engine. The explorer decides what happens next, message by message. */
export class Duel {
  readonly clock = new DuelClock()
  readonly #engine: MemoryEngine
  readonly #messages: Message[] = []
  readonly #nodes: DuelNode[]
  readonly #left: { -readonly [K in keyof Budget]: number }
  readonly #acknowledged = new Map<number, string>()
  #isManual = false
  #writers = 0

  readonly #subject: DuelSubject

  private constructor(budget: Budget, subject: DuelSubject) {
    this.#subject = subject
    this.#left = { ...budget }
    this.#engine = new MemoryEngine({
      clock: this.clock,
      fateOf: (passage) => this.#fateOf(passage),
    })
    this.#nodes = ['a', 'b'].map((name) => new DuelNode(name))
  }

  /** The first coordinator leads, and the second one follows it. */
  static async begin(budget: Budget, subject = shippedDuel): Promise<Duel> {
    const duel = new Duel(budget, subject)
    const [a, b] = duel.#nodes as [DuelNode, DuelNode]
    duel.#start(a)
    while (!a.replica?.isLeading) await duel.clock.tick()
    duel.#start(b)
    await duel.clock.settle()
    duel.#isManual = true
    return duel
  }

  /** Everything that can happen next. */
  choices(): string[] {
    const { submissions, questions, losses, late, restarts, ticks } = this.#left
    const choices = this.#messages.flatMap(({ passage }, index) => [
      `deliver ${index}`,
      ...(losses > 0 ? [`lose ${index}`] : []),
      ...(late > 0 && passage.way === 'request' ? [`late ${index}`] : []),
    ])
    for (const [index, { replica }] of this.#nodes.entries()) {
      if (replica?.isLeading && submissions > 0) choices.push(`submit ${index}`)
      if (replica?.isLeading && questions > 0) choices.push(`ask ${index}`)
      if (restarts > 0) choices.push(`restart ${index}`)
    }
    if (ticks > 0) choices.push('tick 0')
    return choices
  }

  async perform(choice: string): Promise<void> {
    const [kind, number] = choice.split(' ') as [string, string]
    const node = this.#nodes[Number(number)]!
    switch (kind) {
      case 'deliver':
        this.#resolve(Number(number), 'pass')
        break
      case 'lose':
        this.#left.losses--
        this.#resolve(Number(number), 'lose')
        break
      case 'late':
        this.#left.late--
        this.#resolve(Number(number), { lateMs })
        break
      case 'submit':
        this.#left.submissions--
        void this.#submit(node)
        break
      case 'ask':
        this.#left.questions--
        void this.#ask(node)
        break
      case 'restart':
        this.#left.restarts--
        this.#start(node)
        break
      default:
        this.#left.ticks--
        await this.clock.tick()
    }
    await this.clock.settle()
    this.#check()
  }

  /** Two duels with the same key behave alike. */
  get key(): string {
    const messages = this.#messages.map(({ passage }) => `${passage.user} ${passage.way}`)
    const nodes = this.#nodes.map((node) => node.key)
    const acknowledged = [...this.#acknowledged]
    return JSON.stringify([this.log, messages, nodes, acknowledged, this.#left, this.clock.key])
  }

  /** The entries of the shared log. */
  get log(): string {
    const { first, last } = this.#engine.range
    const entries: string[] = []
    for (let seq = first; seq <= last; seq++) {
      const { kind, epoch, writer, records } = decodeEntry(this.#engine.at(seq)!, seq)
      entries.push(`${kind} ${epoch} ${Number(writer)} ${records.length}`)
    }
    return entries.join()
  }

  /** Ends what still runs. */
  abandon(): void {
    for (const node of this.#nodes) node.kill()
    for (const { resolve } of this.#messages.splice(0)) resolve('lose')
  }

  #fateOf(passage: Passage): Fate | Promise<Fate> {
    if (!this.#isManual || passage.call !== 'append') return 'pass'
    return new Promise((resolve) => this.#messages.push({ passage, resolve }))
  }

  #resolve(index: number, fate: Fate): void {
    this.#messages.splice(index, 1)[0]!.resolve(fate)
  }

  #start(node: DuelNode): void {
    node.kill()
    this.#writers++
    const life = node.begin()
    const state = node.restore()
    const { clock } = this
    const { replica: AnyReplica, see } = this.#subject
    const replica = new AnyReplica({
      shared: see(this.#engine.connect(node.name), this.#engine),
      copy: node.copy,
      copyClock: new CopyClock(clock),
      state,
      clock,
      time: new ReplicaTime(clock),
      identity,
      ttlMs,
      address: `${node.name}:7411`,
      writer: String(this.#writers).padStart(16, '0'),
      entryBytesMax: 16 * 1024,
      otherCopies: async () =>
        this.#nodes.filter((other) => other !== node && other.replica).map((it) => it.replica!.end),
      observer: {},
      onFailure: (error) => node.fail(life, error),
    })
    node.replica = replica
    replica.lead(life.signal).catch((error: unknown) => node.fail(life, error))
  }

  async #submit(node: DuelNode): Promise<void> {
    const { replica, life } = node
    const lsn = replica!.nextLsn
    const text = `${node.name}${this.#left.submissions}`
    const record = encodeRecord({
      type: 'TaskCreated',
      at: 1,
      taskId: lsn,
      payload: Buffer.from(text),
      executionWindowMs: 60_000,
      retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } },
    })
    node.waiting++
    try {
      await replica!.append(lsn, record, replica!.claim(record.length, 'high'))
    } catch {
      return
    }
    if (life !== node.life) return
    node.waiting--
    apply(node.state!, lsn, decodeRecord(record))
    const other = this.#acknowledged.get(lsn)
    if (other !== undefined) {
      node.violation ??= new Violation(
        'no LSN is issued twice',
        `LSN ${lsn} is ${other} and ${text}`,
      )
    }
    this.#acknowledged.set(lsn, text)
  }

  async #ask(node: DuelNode): Promise<void> {
    const { replica, life } = node
    const last = Math.max(0, ...this.#acknowledged.keys())
    const known = replica!.durableLsn
    node.waiting++
    try {
      await replica!.confirm()
    } catch {
      return
    }
    if (life !== node.life) return
    node.waiting--
    if (known >= last) return
    const found = `${node.name} knew LSN ${known}, and LSN ${last} was acknowledged before`
    node.violation ??= new Violation('an answer knows everything acknowledged before it', found)
  }

  #check(): void {
    const stored = this.#stored()
    for (const node of this.#nodes) {
      if (node.violation !== undefined) throw node.violation
      for (const [lsn, record] of node.copy.records.entries()) {
        if (stored[lsn] === record) continue
        throw new Violation('a copy is a prefix of the shared log', `${node.name}, LSN ${lsn + 1}`)
      }
    }
    for (const [lsn, text] of this.#acknowledged) {
      if (stored[lsn - 1]?.includes(text)) continue
      throw new Violation('an acknowledged record is stored', `LSN ${lsn}: ${text}`)
    }
  }

  /** The records of the shared log, in order. */
  #stored(): string[] {
    const { first, last } = this.#engine.range
    const stored: string[] = []
    for (let seq = first; seq <= last; seq++) {
      for (const record of decodeEntry(this.#engine.at(seq)!, seq).records)
        stored.push(textOf(record))
    }
    return stored
  }
}

/** One coordinator's machine: its copy outlives its process. */
class DuelNode {
  readonly name: string
  readonly copy = new MemoryCopy()
  replica: Replica | undefined
  state: State | undefined
  life = new AbortController()
  violation: Violation | undefined
  /** Calls without an answer. */
  waiting = 0
  #failure = ''

  constructor(name: string) {
    this.name = name
  }

  get key(): string {
    const { replica, copy, waiting } = this
    const { seq = 0 } = replica?.end ?? {}
    const silent = Math.round(replica?.silentMs ?? 0)
    const parts = [replica?.isLeading, replica?.epoch, replica?.nextLsn, replica?.durableLsn]
    return [seq, silent, ...parts, copy.records.length, waiting, this.#failure].join(' ')
  }

  begin(): AbortController {
    this.life = new AbortController()
    this.#failure = ''
    this.waiting = 0
    return this.life
  }

  restore(): State {
    const state = createState()
    for (const [index, record] of this.copy.content.entries()) {
      apply(state, index + 1, decodeRecord(record))
    }
    this.state = state
    return state
  }

  kill(): void {
    this.life.abort()
    void this.replica?.close()
    this.replica = undefined
  }

  fail(life: AbortController, error: unknown): void {
    if (life !== this.life || life.signal.aborted) return
    const { code = String(error) } = error as { code?: string }
    if (code !== 'LEADERSHIP_LOST') {
      this.violation ??= new Violation(
        'only the leadership is lost',
        `${this.name}: ${String(error)}`,
      )
    }
    this.kill()
    this.#failure = code
  }
}

/** A copy without a disk. */
class MemoryCopy implements ReplicaCopy {
  readonly firstLsn = 1
  readonly content: Uint8Array[] = []
  readonly records: string[] = []

  get nextLsn(): number {
    return this.content.length + 1
  }

  async append(_firstLsn: number, records: readonly Uint8Array[]): Promise<void> {
    for (const record of records) {
      this.content.push(record)
      this.records.push(textOf(record))
    }
  }

  claim(bytes: number) {
    return { bytes, release() {} }
  }

  enterEpoch(): void {}

  async *replay({ fromLsn }: { readonly fromLsn: number }) {
    yield { firstLsn: fromLsn, records: this.content.slice(fromLsn - 1) }
  }
}

function textOf(record: Uint8Array): string {
  return Buffer.from(record).toString('latin1')
}
