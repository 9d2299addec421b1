import { expect, test } from 'vitest'
import { createLdap } from '../../../server/login/ldap.ts'
import { annIdentity, buildPlainSettings, SECRET, useDirectory } from '../../kit/identity/directory.ts'
import { recordLog } from '../../kit/log.ts'
import { startRelay } from '../../kit/parts/relay.ts'
import { BASE } from '../../kit/parts/slapd.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'

describeWith('slapd')('LDAP', () => {
  const directory = useDirectory()
  const { open, direct } = directory

  test('a directory knows a person by the password, and tells nothing of a role', async () => {
    const { source } = await open()

    expect(await source.verify('ann', "Ann's password")).toEqual(annIdentity)
    expect(await source.verify('ANN', "Ann's password")).toEqual(annIdentity)
  })

  test('a directory refuses bad credentials without a word in the log', async () => {
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

  test('a directory takes as many steps for an unknown account as for wrong passwords', async () => {
    await using relay = await startRelay(directory.slapd.port)
    const { source } = await open(buildPlainSettings(relay.port))

    await source.verify('ann', 'wrong')
    await source.verify('nobody', 'wrong')

    // The four messages are bind, search, bind and unbind; each waits for the answer to the one before.
    await expect.poll(() => relay.connections.map(({ sent }) => sent.length)).toEqual([4, 4])
  })

  test('a directory is not asked to bind without a password, which it would take', async () => {
    await using relay = await startRelay(directory.slapd.port)
    const options = { ...direct(), urls: [`ldap://localhost:${relay.port}`] }

    expect(await createLdap(options, recordLog()).verify('ann', '')).toBeUndefined()
    expect(await (await open(buildPlainSettings(relay.port))).source.verify('ann', '')).toBeUndefined()
    expect(relay.connections).toEqual([])
  })

  test('a directory knows people whose names have every special character', async () => {
    const { source } = await open()

    expect(await source.verify('o.brien', "o.brien's password")).toMatchObject({
      username: 'o.brien',
      email: 'o.brien@example.org',
      name: 'Seán "the" O\'Brien <x> (ext.)',
    })
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
  ])('a directory takes %j as it stands, never as a filter', async (account) => {
    const log = recordLog()
    const source = createLdap(direct(), log)
    expect(await source.verify('ann@example.org', "Ann's password")).toEqual(annIdentity)

    expect(await source.verify(account, "Ann's password")).toBeUndefined()
    expect(await (await open()).source.verify(account, "Ann's password")).toBeUndefined()
    expect(log.lines).toEqual([])
  })

  test('a directory with two entries for one account knows neither of them', async () => {
    const { source, log } = await open()

    expect(await source.verify('twin', "twin's password")).toBeUndefined()
    expect(log.lines).toHaveLength(1)
    expect(log.lines.join()).not.toContain('twin')
    const { source: narrow } = await open({ LDAP_SEARCH_DN: `ou=guests,${BASE}` })
    expect(await narrow.verify('twin', "twin's password")).toMatchObject({ email: 'twin2@example.org' })
  })

  test.for([
    ['nomail', 'account_without_email'],
    ['badmail', 'account_email_invalid'],
    ['CANARY man', 'account_username_invalid'],
  ] as const)('a directory with unusable data of %s is reported, and no value is logged', async ([uid, problem]) => {
    const log = recordLog()
    const source = createLdap(direct(), log)

    await expect(source.verify(uid, `${uid}'s password`)).rejects.toMatchObject({ problem })
    expect(await source.verify(uid, 'wrong')).toBeUndefined()
    expect(log.lines).toHaveLength(1)
    expect(log.lines.join()).not.toMatch(new RegExp(`CANARY|${uid}`))
  })

  test.for([
    ['many', 'many', 'The many'],
    ['ann.too', 'many', 'The many'],
    ['noname', 'noname', 'cn of noname'],
  ] as const)('a directory may tell of %s more or less than one name', async ([uid, username, name]) => {
    const password = uid === 'ann.too' ? "many's password" : `${uid}'s password`

    expect(await createLdap(direct(), recordLog()).verify(uid, password)).toMatchObject({ username, name })
  })

  test('a directory gives the name from one attribute or several, turned round or not', async () => {
    const nameBy = async (more: Record<string, string>) =>
      (await (await open(more)).source.verify('ann', "Ann's password"))?.name

    expect(await nameBy({ LDAP_INVERT_NAME: 'false' })).toBe('Müller-Łukasz, Ann  Kim')
    expect(await nameBy({ LDAP_ATTR_NAME: 'givenName,title,SN' })).toBe('Ann Sn')
  })

  test('a directory gives the groups of the configured attribute, and otherwise none', async () => {
    const groupsBy = async (more: Record<string, string>) =>
      (await (await open(more)).source.verify('ann', "Ann's password"))?.groups

    expect(await groupsBy({ LDAP_ATTR_GROUPS: 'objectClass' })).toContain('inetOrgPerson')
    expect(await groupsBy({ LDAP_ATTR_GROUPS: 'memberOf' })).toEqual([])
    expect(await groupsBy({})).toBeUndefined()
  })

  test('a directory may be searched anonymously, as far as it allows', async () => {
    const { source } = await open({ LDAP_BIND_DN: 'anonymous', LDAP_BIND_PW: '', LDAP_SEARCH_DN: `ou=open,${BASE}` })

    expect(await source.verify('open', "open's password")).toMatchObject({ username: 'open' })
    expect(await source.verify('open', 'wrong')).toBeUndefined()
    expect(await source.verify('ann', "Ann's password")).toBeUndefined()
  })

  test("a directory that refuses the service's own password is unavailable for every login", async () => {
    const { source, log } = await open({ LDAP_BIND_PW: 'wrong' })

    await expect(source.verify('ann', "Ann's password")).rejects.toMatchObject({ problem: 'unavailable' })
    expect(log.lines).toHaveLength(1)
    expect(log.lines.join()).not.toMatch(/wrong|\bann/i)
  })
})
