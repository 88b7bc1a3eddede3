import { connect } from 'node:net'

/** Asks in a text protocol, on a connection of its own, until what has come looks whole. */
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

/** Whether anybody listens there. */
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
