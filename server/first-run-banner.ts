import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { ModelSummary } from '../entities/catalogue/ai-model.sql.ts'
import type { Env } from './config/settings.ts'
import type { Service } from './service.ts'

const demoUser = { username: 'demo', email: 'demo@example.org', name: 'Demo' }

interface BannerOptions {
  env: Env
  /** True if the log is for people. If it is JSON, the banner is one of its lines, unless it shows secrets. */
  isPretty: boolean
  print: (text: string) => void
}

/**
 * Prints the address of the started service and the next command to type. In development, if there are no people yet, it
 * creates a demo user and prints an example request.
 */
export async function printBanner(service: Service, { env, isPretty, print }: BannerOptions): Promise<void> {
  const url = env.BASE_URL ?? service.url
  const created = env.NODE_ENV === 'development' ? await createDemoUser(service) : undefined
  if (created) return print(await describeDemo(service, url, created))
  const next = `${findCommand(env)} ${(await hasPeople(service)) ? 'token' : 'add-user'}`
  if (isPretty) print(`\n${formatLabels({ Address: url, 'Next:': next })}\n`)
  else service.services.log.info({ url, next }, 'ready')
}

async function describeDemo(service: Service, url: string, { token, password }: DemoCredentials): Promise<string> {
  const models = await service.host.models.list()
  const model = models.find(canAnswerDemo)?.modelId ?? 'demo'
  return `
The service is ready, and has a first user. Secrets are not shown again.

${formatLabels({ Address: url, User: demoUser.username, ...(password && { Password: password }), Token: token })}

${password ? `Open ${url} and sign in as ${demoUser.username}. ` : ''}Next:

    curl ${url}/api/ai-req -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\
      -d '{"payload": {"model": "${model}", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'
`
}

/** The demo user is in no group. */
const canAnswerDemo = ({ active, external, modelType, groups, providerGroups }: ModelSummary): boolean =>
  active && external && modelType === 'chat' && groups.length + providerGroups.length === 0

const formatLabels = (values: Record<string, string>) =>
  Object.entries(values)
    .map(([label, value]) => `    ${label.padEnd(10)}${value}`)
    .join('\n')

const programPath = join(import.meta.dirname, '../cli/svc.ts')

/** Returns the command that starts the CLI here: its name if it is on the path, as in the image, else `npm run svc --`. */
function findCommand({ variables }: Env): string {
  const candidates = (variables['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'svc'))
  const isOnPath = candidates.some((path) => existsSync(path) && realpathSync(path) === programPath)
  return isOnPath ? 'svc' : 'npm run svc --'
}

const hasPeople = async ({ host }: Service) => (await host.admin.state()).hasPeople

interface DemoCredentials {
  token: string
  password: string | undefined
}

/** Creates the demo user if there are no people yet. A failure is only logged, because the service itself has started. */
async function createDemoUser(service: Service): Promise<DemoCredentials | undefined> {
  if (await hasPeople(service)) return undefined
  const { host, services } = service
  const password = services.login.localAccounts.inUse ? randomBytes(12).toString('base64url') : undefined
  try {
    const { id } = await host.admin.addUser({ ...demoUser, ...(password && { password }) })
    const { token } = await host.tokens.createFor({ user: { id }, name: 'first start' })
    return { token, password }
  } catch (error) {
    // Another replica that starts at the same time may have created the user.
    if (!(await hasPeople(service))) services.log.error({ error }, 'the user demo could not be made')
    return undefined
  }
}
