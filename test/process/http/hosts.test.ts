import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(startApp)

async function statusFor(...hosts: string[]): Promise<string | undefined> {
  const { port, hostname } = new URL(svc.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const lines = ['GET /health/live HTTP/1.1', ...hosts.map((host) => `Host: ${host}`), 'Connection: close']
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return (await text(socket)).split(' ')[1]
}

test('a request with two Host headers is refused with 400', async () => {
  expect(await statusFor('one.example')).toBe('200')
  expect(await statusFor('one.example', 'two.example')).toBe('400')
  expect(await statusFor('one.example', 'one.example')).toBe('400')
  expect(await statusFor()).toBe('400')
})
