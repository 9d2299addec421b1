import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { vi } from 'vitest'
import { findFreePort } from '../free-port.ts'
import { makeCertificate } from '../net/tls-server.ts'

const PASSWORD = 'word of the stores'
const SENTINEL_PASSWORD = 'word of the sentinels'

interface SentinelOptions {
  /** True makes all of them accept TLS alone, with the certificate in `caFile`. */
  tls?: boolean
}

/** Three Redis servers, of which one is the primary, and three Sentinels that choose another one where it dies. */
export async function startSentinels({ tls = false }: SentinelOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-sentinels-'))
  const [key, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
  if (tls) await makeCertificate(folder)
  const tlsLines = [
    'port 0',
    `tls-cert-file ${caFile}`,
    `tls-key-file ${key}`,
    `tls-ca-cert-file ${caFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
  ]
  const servers = new Map<number, ChildProcess>()
  const start = async (port: number, lines: string[], flags: string[] = []) => {
    const file = join(folder, `${port}.conf`)
    await writeFile(
      file,
      [
        ...(tls ? [`tls-port ${port}`, ...tlsLines] : [`port ${port}`]),
        'bind 127.0.0.1',
        `dir ${folder}`,
        ...lines,
      ].join('\n'),
    )
    const server = spawn(process.env['TEST_REDIS'] ?? 'redis-server', [file, ...flags], { stdio: 'ignore' })
    await once(server, 'spawn')
    servers.set(port, server)
  }
  const kill = async (port: number) => {
    const server = servers.get(port)
    const ended = server && once(server, 'close')
    server?.kill('SIGKILL')
    await ended
    servers.delete(port)
  }
  const words = [`requirepass "${PASSWORD}"`, `masterauth "${PASSWORD}"`, 'save ""', `dbfilename none`]
  const [first, ...others] = [await findFreePort(), await findFreePort(), await findFreePort()]
  await start(first as number, words)
  for (const port of others) await start(port, [...words, `replicaof 127.0.0.1 ${first}`])
  const sentinels = [await findFreePort(), await findFreePort(), await findFreePort()]
  for (const port of sentinels)
    await start(
      port,
      [
        `requirepass "${SENTINEL_PASSWORD}"`,
        `sentinel sentinel-pass "${SENTINEL_PASSWORD}"`,
        `sentinel monitor primary 127.0.0.1 ${first} 2`,
        `sentinel auth-pass primary "${PASSWORD}"`,
        'sentinel down-after-milliseconds primary 2000',
        'sentinel failover-timeout primary 5000',
      ],
      ['--sentinel'],
    )
  const querySentinel = async <T>(use: (sentinel: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis({
      port: sentinels[0] as number,
      password: SENTINEL_PASSWORD,
      ...(tls && { tls: { rejectUnauthorized: false } }),
    })
    redis.on('error', () => {})
    return use(redis).finally(() => redis.disconnect())
  }
  const primary = async () =>
    Number(
      (
        await querySentinel(
          (sentinel) => sentinel.call('sentinel', 'get-master-addr-by-name', 'primary') as Promise<string[]>,
        )
      )[1],
    )
  await vi.waitFor(
    async () => {
      const text = JSON.stringify(await querySentinel((sentinel) => sentinel.call('sentinel', 'master', 'primary')))
      if (!/"num-slaves","2","num-other-sentinels","2"/.test(text)) throw new Error('They do not know each other yet.')
    },
    { timeout: 60_000, interval: 100 },
  )
  return {
    caFile,
    settings: {
      REDIS_URL: `${tls ? 'rediss' : 'redis'}://:${encodeURIComponent(PASSWORD)}@primary`,
      REDIS_SENTINELS: sentinels.map((port) => `127.0.0.1:${port}`).join(','),
      REDIS_SENTINEL_PASSWORD: SENTINEL_PASSWORD,
    },
    /** Kills the primary; resolves when there is another one. */
    async failOver() {
      const before = await primary()
      await kill(before)
      await vi.waitFor(
        async () => {
          if ((await primary()) === before) throw new Error('No other one is the primary yet.')
        },
        { timeout: 60_000, interval: 50 },
      )
    },
    async [Symbol.asyncDispose]() {
      for (const port of [...servers.keys()]) await kill(port)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
