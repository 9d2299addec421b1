import { afterAll, beforeAll, expect } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { recordLog } from '../log.ts'
import { BASE, type Slapd, startSlapd } from '../parts/slapd.ts'

export const SECRET = 'service secret'

const buildEntry = (dn: string, attributes: Record<string, string | string[]>) =>
  [
    `dn:: ${Buffer.from(`${dn}${dn && ','}${BASE}`).toString('base64')}`,
    ...Object.entries(attributes).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}:: ${Buffer.from(value).toString('base64')}`),
    ),
    '',
  ].join('\n')

const buildPerson = (dn: string, uid: string, more: Record<string, string | string[]> = {}) =>
  buildEntry(dn, {
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

export const directoryEntries = [
  buildEntry('', { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' }),
  buildEntry('cn=service', { objectClass: ['organizationalRole', 'simpleSecurityObject'], userPassword: SECRET }),
  buildEntry('ou=people', { objectClass: 'organizationalUnit' }),
  buildEntry('ou=guests', { objectClass: 'organizationalUnit' }),
  buildEntry('ou=open', { objectClass: 'organizationalUnit' }),
  buildPerson('uid=Ann,ou=people', 'Ann', {
    mail: ['Ann@Example.org'],
    displayName: 'Müller-Łukasz, Ann  Kim',
    givenName: 'Ann',
    employeeType: 'admin',
  }),
  buildPerson(O_BRIEN, 'o.brien', { displayName: 'Seán "the" O\'Brien <x> (ext.)' }),
  buildPerson('uid=twin,ou=people', 'twin'),
  buildPerson('uid=twin,ou=guests', 'twin', { mail: 'twin2@example.org' }),
  buildPerson('uid=many,ou=people', 'many', { uid: ['many', 'ann.too'] }),
  buildPerson('uid=nomail,ou=people', 'nomail', { mail: [] }),
  buildPerson('uid=badmail,ou=people', 'badmail', { mail: 'CANARY at example' }),
  buildPerson('uid=CANARY man,ou=people', 'CANARY man', { mail: 'canary@example.org' }),
  buildPerson('uid=noname,ou=people', 'noname', { displayName: [] }),
  buildPerson('uid=nopassword,ou=people', 'nopassword', { userPassword: [] }),
  buildPerson('uid=open,ou=open', 'open'),
  buildPerson('uid=müller,ou=people', 'müller', { mail: 'jürgen@müller.example', userPassword: 'pässwörd' }),
  buildPerson('uid=firstbad,ou=people', 'firstbad', { mail: ['not-an-address', 'good@example.org'] }),
  buildPerson('uid=a.b-c_d\\+e@uni.example,ou=people', 'a.b-c_d+e@uni.example', { mail: 'eppn@example.org' }),
  buildPerson("uid=o'neil,ou=people", "o'neil"),
  buildPerson('uid=long,ou=people', 'long', { displayName: 'N'.repeat(400) }),
  buildPerson('uid=comma,ou=people', 'comma', { displayName: 'Meier, Dr., Hans' }),
  buildPerson('uid=unnamed,ou=people', 'unnamed', { displayName: [], cn: 'Un Named' }),
].join('\n')

/** The identity of Ann from a login source. */
export const annIdentity = {
  subject: expect.stringMatching(/^ldap:[\da-f-]{36}$/),
  formerSubject: `ldap:dn uid=Ann,ou=people,${BASE}`,
  username: 'ann',
  email: 'ann@example.org',
  name: 'Ann  Kim Müller-Łukasz',
}

/** Settings of a connection that is not encrypted. */
export const buildPlainSettings = (port: number) => ({
  LDAP_HOST: `ldap://localhost:${port}`,
  LDAP_ALLOW_PLAIN: 'true',
})
export const buildStartTlsSettings = (port: number) => ({
  LDAP_HOST: `ldap://localhost:${port}`,
  LDAP_START_TLS: 'true',
})

/** Starts a directory for the tests of one block, and opens login sources for it. */
export function useDirectory() {
  let slapd: Slapd
  beforeAll(async () => {
    slapd = await startSlapd(directoryEntries)
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
    LDAP_TIMEOUT: '20s',
  })

  async function open(more: Record<string, string> = {}) {
    const log = recordLog()
    const { password } = await openLoginSources(readEnv({ ...settings(), ...more }), log)
    return { source: password!, log }
  }

  /** Options of the source itself, with a filter that also finds e-mail addresses. */
  const direct = () => ({
    urls: [`ldap://localhost:${slapd.port}`],
    startTls: false,
    bind: { dn: `cn=service,${BASE}`, password: SECRET },
    base: BASE,
    filter: '(&(objectClass=inetOrgPerson)(|(uid=username)(mail=username)))',
    attributes: { subject: ['entryUUID'], username: 'uid', email: 'mail', name: ['displayName'], invertName: true },
    timeout: 60_000,
  })
  return {
    get slapd() {
      return slapd
    },
    settings,
    open,
    direct,
  }
}
