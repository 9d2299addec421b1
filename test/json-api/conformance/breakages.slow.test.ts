import { expect, test, vi } from 'vitest'
import { type Breakage, breakages } from '../../conformance/reference/breakages.ts'
import { startReferenceServer } from '../../conformance/reference-server.ts'
import { runSuite } from '../../conformance/suite.ts'

// A run takes some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

test.each(Object.entries(breakages) as [Breakage, string[]][])(
  'the conformance suite sees that a server is wrong in this alone: %s',
  async (breakage, expected) => {
    await using server = await startReferenceServer({ break: breakage })

    const results = await runSuite({ url: server.url, write: true })

    expect(results.filter(({ state }) => state === 'failed').map(({ id }) => id)).toEqual(expected)
  },
)
