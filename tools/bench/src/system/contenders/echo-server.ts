// Answers every request as if it were a submission that is accepted: `node echo-server.js <port>`. The
// id is put into the answer as it came, and nothing else is looked at.
import { createServer } from 'node:net'
import { encodeWelcome, FrameDecoder, protocolVersion } from '@tenure/protocol'
import { frameHeadBytes } from '@tenure/protocol/internal'

const welcome = encodeWelcome({
  version: protocolVersion,
  epoch: 1,
  leaseDurationMs: 1000,
  heartbeatIntervalMs: 333,
  syncMode: 'none',
  limits: {
    frameBytesMax: 65536,
    payloadBytesMax: 65536,
    resultBytesMax: 65536,
    requestsInFlightMax: 1024,
    pollsPerConnectionMax: 64,
    waitMsMax: 1000,
  },
})
/** Of a MessagePack list: its head and its type, a byte each, stand before the id. */
const idAt = 2
const head = [0x94, 65]
/** Task 1, not known before. */
const tail = [1, 0xc2]

createServer((socket) => {
  const decoder = new FrameDecoder(65536)
  let isGreeted = false
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes) => {
    decoder.push(bytes)
    const answers: Uint8Array[] = []
    for (let body = decoder.next(); body !== undefined; body = decoder.next()) {
      answers.push(isGreeted ? answerTo(body) : welcome)
      isGreeted = true
    }
    if (answers.length > 0) socket.write(Buffer.concat(answers))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')

function answerTo(request: Uint8Array): Uint8Array {
  const idBytes = bytesOfWhole(request[idAt]!)
  const answer = new Uint8Array(frameHeadBytes + head.length + idBytes + tail.length)
  answer[frameHeadBytes - 1] = answer.length - frameHeadBytes
  answer.set(head, frameHeadBytes)
  for (let at = 0; at < idBytes; at++) {
    answer[frameHeadBytes + head.length + at] = request[idAt + at]!
  }
  answer.set(tail, answer.length - tail.length)
  return answer
}

/** How many a whole number takes that begins with this byte. */
function bytesOfWhole(first: number): number {
  if (first < 0x80) return 1
  return 1 + 2 ** (first - 0xcc)
}
