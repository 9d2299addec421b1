import { join } from 'node:path'
import { putAccount } from '../../server/login/accounts.ts'
import { assertSame } from './same.ts'
import type { SubjectInput } from './subject.ts'
import { type BenchRequest, type Contest, memory, type Suite, throughput, type World } from './suite.ts'

const base = '/api/svc/v1'
const PASSWORD = 'a long enough password'
/** More people than requests at once in most rounds, as the requests of one person take turns. */
const SESSIONS = 40

async function open({ databaseUrl, folder, start }: World): Promise<Contest> {
  const dataDir = join(folder, 'data')
  const usernames = Array.from({ length: SESSIONS }, (_, index) => `bench${index}`)
  for (const username of usernames) {
    const person = { username, email: `${username}@example.org`, name: 'Bench' }
    await putAccount(join(dataDir, 'accounts.json'), person, PASSWORD)
  }
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, PORT: '0' }
  const subject = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder })
  const people = await Promise.all(usernames.map((username) => signIn(subject.url, username)))
  const [{ cookie, connection }] = people as [SignedIn]
  const floor = await start('identity-floor.ts', {
    databaseUrl,
    connection,
    sessions: people.map(({ cookie, id }) => [cookie.replace('svc_session=', ''), id]),
  })
  const { token = '', tokens = '' } = subject.details
  const isWhole = (end: string) => end.endsWith('}')
  const requests: BenchRequest[] = [
    {
      name: 'connection',
      method: 'GET',
      path: `${base}/connections/svc`,
      headers: { cookie },
      cookies: people.map((person) => person.cookie),
      isWhole,
    },
    {
      name: 'users/me',
      method: 'GET',
      path: `${base}/users/me`,
      headers: { authorization: `Bearer ${token}` },
      tokens: tokens.split(' '),
      isWhole,
    },
  ]
  const contest = { subject, floor, requests }
  await assertSame(contest)
  return contest
}

interface SignedIn {
  cookie: string
  id: number
  /** The connection without the person. */
  connection: object
}

async function signIn(url: string, account: string): Promise<SignedIn> {
  const answer = await fetch(`${url}/req/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ account, password: PASSWORD }),
  })
  const cookies = answer.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
  const cookie = cookies.find((pair) => pair.startsWith('svc_session=')) ?? ''
  if (!answer.ok || !cookie) throw new Error(`signing in was answered with ${answer.status}`)
  const read = await fetch(`${url}${base}/connections/svc`, { headers: { cookie } })
  const { data } = (await read.json()) as { data: { attributes: { userinfo: { id: number } } } }
  const { userinfo, ...connection } = data.attributes
  return { cookie, id: userinfo.id, connection }
}

export const identity: Suite = {
  name: 'identity',
  about: 'Who somebody is, by session and by token, beside one store read and one row read',
  open,
  wanted: [throughput(0.5, ({ concurrency }) => concurrency === 10), memory],
}
