import { WorkerError } from '../errors.js'
import { describeThrown, type Handler } from '../handler.js'

/** The default export of the module at this URL. */
export async function loadHandler(url: string): Promise<Handler> {
  const loaded = await importModule(url)
  if (typeof loaded.default === 'function') return loaded.default as Handler
  const message = `${url} has no function as its default export: write "export default async (task) => …"`
  throw new WorkerError('WORKER_BAD_HANDLER', message)
}

async function importModule(url: string): Promise<{ readonly default?: unknown }> {
  try {
    return await import(url)
  } catch (cause) {
    const message = `${url} cannot be loaded: ${describeThrown(cause).reason}`
    throw new WorkerError('WORKER_BAD_HANDLER', message, { cause })
  }
}
