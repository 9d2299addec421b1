import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'

const SOON = { timeout: 60_000, interval: 50 }

/** A run that writes a temporary file, starts a program, and says where and which. */
const program = (start: string) => `
  import { spawn } from 'node:child_process'
  import { mkdtempSync, readFileSync } from 'node:fs'
  import { tmpdir } from 'node:os'
  import { openRunFolder } from '${import.meta.resolve('./run-folder.ts')}'
  import { startCluster } from '${import.meta.resolve('../../server/database/embedded-postgres.ts')}'
  const { path } = await openRunFolder('svc-interrupted-')
  mkdtempSync(tmpdir() + '/left-')
  const startDatabase = async () => {
    await startCluster(path + '/postgres', ['-c', 'fsync=off'])
    return Number(readFileSync(path + '/postgres/data/postmaster.pid', 'utf8').split('\\n')[0])
  }
  const startProgram = () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true }).pid
  console.log(JSON.stringify({ folders: [path, tmpdir()], pid: await ${start}() }))
  setInterval(() => {}, 1000)`

test.each<[string, string, (pid: number) => void]>([
  ['killed', 'startDatabase', (pid) => process.kill(pid, 'SIGKILL')],
  ['ended by Ctrl-C', 'startProgram', (pid) => process.kill(-pid, 'SIGINT')],
])('a run that was %s leaves no folder and no process behind', async (_, start, end) => {
  const run = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program(start)], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line]: string[] = await once(createInterface(run.stdout), 'line')
  const { folders, pid } = JSON.parse(line ?? '') as { folders: string[]; pid: number }
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, true])
  expect(isRunning(pid)).toBe(true)

  end(run.pid ?? 0)

  await expect.poll(() => folders.map((folder) => existsSync(folder)), SOON).toEqual([false, false])
  // Whoever adopts an ended process takes note of its end a little later.
  await expect.poll(() => isRunning(pid), SOON).toBe(false)
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
