// What a handler returns is the task's result; what it throws is a failure, and is tried again.
export default async function greet({ payload, taskId, attempt, log }) {
  const name = Buffer.from(payload).toString()
  log.info('greeting', { name })
  return `Hello ${name}! This was task ${taskId}, attempt ${attempt}.`
}
