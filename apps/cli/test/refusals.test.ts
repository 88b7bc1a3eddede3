import { RejectedError, TenureError } from '@tenure/client'
import t from 'tap'
import { exitCodeOf, explain } from '../src/coordinator/refusals.js'
import { showTable } from '../src/terminal/table.js'
import { showBytes } from '../src/terminal/text.js'

t.test('when a submission was not answered, the way to make sure of it is told', async (t) => {
  const unknown = { outcomeUnknown: true, requestId: 'r-1' }
  const error = new TenureError('CLIENT_TIMEOUT', 'no answer within 30000 ms', unknown)
  t.equal(
    explain(error),
    'no answer within 30000 ms. Whether the task was submitted is not known; submit it again with ' +
      '--request-id r-1, and there will be one task.',
  )
  t.equal(exitCodeOf(error), 1)
})

t.test('a refusal that passes says when to come back', async (t) => {
  const rejection = { reason: 'OVERLOADED', message: 'Too much.', retryAfterMs: 500 } as const
  t.equal(explain(new RejectedError(rejection)), 'OVERLOADED: Too much. Try again in 500 ms.')
  const plain = { reason: 'BAD_REQUEST', message: 'No \u001b[2J\ngood' } as const
  t.equal(explain(new RejectedError(plain as never)), 'BAD_REQUEST: No \\u001b[2J\\ngood')
})

t.test('bytes are shown as text where they are text, and not all of them', async (t) => {
  t.equal(showBytes(Buffer.from('grün\n')), 'grün')
  t.equal(showBytes(Buffer.from([0x66, 0xff])), '2 bytes, no text')
  t.equal(showBytes(Buffer.from('a\u0000b')), '3 bytes, no text')
  const text = `${'x'.repeat(199)}😀y`
  const [start] = showBytes(Buffer.from(text)).split('…')
  t.equal(start, 'x'.repeat(199), 'no half character')
  t.match(showBytes(Buffer.from(text)), '… (204 bytes; --json shows all)')
})

t.test('the last column of a table may have several lines', async (t) => {
  t.equal(
    showTable([
      ['a', 'one\r\ntwo'],
      ['bcd\n', 'three\tfour'],
    ]),
    'a      one\n       two\nbcd\\n  three\\tfour\n',
  )
})
