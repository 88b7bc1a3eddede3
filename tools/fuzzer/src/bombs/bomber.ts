// Sends bombs from a process of its own: `node bomber.js <port> <ms>`. It prints `ready`, starts
// when it receives a message, and prints its results as one line of JSON at the end.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { ClientConnection } from '@tenure/protocol'
import { type Bomb, bombs } from './bomb-set.js'

export interface BombReport {
  readonly count: number
  /** Bombs after which the connection was neither answered nor closed in time. */
  readonly unhandled: readonly string[]
}

/** Number of concurrent bombs: a coordinator with a small heap has to hold them all. */
const atOnce = 8
/** Time limit for an answer to a complete bomb, or for the end of its connection. */
const answerMsMax = 20_000
/** How long an incomplete bomb stays on its connection. */
const unfinishedMs = 50

const hello = ClientConnection.hello({ role: 'admin', name: 'bomber', capacity: 1 })

/** `absent`: connections are refused. */
type Fate = 'handled' | 'unhandled' | 'absent'

function throwOne(port: number, { bytes, isUnfinished = false }: Bomb, greets: boolean) {
  return new Promise<Fate>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const patience = setTimeout(
      () => end(isUnfinished ? 'handled' : 'unhandled'),
      isUnfinished ? unfinishedMs : answerMsMax,
    )
    let isConnected = false
    let isGreeted = !greets
    function end(fate: Fate): void {
      clearTimeout(patience)
      socket.destroy()
      resolve(fate)
    }
    socket.on('connect', () => {
      isConnected = true
      socket.write(greets ? hello : bytes)
    })
    socket.on('data', () => {
      if (isGreeted) end('handled')
      else {
        isGreeted = true
        socket.write(bytes)
      }
    })
    // The coordinator is expected to close the connection.
    socket.on('error', () => {})
    socket.on('close', () => end(isConnected ? 'handled' : 'absent'))
  })
}

/** Ends early when the coordinator is gone. */
async function bombard(port: number, ms: number): Promise<BombReport> {
  const unhandled = new Set<string>()
  const endMs = performance.now() + ms
  let count = 0
  do {
    for (const bomb of bombs) {
      for (const greets of [false, true]) {
        const thrown = Array.from({ length: atOnce }, () => throwOne(port, bomb, greets))
        const fates = await Promise.all(thrown)
        count += fates.length
        const what = `${bomb.name}, ${greets ? 'after' : 'before'} the handshake`
        if (fates.includes('unhandled')) unhandled.add(what)
        if (!fates.includes('absent')) continue
        unhandled.add(`${what}: connection refused`)
        return { count, unhandled: [...unhandled] }
      }
    }
  } while (performance.now() < endMs)
  return { count, unhandled: [...unhandled] }
}

const [port, ms] = process.argv.slice(2)
createInterface(process.stdin).once('line', async () => {
  console.log(JSON.stringify(await bombard(Number(port), Number(ms))))
  process.exit()
})
console.log('ready')
