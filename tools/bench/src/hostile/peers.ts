// Hostile peers in a process of their own: `node peers.js <port> <manner> <count>`. It prints
// `ready`, starts when it receives a message, and prints `there` when all peers are connected and
// have sent their bytes.
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { ClientConnection, encodeRequest } from '@tenure/protocol'

const [port, manner, count] = process.argv.slice(2)
const hello = ClientConnection.hello({ role: 'admin', name: 'hostile', capacity: 1 })
const list = encodeRequest({ kind: 'list', id: 1, fromTaskId: 1, limit: 1000 })
const lists = Buffer.concat(Array.from({ length: 2000 }, () => list))
/** A frame of 64 KiB, sent one byte a second. */
const longFrame = Buffer.from([0, 1, 0, 0, 0x92])

const sockets = () =>
  Promise.all(
    Array.from(
      { length: Number(count) },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connect(Number(port), '127.0.0.1', () => resolve(socket))
          // The coordinator is expected to disconnect these peers.
          socket.on('error', () => {})
        }),
    ),
  )

const greet = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.write(hello)
    socket.once('data', () => resolve())
  })

const manners: { readonly [manner: string]: () => Promise<unknown> } = {
  silent: sockets,
  slow: async () => {
    const all = await sockets()
    await Promise.all(all.map(greet))
    let at = 0
    const trickle = () => {
      for (const socket of all) socket.write(longFrame.subarray(at, at + 1))
      at = Math.min(at + 1, longFrame.length - 1)
    }
    trickle()
    setInterval(trickle, 1000)
  },
  deaf: async () => {
    const all = await sockets()
    for (const socket of all) socket.pause().write(Buffer.concat([hello, lists]))
  },
}

createInterface(process.stdin).once('line', async () => {
  await manners[manner ?? '']?.()
  console.log('there')
})
console.log('ready')
