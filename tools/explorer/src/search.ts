import { Violation } from '@tenure/harness'
import type { State } from '@tenure/state-machine'
import { packAction, unpackAction } from './machine/action.js'
import { Machine } from './machine/machine.js'
import type { Subject } from './machine/subject.js'
import type { Scope } from './scope.js'
import type { DurableState } from './states/durable-state.js'
import { DurableStates, decodeState } from './states/durable-states.js'
import { type Node, type Recipe, type Root, Visit } from './states/node.js'
import { Paths } from './states/paths.js'

export interface SearchOptions {
  readonly scope: Scope
  readonly subject: Subject
  /**
   * `states` finishes one state of the log before the next, which is quick: a state object serves all
   * nodes that have it. `depth` goes by the number of actions, so that what it finds is found at the
   * end of a shortest path.
   */
  readonly order: 'states' | 'depth'
  readonly statesMax?: number
  /** Nodes that so many actions lead to are not expanded. */
  readonly depthMax?: number
  readonly onProgress?: (search: Search) => void
  /** Told of every other way to a node that is known. */
  readonly onOtherWay?: (search: Search, node: Node, recipe: Recipe) => Promise<void>
}

/** A fault, and the actions that lead to it. */
export interface Finding {
  readonly rule: string
  readonly found: string
  readonly path: readonly number[]
}

const firstInstant = 1
/** State objects that are kept at hand: each takes a quarter of a megabyte. */
const statesKept = 32

/** Visits every state of the system that lies within the scope. */
export class Search {
  readonly #options: SearchOptions
  readonly #durables: DurableStates
  readonly #paths = new Paths()
  readonly #states = new Map<string, State>()
  readonly #visits = new Map<DurableState, Visit>()
  readonly #inOrder: Node[] = []
  /** What is being done, for the path to a fault. */
  #doing = { index: 0, action: packAction('begin') }
  transitions = 0
  isComplete = false
  /** How many records the log has in the states that are visited now. */
  lsn = 0

  constructor(options: SearchOptions) {
    this.#options = options
    this.#durables = new DurableStates(options.subject)
  }

  /** How many states of the system were found. */
  get states(): number {
    return this.#paths.size
  }

  /** How many states of the log they have. */
  get durableStates(): number {
    return this.#durables.size
  }

  get longestPath(): number {
    return this.#paths.longest
  }

