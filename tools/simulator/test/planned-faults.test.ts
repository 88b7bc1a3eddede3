import { CoordinatorError } from '@tenure/coordinator-server'
import { WalError } from '@tenure/wal'
import t from 'tap'
import { type FaultKind, PlannedFaults } from '../src/world/planned-faults.js'

const well = { isDamaged: false, wasFull: false }

/** Those of a disk on which each of these has struck once. */
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

const fenced = new WalError('WAL_FENCED', 'somebody else writes')
const badOption = new WalError('WAL_BAD_OPTION', 'it makes no sense')
const corrupt = new WalError('WAL_CORRUPT', 'a bit has turned')

t.test('a short write is no reason for anything', async (t) => {
  const faults = faultsOf('short write')
  for (const error of [failed(systemError('EIO')), fenced, badOption, systemError('EIO')]) {
    t.notOk(faults.areReasonFor(error, well), error.message)
  }
})

t.test('a fault is a reason for what it may bring about, and for nothing else', async (t) => {
  const faults = faultsOf('EIO at write')
  t.ok(faults.areReasonFor(systemError('EIO'), well))
  t.ok(faults.areReasonFor(failed(systemError('EIO')), well))
  for (const error of [fenced, badOption, corrupt, systemError('ENOSPC')]) {
    t.notOk(faults.areReasonFor(error, well), error.message)
  }
  t.ok(faultsOf('short write', 'EIO at read').areReasonFor(corrupt, well))
})

t.test('a log that has failed is judged by what made it fail', async (t) => {
  const faults = faultsOf('EIO at any')
  t.notOk(faults.areReasonFor(failed(new TypeError('of undefined')), well))
  t.notOk(faults.areReasonFor(failed(undefined), well))
  t.ok(faultsOf('failed sync: clean-page').areReasonFor(failed(undefined), well))
})

t.test('what has not struck is no reason', async (t) => {
  const faults = new PlannedFaults()
  faults.add('EIO at write', { hits: 0, cancel: () => {} })
  t.notOk(faults.areReasonFor(systemError('EIO'), well))
})

t.test('damage and want of room are reasons of their own', async (t) => {
  const none = new PlannedFaults()
  const noRoom = new CoordinatorError('COORDINATOR_FAILED', 'no room')
  t.ok(none.areReasonFor(corrupt, { ...well, isDamaged: true }))
  t.notOk(none.areReasonFor(fenced, { ...well, isDamaged: true }))
  t.notOk(none.areReasonFor(systemError('EIO'), { ...well, isDamaged: true }))
  t.ok(none.areReasonFor(noRoom, { ...well, wasFull: true }))
  t.notOk(none.areReasonFor(noRoom, { ...well, isDamaged: true }))
})
