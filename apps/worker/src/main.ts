#!/usr/bin/env node
import { runCommand } from '@tenure/app-kit'
import { command } from './command.js'

process.exitCode = await runCommand(command, process)
