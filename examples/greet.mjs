// A handler: what it returns is the task's result. Try: npx pnpm tenure submit Ada --wait
export default async function greet({ payload, taskId, attempt, log }) {
  const name = Buffer.from(payload).toString()
  log.info('greeting', { name })
  return `Hello ${name}! This was task ${taskId}, attempt ${attempt}.`
}
