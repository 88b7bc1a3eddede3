// Throws bombs from a process of its own: `node bomber.js <port> <ms>`. It says `ready`, begins when
// it is told anything, and says at the end in one line of JSON what came of it.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { ClientConnection } from '@tenure/protocol'
import { type Bomb, bombs } from './bomb-set.js'

export interface Thrown {
  readonly count: number
  /** After which the connection was neither ended nor answered in time. */
  readonly unheeded: readonly string[]
}

/** So many at once: a coordinator with a small heap has to hold them all. */
const atOnce = 8
/** How long a whole bomb may go without an answer or an end. */
const answerMsMax = 20_000
/** How long one that is not whole is left lying. */
const unfinishedMs = 50

const hello = ClientConnection.hello({ role: 'admin', name: 'bomber', capacity: 1 })

/** `absent`: nobody takes connections any more. */
type Fate = 'heeded' | 'unheeded' | 'absent'

function throwOne(port: number, { bytes, isUnfinished = false }: Bomb, greets: boolean) {
  return new Promise<Fate>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const patience = setTimeout(
      () => end(isUnfinished ? 'heeded' : 'unheeded'),
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
      if (isGreeted) end('heeded')
      else {
        isGreeted = true
        socket.write(bytes)
      }
    })
    // To be thrown out is what it is for.
    socket.on('error', () => {})
    socket.on('close', () => end(isConnected ? 'heeded' : 'absent'))
  })
}

/** Ends early where nobody is left to throw at. */
async function bombard(port: number, ms: number): Promise<Thrown> {
  const unheeded = new Set<string>()
  const endMs = performance.now() + ms
  let count = 0
  do {
    for (const bomb of bombs) {
      for (const greets of [false, true]) {
        const thrown = Array.from({ length: atOnce }, () => throwOne(port, bomb, greets))
        const fates = await Promise.all(thrown)
        count += fates.length
        const what = `${bomb.name}, ${greets ? 'after' : 'before'} the handshake`
        if (fates.includes('unheeded')) unheeded.add(what)
        if (!fates.includes('absent')) continue
        unheeded.add(`${what}: nobody was there any more`)
        return { count, unheeded: [...unheeded] }
      }
    }
  } while (performance.now() < endMs)
  return { count, unheeded: [...unheeded] }
}

const [port, ms] = process.argv.slice(2)
createInterface(process.stdin).once('line', async () => {
  console.log(JSON.stringify(await bombard(Number(port), Number(ms))))
  process.exit()
})
console.log('ready')
