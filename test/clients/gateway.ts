import { join } from 'node:path'
import { openWorkshop, type RunResult, type Workshop } from '../kit/ai/agents.ts'
import { createTaskModel, DONE } from '../kit/ai/task-model.ts'
import { type GatewayOptions, type GatewayProgram, INPUT, TOOL } from './gateway-programs.ts'
import { summarize } from './report.ts'

/** A program needs these from the service that it is tried with. */
export interface GatewayService {
  url: string
  token: string
  provider: { behave: ReturnType<typeof createTaskModel>['behave'] }
  /** A command that opens addresses in a browser whose person consents to everything. */
  browser: { command: string; visited: string[] }
  /** Input of the calls that have reached the tool server since the last call. */
  takeCalls(): unknown[]
  /** Ends the access tokens of all programs, as their time does. */
  endAccessTokens(): Promise<void>
  takeRequests(): { requests: { path: string; status: number; refusal: string }[] }
}

export interface GatewayRow {
  name: string
  version: string
  /** The outcome of each step, in the order of the heading; undefined if the program does not take it. */
  outcomes: (string | undefined)[]
  refusals: string[]
}

interface Installed {
  program: GatewayProgram
  folder: string
  version: string
}

/** Has a program use the gateway by a sign-in, beyond the end of its access token, and by a personal token. */
export async function tryGateway(
  { program, folder, version }: Installed,
  service: GatewayService,
): Promise<GatewayRow> {
  service.takeRequests()
  const path = join(folder, 'node_modules/.bin', program.command)
  const { url, token, browser } = service
  const options = { program: path, url, token, model: program.model ?? '', browser: browser.command }
  const bySignIn = program.signIn
    ? await trySignIn(program, options, service)
    : [undefined, undefined, undefined, undefined]
  await using workshop = await openWorkshop()
  const withToken = { ...options, personalToken: token }
  const added = await step(() => program.add(withToken, workshop))
  const byToken = [added, await list(program, withToken, workshop), await call(program, withToken, workshop, service)]
  const failed = byToken.find((outcome) => outcome !== YES)
  const refused = service.takeRequests().requests.filter(({ status }) => status >= 400)
  const refusals = refused.map(({ path, status, refusal }) => `${status} ${path}: ${summarize(refusal)}`)
  return { name: program.name, version, outcomes: [...bySignIn, failed ?? YES], refusals: [...new Set(refusals)] }
}

const YES = 'yes'

async function trySignIn(program: GatewayProgram, options: GatewayOptions, service: GatewayService) {
  await using workshop = await openWorkshop()
  await program.add(options, workshop)
  const visits = service.browser.visited.length
  const signedIn = await step(() => program.signIn?.(options, workshop) ?? Promise.reject(new Error('no sign-in')))
  const isVisited = service.browser.visited.length === visits + 1
  const listed = await list(program, options, workshop)
  const called = await call(program, options, workshop, service)
  await service.endAccessTokens()
  const again = await call(program, options, workshop, service)
  const isQuiet = service.browser.visited.length === visits + 1
  return [
    isVisited ? signedIn : `no browser: ${signedIn}`,
    listed,
    called,
    isQuiet ? again : 'opened the browser again',
  ]
}

const list = (program: GatewayProgram, options: GatewayOptions, at: Workshop) =>
  step(async () => {
    const { code, output } = await program.list(options, at)
    return { code: program.isListed(output) ? code : 1, output }
  })

/** Has the program's model ask for the call, and looks whether the tool server got it, and the program its result. */
async function call(program: GatewayProgram, options: GatewayOptions, at: Workshop, service: GatewayService) {
  service.takeCalls()
  const { behave, answers } = createTaskModel(program.steps ?? [])
  service.provider.behave = behave
  return step(async () => {
    const { code, output } = await program.call(options, at)
    const calls = JSON.stringify(service.takeCalls())
    const isDone = calls === JSON.stringify([INPUT]) && output.includes(program.steps ? DONE : RESULT)
    return { code: isDone ? code : 1, output: `${calls} ${answers.join(', ')} ${output}` }
  })
}

/** The text with which the tool server answers. */
const RESULT = 'done'

async function step(work: () => Promise<RunResult>): Promise<string> {
  const { code, output } = await work().catch((error: unknown) => ({ code: 1, output: String(error) }))
  if (process.env['CLIENTS_OUTPUT']) process.stderr.write(`${output}\n`)
  return code === 0 ? YES : `no (${code}): ${output.slice(-300)}`
}

const heading = `| Program | Signs in | Lists | Calls | Calls after its access token has ended | With a personal token | Refused requests |
| --- | --- | --- | --- | --- | --- | --- |
`

export function writeGatewayTable(rows: readonly GatewayRow[]): string {
  if (rows.length === 0) return ''
  const lines = rows.map(({ name, version, outcomes, refusals }) => {
    const cells = [
      `${name} ${version}`,
      ...outcomes.map((outcome) => outcome ?? 'not tried'),
      refusals.join(', ') || 'none',
    ]
    return `| ${cells.map((cell) => cell.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '/')).join(' | ')} |\n`
  })
  return `facades/mcp, ${new Date().toISOString().slice(0, 10)}, ${TOOL}:\n\n${heading}${lines.join('')}\n`
}
