import { CoordinatorError } from '@tenure/coordinator-server'
import { WalError } from '@tenure/wal'
import t from 'tap'
import { type FaultKind, PlannedFaults } from '../src/world/planned-faults.js'

const well = { isDamaged: false, wasFull: false }

/** The faults of a disk on which each of these has struck once. */
function faultsOf(...kinds: readonly FaultKind[]): PlannedFaults {
  const faults = new PlannedFaults()
  for (const kind of kinds) faults.add(kind, { hits: 1, cancel: () => {} })
  return faults
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function failed(cause: Error | undefined): WalError {
  return new WalError('WAL_FAILED', 'the log has ended', { cause })
}

const fenced = new WalError('WAL_FENCED', 'another process writes')
const badOption = new WalError('WAL_BAD_OPTION', 'an invalid option')
const corrupt = new WalError('WAL_CORRUPT', 'a flipped bit')

t.test('a short write explains no error', async (t) => {
  const faults = faultsOf('short write')
  for (const error of [failed(systemError('EIO')), fenced, badOption, systemError('EIO')]) {
    t.notOk(faults.explain(error, well), error.message)
  }
})

t.test('a fault explains only the errors that it may cause', async (t) => {
  const faults = faultsOf('EIO at write')
  t.ok(faults.explain(systemError('EIO'), well))
  t.ok(faults.explain(failed(systemError('EIO')), well))
  for (const error of [fenced, badOption, corrupt, systemError('ENOSPC')]) {
    t.notOk(faults.explain(error, well), error.message)
  }
  t.ok(faultsOf('short write', 'EIO at read').explain(corrupt, well))
})

t.test('a failed log is judged by its cause', async (t) => {
  const faults = faultsOf('EIO at any')
  t.notOk(faults.explain(failed(new TypeError('of undefined')), well))
  t.notOk(faults.explain(failed(undefined), well))
  t.ok(faultsOf('failed sync: clean-page').explain(failed(undefined), well))
})

t.test('a fault that has not struck explains nothing', async (t) => {
  const faults = new PlannedFaults()
  faults.add('EIO at write', { hits: 0, cancel: () => {} })
  t.notOk(faults.explain(systemError('EIO'), well))
})

t.test('damage and a full disk explain errors, too', async (t) => {
  const none = new PlannedFaults()
  const noRoom = new CoordinatorError('COORDINATOR_FAILED', 'no room')
  t.ok(none.explain(corrupt, { ...well, isDamaged: true }))
  t.notOk(none.explain(fenced, { ...well, isDamaged: true }))
  t.notOk(none.explain(systemError('EIO'), { ...well, isDamaged: true }))
  t.ok(none.explain(noRoom, { ...well, wasFull: true }))
  t.notOk(none.explain(noRoom, { ...well, isDamaged: true }))
})
