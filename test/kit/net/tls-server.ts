import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void

/** Makes a certificate of this machine that signs itself, `ca.pem` with `key.pem`. */
export async function makeCertificate(folder: string): Promise<void> {
  await promisify(execFile)(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-keyout',
      'key.pem',
      '-out',
      'ca.pem',
    ],
    { cwd: folder },
  )
}

/** A server that speaks HTTP/2 and HTTP/1.1 over TLS; `caFile` is what whoever calls it must trust. */
export async function startTlsServer(answer: Answer) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-tls-'))
  await makeCertificate(folder)
  const [key, cert] = await Promise.all(['key.pem', 'ca.pem'].map((name) => readFile(join(folder, name))))
  const server = createSecureServer({ key, cert, allowHTTP1: true } as object, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    caFile: join(folder, 'ca.pem'),
    async [Symbol.asyncDispose]() {
      server.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Lets this process, including `fetch`, trust an authority until the end of the block. */
export async function trustAuthority(caFile: string): Promise<Disposable> {
  const usual = getCACertificates('default')
  setDefaultCACertificates([...usual, await readFile(caFile, 'utf8')])
  return { [Symbol.dispose]: () => setDefaultCACertificates(usual) }
}
