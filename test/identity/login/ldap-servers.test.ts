import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { findFreePort } from '../../kit/free-port.ts'
import {
  annIdentity,
  buildPlainSettings,
  buildStartTlsSettings,
  directoryEntries,
  SECRET,
  useDirectory,
} from '../../kit/identity/directory.ts'
import { startRelay } from '../../kit/parts/relay.ts'
import { startSlapd } from '../../kit/parts/slapd.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'

describeWith('slapd')('LDAP servers', () => {
  const directory = useDirectory()
  const { settings, open } = directory

  test('a directory connection is upgraded by StartTLS before any password is sent', async () => {
    await using relay = await startRelay(directory.slapd.port)
    const { source } = await open(buildStartTlsSettings(relay.port))

    expect(await source.verify('ann', "Ann's password")).toEqual(annIdentity)
    expect(relay.sent().includes('password')).toBe(false)
    expect(relay.sent().includes(SECRET)).toBe(false)
    await using readable = await startRelay(directory.slapd.port)
    await (await open(buildPlainSettings(readable.port))).source.verify('ann', "Ann's password")
    expect(readable.sent().includes("Ann's password")).toBe(true)
  })

  test.for(['ldaps', 'StartTLS'] as const)(
    'a directory gets nothing over %s with an untrusted certificate',
    async (way) => {
      const port = way === 'ldaps' ? directory.slapd.securePort : directory.slapd.port
      const how = (host: string, relayPort: number): Record<string, string> =>
        way === 'ldaps'
          ? { LDAP_HOST: `ldaps://${host}:${relayPort}` }
          : { LDAP_HOST: `ldap://${host}:${relayPort}`, LDAP_START_TLS: 'true' }
      for (const [host, more] of [
        ['localhost', { LDAP_CA_FILE: directory.slapd.otherCaFile }],
        ['localhost', { LDAP_CA_FILE: '' }],
        ['127.0.0.1', {}],
      ] as const) {
        await using relay = await startRelay(port)
        const { source, log } = await open({ ...how(host, relay.port), ...more })

        await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
        expect(log.lines.join()).toMatch(/an LDAP server failed/)
        await expect.poll(() => relay.open.size).toBe(0)
      }
    },
  )

  test.for([1, 2, 3, 4, 5, 6, 7, 8])(
    'a directory gets nothing in the clear where StartTLS is cut after piece %d',
    async (cutAfter) => {
      await using relay = await startRelay(directory.slapd.port, { cutAfter })
      const { source } = await open({ ...buildStartTlsSettings(relay.port), LDAP_TIMEOUT: '2s' })

      await source.verify('ann', "Ann's password").catch(() => {})

      expect(relay.connections).toHaveLength(1)
      expect(relay.sent().includes('password')).toBe(false)
      expect(relay.sent().includes(SECRET)).toBe(false)
    },
  )

  test('a directory may have several servers, of which the first that works is asked', async () => {
    await using silent = await startRelay(undefined)
    await using relay = await startRelay(directory.slapd.securePort)
    await using spare = await startRelay(directory.slapd.securePort)
    const hosts = [await findFreePort(), silent.port, relay.port, spare.port].map((port) => `ldaps://localhost:${port}`)
    // The timeout is long enough for the working server on a busy machine, too.
    const { source, log } = await open({ LDAP_HOST: hosts.join(' '), LDAP_TIMEOUT: '10s' })

    const found = await Promise.all(["Ann's password", 'wrong'].map((password) => source.verify('ann', password)))

    expect(found).toEqual([annIdentity, undefined])

    expect(log.lines).toHaveLength(4)
    expect(relay.connections).toHaveLength(2)
    expect(spare.connections).toEqual([])
  })

  test('a directory may name its port beside its servers', async () => {
    const { source } = await open({ LDAP_HOST: 'ldaps://localhost', LDAP_PORT: String(directory.slapd.securePort) })

    expect(await source.verify('ann', "Ann's password")).toEqual(annIdentity)
  })

  test.for([
    ['says nothing', {}, undefined],
    ['says nothing to a TLS greeting', { LDAP_HOST: 'ldaps' }, undefined],
    ['takes StartTLS and then says nothing', { LDAP_START_TLS: 'true' }, startTlsAccepted],
  ] as const)('a directory that %s is given up', async ([, more, answer]) => {
    await using silent = await startRelay(undefined, {
      onSent: (piece, client, count) => void (answer && count === 1 && client.write(answer(piece))),
    })
    const scheme = 'LDAP_HOST' in more ? 'ldaps' : 'ldap'
    const { source } = await open({
      ...buildPlainSettings(silent.port),
      ...more,
      LDAP_HOST: `${scheme}://localhost:${silent.port}`,
      LDAP_TIMEOUT: '200ms',
    })

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    await expect.poll(() => silent.open.size).toBe(0)
  })

  test('a directory that is down is unavailable for every account, and recovers', async () => {
    await using gone = await startSlapd(directoryEntries)
    const { source } = await open(buildPlainSettings(gone.port))
    expect(await source.verify('ann', 'wrong')).toBeUndefined()

    gone.kill()

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    await expect(source.verify('nobody', 'x')).rejects.toMatchObject({ problem: 'unavailable' })
  })

  test('a directory has no open connection left after a login, a refusal or failure', async () => {
    await using relay = await startRelay(directory.slapd.securePort)
    const { source } = await open({ LDAP_HOST: `ldaps://localhost:${relay.port}` })

    await source.verify('ann', "Ann's password")
    await source.verify('ann', 'wrong')
    await source.verify('twin', 'wrong')
    await expect(source.verify('nomail', "nomail's password")).rejects.toMatchObject({ code: 'FORBIDDEN' })

    expect(relay.connections).toHaveLength(4)
    await expect.poll(() => relay.open.size).toBe(0)
  })

  test('a directory serves many at once', async () => {
    const { source } = await open()
    const passwords = Array.from({ length: 30 }, (_, i) => (i % 3 ? "Ann's password" : 'wrong'))

    const found = await Promise.all(passwords.map((password) => source.verify('ann', password)))

    expect(found.map(Boolean)).toEqual(passwords.map((password) => password !== 'wrong'))
  })

  test('a directory can be one source beside local accounts', async () => {
    const { source } = await open({ AUTHENTICATION_METHOD: 'local,LDAP', DATA_DIR: '/nonexistent' })
    const { source: down, log } = await open({
      AUTHENTICATION_METHOD: 'local,ldap',
      DATA_DIR: '/nonexistent',
      LDAP_HOST: `ldaps://localhost:${await findFreePort()}`,
    })

    expect(await source.verify('ann', "Ann's password")).toEqual(annIdentity)
    await expect(down.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    expect(log.lines).toHaveLength(1)
  })

  test('a directory whose authorities cannot be read stops the start', async () => {
    await expect(open({ LDAP_CA_FILE: '/nonexistent/ca.pem' })).rejects.toThrow(/ca\.pem/)
    await expect(readFile(directory.slapd.caFile, 'utf8')).resolves.toContain('BEGIN CERTIFICATE')
  })

  test.for([
    ['LDAP_HOST', ''],
    ['LDAP_HOST', 'directory.example.org'],
    ['LDAP_HOST', 'ldap://directory.example.org'],
    ['LDAP_HOST', 'ldaps://a.example.org ldap://b.example.org'],
    ['LDAP_HOST', 'https://directory.example.org'],
    ['LDAP_BIND_DN', ''],
    ['LDAP_BIND_PW', ''],
    ['LDAP_BASE_DN', ''],
    ['LDAP_FILTER', ''],
    ['LDAP_FILTER', '(uid=someone)'],
    ['LDAP_FILTER', '(&(uid=username)'],
    ['LDAP_FILTER', 'uid=username)'],
  ] as const)('a directory with %s=%s stops the start', ([name, value]) => {
    expect(() => readEnv({ ...settings(), [name]: value })).toThrow(/LDAP_/)
  })
})

/** Builds the bytes of an answer that agrees to StartTLS. */
function startTlsAccepted(request: Buffer): Buffer {
  const messageId = request[4]!
  return Buffer.from([0x30, 12, 2, 1, messageId, 0x78, 7, 10, 1, 0, 4, 0, 4, 0])
}
