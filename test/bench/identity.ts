import { join } from 'node:path'
import { putAccount } from '../../server/login/accounts.ts'
import { assertSame } from './same.ts'
import type { SubjectInput } from './subject.ts'
import { type BenchRequest, type Contest, memory, type Suite, throughput, type World } from './suite.ts'

const base = '/api/svc/v1'
const person = { username: 'bench0', email: 'bench0@example.org', name: 'Bench' }

async function open({ databaseUrl, folder, start }: World): Promise<Contest> {
  const dataDir = join(folder, 'data')
  await putAccount(join(dataDir, 'accounts.json'), person, 'a long enough password')
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, PORT: '0' }
  const subject = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder })
  const cookie = await signIn(subject.url)
  const connection = await connectionOf(subject.url, cookie)
  const session = cookie.replace('svc_session=', '')
  const floor = await start('identity-floor.ts', { databaseUrl, connection, session })
  const isWhole = (end: string) => end.endsWith('}')
  const requests: BenchRequest[] = [
    { name: 'connection', method: 'GET', path: `${base}/connections/svc`, headers: { cookie }, isWhole },
    {
      name: 'users/me',
      method: 'GET',
      path: `${base}/users/me`,
      headers: { authorization: `Bearer ${subject.details['token']}` },
      isWhole,
    },
  ]
  const contest = { subject, floor, requests }
  await assertSame(contest)
  return contest
}

async function signIn(url: string): Promise<string> {
  const answer = await fetch(`${url}/req/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ account: person.username, password: 'a long enough password' }),
  })
  const cookies = answer.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '')
  const cookie = cookies.find((pair) => pair.startsWith('svc_session=')) ?? ''
  if (!answer.ok || !cookie) throw new Error(`signing in was answered with ${answer.status}`)
  return cookie
}

async function connectionOf(url: string, cookie: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${url}${base}/connections/svc`, { headers: { cookie } })
  const { data } = (await answer.json()) as { data: { attributes: Record<string, unknown> } }
  const { userinfo: _, ...rest } = data.attributes
  return rest
}

export const identity: Suite = {
  name: 'identity',
  about: 'Who somebody is, by session and by token, beside one store read and one row read',
  open,
  wanted: [throughput(0.5, ({ concurrency }) => concurrency === 10), memory],
}
