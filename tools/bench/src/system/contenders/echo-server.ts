// Answers every request like an accepted submission: `node echo-server.js <port>`. It copies the id
// into the answer and ignores the rest of the request.
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
  log: '0'.repeat(32),
})
/**
 * Offset of the id in a MessagePack list: the list head and the type before it are one byte each.
 */
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

/** Length of a whole number in bytes, by its first byte. */
function bytesOfWhole(first: number): number {
  if (first < 0x80) return 1
  return 1 + 2 ** (first - 0xcc)
}
