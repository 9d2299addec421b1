import { join } from 'node:path'
import { openWorkshop } from '../kit/ai/agents.ts'
import { createTaskModel, DONE } from '../kit/ai/task-model.ts'
import { openRunFolder } from '../kit/run-folder.ts'
import { type Client, clients } from './clients.ts'
import { type GatewayRow, tryGateway, writeGatewayTable } from './gateway.ts'
import { gatewayPrograms } from './gateway-programs.ts'
import { folderOf, installNewest } from './install.ts'
import { type Models, startObservedService } from './observed-service.ts'
import { type Row, writeTables } from './report.ts'
import { walkGuide } from './walk.ts'

/** Chooses the gateway's programs, too. */
const GATEWAY = 'gateway'

const names = process.argv.slice(2).map((name) => name.toLowerCase())
const isChosen = ({ name }: { name: string }) => names.length === 0 || names.includes(name.toLowerCase())
const chosen = clients.filter(isChosen)
const chosenAtGateway = gatewayPrograms.filter((program) => names.includes(GATEWAY) || isChosen(program))
if (chosen.length + chosenAtGateway.length === 0)
  throw new Error(`There are these clients: ${[...clients.map(({ name }) => name), GATEWAY].join(', ')}`)

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
  const installed = { client, folder: folderOf(client), version: '', models: [] }
  try {
    const { folder, version } = await installNewest(client)
    await client.prepare?.(folder)
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
const asked = Map.groupBy(
  chosenAtGateway.flatMap(({ adapter, model }) => (adapter && model ? [{ adapter, model }] : [])),
  ({ adapter }) => adapter,
)
const adapters = [...new Set([...Object.keys(models), ...asked.keys()])] as (keyof Models)[]
const service = await startObservedService(
  run.path,
  Object.fromEntries(
    adapters.map((adapter) => {
      const names = [...namesOf(models[adapter]), ...(asked.get(adapter) ?? []).map(({ model }) => model)]
      return [adapter, [...new Set(names)]]
    }),
  ),
)
const rows: Row[] = []
const gatewayRows: GatewayRow[] = []
const walks: string[] = []
try {
  for (const one of installed) rows.push(await observe(one, service))
  for (const program of chosenAtGateway) {
    const { folder, version } = await installNewest({ ...program, packages: [program.package] })
    say(`Runs ${program.name} at the gateway`)
    gatewayRows.push(await tryGateway({ program, folder, version }, service))
    if (program.command !== 'claude') continue
    say('Walks as the guide of the gateway says')
    const failure = await walkGuide(run.path, join(folder, 'node_modules/.bin'))
    walks.push(`The first walk of the guide ${failure === undefined ? 'works as printed' : `failed: ${failure}`}\n`)
  }
} finally {
  await service[Symbol.asyncDispose]()
}
process.stdout.write(writeTables(rows) + writeGatewayTable(gatewayRows) + walks.join(''))
