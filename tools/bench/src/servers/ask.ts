import { connect } from 'node:net'

/**
 * Sends one request in a text protocol over a new connection, and reads until the answer is
 * complete.
 */
export async function ask(port: number, question: string, isWhole: RegExp): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  try {
    socket.write(question)
    let answer = ''
    for await (const chunk of socket) {
      answer += chunk
      if (isWhole.test(answer)) return answer
    }
    throw new Error(`the connection ended after ${JSON.stringify(answer)}`)
  } finally {
    socket.destroy()
  }
}

/** Whether a server listens on this port. */
export async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
