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
   * `states` finishes one state of the log before the next, which is fast: one state object serves
   * all its nodes. `depth` goes by the number of actions, so that a fault is found by a shortest
   * path.
   */
  readonly order: 'states' | 'depth'
  readonly statesMax?: number
  /** Nodes at this depth are not expanded. */
  readonly depthMax?: number
  readonly onProgress?: (search: Search) => void
  /** Called for every further path to a known node. */
  readonly onOtherWay?: (search: Search, node: Node, recipe: Recipe) => Promise<void>
}

/** A fault, and the actions that lead to it. */
export interface Finding {
  readonly rule: string
  readonly found: string
  readonly path: readonly number[]
}

const firstInstant = 1
/** Number of cached state objects; each takes a quarter of a megabyte. */
const statesKept = 32

/** Visits every state of the system within the scope. */
export class Search {
  readonly #options: SearchOptions
  readonly #durables: DurableStates
  readonly #paths = new Paths()
  readonly #states = new Map<string, State>()
  readonly #visits = new Map<DurableState, Visit>()
  readonly #inOrder: Node[] = []
  /** The current step, which completes the path to a fault. */
  #doing = { index: 0, action: packAction('begin') }
  transitions = 0
  isComplete = false
  /** Number of records in the log states that are being visited. */
  lsn = 0

  constructor(options: SearchOptions) {
    this.#options = options
    this.#durables = new DurableStates(options.subject)
  }

  /** Number of system states found. */
  get states(): number {
    return this.#paths.size
  }

  /** Number of log states found. */
  get durableStates(): number {
    return this.#durables.size
  }

  get longestPath(): number {
    return this.#paths.longest
  }

  /** The first fault, if there is one. */
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

  /**
   * A batch makes the log longer and other actions do not change its length, so a finished length
   * stays finished.
   */
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
    const actions = first.possibleActions()
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

  /**
   * The next key and the answers for every action; two paths to one node must not differ in them.
   */
  async behaviour(recipe: Recipe): Promise<Map<number, string>> {
    const behaviour = new Map<number, string>()
    const first = await this.#make(recipe)
    const { key: unchanged } = first
    const actions = first.possibleActions()
    first.abandon()
    for (const action of actions) {
      const isSync = unpackAction(action).kind === 'sync'
      const machine = await this.#make(recipe, isSync)
      const { length } = machine.heard
      await machine.perform(action, await this.#ahead(machine, action))
      const heard = machine.heard.slice(length)
      const { key, durable } = machine
      // A timer that fires without effect may exist on one path and not on the other; that is no
      // difference.
      const isNothing = key === unchanged && heard.length === 0
      if (!isNothing) behaviour.set(action, [durable.number, key, ...heard].join('\n'))
      if (!isSync) machine.abandon()
    }
    return behaviour
  }

  /** Rebuilds the machine of the node, and returns the recipe that worked. */
  async #remake({ key, recipe, detour }: Node): Promise<{ recipe: Recipe; machine: Machine }> {
    const machine = await this.#make(recipe).catch((error: unknown) => {
      if (detour === undefined || !(error instanceof Violation)) throw error
    })
    if (machine?.key === key) return { recipe, machine }
    machine?.abandon()
    if (detour === undefined)
      throw new Error(`the explorer reached ${machine?.key} instead of ${key}`)
    const other = await this.#make(detour)
    if (other.key !== key) throw new Error(`the explorer reached ${other.key} instead of ${key}`)
    return { recipe: detour, machine: other }
  }

  /** Uses a state object of its own if the state will change. */
  async #make({ root, actions }: Recipe, willSync = false): Promise<Machine> {
    const isChanged = willSync || actions.some((action) => unpackAction(action).kind === 'sync')
    const state = isChanged ? await this.#newState(root) : await this.#stateOf(root)
    const { subject, scope } = this.#options
    const machine = await Machine.make(subject, scope, state, root)
    for (const action of actions) await machine.perform(action, await this.#ahead(machine, action))
    return machine
  }

  /** The states after each record that the action makes durable. */
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

  /** While no batch is at the disk there is usually a shorter recipe. */
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

  /** A restart gives the same result for every node at which the coordinator's time is the same. */
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

  /** A shared object: each user leaves it as it was. */
  async #stateOf(root: Root): Promise<State> {
    const key = `${root.kind}${root.durable.number}`
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state = await this.#newState(root)
    if (this.#states.size === statesKept) this.#states.clear()
    this.#states.set(key, state)
    return state
  }

  /** Decoded from a checkpoint, or for a start made by the shipped replay. */
  #newState({ kind, durable }: Root): Promise<State> | State {
    return kind === 'running'
      ? decodeState(durable.encoded)
      : this.#options.subject.recover(durable.log())
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
