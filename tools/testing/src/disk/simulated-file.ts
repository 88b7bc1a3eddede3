/** An open file of a simulated process. */
import { type DiskCall, type DiskCallKind, isSync } from './call.js'
import type { Caller, Land } from './caller.js'
import { sectorBytes } from './content.js'
import { systemError } from './errors.js'
import type { Fault } from './fault.js'
import type { Inode, PendingWrite, SectorLanded } from './inode.js'
import type { DiskFile, OpenMode } from './seam.js'
import { Refused } from './volume.js'

export class SimulatedFile implements DiskFile {
  readonly #caller: Caller
  readonly #inode: Inode
  readonly #path: string
  readonly #mode: OpenMode

  constructor(caller: Caller, inode: Inode, path: string, mode: OpenMode) {
    this.#caller = caller
    this.#inode = inode
    this.#path = path
    this.#mode = mode
    caller.hold(this, inode)
  }

  size(): Promise<number> {
    return this.#caller.perform(this.#describe('size'), () => {
      this.#assertOpen()
      return () => this.#inode.cache.size
    })
  }

  read(into: Uint8Array, position: number): Promise<number> {
    const details = { ...this.#describe('read'), position, bytes: into.length }
    return this.#caller.perform(details, (_, fault) => {
      this.#assertOpen()
      const wanted = fault?.kind === 'short-read' ? shorten(into.length, fault.bytes) : into.length
      return () => this.#inode.cache.read(into.subarray(0, wanted), position)
    })
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    const details = { ...this.#describe('write'), position, bytes: bytes.length }
    return this.#caller.perform(details, (call, fault) => this.#write(call, fault, bytes, position))
  }

  writeOnLoop(bytes: Uint8Array, position: number): number {
    const details = { ...this.#describe('writeOnLoop'), position, bytes: bytes.length }
    return this.#caller.performOnLoop(details, (call, fault) =>
      this.#write(call, fault, bytes, position),
    )
  }

  pin(): Promise<void> {
    return this.#caller.perform(this.#describe('pin'), () => {
      this.#assertOpen()
      this.#inode.pins.add(this)
      return () => {}
    })
  }

  sync(): Promise<void> {
    return this.#caller.perform(this.#describe('sync'), (call, fault) => {
      this.#assertOpen()
      const mark = this.#caller.machine.volume.mark()
      return () => this.#land(call, fault, (write) => write.order <= mark)
    })
  }

  close(): Promise<void> {
    return this.#caller.perform(this.#describe('close'), () => {
      this.#caller.letGo(this)
      return () => {}
    })
  }

  #write(
    call: DiskCall,
    fault: Fault | undefined,
    bytes: Uint8Array,
    position: number,
  ): Land<number> {
    this.#assertOpen()
    if (this.#mode === 'read') throw new Refused('EBADF')
    const { volume } = this.#caller.machine
    const wanted = fault?.kind === 'short-write' ? cut(bytes, position, fault) : bytes.length
    const offered = bytes.subarray(0, wanted)
    const origin = { call: call.index, path: this.#path }
    const { taken, pending } = volume.write(this.#inode, offered, position, origin)
    return () => {
      if (isSync(call)) this.#land(call, fault, (write) => write === pending)
      return taken
    }
  }

  /** Brings writes to the medium, or fails as the fault says. */
  #land(call: DiskCall, fault: Fault | undefined, chosen: (write: PendingWrite) => boolean): void {
    const inode = this.#inode
    const failed = fault?.kind === 'failed-sync' ? fault : undefined
    const landed: SectorLanded = ({ call, path }, sector) =>
      failed?.landed?.({ kind: 'sector', call, path, sector }) ?? false
    if (inode.owesError) {
      inode.owesError = false
      inode.forget(chosen, landed)
      throw systemError('EIO', call)
    }
    switch (failed?.model) {
      case undefined:
        // Another process may have killed the device during this call.
        if (this.#caller.machine.dead) throw systemError('EIO', call)
        inode.land(chosen)
        return
      case 'late':
        inode.forget(chosen, landed)
        inode.owesError = true
        return
      case 'clean-page':
        inode.forget(chosen, landed)
        throw systemError('EIO', call)
      case 'reverted':
        inode.revert(chosen, landed)
        throw systemError('EIO', call)
      case 'dead':
        throw this.#caller.machine.die(call)
    }
  }

  #describe(kind: DiskCallKind) {
    return { kind, path: this.#path, mode: this.#mode }
  }

  #assertOpen(): void {
    if (!this.#caller.holds(this)) throw new Refused('EBADF')
  }
}

function cut(
  { length }: Uint8Array,
  position: number,
  { bytes, toSector }: Extract<Fault, { kind: 'short-write' }>,
): number {
  const count = shorten(length, bytes)
  if (toSector !== true) return count
  const end = position + count
  const sectorEnd = end - (end % sectorBytes)
  return sectorEnd > position ? sectorEnd - position : length
}

/** At least one byte: an empty read would look like the end of the file. */
function shorten(length: number, bytes: number | undefined): number {
  return Math.min(length, bytes ?? Math.ceil(length / 2))
}
