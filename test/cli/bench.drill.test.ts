import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from '../kit/service-process.ts'

test('every suite of the bench has a floor that sends the same', async () => {
  const argv = ['test/bench/main.ts', '--check']

  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: root })

  expect(stdout.match(/can be measured$/gm)).toHaveLength(10)
}, 600_000)
