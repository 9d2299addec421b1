import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Env } from './config/settings.ts'
import type { Service } from './service.ts'

const demo = { username: 'demo', email: 'demo@example.org', name: 'Demo' }

interface WelcomeOptions {
  env: Env
  /** Whether the log is, too: among lines of JSON the welcome is one of them, unless it has secrets to show. */
  isInWords: boolean
  print: (text: string) => void
}

/**
 * What a start ends with: the address, and the next command to type. Where there is nobody yet, development makes a user
 * and shows a ready request.
 */
export async function welcome(service: Service, { env, isInWords, print }: WelcomeOptions): Promise<void> {
  const url = env.BASE_URL ?? service.url
  const made = env.NODE_ENV === 'development' ? await makeDemo(service) : undefined
  if (made) return print(await introduce(service, url, made))
  const next = `${commandLine(env)} ${(await hasPeople(service)) ? 'token' : 'add-user'}`
  if (isInWords) print(`\n${labelled({ Address: url, 'Next:': next })}\n`)
  else service.services.log.info({ url, next }, 'ready')
}

async function introduce(service: Service, url: string, { token, password }: Demo): Promise<string> {
  const models = await service.host.models.list()
  const model = models.find(({ active, external }) => active && external)?.modelId ?? 'demo'
  return `
The service is ready, and has a first user. Secrets are not shown again.

${labelled({ Address: url, User: demo.username, ...(password && { Password: password }), Token: token })}

${password ? `Open ${url} and sign in as ${demo.username}. ` : ''}Next:

    curl ${url}/api/ai-req -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '{"payload": {"model": "${model}", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'
`
}

const labelled = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([label, value]) => `    ${label.padEnd(10)}${value}`)
    .join('\n')

const program = join(import.meta.dirname, '../cli/svc.ts')

/** How the command line is called where the service was started: by its name only if that is on the path, as in the image. */
function commandLine({ variables }: Env): string {
  const places = (variables['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'svc'))
  const isOnPath = places.some((path) => existsSync(path) && realpathSync(path) === program)
  return isOnPath ? 'svc' : 'npm run svc --'
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
