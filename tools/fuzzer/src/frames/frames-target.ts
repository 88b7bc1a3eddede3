import { Peers } from '@tenure/coordinator-server/internal'
import { holds } from '@tenure/harness'
import {
  ClientConnection,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  encodeWelcome,
  ServerConnection,
} from '@tenure/protocol'
import type { Random } from '@tenure/testing'
import { anyMessage } from '../corpus/message-pack.js'
import {
  anyAnswer,
  anyFarewell,
  anyHello,
  anyRequest,
  anyWelcome,
  frameOf,
  withOtherExtras,
} from '../corpus/messages.js'
import type { Input, Step } from '../input/input.js'
import { isSame } from '../input/input.js'
import { mutateOneOf, mutateSteps, pickOf, replaced } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { tell } from './client-end.js'
import { gate, type OpenPeers, serve, token } from './peer-end.js'
import { listenTo, type OpenServer } from './server-end.js'

/** The two ends of a connection, and the coordinator. */
export interface FramesParts {
  readonly openServer: OpenServer
  readonly openClient: () => ClientConnection
  readonly openPeers: OpenPeers
}

const shipped: FramesParts = {
  openServer: (limits, now) => new ServerConnection(limits, now),
  openClient: () => new ClientConnection(),
  openPeers: (...parts) => new Peers(...parts),
}

/**
 * Bytes on a connection, in chunks of any size. `peer` steps go to a live coordinator, whose event
 * loop turns at each `turn`, and to a bare server end. `client` steps go to a client's end.
 */
export function framesTarget(parts: Partial<FramesParts> = {}): Target {
  const used = { ...shipped, ...parts }
  return {
    name: 'frames',
    generate: (random) => (random.chance(0.7) ? askerSession(random) : serverSession(random)),
    mutate(random, input, other) {
      if (random.chance(0.3)) return mutateSteps(random, input, other)
      return random.chance(0.3) ? resplit(random, input) : mutateOneOf(random, input, other)
    },
    run: (input) => run(used, input),
  }
}

async function run(parts: FramesParts, input: Input): Promise<string> {
  const outcomes: string[] = []
  const toClient = piecesOf(input, 'client')
  if (toClient.length > 0) outcomes.push(tryClient(parts, toClient))
  const toServer = piecesOf(input, 'peer')
  if (toServer.length > 0) {
    const heard = listenTo(parts.openServer, toServer, isWelcome)
    const whole = listenTo(parts.openServer, [Buffer.concat(toServer)], isWelcome)
    holds(
      isSame(heard, whole),
      'chunk boundaries change nothing',
      () =>
        `in chunks: ${heard.end} after ${heard.arrivals.length}; whole: ${whole.end} after ${whole.arrivals.length}`,
    )
    const steps = input.filter(({ kind }) => kind !== 'client')
    outcomes.push(await serve(parts.openPeers, steps, heard))
  }
  return outcomes.join(', ')
}

const isWelcome: Parameters<typeof listenTo>[2] = (hello) => gate.refusal(hello) === undefined

function tryClient({ openClient }: FramesParts, pieces: readonly Uint8Array[]): string {
  const told = tell(openClient, pieces)
  const whole = tell(openClient, [Buffer.concat(pieces)])
  holds(
    isSame(told, whole),
    'chunk boundaries change nothing',
    () =>
      `in chunks: ${told.end} after ${told.replies.length}; whole: ${whole.end} after ${whole.replies.length}`,
  )
  return `client ${told.end} ${told.replies.length > 0 ? told.replies.at(-1)!.kind : 'nothing'}`
}

function piecesOf(input: Input, kind: string): Uint8Array[] {
  return input.flatMap((step) => (step.kind === kind ? [step.bytes!] : []))
}

/** Mostly a valid hello, followed by various requests. */
function askerSession(random: Random): Input {
  const known = random.chance(0.9) ? token : random.pick([undefined, 'wrong'])
  const frames: Uint8Array[] = [opening(random, encodeHello(anyHello(random, known)))]
  if (random.chance(0.05)) frames.shift()
  for (let left = random.integer(12); left > 0; left--) {
    const isOdd = random.chance(0.1)
    frames.push(isOdd ? frameOf(anyMessage(random)) : encodeRequest(anyRequest(random)))
  }
  return cut(random, 'peer', frames)
}

function serverSession(random: Random): Input {
  const frames: Uint8Array[] = [opening(random, encodeWelcome(anyWelcome(random)))]
  if (random.chance(0.1)) frames.shift()
  for (let left = random.integer(8); left > 0; left--) frames.push(encodeAnswer(anyAnswer(random)))
  if (random.chance(0.2)) frames.push(anyFarewell(random))
  return cut(random, 'client', frames)
}

/** The frame, or the same message as a later release may write it. */
function opening(random: Random, frame: Uint8Array): Uint8Array {
  return random.chance(0.3) ? withOtherExtras(random, frame) : frame
}

/** Cuts at the end of a frame, or anywhere. */
function cut(random: Random, kind: string, frames: readonly Uint8Array[]): Input {
  const pieces = random.chance(0.5) ? frames : split(random, Buffer.concat(frames))
  return pieces.flatMap((bytes): Step[] => {
    const isTurn = kind === 'peer' && random.chance(0.3)
    return [{ kind, bytes }, ...(isTurn ? [{ kind: 'turn' }] : [])]
  })
}

function split(random: Random, bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = []
  const longest = random.pick([1, 3, 16, 200])
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + random.integer(longest)
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** Splits one chunk, or joins two. */
function resplit(random: Random, input: Input): Input {
  const step = pickOf(
    random,
    input.filter(({ bytes }) => bytes !== undefined && bytes.length > 1),
  )
  if (step === undefined) return input
  const { kind, bytes } = step
  const next = input[input.indexOf(step) + 1]
  if (next?.kind === kind && random.chance(0.5)) {
    const joined = { kind, bytes: Buffer.concat([bytes!, next.bytes!]) }
    return replaced(replaced(input, next), step, joined)
  }
  const at = 1 + random.integer(bytes!.length - 1)
  return replaced(
    input,
    step,
    { kind, bytes: bytes!.subarray(0, at) },
    { kind, bytes: bytes!.subarray(at) },
  )
}
