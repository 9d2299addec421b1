import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { newRoom } from '../kit/rooms/messages.ts'

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi()
})
afterAll(() => svc[Symbol.asyncDispose]())

const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
const commands = [...readme.matchAll(/^\$ (curl -N .*(?:\\\n.*)*)$/gm)].map(([, command]) => command ?? '')

/** Runs a command of the README with the address, the token and the room of this test in it. */
function run(command: string, { token, room = '1' }: { token: string; room?: string }) {
  const text = command
    .replace('http://127.0.0.1:3000', svc.url)
    .replace('svc_1_…', token)
    .replace('"id":"1"', `"id":"${room}"`)
  const child = spawn('sh', ['-c', `exec ${text}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  const said = { text: '' }
  child.stdout.on('data', (piece) => {
    said.text += piece
  })
  return {
    said,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close')
      child.kill()
      await ended
    },
  }
}

test('the README tells how to follow rooms, and the own list, with curl', () => {
  expect(commands.map((command) => /trpc\/[\w.]+/.exec(command)?.[0])).toEqual([
    'trpc/rooms.changes',
    'trpc/users.changes',
  ])
})

test('curl as the README runs it is told of changes as they happen, and goes on behind the last event', async () => {
  const room = await newRoom(svc)
  const [command = ''] = commands
  const given = { token: room.admin.token, room: room.id }
  let id = ''
  {
    await using curl = run(command, given)
    await expect.poll(() => curl.said.text, { timeout: 20_000 }).toMatch(/^id: \w+:\d+$/m)
    await room.send()
    await expect.poll(() => curl.said.text, { timeout: 20_000 }).toContain('room-messages.created')
    id = [...curl.said.text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? ''
  }
  await room.send()
  await using curl = run(`${command} -H 'Last-Event-ID: ${id}'`, given)

  const seq = Number(id.split(':')[1]) + 1
  await expect.poll(() => curl.said.text, { timeout: 20_000 }).toContain(`"seq":${seq}`)
  expect(curl.said.text).not.toContain(`"seq":${seq - 1}`)
})

test('curl as the README runs it is told of the own list of rooms', async () => {
  const { admin } = await newRoom(svc)
  await using curl = run(commands[1] ?? '', { token: admin.token })
  await expect.poll(() => curl.said.text, { timeout: 20_000 }).toMatch(/^id: /m)

  await admin.create('rooms', { name: 'Go' })

  await expect.poll(() => curl.said.text, { timeout: 20_000 }).toContain('"kind":"rooms.created"')
})
