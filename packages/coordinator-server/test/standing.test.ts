import { ClientConnection, encodeRequest, ServerConnection } from '@tenure/protocol'
import t from 'tap'
import { serve } from './peer-world.js'
import { worker } from './world.js'

const hello = ClientConnection.hello({ role: 'work', name: worker.name, capacity: 1 })
const submit = { kind: 'submit', id: 1, payload: Buffer.from('work') } as const
const poll = { kind: 'lease', id: 1, queues: ['default'], waitMs: 60_000 } as const
const active = 'b.example:7411'

t.test('a standby rejects every hello with the address of the active coordinator', async (t) => {
  const { world, peers, refused, accept } = await serve()
  peers.setStanding({ role: 'standby', active })
  const otherVersion = Buffer.from('00000003920002', 'hex')
  for (const bytes of [hello, otherVersion]) {
    const socket = accept()
    socket.receive(bytes)
    await world.clock.settle()
    const message = `this coordinator is a standby; the active coordinator is ${active}`
    t.strictSame(socket.replies(), [
      { kind: 'refused', refusal: { reason: 'NOT_ACTIVE', message, active } },
    ])
    t.ok(socket.hasEnded)
  }
  t.strictSame(refused, [], 'no violation')
  t.strictSame([...world.registry.list()], [])
})

t.test('a standby that knows no active coordinator names none', async (t) => {
  const { world, peers, accept } = await serve()
  peers.setStanding({ role: 'standby' })
  const socket = accept()
  socket.receive(hello)
  await world.clock.settle()
  t.strictSame(socket.replies(), [
    {
      kind: 'refused',
      refusal: { reason: 'NOT_ACTIVE', message: 'this coordinator is a standby' },
    },
  ])
})

t.test('bytes that are no hello get no reply from a standby either', async (t) => {
  const { world, peers, refused, accept } = await serve()
  peers.setStanding({ role: 'standby', active })
  const socket = accept()
  socket.receive(encodeRequest(submit))
  await world.clock.settle()
  t.strictSame([socket.replies(), socket.hasEnded, refused.length], [[], true, 1])
})

t.test('stepping down closes every connection and answers no request in flight', async (t) => {
  const { world, peers, greet } = await serve()
  const sockets = [await greet({ name: 'a' }), await greet({ name: 'b' })]
  for (const socket of sockets) socket.receive(encodeRequest(submit))
  peers.setStanding({ role: 'standby', active })
  await world.clock.settle()
  for (const socket of sockets) {
    t.match(socket.replies(), [
      { kind: 'answer', answer: { kind: 'rejected', id: 0, reason: 'NOT_ACTIVE', active } },
    ])
    t.ok(socket.hasEnded)
    socket.receive(encodeRequest({ ...submit, id: 2 }))
    await world.clock.settle()
    t.strictSame(socket.replies(), [], 'later requests are not read')
    socket.destroy()
  }
  t.equal(peers.size, 0)
})

t.test('answers that were made before stepping down are sent before NOT_ACTIVE', async (t) => {
  const { world, peers, greet } = await serve()
  const socket = await greet()
  socket.receive(encodeRequest({ kind: 'ping', id: 7 }))
  peers.setStanding({ role: 'standby' })
  await world.clock.settle()
  t.strictSame(socket.kinds(), ['pong', 'rejected'])
})

t.test('a waiting lease request gets no task after stepping down', async (t) => {
  const { world, peers, greet } = await serve()
  const socket = await greet({ role: 'work', name: worker.name })
  socket.receive(encodeRequest(poll))
  await world.clock.settle()
  t.equal(world.coordinator.waitingPolls, 1)
  peers.setStanding({ role: 'standby', active })
  t.equal(world.coordinator.waitingPolls, 0)
  t.strictSame([...world.registry.list()], [], 'the worker has left')
  const taskId = await world.submit()
  const { task } = await world.expect('task', { kind: 'get', taskId })
  t.equal(task.state, 'WAITING')
  socket.destroy()
  t.equal(peers.size, 0)
})

t.test('a connection without a hello is rejected when its hello arrives', async (t) => {
  const { world, peers, accept } = await serve()
  const socket = accept()
  socket.receive(hello.subarray(0, 5))
  peers.setStanding({ role: 'standby', active })
  await world.clock.settle()
  t.strictSame([socket.replies(), socket.hasEnded], [[], false])
  socket.receive(hello.subarray(5))
  await world.clock.settle()
  t.strictSame([socket.kinds(), socket.hasEnded], [['refused'], true])
})

t.test('a coordinator that becomes active again accepts peers', async (t) => {
  const { world, active: standing, peers, greet, accept } = await serve()
  peers.setStanding({ role: 'standby' })
  peers.setStanding({ ...standing, welcome: { ...standing.welcome, epoch: 2 } })
  const socket = accept()
  socket.receive(hello)
  await world.clock.settle()
  t.match(socket.replies(), [{ kind: 'welcome', welcome: { epoch: 2 } }])
  const other = await greet()
  other.receive(encodeRequest(submit))
  await world.clock.settle()
  t.strictSame(other.kinds(), ['submitted'])
})

t.test('the rejection of a standby fits into a frame of the handshake', (t) => {
  const longest = `${'x'.repeat(255)}:65535`
  const client = new ClientConnection()
  client.push(ServerConnection.farewell('NOT_ACTIVE', `the active one is ${longest}`, longest))
  t.match(client.next(), { kind: 'refused', refusal: { active: longest } })
  t.end()
})
