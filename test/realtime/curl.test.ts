import { expect, test } from 'vitest'
import { startJsonApi } from '../kit/json-api/client.ts'
import { curlCommands as commands, runCurl } from '../kit/realtime/curl.ts'
import { createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

test('the README tells how to follow rooms, and the own list, with curl', () => {
  expect(commands.map((command) => /trpc\/[\w.]+/.exec(command)?.[0])).toEqual([
    'trpc/rooms.changes',
    'trpc/users.changes',
  ])
})

test("the README's curl command receives changes and resumes after the last event", async () => {
  const room = await createRoom(svc)
  const [command = ''] = commands
  const given = { url: svc.url, token: room.admin.token, room: room.id }
  let id = ''
  {
    await using curl = runCurl(command, given)
    await expect.poll(() => curl.output.text, { timeout: 60_000 }).toMatch(/^id: \w+:\d+$/m)
    await room.send()
    await expect.poll(() => curl.output.text, { timeout: 60_000 }).toContain('room-messages.created')
    id = [...curl.output.text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? ''
  }
  await room.send()
  await using curl = runCurl(`${command} -H 'Last-Event-ID: ${id}'`, given)

  const seq = Number(id.split(':')[1]) + 1
  await expect.poll(() => curl.output.text, { timeout: 60_000 }).toContain(`"seq":${seq}`)
  expect(curl.output.text).not.toContain(`"seq":${seq - 1}`)
})

test('curl as the README runs it is told of the own list of rooms', async () => {
  const { admin } = await createRoom(svc)
  await using curl = runCurl(commands[1] ?? '', { url: svc.url, token: admin.token })
  await expect.poll(() => curl.output.text, { timeout: 60_000 }).toMatch(/^id: /m)

  await admin.create('rooms', { name: 'Go' })

  await expect.poll(() => curl.output.text, { timeout: 60_000 }).toContain('"kind":"rooms.created"')
})
