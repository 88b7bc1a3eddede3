import t from 'tap'
import { SimulatedClock, SimulatedNetwork, type SimulatedSocket } from '../src/index.js'

/** One connection, and the data that each side has received. */
async function connected() {
  const clock = new SimulatedClock()
  const network = new SimulatedNetwork(clock)
  const heard = { near: '', far: '', ends: '' }
  await network.listen((socket) => {
    socket.onData((bytes) => {
      heard.far += Buffer.from(bytes)
    })
    socket.onClose(() => {
      heard.ends += ' far'
    })
  })
  const near = network.connect('here')
  near.onData((bytes) => {
    heard.near += Buffer.from(bytes)
  })
  near.onClose(() => {
    heard.ends += ' near'
  })
  const far = network.connections[0]!.far
  const say = async (socket: SimulatedSocket, text: string) => {
    socket.write(Buffer.from(text))
    await clock.advance(10)
  }
  return { clock, network, near, far, heard, say }
}

t.test('hold delays the data of one side until release, and not that of the other', async (t) => {
  const { clock, near, far, heard, say } = await connected()
  far.hold()
  await say(far, 'held')
  await say(near, 'heard')
  t.match(heard, { near: '', far: 'heard' })
  t.equal(far.unsentBytes, 4)
  far.release()
  await say(far, ' and more')
  t.equal(heard.near, 'held and more')
  await clock.advance(10)
})

t.test('one side may close without the other noticing', async (t) => {
  const { network, near, far, heard, say } = await connected()
  far.hold()
  near.break()
  await say(near, 'unreceived')
  await say(far, 'unreceived')
  t.match(heard, { near: '', far: '', ends: ' near' })
  t.equal(network.size, 1)
  far.break()
  t.equal(heard.ends, ' near far')
  t.equal(network.size, 0)
})

t.test('the peer of a held side does not notice that it closes', async (t) => {
  const { near, far, heard } = await connected()
  near.hold()
  near.destroy()
  t.equal(heard.ends, ' near')
  t.equal(far.isClosed, false)
})

t.test('each side has the address of the other one', async (t) => {
  const { near, far } = await connected()
  t.equal(far.address, 'here')
  t.equal(near.address, 'server')
})

t.test('stopListening rejects new connections and keeps existing ones', async (t) => {
  const { network, heard, near, say } = await connected()
  network.stopListening()
  t.equal(network.connect().isClosed, true)
  await say(near, 'still here')
  t.equal(heard.far, 'still here')
})
