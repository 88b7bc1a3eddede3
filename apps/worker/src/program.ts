import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { WorkerError } from '@tenure/worker-runtime'

/**
 * Checks that the shell finds the program that the command line begins with. Where that is more than
 * a plain word (a variable, a quote), only running it could tell.
 */
export async function requireProgram(commandLine: string): Promise<void> {
  const [word = ''] = commandLine.trim().split(/\s/, 1)
  if (!/^[\w./+-]+$/.test(word)) return
  try {
    await promisify(execFile)('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', word])
  } catch (cause) {
    throw new WorkerError('WORKER_BAD_HANDLER', `there is no program "${word}" to execute`, {
      cause,
    })
  }
}
