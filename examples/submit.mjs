import { connect } from '@tenure/client'

// Needs a running coordinator: `npx pnpm start`.
const tenure = await connect({ endpoints: ['127.0.0.1:7411'] })
// `submit` resolves when the task is on the coordinator's disk.
const { taskId } = await tenure.submit(Buffer.from('Ada'), { queue: 'default' })
const task = await tenure.waitFor(taskId, { timeoutMs: 10_000 })
console.log(task.state, Buffer.from(task.result ?? '').toString())
await tenure.close()
