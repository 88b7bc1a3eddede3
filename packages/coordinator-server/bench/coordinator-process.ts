// A coordinator in a process of its own: `node coordinator-process.js <data dir>`. It says its port on
// standard output when it listens.
import { startCoordinator } from '../src/index.js'

const server = await startCoordinator({ dataDir: process.argv[2] ?? '', port: 0, httpPort: false })
console.log(server.port)
