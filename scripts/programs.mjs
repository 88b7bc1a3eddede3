// The programs of this clone that `pnpm <name>` runs.

/** @type {Record<string, string>} */
export const programs = {
  start: 'tools/demo/dist/src/start.js',
  demo: 'tools/demo/dist/src/demo.js',
  tenure: 'apps/cli/dist/src/main.js',
  worker: 'apps/worker/dist/src/main.js',
  'test:faults': 'tools/simulator/dist/src/faults/main.js',
  'bench:guard': 'tools/bench/dist/src/guard.js',
  'bench:profile': 'tools/bench/dist/src/profile.js',
  'bench:system': 'tools/bench/dist/src/system.js',
  'bench:soak': 'tools/bench/dist/src/soak.js',
  'bench:worker': 'tools/bench/dist/src/worker.js',
  'bench:recovery': 'tools/bench/dist/src/recovery.js',
  'bench:history': 'tools/bench/dist/src/history.js',
  'bench:wal': 'packages/wal/dist/bench/main.js',
  'bench:hostile': 'tools/bench/dist/src/hostile.js',
  'bench:state': 'packages/state-machine/dist/bench/main.js',
  chaos: 'tools/chaos/dist/src/main.js',
  explore: 'tools/explorer/dist/src/main.js',
  fuzz: 'tools/fuzzer/dist/src/main.js',
  sim: 'tools/simulator/dist/src/main.js',
}
