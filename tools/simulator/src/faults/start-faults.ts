import { editOf, editOfApp, type Fault } from './fault.js'

const recovered = 'packages/coordinator-server/test/bad-days.test.ts'
const early = 'packages/coordinator-server/test/net.test.ts'
const shared = 'packages/coordinator-server/test/process.test.ts'
const configured = 'apps/coordinator/test/settings.test.ts'
const leftOver = 'descriptors are divided, and enough remain for other uses'

const server = editOf('coordinator-server', 'server')
const service = editOf('coordinator-server', 'service')
const sockets = editOf('coordinator-server', 'net/early-sockets')
const openFiles = editOf('coordinator-server', 'options/open-files')

/** The startup of a coordinator, and configurations that it rejects: semantics §11. */
export const startFaults: readonly Fault[] = [
  {
    name: 'no checkpoint is made at the start',
    test: [recovered, 'a coordinator that keeps crashing replays no more than its limit'],
    edits: editOf('coordinator-server', 'checkpoints/checkpointer')(
      'if (position(state).lastLsn !== sealedLsn)',
      'if (true)',
    ),
  },
  {
    name: 'recovery time leaves out the part before the server',
    test: [
      recovered,
      'the recovery time is reported from the start of the process, with its parts',
    ],
    edits: editOf('coordinator-server', 'observe/startup')(
      'this.#sinceMs = sinceMs;',
      'this.#sinceMs = clock.monotonicMs();',
    ),
  },
  {
    name: 'a clock behind the log is not reported',
    test: [recovered, 'a startup reports by how much its log is ahead of the clock'],
    edits: server('if (-aheadMs >= clockBehindMinMs)', 'if (false)'),
  },
  {
    name: 'a clock that is less than a second behind is reported',
    test: [recovered, 'a startup reports by how much its log is ahead of the clock'],
    edits: server('if (-aheadMs >= clockBehindMinMs)', 'if (aheadMs < 0)'),
  },
  {
    name: 'a start is counted as soon as the log is opened',
    test: [recovered, 'restarts count the startups that became ready, except the first'],
    edits: [
      ...server(
        'lifetime.defer(() => log.close());',
        'lifetime.defer(() => log.close()); await log.markStarted();',
      ),
      ...service('    await log.markStarted();\n    const recovery', '    const recovery'),
    ],
  },
  {
    name: 'a start reports that it is ready before it is counted',
    test: [recovered, 'a restart is counted before readiness is reported, whatever happens next'],
    edits: service('await log.markStarted();', ''),
  },
  {
    name: 'a client that connects before the log is open is disconnected',
    test: [early, 'a client that connects during startup is served when the coordinator is ready'],
    edits: sockets('this.#waiting.add(socket);', 'socket.destroy();'),
  },
  {
    name: 'any number of clients may wait during startup',
    test: [early, 'above the limit of clients during startup, the oldest is closed'],
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
    name: 'the HTTP port and rejected peers share all descriptors, and clients get none',
    test: [shared, leftOver],
    edits: openFiles('Math.floor(forPeers / 8)', 'Math.floor(forPeers / 2)'),
  },
  {
    name: 'rejected connections take any number of descriptors',
    test: [shared, leftOver],
    edits: openFiles('Math.min(refusedMax, few)', 'few'),
  },
  {
    name: 'a wrong key of the tokens file is printed',
    test: [configured, 'no error message contains a secret, wherever it was set'],
    edits: editOfApp('coordinator', 'credentials')('at + 1', 'key'),
  },
]
