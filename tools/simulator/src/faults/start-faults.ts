import { editOf, editOfApp, type Fault } from './fault.js'

const recovered = 'packages/coordinator-server/test/bad-days.test.ts'
const early = 'packages/coordinator-server/test/net.test.ts'
const shared = 'packages/coordinator-server/test/process.test.ts'
const configured = 'apps/coordinator/test/settings.test.ts'
const leftOver = 'the descriptors are shared out, and enough are left for what is no connection'

const server = editOf('coordinator-server', 'server')
const sockets = editOf('coordinator-server', 'net/early-sockets')
const openFiles = editOf('coordinator-server', 'options/open-files')

/** How a coordinator starts: semantics §11, and what it refuses to start with. */
export const startFaults: readonly Fault[] = [
  {
    name: 'no checkpoint is made at the start',
    test: [recovered, 'a coordinator that crashes again and again replays no more than its bound'],
    edits: editOf('coordinator-server', 'checkpoints/checkpointer')(
      'if (position(state).lastLsn !== sealedLsn)',
      'if (true)',
    ),
  },
  {
    name: 'recovery time leaves out what came before the server',
    test: [recovered, 'the whole recovery is told, from the start of the process, with its parts'],
    edits: editOf('coordinator-server', 'observe/startup')(
      'this.#sinceMs = sinceMs;',
      'this.#sinceMs = clock.monotonicMs();',
    ),
  },
  {
    name: 'a clock behind the log is not reported',
    test: [recovered, 'each start whose log is ahead of the clock says by how much'],
    edits: server('if (-aheadMs >= clockBehindMinMs)', 'if (false)'),
  },
  {
    name: 'a clock that is less than a second behind is reported',
    test: [recovered, 'each start whose log is ahead of the clock says by how much'],
    edits: server('if (-aheadMs >= clockBehindMinMs)', 'if (aheadMs < 0)'),
  },
  {
    name: 'a start is counted as soon as the log is open',
    test: [recovered, 'restarts are the starts that became ready, without the first one'],
    edits: [
      ...server(
        'lifetime.defer(() => log.close());',
        'lifetime.defer(() => log.close()); await log.markStarted();',
      ),
      ...server('    await log.markStarted();\n    const recovery', '    const recovery'),
    ],
  },
  {
    name: 'a start says that it is ready before it is counted',
    test: [
      recovered,
      'a restart is counted before it says that it is ready, whatever becomes of it',
    ],
    edits: server('await log.markStarted();', ''),
  },
  {
    name: 'a client that connects before the log is open is disconnected',
    test: [early, 'a client that comes during the start is served when it is ready'],
    edits: sockets('this.#waiting.add(socket);', 'socket.destroy();'),
  },
  {
    name: 'any number of clients may wait for the start',
    test: [early, 'of more clients than may wait for the start the oldest is closed'],
    edits: sockets('if (this.#waiting.size <= this.#max)', 'if (true)'),
  },
  {
    name: 'connections may take every descriptor',
    test: [shared, leftOver],
    edits: openFiles('connections: forPeers - refused - http', 'connections: openFilesMax'),
  },
  {
    name: 'no descriptor is kept for the log and the threads',
    test: [shared, leftOver],
    edits: openFiles('ownFiles = 200', 'ownFiles = 0'),
  },
  {
    name: 'the HTTP port and refused peers share all descriptors, and clients get none',
    test: [shared, leftOver],
    edits: openFiles('Math.floor(forPeers / 8)', 'Math.floor(forPeers / 2)'),
  },
  {
    name: 'refused connections take any number of descriptors',
    test: [shared, leftOver],
    edits: openFiles('Math.min(refusedMax, few)', 'few'),
  },
  {
    name: 'a wrong key of the tokens file is printed',
    test: [configured, 'no refusal repeats a secret, wherever it was put'],
    edits: editOfApp('coordinator', 'credentials')('at + 1', 'key'),
  },
]
