import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Random } from '@tenure/testing'
import t, { type Test } from 'tap'
import { findPort, Network } from '../src/fleet/network.js'

/** A network in front of an echo server, and one connection through it. */
async function openLine(t: Test): Promise<{ network: Network; line: Socket; heard: Buffer[] }> {
  const heard: Buffer[] = []
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      heard.push(bytes)
      socket.write(bytes)
    })
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = await findPort(new Random(process.pid))
  const network = await Network.open(port, (server.address() as AddressInfo).port)
  const line = connect(port, '127.0.0.1')
  line.on('error', () => {})
  t.teardown(() => {
    line.destroy()
    network.close()
    server.close()
  })
  await once(line, 'connect')
  return { network, line, heard }
}

async function ask(line: Socket, question: string): Promise<string> {
  line.write(question)
  const [answer] = await once(line, 'data')
  return String(answer)
}

/** More than enough for a few bytes to arrive on one machine. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
}

t.test('a cut lets the request through and loses its answer', async (t) => {
  const { network, line, heard } = await openLine(t)
  t.equal(await ask(line, 'one'), 'one')
  const answers: unknown[] = []
  line.on('data', (bytes) => answers.push(bytes))
  const cut = network.lose(() => true)
  line.write('two')
  while (heard.length < 2) await new Promise(setImmediate)
  await turns()
  cut()
  await once(line, 'close')
  t.same(heard.map(String), ['one', 'two'])
  t.same(answers, [])
})

t.test('stalled bytes arrive after the stall', async (t) => {
  const { network, line, heard } = await openLine(t)
  t.equal(await ask(line, 'one'), 'one')
  network.stall()
  const answered = ask(line, 'two')
  await turns()
  t.equal(heard.length, 1)
  network.flow()
  t.equal(await answered, 'two')
})
