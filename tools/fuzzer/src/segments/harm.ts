import { crc32 } from 'node:zlib'
import { type Random, SimulatedDisk } from '@tenure/testing'
import type { Input, Step } from '../input/input.js'
import { mutateBytes } from '../input/mutation.js'

/** Files of a log after damage that their writer did not cause. */
export interface HarmedDisk {
  readonly disk: SimulatedDisk
  /** A header was given a valid checksum: then it is a forgery, not damage. */
  readonly isForged: boolean
}

const sectorBytes = 512
/** The part of a sector of HEAD that its checksum covers ends here. */
const headBytes = 56

interface Scene {
  readonly disk: SimulatedDisk
  readonly earlier: readonly SimulatedDisk[]
}

type Operation = (scene: Scene, path: string, step: Step) => void

/** A step without a target does nothing, so that any other step can be left out. */
const operations: { readonly [kind: string]: Operation } = {
  write({ disk }, path, { at = 0, bytes = empty }) {
    const content = Uint8Array.from(disk.readFile(path))
    if (at >= content.length) return
    content.set(bytes.subarray(0, content.length - at), at)
    disk.writeFile(path, content)
  },
  replace({ disk }, path, { bytes = empty }) {
    disk.writeFile(path, bytes)
  },
  cut({ disk }, path, { at = 0 }) {
    disk.truncateFile(path, at)
  },
  remove({ disk }, path) {
    disk.removeFile(path)
  },
  swap({ disk }, path, { other = '' }) {
    if (disk.files().includes(other)) disk.swapFiles(path, other)
  },
  copy({ disk }, path, { other = '' }) {
    disk.writeFile(other, disk.readFile(path))
  },
  /** A sector overwrites another one. */
  move({ disk }, path, { at = 0, to = 0 }) {
    const content = Uint8Array.from(disk.readFile(path))
    const sector = content.slice(at * sectorBytes, (at + 1) * sectorBytes)
    if (to * sectorBytes >= content.length) return
    content.set(sector.subarray(0, content.length - to * sectorBytes), to * sectorBytes)
    disk.writeFile(path, content)
  },
  /** Restores an older version of the file. */
  age({ disk, earlier }, path, { at = 0 }) {
    const then = earlier[at % Math.max(1, earlier.length)]
    if (then?.files().includes(path)) disk.writeFile(path, then.readFile(path))
  },
  /** A sector of an older version of any file overwrites the one at its place. */
  stale({ disk, earlier }, path, { at = 0, to = 0, other = '' }) {
    const then = earlier[at % Math.max(1, earlier.length)]
    if (!then?.files().includes(other)) return
    const content = Uint8Array.from(disk.readFile(path))
    const sector = then.readFile(other).subarray(to * sectorBytes, (to + 1) * sectorBytes)
    if (to * sectorBytes >= content.length) return
    content.set(sector.subarray(0, content.length - to * sectorBytes), to * sectorBytes)
    disk.writeFile(path, content)
  },
  /** Gives a file header, or a sector of HEAD, a valid checksum. */
  forge({ disk }, path, { at = 0 }) {
    const content = Buffer.from(disk.readFile(path))
    const start = (at % 2) * sectorBytes
    const end = path.endsWith('HEAD') ? start + headBytes : start + sectorBytes
    if (content.length < end) return
    content.writeUInt32LE(crc32(content.subarray(start + 12, end)), start + 8)
    disk.writeFile(path, content)
  },
}

const empty = new Uint8Array()

export function harm(from: Scene, steps: Input): HarmedDisk {
  const disk = SimulatedDisk.from(from.disk.snapshot(), { recordCalls: false })
  let isForged = false
  for (const step of steps) {
    const { kind, name = '' } = step
    const operation = operations[kind]
    if (operation === undefined || !disk.files().includes(name)) continue
    operation({ disk, earlier: from.earlier }, name, step)
    if (kind === 'forge') isForged = true
  }
  return { disk, isForged }
}

/** One damage to one of the files, mostly small. */
export function anyHarm(
  random: Random,
  disk: SimulatedDisk,
  isMeant: (path: string) => boolean = () => true,
): Step[] {
  const paths = disk.files().filter((path) => isMeant(path) && !path.endsWith('LOCK'))
  if (paths.length === 0) return []
  const name = random.pick(paths)
  const content = disk.readFile(name)
  const other = random.pick(paths)
  const sectors = Math.max(1, Math.ceil(content.length / sectorBytes))
  const at = anyPlace(random, content)
  return random.pick<() => Step[]>([
    () => [{ kind: 'write', name, at, bytes: changedByte(random, content, at) }],
    () => [{ kind: 'write', name, at, bytes: changedByte(random, content, at) }],
    () => [{ kind: 'write', name, at, bytes: random.bytes(1 + random.integer(64)) }],
    () => [{ kind: 'write', name, at, bytes: new Uint8Array(1 + random.integer(sectorBytes)) }],
    () => [zeroSectors(random, name, sectors)],
    () => [zeroSectors(random, name, sectors)],
    () => [{ kind: 'cut', name, at: random.chance(0.5) ? at : at - (at % sectorBytes) }],
    () => [{ kind: 'cut', name, at: content.length + random.pick([1, 8, 512, 4096]) }],
    () => [{ kind: 'remove', name }],
    () => [{ kind: 'swap', name, other }],
    () => [{ kind: 'copy', name, other: random.chance(0.7) ? other : oddName(random, name) }],
    () => [{ kind: 'move', name, at: random.integer(sectors), to: random.integer(sectors) }],
    () => [{ kind: 'age', name, at: random.integer(8) }],
    () => [{ kind: 'stale', name, other, at: random.integer(8), to: random.integer(sectors) }],
    () => [
      { kind: 'stale', name, other: name, at: random.integer(8), to: random.integer(sectors) },
    ],
    () => [{ kind: 'replace', name, bytes: mutateBytes(random, content, disk.readFile(other)) }],
    () => [forgery(random, name, content), { kind: 'forge', name, at: random.integer(2) }],
  ])()
}

function zeroSectors(random: Random, name: string, sectors: number): Step {
  const first = random.integer(sectors)
  const count = 1 + random.integer(sectors - first)
  return {
    kind: 'write',
    name,
    at: first * sectorBytes,
    bytes: new Uint8Array(count * sectorBytes),
  }
}

/** Mostly a place with data: files consist mainly of zeros. */
function anyPlace(random: Random, content: Uint8Array): number {
  if (content.length === 0) return 0
  let end = content.length
  while (end > 0 && content[end - 1] === 0) end--
  return random.chance(0.8) && end > 0 ? random.integer(end) : random.integer(content.length)
}

function changedByte(random: Random, content: Uint8Array, at: number): Uint8Array {
  return Uint8Array.of((content[at] ?? 0) ^ (1 << random.integer(8)))
}

/** Offsets of numbers in headers. */
const fields = [
  ...[12, 16, 32, 36, 40, 44, 48, 52, 56, 64, 68, 72, 80, 88, 92, 96, 100, 104, 108],
  ...[112, 116, 120, 124, 128, 132],
]

function forgery(random: Random, name: string, content: Uint8Array): Step {
  const at = random.pick(fields) + (name.endsWith('HEAD') ? random.integer(2) * sectorBytes : 0)
  const bytes = random.chance(0.5) ? changedByte(random, content, at) : random.bytes(4)
  return { kind: 'write', name, at, bytes }
}

function oddName(random: Random, name: string): string {
  const digit = String(random.integer(10))
  return random.pick([`${name}.tmp`, `${name}~`, name.replace(/\d(?=\.)/, digit), `${name}x`])
}
