import t from 'tap'
import { type CpuProfile, sharesOf } from '../src/profile/cpu-profile.js'
import { readCounts } from '../src/profile/process-cost.js'

const frames: readonly (readonly [name: string, url: string, children: readonly number[]])[] = [
  ['(root)', '', [2, 3, 4, 8]],
  ['(idle)', '', []],
  ['(garbage collector)', '', []],
  ['append', 'file:///home/me/tenure/packages/wal/dist/src/log.js', [5, 7]],
  ['writeSync', 'node:fs', [6]],
  ['writeBuffer', '', []],
  ['set', '', []],
  ['(program)', '', []],
]

const profile: CpuProfile = {
  nodes: frames.map(([functionName, url, children], index) => ({
    id: index + 1,
    callFrame: { functionName, url },
    children,
  })),
  samples: [2, 3, 4, 6, 7, 8],
  timeDeltas: [1000, 10, 20, 30, 15, 25],
}

t.test('time is counted by area, without idle time', (t) => {
  t.same(
    [...sharesOf(profile)],
    [
      ['wal', 0.35],
      ['disk', 0.3],
      ['Node and the kernel, unattributed', 0.25],
      ['garbage collection', 0.1],
    ],
  )
  t.end()
})

t.test('counts are read from the table of strace, with and without an errors column', (t) => {
  const table = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 94.85    9.607654        2103      4567       628 futex
  1.42    0.143758          57      2480           pwrite64
------ ----------- ----------- --------- --------- ----------------
100.00   10.128000         100      7047       628 total
`
  t.same(
    [...readCounts(table)],
    [
      ['futex', 4567],
      ['pwrite64', 2480],
    ],
  )
  t.end()
})
