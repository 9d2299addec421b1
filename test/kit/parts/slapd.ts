import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.ts'

const run = promisify(execFile)

const SLAPD = '/usr/sbin/slapd'
export const BASE = 'dc=example,dc=org'

export interface Slapd extends AsyncDisposable {
  port: number
  /** By TLS from the first byte on. */
  securePort: number
  /** The authority of the server's certificate, which is for `localhost` and no other name. */
  caFile: string
  /** An authority that has nothing to do with it. */
  otherCaFile: string
  /** Takes the server away, as a failure would. */
  kill(): void
}

/** An OpenLDAP server with entries of its own, on free ports of this machine. */
export async function startSlapd(ldif: string): Promise<Slapd> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-slapd-'))
  const [port, securePort] = [await findFreePort(), await findFreePort()]
  await mkdir(join(folder, 'data'))
  await makeCertificates(folder)
  await writeFile(join(folder, 'slapd.conf'), buildConfig(folder))
  await writeFile(join(folder, 'entries.ldif'), ldif)
  await run('/usr/sbin/slapadd', ['-f', join(folder, 'slapd.conf'), '-l', join(folder, 'entries.ldif')])
  const addresses = `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${securePort}`
  const server = spawn(SLAPD, ['-f', join(folder, 'slapd.conf'), '-h', addresses, '-d', '0'], { stdio: 'ignore' })
  await waitUntilListening(port)
  await waitUntilListening(securePort)
  return {
    port,
    securePort,
    caFile: join(folder, 'ca.pem'),
    otherCaFile: join(folder, 'other.pem'),
    kill: () => server.kill('SIGKILL'),
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** A permissive server: it accepts a bind without a password as anonymous. */
const buildConfig = (folder: string) => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${folder}/slapd.pid
TLSCACertificateFile ${folder}/ca.pem
TLSCertificateFile ${folder}/server.pem
TLSCertificateKeyFile ${folder}/server.key
TLSVerifyClient never
allow bind_anon_dn
allow bind_anon_cred
database mdb
suffix "${BASE}"
directory ${folder}/data
maxsize 10485760
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree="ou=open,${BASE}" by * read
access to * by dn.exact="cn=service,${BASE}" read by * none
`

async function makeCertificates(folder: string): Promise<void> {
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder })
  const authority = (name: string) => [
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
    `/CN=${name}`,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
  ]
  await openssl(...authority('ca'))
  await openssl(...authority('other'))
  await openssl(
    ...['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', 'server.key', '-out', 'server.csr'],
  )
  await openssl(
    ...['x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-days', '2'],
    ...['-copy_extensions', 'copyall', '-out', 'server.pem'],
  )
}

async function waitUntilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const socket = connect(port, '127.0.0.1')
    const answers = await new Promise<boolean>((done) => {
      socket.once('connect', () => done(true)).once('error', () => done(false))
    })
    socket.destroy()
    if (answers) return
    await pause(25)
  }
  throw new Error('slapd does not listen')
}
