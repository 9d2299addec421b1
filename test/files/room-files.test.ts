import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { base, startJsonApi } from '../kit/json-api/client.ts'
import { testWith } from '../kit/parts/with-parts.ts'
import { type FileScenarioOptions, playFileScenario } from '../kit/rooms/file-scenario.ts'
import { createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'
import { serveBrowserModules } from '../kit/web/browser-modules.ts'
import { openPage } from '../kit/web/chromium.ts'
import { roomKey } from '../kit/web/crypto.ts'

const CHUNK = 64 * 1024

let sealedFile: FileScenarioOptions
const svc = shareResource(startJsonApi)
beforeAll(async () => {
  const { id: room, admin, editor } = await createRoom(svc, ['editor'])
  sealedFile = { base: svc.url + base, ada: admin.token, bob: editor.token, room, roomKey, bytes: 2 * CHUNK + 1000 }
})

const played = {
  statuses: [201, 201, 200],
  stored: ['application/octet-stream', true],
  opened: true,
  failures: {
    'a bit is turned': 'CannotOpen',
    'the end is cut off': 'CannotOpen',
    'the last chunk is cut off': 'CannotOpen',
    'all chunks are cut off': 'Malformed',
    'the header is cut off': 'Malformed',
    'chunks are reordered': 'CannotOpen',
    'a chunk is repeated': 'CannotOpen',
    'a chunk is left out': 'CannotOpen',
    'a chunk is that of another file': 'CannotOpen',
    'something is added': 'CannotOpen',
    'it names another key': 'CannotOpen',
    'its key is not there': 'CannotOpen',
    'it is nothing': 'Malformed',
  },
}

test('a file from a browser opens for another member in Node, unless altered', async () => {
  expect(await playFileScenario(web, sealedFile)).toEqual(played)
})

testWith('chromium')('a file from a browser opens for another member in Chromium, unless altered', async () => {
  await using chromium = await openPage(svc.url)
  await chromium.page.goto('/login')
  await serveBrowserModules(chromium.page)

  // The script is a text, as the test runner would transform an import in the code.
  const script = `import('/assets/crypto.js').then((web) => (${playFileScenario})(web, ${JSON.stringify(sealedFile)}))`
  expect(await chromium.page.evaluate(script)).toEqual(played)
})

const gather = async (stream: ReadableStream<Uint8Array>) => Buffer.from(await new Response(stream).arrayBuffer())

test.for([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK])(
  'an encrypted file of %i bytes is opened by other code in any parts',
  async (size) => {
    const plain = randomBytes(size)
    const sealed = await gather(new Blob([plain]).stream().pipeThrough(await web.sealFile(roomKey, 7)))

    expect(sealed.length).toBe(web.sealedFileSize(size))
    expect(openedByNode(sealed).equals(plain)).toBe(true)
    for (const part of [1 + Math.floor(size / 100), 1_000_000])
      expect(
        (await gather(inParts(sealed, part).pipeThrough(web.openFile(new Map([[7, roomKey]]))))).equals(plain),
      ).toBe(true)
  },
)

/**
 * Decrypts the format `svcfile1`: the key's number, a salt, then chunks of AES-256-GCM. A nonce has the number of its
 * chunk and a flag for the last one.
 */
function openedByNode(sealed: Buffer): Buffer {
  expect([sealed.toString('latin1', 0, 8), sealed.readUInt32BE(8)]).toEqual(['svcfile1', 7])
  const ofRoom = Buffer.from(roomKey, 'base64')
  const key = Buffer.from(hkdfSync('sha256', ofRoom, sealed.subarray(12, 44), sealed.subarray(0, 12), 32))
  const opened: Buffer[] = []
  for (let chunk = 0, at = 44; at < sealed.length; chunk++, at += CHUNK + 16) {
    const piece = sealed.subarray(at, at + CHUNK + 16)
    const nonce = Buffer.alloc(12)
    nonce.writeUInt32BE(chunk, 7)
    nonce[11] = at + piece.length === sealed.length ? 1 : 0
    const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(piece.subarray(-16))
    opened.push(decipher.update(piece.subarray(0, -16)), decipher.final())
  }
  return Buffer.concat(opened)
}

const inParts = (bytes: Buffer, size: number): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream({
    pull(parts) {
      if (at >= bytes.length) return parts.close()
      parts.enqueue(bytes.subarray(at, at + size))
      at += size
    },
  })
}

test('a file is encrypted and opened only as fast as it is taken', async () => {
  let sentBytes = 0
  const endless = new ReadableStream<Uint8Array>({
    pull(parts) {
      sentBytes += CHUNK
      parts.enqueue(new Uint8Array(CHUNK))
    },
  })
  const opened = endless.pipeThrough(await web.sealFile(roomKey)).pipeThrough(web.openFile(new Map([[0, roomKey]])))
  const reader = opened.getReader()
  let takenBytes = 0
  for (let reads = 0; reads < 200; reads++) takenBytes += (await reader.read()).value?.length ?? 0
  for (let turns = 0; turns < 200; turns++) await turn()

  expect(takenBytes).toBe(200 * CHUNK)
  expect(sentBytes - takenBytes).toBeLessThanOrEqual(10 * CHUNK)
  await reader.cancel()
})
