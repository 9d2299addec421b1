import type { Service } from './service.ts'
import type { Env } from './settings.ts'

const demo = { username: 'demo', email: 'demo@example.org', name: 'Demo' }

/** What the log ends with: the address and the next command to type, or, on a first start in development, a ready request. */
export async function welcome({ host, isNew, ...service }: Service, env: Env): Promise<string> {
  const url = env.BASE_URL ?? service.url
  const token = isNew && env.NODE_ENV === 'development' ? await demoToken(host) : undefined
  if (!token) return `\nListening on ${url}\nNext: npx svc token\n`
  const model = (await host.models.list()).find(({ active, external }) => active && external)?.modelId ?? 'demo'
  return `
Made the user demo with a token. It is not shown again:

    ${token}

Listening on ${url}
Next:

    curl ${url}/api/ai-req -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '{"payload": {"model": "${model}", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'
`
}

async function demoToken(host: Service['host']): Promise<string | undefined> {
  const created = await host.admin.addUser(demo).catch(() => undefined)
  if (!created) return undefined
  return (await host.tokens.createFor({ user: { id: created.id }, name: 'first start' })).token
}