  /** The first fault that is found, if there is one. */
  async run(): Promise<Finding | undefined> {
    try {
      const root = await this.#durables.root()
      await this.#restart(root, firstInstant, 0, packAction('begin'))
      this.isComplete = await (this.#options.order === 'states' ? this.#byState() : this.#byDepth())
      return undefined
    } catch (error) {
      const { index, action } = this.#doing
      const { check: rule, message: found } =
        error instanceof Violation ? error : new Violation('nothing throws', describe(error))
      const path = this.#paths.size === 0 ? [] : this.#paths.to(index)
      return { rule, found, path: [...path, action] }
    }
  }

  /** A batch leads to a longer log, and all else leaves it as long: so what is left behind stays behind. */
  async #byState(): Promise<boolean> {
    for (this.lsn = 0; this.lsn <= this.#options.scope.recordsMax; this.lsn++) {
      for (const durable of this.#durables.level(this.lsn)) {
        for (const node of this.#visit(durable).unexpanded) {
          if (this.#isFull()) return false
          await this.#expand(node)
        }
        this.#visits.delete(durable)
        this.#states.clear()
      }
      this.#durables.drop(this.lsn)
    }
    return true
  }

  async #byDepth(): Promise<boolean> {
    const { depthMax = Number.POSITIVE_INFINITY } = this.#options
    for (const node of this.#inOrder) {
      if (this.#paths.depth(node.index) >= depthMax) return true
      if (this.#isFull()) return false
      await this.#expand(node)
    }
    return true
  }

  #isFull(): boolean {
    this.#options.onProgress?.(this)
    return this.states >= (this.#options.statesMax ?? Number.POSITIVE_INFINITY)
  }

  async #expand(node: Node): Promise<void> {
    this.#doing = { index: node.index, action: packAction('begin') }
    const { recipe, machine: first } = await this.#remake(node)
    const actions = first.possible()
    const { now, writing } = first
    let machine: Machine | undefined = first
    for (const action of actions) {
      this.#doing = { index: node.index, action }
      this.transitions++
      const { kind } = unpackAction(action)
      if (kind === 'sync') {
        await this.#sync(recipe, action)
        continue
      }
      machine ??= await this.#make(recipe)
      await machine.perform(action)
      const { key } = machine
      if (key === node.key) continue
      machine.abandon()
      machine = undefined
      if (kind === 'fail to sync') continue
      await this.#add(node.durable, key, {
        root: recipe.root,
        actions: [...recipe.actions, action],
      })
    }
    machine?.abandon()
    for (let survive = 0; survive <= writing.length; survive++) {
      const records = writing.slice(0, survive).map(({ bytes }) => bytes)
      await this.#crash(node, records, now)
    }
  }

  /** What every action leads to, and what is heard then: two ways to one node must not differ in it. */
  async behaviour(recipe: Recipe): Promise<Map<number, string>> {
    const behaviour = new Map<number, string>()
    const first = await this.#make(recipe)
    const { key: unchanged } = first
    const actions = first.possible()
    first.abandon()
    for (const action of actions) {
      const isSync = unpackAction(action).kind === 'sync'
      const machine = await this.#make(recipe, isSync)
      const { length } = machine.heard
      await machine.perform(action, await this.#ahead(machine, action))
      const heard = machine.heard.slice(length)
      const { key, durable } = machine
      // A timer that goes off for nothing is set in one and not in the other: that is no difference.
      const isNothing = key === unchanged && heard.length === 0
      if (!isNothing) behaviour.set(action, [durable.number, key, ...heard].join('\n'))
      if (!isSync) machine.abandon()
    }
    return behaviour
  }

  /** The machine of the node, and the recipe that does make it. */
  async #remake({ key, recipe, detour }: Node): Promise<{ recipe: Recipe; machine: Machine }> {
    const machine = await this.#make(recipe).catch((error: unknown) => {
      if (detour === undefined || !(error instanceof Violation)) throw error
    })
    if (machine?.key === key) return { recipe, machine }
    machine?.abandon()
    if (detour === undefined) throw new Error(`the explorer is at ${machine?.key}, not at ${key}`)
    const other = await this.#make(detour)
    if (other.key !== key) throw new Error(`the explorer is at ${other.key}, not at ${key}`)
    return { recipe: detour, machine: other }
  }

  /** With a state of its own where the state is changed. */
  async #make({ root, actions }: Recipe, willSync = false): Promise<Machine> {
    const isChanged = willSync || actions.some((action) => unpackAction(action).kind === 'sync')
    const state = isChanged ? await this.#newState(root) : await this.#stateOf(root)
    const { subject, scope } = this.#options
    const machine = await Machine.make(subject, scope, state, root)
    for (const action of actions) await machine.perform(action, await this.#ahead(machine, action))
    return machine
  }

  /** The states behind the records that the action makes durable. */
  async #ahead({ durable, writing }: Machine, action: number): Promise<DurableState[]> {
    if (unpackAction(action).kind !== 'sync') return []
    const ahead: DurableState[] = []
    for (const { bytes } of writing) {
      ahead.push(await this.#durables.next(ahead.at(-1) ?? durable, bytes))
    }
    return ahead
  }

  async #sync(recipe: Recipe, action: number): Promise<void> {
    const machine = await this.#make(recipe, true)
    await machine.perform(action, await this.#ahead(machine, action))
    const detour = { root: recipe.root, actions: [...recipe.actions, action] }
    await this.#addResumable(machine, detour)
  }

  /** Where nothing is on the disk's side there is mostly a shorter way. */
  async #addResumable(machine: Machine, recipe: Recipe): Promise<void> {
    const { durable, key } = machine
    const root = machine.resumption()
    if (root === undefined) await this.#add(durable, key, recipe)
    else await this.#add(durable, key, { root, actions: [] }, recipe)
  }

  async #crash({ index, durable }: Node, survivors: Uint8Array[], now: number): Promise<void> {
    const number = survivors.length
    for (const kind of ['crash', 'crash, clock set back'] as const) {
      const action = packAction(kind, { number })
      this.#doing = { index, action }
      this.transitions++
      let found = durable
      for (const bytes of survivors) found = await this.#durables.next(found, bytes)
      await this.#restart(found, kind === 'crash' ? now : firstInstant, index, action)
    }
  }

  /** What comes of a start is the same whenever it is the same time for the coordinator. */
  async #restart(
    durable: DurableState,
    wallMs: number,
    index: number,
    action: number,
  ): Promise<void> {
    const startMs = Math.max(wallMs, durable.at)
    const { startedAt } = this.#visit(durable)
    if (startedAt.has(startMs)) return
    startedAt.add(startMs)
    this.#doing = { index, action }
    const recipe: Recipe = { root: { kind: 'restarted', durable, wallMs }, actions: [] }
    const machine = await this.#make(recipe)
    machine.abandon()
    await this.#addResumable(machine, recipe)
  }

  async #add(durable: DurableState, key: string, recipe: Recipe, detour?: Recipe): Promise<void> {
    const { byKey, unexpanded } = this.#visit(durable)
    const known = byKey.get(key)
    if (known !== undefined) {
      await this.#options.onOtherWay?.(this, known, detour ?? recipe)
      return
    }
    const index = this.#paths.add(this.#doing.index, this.#doing.action)
    const node: Node = { index, durable, key, recipe, detour }
    byKey.set(key, node)
    if (detour !== undefined) await this.#options.onOtherWay?.(this, node, detour)
    if (this.#options.order === 'states') unexpanded.push(node)
    else this.#inOrder.push(node)
  }

  #visit(durable: DurableState): Visit {
    const known = this.#visits.get(durable)
    if (known !== undefined) return known
    const visit = new Visit()
    this.#visits.set(durable, visit)
    return visit
  }

  /** One that is used again and again: whoever has used it leaves it as it was. */
  async #stateOf(root: Root): Promise<State> {
    const key = `${root.kind}${root.durable.number}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state = await this.#newState(root)
    if (this.#states.size === statesKept) this.#states.clear()
    this.#states.set(key, state)
    return state
  }

  /** From a checkpoint, or for a start by the replay that ships. */
  #newState({ kind, durable }: Root): Promise<State> | State {
    return kind === 'running'
      ? decodeState(durable.encoded)
      : this.#options.subject.recover(durable.log())
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
