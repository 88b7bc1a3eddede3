#!/usr/bin/env node
import { runVerbs } from '@tenure/app-kit'
import { program } from './program.js'

// A reader such as `head` closes the pipe when it has enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})
process.exitCode = await runVerbs(program, process)
