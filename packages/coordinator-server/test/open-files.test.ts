import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { shareOpenFiles } from '../src/options/open-files.js'
import { CoordinatorProcess } from './coordinator-process.js'
import { PeerClient } from './peer-client.js'

const openFilesMax = 256

t.test(
  'the descriptors are shared out, and enough are left for what is no connection',
  async (t) => {
    for (const max of [128, 256, 1024, 4096, 65_536]) {
      const { connections, refused, http } = shareOpenFiles(max)
      for (const share of [connections, refused, http]) t.ok(share >= 1)
      t.ok(connections > refused + http, 'most are for clients')
      t.ok(connections + refused + http <= Math.max(max - 200, 8), `of ${max}`)
    }
    t.same(shareOpenFiles(Number.POSITIVE_INFINITY), {
      ...{ connections: Number.POSITIVE_INFINITY, refused: 100, http: 64 },
    })
  },
)

async function connectMany(t: Test, port: number, count: number): Promise<void> {
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1').resume()
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
}

const skip = process.platform !== 'linux' && 'only Linux has these limits'

async function start(t: Test): Promise<CoordinatorProcess> {
  const options = { openFilesMax, segmentBytes: 2 ** 20 }
  const coordinator = await CoordinatorProcess.start(t.testdir(), options)
  t.teardown(() => coordinator.kill())
  return coordinator
}

/** Fills ten files of the log. */
async function submitMuch(t: Test, client: PeerClient): Promise<void> {
  const payload = Buffer.alloc(250 * 1024)
  for (let count = 0; count < 40; count++) {
    t.match(await client.ask({ kind: 'submit', payload }), { kind: 'submitted' })
  }
}

const history = { kind: 'history', taskId: 1, fromLsn: 1 } as const

t.test('silent connections, more than there are descriptors, stop nothing', { skip }, async (t) => {
  const coordinator = await start(t)
  const { pid, port, httpPort } = coordinator
  const client = await PeerClient.open(port)
  await connectMany(t, port, 2 * openFilesMax)
  await connectMany(t, httpPort, 2 * openFilesMax)
  t.ok(readdirSync(`/proc/${pid}/fd`).length < openFilesMax, 'the log has some left')
  await submitMuch(t, client)
  t.match(await client.ask({ kind: 'checkpoint' }), { kind: 'checkpointed' })
  t.match(await client.ask(history), { kind: 'history' })
  const metrics = await fetch(`http://127.0.0.1:${httpPort}/metrics`)
  t.match(await metrics.text(), /^tenure_tasks_created_total 40$/m)
  t.equal(await coordinator.stop(), 0)
})

t.test('without a descriptor left tasks are taken all the same', { skip }, async (t) => {
  const coordinator = await start(t)
  const { port, httpPort } = coordinator
  const client = await PeerClient.open(port)
  await coordinator.takeDescriptors()
  // They cannot be accepted, and are not kept waiting either.
  await Promise.all([port, httpPort].map((to) => refused(to)))
  await submitMuch(t, client)
  t.match(await client.ask({ kind: 'checkpoint' }), { kind: 'rejected' })
  t.match(await client.ask(history), { kind: 'rejected', reason: 'INTERNAL' })
  await submitMuch(t, client)
  t.equal(await coordinator.stop(), 0)
})

async function refused(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').resume()
  socket.on('error', () => {})
  await once(socket, 'close')
}
