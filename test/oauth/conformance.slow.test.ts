import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { signIn } from '../kit/browser.ts'
import { findFreePort } from '../kit/free-port.ts'
import { consent, startOAuth } from '../kit/oauth/program.ts'

const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

test('the scenarios of the protocol for authorization servers pass', async () => {
  await using svc = await startOAuth()
  const { browser } = await signIn(svc, 'ada')
  const client = { name: 'Conformance', redirectUris: ['http://127.0.0.1/callback'] }
  const { clientId } = await svc.host.oauth.registerClient(client)
  const options = ['--url', svc.url, '--client-id', clientId, '--port', String(await findFreePort())]
  const run = spawn(process.execPath, [program, 'authorization', ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const answered = new Set<string>()
  const read = (chunk: Buffer) => {
    output += chunk
    for (const [address] of output.matchAll(/http:\S+\/oauth\/authorize\?\S+(?=\s)/g)) {
      if (answered.has(address)) continue
      answered.add(address)
      void consent(browser, new URL(address).search.slice(1)).then(fetch)
    }
  }
  run.stdout.on('data', read)
  run.stderr.on('data', read)

  const [code] = await once(run, 'close')

  // Where documents are offered, the metadata have one check more.
  expect([code, output]).toEqual([0, expect.stringMatching(/metadata-endpoint: [12] passed, 0 failed/)])
  expect(output).toMatch(/authorization-code-grant: 1 passed, 0 failed/)
})
