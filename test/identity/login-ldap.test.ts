import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { openLoginSources } from '../../server/login/index.ts'
import { createLdap } from '../../server/login/ldap.ts'
import { freePort } from '../kit/free-port.ts'
import { keepLog } from '../kit/log.ts'
import { startRelay } from '../kit/parts/relay.ts'
import { BASE, type Slapd, startSlapd } from '../kit/parts/slapd.ts'
import { describeWith } from '../kit/parts/with-parts.ts'

const SECRET = 'service secret'

const entry = (dn: string, attributes: Record<string, string | string[]>) =>
  [
    `dn:: ${Buffer.from(`${dn}${dn && ','}${BASE}`).toString('base64')}`,
    ...Object.entries(attributes).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}:: ${Buffer.from(value).toString('base64')}`),
    ),
    '',
  ].join('\n')

const person = (dn: string, uid: string, more: Record<string, string | string[]> = {}) =>
  entry(dn, {
    objectClass: 'inetOrgPerson',
    cn: /^cn=/.test(dn) ? [] : `cn of ${uid}`,
    sn: 'Sn',
    uid,
    mail: `${uid}@example.org`,
    displayName: `The ${uid}`,
    userPassword: `${uid}'s password`,
    ...more,
  })

const O_BRIEN = 'cn=O\'Brien\\, Seán \\+ \\"the\\" #7 \\<x\\>\\; \\\\ \\=,ou=people'

