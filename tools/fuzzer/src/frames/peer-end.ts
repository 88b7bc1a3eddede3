import type { ServerLimits, Token } from '@tenure/coordinator-server'
import {
  type Active,
  Coordinator,
  DecisionTime,
  defaultKnobs,
  defaultLimits,
  Gate,
  type PeerContext,
  type Peers,
  WorkerRegistry,
} from '@tenure/coordinator-server/internal'
import { holds, Violation } from '@tenure/harness'
import { ClientConnection, ProtocolError, type Reply } from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import { checkInvariants, createState } from '@tenure/state-machine'
import { SimulatedClock } from '@tenure/testing'
import type { Input } from '../input/input.js'
import { codeOf } from '../input/violation.js'
import { MemoryLog } from './memory-log.js'
import { ScriptedSocket } from './scripted-socket.js'
import { limits as connectionLimits, type ServerOutcome, welcome } from './server-end.js'

export const token = 'sesame-7d1f0a'
const tokens: readonly Token[] = [{ token, roles: ['produce', 'work'] }]

/** The gate of a coordinator with this token. */
export const gate = new Gate(tokens)

const limits: ServerLimits = { ...defaultLimits, ...connectionLimits, pollsPerConnectionMax: 8 }

export type OpenPeers = (context: PeerContext, active: Active, limits: ServerLimits) => Peers

/**
 * A whole coordinator without disk and network, listening to one connection. It must do exactly
 * what a bare connection makes of the same bytes, `heard`: answer each request once, close the
 * connection after a violation with at most one message, and keep no trace of it.
 */
export async function serve(open: OpenPeers, steps: Input, heard: ServerOutcome): Promise<string> {
  const clock = new SimulatedClock({ startMs: 1_700_000_000_000, soon: 'manual' })
  const state = createState()
  const registry = new WorkerRegistry()
  const failures: unknown[] = []
  const complaints: string[] = []
  const coordinator = new Coordinator({
    state,
    clock,
    registry,
    log: new MemoryLog(),
    time: new DecisionTime(clock, 0),
    knobs: defaultKnobs,
    observer: {},
    onFailure: (error) => failures.push(error),
  })
  await coordinator.start()
  let handled = 0
  const handle = coordinator.handle.bind(coordinator)
  coordinator.handle = (...asked) => {
    handled++
    return handle(...asked)
  }
  const context: PeerContext = {
    gate,
    limits,
    now: () => clock.monotonicMs(),
    soon: (callback) => clock.soon(callback),
    onViolation: (...words) => complaints.push(words.join(' ')),
  }
  const peers = open(context, { role: 'active', coordinator, welcome }, limits)
  const socket = new ScriptedSocket()
  await withFaults(failures, async () => {
    peers.accept(socket)
    for (const { kind, bytes } of steps) {
      if (kind === 'peer') socket.arrive(bytes!)
      else await clock.settle()
    }
    await comeToRest(clock, socket)
  })
  if (failures.length > 0) throw failures[0]
  const replies = repliesIn(socket)
  checkEnd(socket, heard, replies, complaints)
  checkAnswers(replies, heard, handled)
  socket.close()
  await clock.settle()
  holds(
    coordinator.waitingPolls === 0 && peers.size === 0,
    'a closed connection leaves nothing behind',
    () => `${coordinator.waitingPolls} polls, ${peers.size} peers`,
  )
  const idle = [...registry.list()].filter(({ leaseIds }) => leaseIds.size === 0)
  holds(
    idle.length === 0,
    'a closed connection leaves nothing behind',
    () => `${idle.length} workers`,
  )
  checkInvariants(state)
  return `${heard.end} ${kindsOf(replies)}`
}

/** An unhandled rejection would end the process; here it is caught as a finding. */
async function withFaults(failures: unknown[], act: () => Promise<void>): Promise<void> {
  const note = (error: unknown) => void failures.push(error)
  process.on('uncaughtException', note)
  try {
    await act()
  } finally {
    process.off('uncaughtException', note)
  }
}

/** Runs until all bytes are read and all resulting work is done. */
async function comeToRest(clock: SimulatedClock, socket: ScriptedSocket): Promise<void> {
  await clock.settle()
  for (let rounds = 0; socket.unsentBytes > 0; rounds++) {
    holds(rounds < roundsMax, 'a connection becomes idle', () => `${rounds} rounds`)
    socket.drain()
    await clock.settle()
  }
}

const roundsMax = 10_000

function repliesIn(socket: ScriptedSocket): Reply[] {
  const connection = new ClientConnection()
  const replies: Reply[] = []
  try {
    for (const bytes of socket.written) connection.push(bytes)
    for (let reply = connection.next(); reply !== undefined; reply = connection.next()) {
      replies.push(reply)
    }
  } catch (error) {
    const code = codeOf(error, (it) => it instanceof ProtocolError)
    throw new Violation('every answer can be decoded', code)
  }
  return replies
}

function checkEnd(
  socket: ScriptedSocket,
  heard: ServerOutcome,
  replies: readonly Reply[],
  complaints: readonly string[],
): void {
  const isViolation = heard.end !== 'open'
  holds(
    socket.isOver === isViolation,
    'a violation ends the connection, and nothing else does',
    () => `it is ${socket.isOver ? 'over' : 'open'}; the bytes are: ${heard.end}`,
  )
  holds(
    complaints.length === (isViolation ? 1 : 0),
    'a violation is logged once',
    () => `${complaints.length} times`,
  )
  holds(!complaints.join().includes(token), 'no message contains a token', () => complaints.join())
  const farewells = replies.filter(isFarewell)
  holds(farewells.length <= 1, 'at most one farewell is sent', () => `${farewells.length} of them`)
  const last = replies.at(-1)
  holds(
    farewells.length === 0 || (last !== undefined && isFarewell(last)),
    'nothing follows a farewell',
    () => kindsOf(replies),
  )
  const isUnaccepted = !heard.arrivals.some(({ kind }) => kind === 'hello')
  holds(!isUnaccepted || replies.length === 0, 'a peer without a valid hello gets no reply', () =>
    kindsOf(replies),
  )
}

function isFarewell(reply: Reply): boolean {
  return reply.kind === 'refused' || (reply.kind === 'answer' && reply.answer.id === 0)
}

function checkAnswers(replies: readonly Reply[], heard: ServerOutcome, handled: number): void {
  const requests = heard.arrivals.flatMap((it) => (it.kind === 'request' ? [it.request] : []))
  holds(
    handled <= requests.length,
    'only accepted peers are served',
    () => `${handled} requests of ${requests.length} were handled`,
  )
  const left = new Map<number, number>()
  for (const { id } of requests) left.set(id, (left.get(id) ?? 0) + 1)
  for (const reply of replies) {
    if (reply.kind !== 'answer' || reply.answer.id === 0) continue
    const { id } = reply.answer
    const asked = left.get(id) ?? 0
    holds(asked > 0, 'every answer belongs to a request', () => `id ${id}`)
    left.set(id, asked - 1)
  }
  if (heard.end !== 'open') return
  for (const request of requests) if (isPoll(request)) left.set(request.id, 0)
  const unanswered = [...left].filter(([, count]) => count > 0)
  holds(unanswered.length === 0, 'every request is answered', () => `ids ${unanswered.join('; ')}`)
}

function kindsOf(replies: readonly Reply[]): string {
  const kinds = replies.map((reply) => (reply.kind === 'answer' ? reply.answer.kind : reply.kind))
  return [...new Set(kinds)].sort().join(' ')
}
