import { createHash, createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { link, mkdtemp, readdir } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createS3Blobs } from '../../server/stores/blobs/s3-blobs.ts'
import { createFileStore } from '../../server/stores/file-store.ts'
import { createVault } from '../../server/stores/vault.ts'
import { collectItems, openStore, splitBytes } from '../kit/files/blob-store.ts'
import { startS3 } from '../kit/parts/s3.ts'

const KEY = 'a key of thirty-two characters, or more'

test('a bucket of more files than an answer names is listed to its end', async () => {
  await using server = await startS3()
  const { blobs, close } = await openStore(server.settings)
  await blobs.put('sealed/0', splitBytes(Buffer.from('x'), 1))
  const [folder, kinds] = [join(server.directory, 'sealed'), await readdir(join(server.directory, 'sealed'))]
  const names = Array.from({ length: 1100 }, (_, index) => `${10_000 + index}`)
  for (const name of names)
    await Promise.all(kinds.map((kind) => link(join(folder, kind), join(folder, kind.replace('0', name)))))

  expect((await collectItems(blobs.list('sealed/'))).map(({ key }) => key)).toEqual(
    ['0', ...names].map((name) => `sealed/${name}`),
  )
  await close()
})

test('an S3 server that is down, refuses the key or hangs is an outage', async () => {
  const server = await startS3()
  const { settings } = server
  const { blobs, close } = await openStore(settings)
  const wrong = await openStore({ ...settings, S3_ACCESS_KEY: 'another key' })
  const file = await createFileStore(createVault(KEY), blobs).write(splitBytes(Buffer.from('x'), 1))
  const unavailable = { problem: 'unavailable' }

  await expect(wrong.blobs.check()).rejects.toMatchObject(unavailable)
  await server.stop()
  const store = createFileStore(createVault(KEY), blobs)
  await expect(store.write(splitBytes(Buffer.from('x'), 1))).rejects.toMatchObject(unavailable)
  await expect(buffer(store.read(file))).rejects.toMatchObject(unavailable)
  await expect(store.remove([file.name])).rejects.toMatchObject(unavailable)
  await expect(collectItems(store.list())).rejects.toMatchObject(unavailable)

  await using silent = await startSilent()
  const access = { region: 'us-east-1', accessKeyId: 'id', secretAccessKey: 'secret', byteTimeout: 200 }
  const hanging = createS3Blobs({ ...access, endpoint: silent.endpoint, bucket: 'files', spoolFolder: wrong.folder })
  await expect(hanging.put('sealed/x', splitBytes(randomBytes(8 * 1024 * 1024), 64 * 1024))).rejects.toMatchObject(
    unavailable,
  )
  await expect(buffer(hanging.get('sealed/x'))).rejects.toMatchObject(unavailable)

  await Promise.all([hanging.close(), close(), wrong.close()])
  await server[Symbol.asyncDispose]()
})

test('each request to a bucket is signed with the secret, its body included', async () => {
  const requests: { request: IncomingMessage; body: Buffer }[] = []
  await using server = await startListening(
    createHttpServer(async (request, response) => {
      requests.push({ request, body: await buffer(request) })
      response.setHeader('content-type', 'application/xml')
      response.end(request.url?.includes('list-type') ? '<ListBucketResult></ListBucketResult>' : '')
    }),
  )
  const [folder, secretAccessKey] = [await mkdtemp(join(tmpdir(), 'svc-files-')), 'a secret that nobody sees']
  const access = { region: 'eu-north-7', accessKeyId: 'AKIDEXAMPLE', secretAccessKey, endpoint: server.endpoint }
  const blobs = createS3Blobs({ ...access, bucket: 'files', spoolFolder: folder })
  await blobs.put('sealed/ab/one', splitBytes(randomBytes(300_000), 7000))
  await collectItems(blobs.list('sealed/'))
  await buffer(blobs.get('sealed/ab/one', { start: 0, end: 9 }))
  await blobs.remove('sealed/ab/one')

  expect(requests.map(({ request }) => request.method)).toEqual(['PUT', 'GET', 'GET', 'DELETE'])
  for (const { request, body } of requests) {
    expect(request.headers['x-amz-content-sha256']).toBe(createHash('sha256').update(body).digest('hex'))
    expect(request.headers.authorization).toContain(`Signature=${signatureOf(request, secretAccessKey)}`)
    expect(JSON.stringify(request.rawHeaders)).not.toContain(secretAccessKey)
  }
  await blobs.close()
})

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Computes the signature (version 4) of a received request. */
function signatureOf({ method, url = '', headers }: IncomingMessage, secret: string): string {
  const [, scope = '', signed = ''] =
    /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? []
  const [path = '', query = ''] = url.split('?')
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const sorted = query.split('&').sort().join('&')
  const canonical = [method, path, sorted, lines.join(''), signed, headers['x-amz-content-sha256']].join('\n')
  const hash = createHash('sha256').update(canonical).digest('hex')
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key as Buffer, ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash].join('\n')).toString('hex')
}

/** Starts a server that accepts connections and never answers. */
const startSilent = () => startListening(createServer((socket) => void socket.pause().on('error', () => {})))

async function startListening(server: Server) {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
