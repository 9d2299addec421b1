import { mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { installPackages, openWorkshop } from '../kit/ai/agents.ts'
import { createTaskModel, DONE } from '../kit/ai/task-model.ts'
import { openRunFolder } from '../kit/run-folder.ts'
import { type Client, clients } from './clients.ts'
import { startObservedService } from './observed-service.ts'
import { type Row, writeTables } from './report.ts'

/** Programs of earlier runs stay here; Codex runs none that lie in the temporary folder. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-clients')

const names = process.argv.slice(2).map((name) => name.toLowerCase())
const chosen = clients.filter(({ name }) => names.length === 0 || names.includes(name.toLowerCase()))
if (chosen.length === 0) throw new Error(`There are these clients: ${clients.map(({ name }) => name).join(', ')}`)

const say = (text: string) => void process.stderr.write(`${text}\n`)

interface Installed {
  client: Client
  folder: string
  version: string
  models: readonly string[]
  /** The reason why it does not run. */
  failure?: string
}

async function install(client: Client): Promise<Installed> {
  const folder = join(cache, client.name.toLowerCase().replaceAll(' ', '-'))
  const installed = { client, folder, version: '', models: [] }
  try {
    await mkdir(folder, { recursive: true })
    say(`Installs ${client.name}`)
    await installPackages(
      folder,
      client.packages.map((name) => `${name}@latest`),
      client.scripts ?? [],
    )
    await client.prepare?.(folder)
    const manifest = await readFile(join(folder, 'node_modules', client.packages[0], 'package.json'), 'utf8')
    const { version } = JSON.parse(manifest) as { version: string }
    return { ...installed, version, models: await client.models(folder) }
  } catch (error) {
    return { ...installed, failure: `not installed: ${toText(error)}` }
  }
}

const toText = (error: unknown) => (error instanceof Error ? error.message : `${error}`)

type Service = Awaited<ReturnType<typeof startObservedService>>

/** Has the client work with one of its models, and says what is missing. */
async function runTask({ client, folder }: Installed, model: string, { provider, url, token }: Service) {
  await using workshop = await openWorkshop()
  const { behave, answers } = createTaskModel(client.steps(workshop.file))
  provider.behave = behave
  say(`Runs ${client.name} with ${model}`)
  const options = { program: join(folder, client.program), url, token, model }
  const { code, output } = await client.work(options, workshop).catch((error) => ({ code: 1, output: toText(error) }))
  const texts = await Promise.all([workshop.greeting(), workshop.readReport().catch(() => '')])
  const isDone = code === 0 && output.includes(DONE) && texts.every((text) => text === 'Good day\n')
  if (process.env['CLIENTS_OUTPUT']) say(output)
  return isDone
    ? undefined
    : `${model}: ended with ${code} after ${answers.join(', ') || 'no answer'}: ${output.slice(-300)}`
}

async function observe(installed: Installed, service: Service): Promise<Row> {
  const { client, version, models, failure } = installed
  const failures: string[] = failure === undefined ? [] : [failure]
  for (const model of models) failures.push(...[await runTask(installed, model, service)].flatMap((one) => one ?? []))
  return { client, version, tasks: models.length, failures, ...service.takeRequests() }
}

await using run = await openRunFolder('svc-clients-')
const installed: Installed[] = []
for (const client of chosen) installed.push(await install(client))
const models = Object.groupBy(installed, ({ client }) => client.adapter)
const namesOf = (list: readonly Installed[] = []) => [...new Set(list.flatMap((one) => one.models))]
const service = await startObservedService(
  run.path,
  Object.fromEntries(Object.entries(models).map(([adapter, list]) => [adapter, namesOf(list)])),
)
const rows: Row[] = []
try {
  for (const one of installed) rows.push(await observe(one, service))
} finally {
  await service[Symbol.asyncDispose]()
}
process.stdout.write(writeTables(rows))
