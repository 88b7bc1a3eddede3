/**
 * One process on the machine. All of its calls go through here.
 *
 * A call has two steps. It begins immediately: the cache changes, and the data for the medium becomes
 * pending. It lands after its latency. A power loss in between finds it pending.
 */
import { type CallDetails, type DiskCall, isChange, isSync, isWrite } from './call.js'
import { Crashed, Killed, systemError } from './errors.js'
import type { Fault } from './fault.js'
import type { Inode } from './inode.js'
import type { Machine } from './machine.js'
import { Refused } from './volume.js'

/** The end of a call: brings its data to the medium, and returns or throws the result. */
export type Land<T> = () => T

/** The start of a call: checks it and changes the cache. It models the fault passed to it. */
export type Begin<T> = (call: DiskCall, fault: Fault | undefined) => Land<T>

export class Caller {
  readonly machine: Machine
  readonly id: number
  readonly whenKilled: Promise<void>
  killed = false
  /** One entry per open file. */
  readonly #open = new Map<object, Inode>()
  readonly #locked = new Set<Inode>()
  #announceKill: () => void = () => {}

  constructor(machine: Machine) {
    this.machine = machine
    this.id = machine.processCount++
    this.whenKilled = new Promise((resolve) => {
      this.#announceKill = resolve
    })
  }

  async perform<T>(details: CallDetails, begin: Begin<T>): Promise<T> {
    if (this.killed) return never()
    const { call, land } = this.#begin(details, begin)
    const { latency } = this.machine.options
    await (call === undefined ? undefined : latency?.(call))
    try {
      const value = land()
      return this.killed ? await never() : value
    } catch (error) {
      if (this.killed) return never()
      throw error
    }
  }

  performOnLoop<T>(details: CallDetails, begin: Begin<T>): T {
    if (this.killed) throw new Killed()
    const value = this.#begin(details, begin).land()
    if (this.killed) throw new Killed()
    return value
  }

  kill(): void {
    if (this.killed) return
    this.killed = true
    for (const handle of this.#open.keys()) this.letGo(handle)
    for (const inode of this.#locked) inode.lockedBy = undefined
    this.#locked.clear()
    this.#announceKill()
  }

  hold(handle: object, inode: Inode): void {
    this.#open.set(handle, inode)
    this.machine.volume.hold(inode)
  }

  letGo(handle: object): void {
    const inode = this.#open.get(handle)
    if (inode === undefined) return
    this.#open.delete(handle)
    inode.pins.delete(handle)
    this.machine.volume.letGo(inode)
  }

  holds(handle: object): boolean {
    return this.#open.has(handle)
  }

  lock(inode: Inode): void {
    inode.lockedBy = this
    this.#locked.add(inode)
  }

  unlock(inode: Inode): void {
    if (!this.#locked.delete(inode)) return
    inode.lockedBy = undefined
  }

  #begin<T>(details: CallDetails, begin: Begin<T>): { call?: DiskCall; land: Land<T> } {
    const { machine } = this
    if (machine.crashed) return { land: raise(new Crashed()) }
    const call = machine.record(this.id, details)
    const fault = machine.faults.strike(call)
    if (fault?.kind === 'error') return { call, land: raise(systemError(fault.code, call)) }
    if (machine.dead && isChange(call)) return { call, land: raise(systemError('EIO', call)) }
    const stop = fault?.kind === 'crash' || fault?.kind === 'kill' ? fault : undefined
    if (stop?.when === 'before') {
      // The call must have begun for its data to be pending.
      if (stop.kind === 'crash' && isAtomicOnlyWhenLanded(call)) this.#tryBegin(call, begin)
      return { call, land: this.#stop<T>(stop.kind) }
    }
    const land = this.#tryBegin(call, begin, stop === undefined ? fault : undefined)
    return {
      call,
      land: () => {
        machine.assertPowered()
        if (stop === undefined) return land()
        // The caller is gone, so the result of the call does not matter.
        try {
          land()
        } catch {}
        return this.#stop<T>(stop.kind)()
      },
    }
  }

  #tryBegin<T>(call: DiskCall, begin: Begin<T>, fault?: Fault): Land<T> {
    // Node's own file errors have no stack either, and capturing one takes longer than the call.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    try {
      return begin(call, fault)
    } catch (error) {
      return raise(error instanceof Refused ? systemError(error.code, call) : error)
    } finally {
      Error.stackTraceLimit = stackTraceLimit
    }
  }

  #stop<T>(kind: 'crash' | 'kill'): Land<T> {
    if (kind === 'crash') this.machine.crash()
    else this.kill()
    return raise(kind === 'crash' ? new Crashed() : new Killed())
  }
}

/** Calls whose success means durable, and which a power loss may find half done. */
function isAtomicOnlyWhenLanded(call: DiskCall): boolean {
  return call.kind === 'createDirectory' || (isWrite(call) && isSync(call))
}

function raise<T>(error: unknown): Land<T> {
  return () => {
    throw error
  }
}

function never(): Promise<never> {
  return new Promise(() => {})
}
