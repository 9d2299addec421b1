import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { root } from '../kit/service-process.ts'

test.for([
  ['fix(limits): count top-ups in RateLimit-Policy', 0],
  ["Merge branch 'ops' into main", 0],
  ['fix(limits): count top-ups, which were not counted in the header RateLimit-Policy', 1],
  ['Let the cache of forced announcements read again by itself', 1],
  ['fix(limits): Count top-ups.', 1],
] as const)('a commit is a Conventional Commit with a short subject: «%s» ends with %d', async ([message, code]) => {
  const child = spawn('npx', ['commitlint'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(message)
  const [[exitCode], output] = await Promise.all([once(child, 'close'), text(child.stdout)])

  expect(exitCode, output).toBe(code)
})
