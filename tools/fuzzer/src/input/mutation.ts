import type { Random } from '@tenure/testing'
import type { Input, Step } from './input.js'

/**
 * First bytes of MessagePack values, lengths at which encodings change, and results of overflows.
 */
const bytesOfInterest = [
  ...[0x00, 0x01, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x9f, 0xa0, 0xa1, 0xbf],
  ...Array.from({ length: 33 }, (_, index) => 0xc0 + index),
  0xff,
]

const numbersOfInterest = [
  ...[0, 1, 7, 8, 63, 64, 127, 128, 255, 256, 511, 512, 4095, 4096, 65_535, 65_536],
  ...[2 ** 24 - 1, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1],
]

type Change = (random: Random, bytes: Uint8Array, other: Uint8Array) => Uint8Array

const changes: readonly Change[] = [
  flipBit,
  setByte,
  setByteOfInterest,
  setByteOfInterest,
  writeNumber,
  insert,
  remove,
  cutOff,
  repeat,
  fill,
  splice,
]

/** One mutation: as blind as a bad disk, or aware of the format. */
export function mutateBytes(
  random: Random,
  bytes: Uint8Array,
  other: Uint8Array = bytes,
): Uint8Array {
  if (bytes.length === 0) return insert(random, bytes)
  return random.pick(changes)(random, bytes, other)
}

/** Structure is more often at the front. */
function place(random: Random, length: number): number {
  return random.integer(random.chance(0.5) ? Math.min(length, 64) : length)
}

function changed(bytes: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy.set(values.slice(0, copy.length - at), at)
  return copy
}

function flipBit(random: Random, bytes: Uint8Array): Uint8Array {
  const at = place(random, bytes.length)
  return changed(bytes, at, bytes[at]! ^ (1 << random.integer(8)))
}

function setByte(random: Random, bytes: Uint8Array): Uint8Array {
  return changed(bytes, place(random, bytes.length), random.integer(256))
}

function setByteOfInterest(random: Random, bytes: Uint8Array): Uint8Array {
  return changed(bytes, place(random, bytes.length), random.pick(bytesOfInterest))
}

function writeNumber(random: Random, bytes: Uint8Array): Uint8Array {
  const width = random.pick([1, 2, 4])
  const value = random.pick(numbersOfInterest)
  const digits = Array.from({ length: width }, (_, index) => Math.floor(value / 256 ** index) % 256)
  if (random.chance(0.5)) digits.reverse()
  return changed(bytes, place(random, bytes.length), ...digits)
}

function insert(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.integer(bytes.length + 1)
  const added = random.chance(0.5)
    ? random.bytes(1 + random.integer(8))
    : Uint8Array.of(random.pick(bytesOfInterest))
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)])
}

function remove(random: Random, bytes: Uint8Array): Uint8Array {
  const at = place(random, bytes.length)
  const count = 1 + random.integer(Math.min(16, bytes.length - at))
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + count)])
}

function cutOff(random: Random, bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, random.integer(bytes.length))
}

function repeat(random: Random, bytes: Uint8Array): Uint8Array {
  const at = place(random, bytes.length)
  const part = bytes.subarray(at, at + 1 + random.integer(16))
  return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)])
}

function fill(random: Random, bytes: Uint8Array): Uint8Array {
  const at = place(random, bytes.length)
  const copy = Uint8Array.from(bytes)
  return copy.fill(random.pick([0, 0xff, 0x91]), at, at + 1 + random.integer(32))
}

function splice(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const at = random.integer(bytes.length + 1)
  return Buffer.concat([bytes.subarray(0, at), other.subarray(random.integer(other.length + 1))])
}

type StepChange = (random: Random, input: Input, other: Input) => Input

const stepChanges: readonly StepChange[] = [
  (random, input) => input.toSpliced(random.integer(input.length), 1),
  (random, input) => input.toSpliced(random.integer(input.length), 0, random.pick(input)),
  (random, input) => {
    const [one, two] = [random.integer(input.length), random.integer(input.length)]
    return input.with(one, input[two]!).with(two, input[one]!)
  },
  (random, input, other) => {
    const taken = other.length === 0 ? random.pick(input) : random.pick(other)
    return input.toSpliced(random.integer(input.length + 1), 0, taken)
  },
]

/** Leaves a step out, repeats it, swaps it with another, or takes one of the other input. */
export function mutateSteps(random: Random, input: Input, other: Input): Input {
  return input.length === 0 ? other : random.pick(stepChanges)(random, input, other)
}

/** Mutates the bytes of one step that has some. */
export function mutateOneOf(random: Random, input: Input, other: Input): Input {
  const withBytes = (steps: Input) => steps.filter(({ bytes }) => bytes !== undefined)
  const step = pickOf(random, withBytes(input))
  if (step === undefined) return mutateSteps(random, input, other)
  const taken = pickOf(random, withBytes(other)) ?? step
  return replaced(input, step, { ...step, bytes: mutateBytes(random, step.bytes!, taken.bytes!) })
}

export function replaced(input: Input, step: Step, ...by: Step[]): Input {
  return input.toSpliced(input.indexOf(step), 1, ...by)
}

export function pickOf<T>(random: Random, from: readonly T[]): T | undefined {
  return from.length === 0 ? undefined : random.pick(from)
}
