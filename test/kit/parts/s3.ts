import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { findFreePort } from '../free-port.ts'

const BUCKET = 'files'
const PROGRAM = createRequire(import.meta.url).resolve('s3rver/bin/s3rver.js')

/** A server of the S3 protocol in a process of its own, with an empty bucket. It keeps what it has when started anew. */
export async function startS3() {
  const [port, directory] = [await findFreePort(), await mkdtemp(join(tmpdir(), 'svc-s3-'))]
  let server: ChildProcess | undefined
  const start = async () => {
    const location = ['--directory', directory, '--address', '127.0.0.1', '--port', `${port}`]
    // The server's page tokens need a legacy cipher of OpenSSL.
    const args = ['--openssl-legacy-provider', PROGRAM, ...location, '--configure-bucket', BUCKET]
    server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
    const early = once(server, 'exit').then(() => {
      throw new Error('The S3 server does not start.')
    })
    await Promise.race([once(server.stdout as Readable, 'data'), early])
    server.stdout?.resume()
    early.catch(() => {})
  }
  const stop = async () => {
    const exited = server?.exitCode === null && server.signalCode === null && once(server, 'exit')
    server?.kill('SIGKILL')
    await exited
  }
  await start()
  return {
    port,
    /** Settings with which a service stores its files there. */
    settings: {
      STORAGE_DISK: 's3',
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_DEFAULT_BUCKET: BUCKET,
      S3_ACCESS_KEY: 'S3RVER',
      S3_SECRET_KEY: 'S3RVER',
    },
    /** The folder of its objects, each a file that ends with `._S3rver_object`. */
    directory: join(directory, BUCKET),
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
