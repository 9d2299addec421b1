import { randomBytes } from 'node:crypto'
import { accountsFile, putAccount } from './login/accounts.ts'
import type { Service } from './service.ts'
import type { Env } from './settings.ts'

const demo = { username: 'demo', email: 'demo@example.org', name: 'Demo' }

/** What the log ends with: the address and the next command to type, or, on a first start in development, a ready request. */
export async function welcome({ host, isNew, ...service }: Service, env: Env): Promise<string> {
  const url = env.BASE_URL ?? service.url
  const made = isNew && env.NODE_ENV === 'development' ? await makeDemo(host, env) : undefined
  if (!made) return `\nListening on ${url}\nNext: npx svc token\n`
  const { token, password } = made
  const model = (await host.models.list()).find(({ active, external }) => active && external)?.modelId ?? 'demo'
  return `
Made the user demo with a token and a password. They are not shown again:

    ${token}
    ${password}

Sign in at ${url}/login, or send the request below.

Listening on ${url}
Next:

    curl ${url}/api/ai-req -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '{"payload": {"model": "${model}", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'
`
}

async function makeDemo(host: Service['host'], env: Env): Promise<{ token: string; password: string } | undefined> {
  const created = await host.admin.addUser(demo).catch(() => undefined)
  if (!created) return undefined
  const password = randomBytes(12).toString('base64url')
  await putAccount(accountsFile(env), demo, password)
  const { token } = await host.tokens.createFor({ user: { id: created.id }, name: 'first start' })
  return { token, password }
}
