#!/usr/bin/env node
import { runVerbs } from '@tenure/app-kit'
import { program } from './program.js'

// Whoever reads no further, as `head`, has what they wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})
process.exitCode = await runVerbs(program, process)
