// The return value becomes the task's result. A thrown error is a failure, and the task is retried.
export default async function greet({ payload, taskId, attempt, log }) {
  const name = Buffer.from(payload).toString()
  log.info('greeting', { name })
  return `Hello ${name}! This was task ${taskId}, attempt ${attempt}.`
}
