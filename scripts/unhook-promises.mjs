// Loaded into every process that runs a test file, before tap.
//
// To tell which test an error belongs to that nobody catches, tap has Node call it for every promise
// that is made and collected: half of the time of a test that awaits much. Without it such an error
// ends the process, as it does without tap, and so fails the file.
import asyncHooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const idle = { enable: () => idle, disable: () => idle }
asyncHooks.createHook = () => idle
syncBuiltinESMExports()
