import { afterAll, beforeAll, expect } from 'vitest'
import { readEnv } from '../../../server/config/env.ts'
import { openLoginSources } from '../../../server/login/index.ts'
import { keepLog } from '../log.ts'
import { BASE, type Slapd, startSlapd } from '../parts/slapd.ts'

export const SECRET = 'service secret'

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

export const entries = [
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
  person('uid=müller,ou=people', 'müller', { mail: 'jürgen@müller.example', userPassword: 'pässwörd' }),
  person('uid=firstbad,ou=people', 'firstbad', { mail: ['not-an-address', 'good@example.org'] }),
  person('uid=a.b-c_d\\+e@uni.example,ou=people', 'a.b-c_d+e@uni.example', { mail: 'eppn@example.org' }),
  person("uid=o'neil,ou=people", "o'neil"),
  person('uid=long,ou=people', 'long', { displayName: 'N'.repeat(400) }),
  person('uid=comma,ou=people', 'comma', { displayName: 'Meier, Dr., Hans' }),
  person('uid=unnamed,ou=people', 'unnamed', { displayName: [], cn: 'Un Named' }),
].join('\n')

/** Ann, as a login source tells of her. */
export const ann = {
  subject: expect.stringMatching(/^ldap:[\da-f-]{36}$/),
  formerSubject: `ldap:dn uid=Ann,ou=people,${BASE}`,
  username: 'ann',
  email: 'ann@example.org',
  name: 'Ann  Kim Müller-Łukasz',
}

/** Settings of a connection that is not encrypted. */
export const plain = (port: number) => ({ LDAP_HOST: `ldap://localhost:${port}`, LDAP_ALLOW_PLAIN: 'true' })
export const startTls = (port: number) => ({ LDAP_HOST: `ldap://localhost:${port}`, LDAP_START_TLS: 'true' })

/** A directory for the tests of one block, and login sources that ask it. */
export function useDirectory() {
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
    LDAP_TIMEOUT: '20s',
  })

  async function open(more: Record<string, string> = {}) {
    const log = keepLog()
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
    timeout: 20_000,
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