const entries = [
  entry('', { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' }),
  entry('cn=service', { objectClass: ['organizationalRole', 'simpleSecurityObject'], userPassword: SECRET }),
  entry('ou=people', { objectClass: 'organizationalUnit' }),
  entry('ou=guests', { objectClass: 'organizationalUnit' }),
  entry('ou=open', { objectClass: 'organizationalUnit' }),
  person('uid=Ann,ou=people', 'Ann', {
    mail: ['Ann@Example.org'],
    displayName: 'Müller-Łukasz, Ann  Kim',
    givenName: 'Ann',
    employeeType: 'admin',
  }),
  person(O_BRIEN, 'o.brien', { displayName: 'Seán "the" O\'Brien <x> (ext.)' }),
  person('uid=twin,ou=people', 'twin'),
  person('uid=twin,ou=guests', 'twin', { mail: 'twin2@example.org' }),
  person('uid=many,ou=people', 'many', { uid: ['many', 'ann.too'] }),
  person('uid=nomail,ou=people', 'nomail', { mail: [] }),
  person('uid=badmail,ou=people', 'badmail', { mail: 'CANARY at example' }),
  person('uid=CANARY man,ou=people', 'CANARY man', { mail: 'canary@example.org' }),
  person('uid=noname,ou=people', 'noname', { displayName: [] }),
  person('uid=nopassword,ou=people', 'nopassword', { userPassword: [] }),
  person('uid=open,ou=open', 'open'),
].join('\n')

describeWith('slapd')('a directory', () => {
  let slapd: Slapd
  beforeAll(async () => {
    slapd = await startSlapd(entries)
  })
  afterAll(async () => slapd[Symbol.asyncDispose]())

  const settings = () => ({
    AUTHENTICATION_METHOD: 'ldap',
    LDAP_HOST: `ldaps://localhost:${slapd.securePort}`,
    LDAP_CA_FILE: slapd.caFile,
    LDAP_BIND_DN: `cn=service,${BASE}`,
    LDAP_BIND_PW: SECRET,
    LDAP_BASE_DN: BASE,
    LDAP_FILTER: '(&(objectClass=inetOrgPerson)(uid=username))',
    LDAP_ATTR_USERNAME: 'uid',
    LDAP_TIMEOUT: '2s',
  })

  async function open(more: Record<string, string> = {}) {
    const log = keepLog()
    const { password } = await openLoginSources(readEnv({ ...settings(), ...more }), log)
    return { source: password!, log }
  }

  const plain = (port: number) => ({ LDAP_HOST: `ldap://localhost:${port}`, LDAP_ALLOW_PLAIN: 'true' })
  const startTls = (port: number) => ({ LDAP_HOST: `ldap://localhost:${port}`, LDAP_START_TLS: 'true' })
  const ann = { username: 'ann', email: 'ann@example.org', name: 'Ann  Kim Müller-Łukasz' }

  test('knows a person by the password, and tells nothing of a role', async () => {
    const { source } = await open()

    expect(await source.verify('ann', "Ann's password")).toEqual(ann)
    expect(await source.verify('ANN', "Ann's password")).toEqual(ann)
  })

  test('refuses a wrong password, an unknown account and one without a password, without a word in the log', async () => {
    const { source, log } = await open()

    for (const [account, password] of [
      ['ann', 'wrong'],
      ['ann', "o.brien's password"],
      ['nobody', 'wrong'],
      ['nopassword', 'wrong'],
      ['service', SECRET],
    ] as const)
      expect(await source.verify(account, password), account).toBeUndefined()
    expect(log.lines).toEqual([])
  })

  test('asks for as many steps for an unknown account as for a wrong password', async () => {
    await using relay = await startRelay(slapd.port)
    const { source } = await open(plain(relay.port))

    await source.verify('ann', 'wrong')
    await source.verify('nobody', 'wrong')

    // Each step waits for the answer to the one before: bind, search, bind, unbind.
    await expect.poll(() => relay.connections.map(({ sent }) => sent.length)).toEqual([4, 4])
  })

  test('is not asked to bind without a password, which it would take', async () => {
    await using relay = await startRelay(slapd.port)
    const options = { ...direct(), urls: [`ldap://localhost:${relay.port}`] }

    expect(await createLdap(options, keepLog()).verify('ann', '')).toBeUndefined()
    expect(await (await open(plain(relay.port))).source.verify('ann', '')).toBeUndefined()
    expect(relay.connections).toEqual([])
  })

  test('knows people whose names have every special character', async () => {
    const { source } = await open()

    expect(await source.verify('o.brien', "o.brien's password")).toEqual({
      username: 'o.brien',
      email: 'o.brien@example.org',
      name: 'Seán "the" O\'Brien <x> (ext.)',
    })
  })

  const direct = () => ({
    urls: [`ldap://localhost:${slapd.port}`],
    startTls: false,
    bind: { dn: `cn=service,${BASE}`, password: SECRET },
    base: BASE,
    filter: '(&(objectClass=inetOrgPerson)(|(uid=username)(mail=username)))',
    attributes: { username: 'uid', email: 'mail', name: ['displayName'], invertName: true },
    timeout: 2000,
  })

  test.for([
    'an*',
    'a*n',
    '*',
    'ann)(uid=*',
    'ann)(objectClass=*))(&(uid=ann',
    'ann))(|(uid=ann',
    '\\61nn',
    'ann\\',
    'ann\0',
    'an\nn',
    'uid=ann',
    '=username)',
    '$&',
    '(',
    ')',
    '',
    '   ',
  ])('takes %j as it stands, never as a filter', async (account) => {
    const log = keepLog()
    const source = createLdap(direct(), log)
    expect(await source.verify('ann@example.org', "Ann's password")).toEqual(ann)

    expect(await source.verify(account, "Ann's password")).toBeUndefined()
    expect(await (await open()).source.verify(account, "Ann's password")).toBeUndefined()
    expect(log.lines).toEqual([])
  })

  test('with two entries for one account knows neither of them', async () => {
    const { source, log } = await open()

    expect(await source.verify('twin', "twin's password")).toBeUndefined()
    expect(log.lines).toHaveLength(1)
    expect(log.lines.join()).not.toContain('twin')
    const { source: narrow } = await open({ LDAP_SEARCH_DN: `ou=guests,${BASE}` })
    expect(await narrow.verify('twin', "twin's password")).toMatchObject({ email: 'twin2@example.org' })
  })

  test.for(['many', 'ann.too', 'nomail', 'badmail', 'noname', 'CANARY man'])(
    'that tells rubbish of %s is not believed, and the log has no value',
    async (uid) => {
      const log = keepLog()
      const password = uid === 'ann.too' ? "many's password" : `${uid}'s password`

      expect(await createLdap(direct(), log).verify(uid, password)).toBeUndefined()
      expect(log.lines).toHaveLength(1)
      expect(log.lines.join()).not.toMatch(new RegExp(`CANARY|${uid}`))
    },
  )

  test('gives the name from one attribute or several, turned round or not', async () => {
    const nameBy = async (more: Record<string, string>) =>
      (await (await open(more)).source.verify('ann', "Ann's password"))?.name

    expect(await nameBy({ LDAP_INVERT_NAME: 'false' })).toBe('Müller-Łukasz, Ann  Kim')
    expect(await nameBy({ LDAP_ATTR_NAME: 'givenName,title,SN' })).toBe('Ann Sn')
  })

  test('gives the groups of the attribute that is named, and otherwise tells of none', async () => {
    const groupsBy = async (more: Record<string, string>) =>
      (await (await open(more)).source.verify('ann', "Ann's password"))?.groups

    expect(await groupsBy({ LDAP_ATTR_GROUPS: 'objectClass' })).toContain('inetOrgPerson')
    expect(await groupsBy({ LDAP_ATTR_GROUPS: 'memberOf' })).toEqual([])
    expect(await groupsBy({})).toBeUndefined()
  })

  test('may be searched by nobody, where it lets nobody search', async () => {
    const { source } = await open({ LDAP_BIND_DN: 'anonymous', LDAP_BIND_PW: '', LDAP_SEARCH_DN: `ou=open,${BASE}` })

    expect(await source.verify('open', "open's password")).toMatchObject({ username: 'open' })
    expect(await source.verify('open', 'wrong')).toBeUndefined()
    expect(await source.verify('ann', "Ann's password")).toBeUndefined()
  })

  test('that does not take our own password is unavailable, whatever the person types', async () => {
    const { source, log } = await open({ LDAP_BIND_PW: 'wrong' })

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    expect(log.lines).toHaveLength(1)
    expect(log.lines.join()).not.toMatch(/wrong|\bann/i)
  })

  test('is spoken to by StartTLS, so that no password can be read on the way', async () => {
    await using relay = await startRelay(slapd.port)
    const { source } = await open(startTls(relay.port))

    expect(await source.verify('ann', "Ann's password")).toEqual(ann)
    expect(relay.sent().includes('password')).toBe(false)
    expect(relay.sent().includes(SECRET)).toBe(false)
    await using readable = await startRelay(slapd.port)
    await (await open(plain(readable.port))).source.verify('ann', "Ann's password")
    expect(readable.sent().includes("Ann's password")).toBe(true)
  })

  test.for(['ldaps', 'StartTLS'] as const)(
    'is told nothing over %s with a certificate we do not trust',
    async (way) => {
      const port = way === 'ldaps' ? slapd.securePort : slapd.port
      const how = (host: string, relayPort: number): Record<string, string> =>
        way === 'ldaps'
          ? { LDAP_HOST: `ldaps://${host}:${relayPort}` }
          : { LDAP_HOST: `ldap://${host}:${relayPort}`, LDAP_START_TLS: 'true' }
      for (const [host, more] of [
        ['localhost', { LDAP_CA_FILE: slapd.otherCaFile }],
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
    'is never told in the clear what began by StartTLS, cut off after piece %d',
    async (cutAfter) => {
      await using relay = await startRelay(slapd.port, { cutAfter })
      const { source } = await open(startTls(relay.port))

      await source.verify('ann', "Ann's password").catch(() => {})

      expect(relay.connections).toHaveLength(1)
      expect(relay.sent().includes('password')).toBe(false)
      expect(relay.sent().includes(SECRET)).toBe(false)
    },
  )

  test('may have several servers, of which the first that works is asked', async () => {
    await using silent = await startRelay(undefined)
    await using relay = await startRelay(slapd.securePort)
    await using spare = await startRelay(slapd.securePort)
    const hosts = [await freePort(), silent.port, relay.port, spare.port].map((port) => `ldaps://localhost:${port}`)
    const { source, log } = await open({ LDAP_HOST: hosts.join(' '), LDAP_TIMEOUT: '300ms' })

    expect(await source.verify('ann', "Ann's password")).toEqual(ann)
    expect(await source.verify('ann', 'wrong')).toBeUndefined()

    expect(log.lines).toHaveLength(4)
    expect(relay.connections).toHaveLength(2)
    expect(spare.connections).toEqual([])
  })

  test('may name its port beside its servers', async () => {
    const { source } = await open({ LDAP_HOST: 'ldaps://localhost', LDAP_PORT: String(slapd.securePort) })

    expect(await source.verify('ann', "Ann's password")).toEqual(ann)
  })

  test.for([
    ['says nothing', {}, undefined],
    ['says nothing to a TLS greeting', { LDAP_HOST: 'ldaps' }, undefined],
    ['takes StartTLS and then says nothing', { LDAP_START_TLS: 'true' }, startTlsAccepted],
  ] as const)('that %s is given up', async ([, more, answer]) => {
    await using silent = await startRelay(undefined, {
      onSent: (piece, client, count) => void (answer && count === 1 && client.write(answer(piece))),
    })
    const scheme = 'LDAP_HOST' in more ? 'ldaps' : 'ldap'
    const { source } = await open({
      ...plain(silent.port),
      ...more,
      LDAP_HOST: `${scheme}://localhost:${silent.port}`,
      LDAP_TIMEOUT: '200ms',
    })

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    await expect.poll(() => silent.open.size).toBe(0)
  })

  test('that is down is unavailable for every account, and back when it is back', async () => {
    await using gone = await startSlapd(entries)
    const { source } = await open(plain(gone.port))
    expect(await source.verify('ann', 'wrong')).toBeUndefined()

    gone.kill()

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    await expect(source.verify('nobody', 'x')).rejects.toMatchObject({ problem: 'unavailable' })
  })

  test('has no connection left open after a login, a refusal or a failure', async () => {
    await using relay = await startRelay(slapd.securePort)
    const { source } = await open({ LDAP_HOST: `ldaps://localhost:${relay.port}` })

    await source.verify('ann', "Ann's password")
    await source.verify('ann', 'wrong')
    await source.verify('twin', 'wrong')
    await source.verify('nomail', "nomail's password")

    expect(relay.connections).toHaveLength(4)
    await expect.poll(() => relay.open.size).toBe(0)
  })

  test('serves many at once', async () => {
    const { source } = await open()
    const passwords = Array.from({ length: 30 }, (_, i) => (i % 3 ? "Ann's password" : 'wrong'))

    const found = await Promise.all(passwords.map((password) => source.verify('ann', password)))

    expect(found.map(Boolean)).toEqual(passwords.map((password) => password !== 'wrong'))
  })

  test('can be one source beside local accounts', async () => {
    const { source } = await open({ AUTHENTICATION_METHOD: 'local,LDAP', DATA_DIR: '/nonexistent' })
    const { source: down, log } = await open({
      AUTHENTICATION_METHOD: 'local,ldap',
      DATA_DIR: '/nonexistent',
      LDAP_HOST: `ldaps://localhost:${await freePort()}`,
    })

    expect(await source.verify('ann', "Ann's password")).toEqual(ann)
    await expect(down.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    expect(log.lines).toHaveLength(1)
  })

  test('whose authorities cannot be read stops the start', async () => {
    await expect(open({ LDAP_CA_FILE: '/nonexistent/ca.pem' })).rejects.toThrow(/ca\.pem/)
    await expect(readFile(slapd.caFile, 'utf8')).resolves.toContain('BEGIN CERTIFICATE')
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
  ] as const)('with %s=%s stops the start', ([name, value]) => {
    expect(() => readEnv({ ...settings(), [name]: value })).toThrow(/LDAP_/)
  })
})

/** The answer of a server that agrees to StartTLS, in the protocol's bytes. */
function startTlsAccepted(request: Buffer): Buffer {
  const messageId = request[4]!
  return Buffer.from([0x30, 12, 2, 1, messageId, 0x78, 7, 10, 1, 0, 4, 0, 4, 0])
}
