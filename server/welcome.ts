import { randomBytes } from 'node:crypto'
import type { Env } from './config/settings.ts'
import type { Service } from './service.ts'

const demo = { username: 'demo', email: 'demo@example.org', name: 'Demo' }

/**
 * What the log ends with: the address, and the next command to type. Where there is nobody yet, development makes a user
 * and shows a ready request.
 */
export async function welcome(service: Service, env: Env): Promise<string> {
  const url = env.BASE_URL ?? service.url
  const made = env.NODE_ENV === 'development' ? await makeDemo(service) : undefined
  if (!made) return `\nListening on ${url}\nNext: npx svc ${(await hasPeople(service)) ? 'token' : 'add-user'}\n`
  const { token, password } = made
  const models = await service.host.models.list()
  const model = models.find(({ active, external }) => active && external)?.modelId ?? 'demo'
  return `
Made the user demo with ${password ? 'a token and a password. They are' : 'a token. It is'} not shown again:

${[token, password].map((secret) => secret && `    ${secret}\n`).join('')}
${password ? `Open ${url} and sign in as demo, or send` : 'Send'} the request below.

Listening on ${url}
Next:

    curl ${url}/api/ai-req -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '{"payload": {"model": "${model}", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'
`
}

const hasPeople = async ({ host }: Service) => (await host.admin.state()).hasPeople

interface Demo {
  token: string
  password: string | undefined
}

/** Where there are people, none is made. A failure is no reason to stop: the service itself has started. */
async function makeDemo(service: Service): Promise<Demo | undefined> {
  if (await hasPeople(service)) return undefined
  const { host, services } = service
  const password = services.localAccounts.inUse ? randomBytes(12).toString('base64url') : undefined
  try {
    const { id } = await host.admin.addUser({ ...demo, ...(password && { password }) })
    const { token } = await host.tokens.createFor({ user: { id }, name: 'first start' })
    return { token, password }
  } catch (error) {
    // Of replicas that start at once, one makes it.
    if (!(await hasPeople(service))) services.log.error({ error }, 'the user demo could not be made')
    return undefined
  }
}
