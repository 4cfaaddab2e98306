/** Verification: whether the sandbox works here. */

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxReadiness } from '../lib/execution.js'

test('ex_ver_37_readiness_gives_evidence_or_says_what_is_missing', async () => {
  const scratch = mkdtempSync(join(tmpdir(), 'gallivant-'))
  try {
    const evidence = await sandboxReadiness({ scratch })
    assert.equal(evidence.probe.status, 'passed')
    assert.ok(evidence.driver)
  } catch (refused) {
    if (refused.code !== 'EXECUTION_VERIFICATION_SANDBOX') throw refused
    console.log('no sandbox works on this machine: the refusal was checked instead')
    assert.ok(refused.remedy)
  }
  assert.deepEqual(readdirSync(scratch), [])
  rmSync(scratch, { recursive: true })
})

test('ex_ver_38_what_is_no_proof_refuses_with_a_remedy', async () => {
  const missing = sandboxReadiness({ scratch: '/nonexistent/place' })
  await assert.rejects(missing, (error) => error.code === 'EXECUTION_VERIFICATION_SANDBOX' && error.remedy.includes('then resume'))
  await assert.rejects(sandboxReadiness({ runtime: '/usr' }), { code: 'EXECUTION_INPUT' })
  await assert.rejects(sandboxReadiness({ runtime: 7 }), { code: 'GALLIVANT_INPUT' })
  await assert.rejects(sandboxReadiness({ other: 1 }), { code: 'GALLIVANT_INPUT' })
  const reason = new Error('enough')
  await assert.rejects(sandboxReadiness({ signal: AbortSignal.abort(reason) }), (error) => error === reason)
})
