import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.ts'
import { buildImage, type Image } from './image.ts'
import { startStack } from './stack.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The password for prompts. */
export const TYPED_PASSWORD = 'correct horse battery'

interface DeploymentOptions {
  /** Address of the models' server. */
  models: string
  settings?: Record<string, string>
  /** One with linked packages when absent. */
  image?: Image
}

/** Runs the commands of the section «Deploy» on a machine without Docker. */
export async function startDeployment({ models, settings = {}, image: existingImage }: DeploymentOptions) {
  await using resources = new AsyncDisposableStack()
  const image = existingImage ?? resources.use(await buildImage({ isInstalled: false }))
  const folder = await mkdtemp(join(tmpdir(), 'svc-deploy-'))
  await chmod(folder, 0o755)
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  await copyFile(join(root, '.env.example'), join(folder, '.env.example'))
  const url = `https://localhost:${await findFreePort()}`
  const shell = (command: string) => run('sh', ['-c', command], { cwd: folder })
  const commands = await readPrintedCommands()
  const [up = '', ...later] = commands.splice(commands.findIndex((command) => command.startsWith('docker')))
  if (up !== 'docker compose up --build --detach') throw new Error(`This machine cannot run: ${up}`)
  for (const command of commands) await shell(command)
  await fillEnvFile(join(folder, '.env'), url)
  await writeModelsUrl(join(folder, 'ai.yaml'), models)
  const stack = resources.use(await startStack({ folder, settings, image }))

  /** Runs a command in the image of the first replica, at no terminal and without a home; resolves with what it prints. */
  async function exec(command: string): Promise<string> {
    if (!command.startsWith(EXEC)) throw new Error(`This machine cannot run: ${command}`)
    const [program = '', ...words] = [...image.as, 'sh', '-c', command.slice(EXEC.length)]
    const child = run(program, words, { cwd: image.folder, env: { ...stack.env, PATH: image.path } })
    child.child.stdin?.end(`${TYPED_PASSWORD}\n`)
    return (await child).stdout
  }

  let output = ''
  for (const command of later) output += await exec(command)
  const disposables = resources.move()
  return {
    url,
    stack,
    /** Runs a command in the image of the first replica. */
    exec: (command: string) => exec(`${EXEC}${command}`),
    /** The output of the commands. */
    output,
    /** The token that the last command made. */
    token: findToken(output),
    /** Adds a local account of this name, with the password that is typed. */
    addPerson: async (username: string) =>
      void (await exec(
        `${EXEC}svc add-user --username ${username} --email ${username}@svc.internal --name "The ${username}" --password-stdin`,
      )),
    /** Makes another token of the person, with abilities such as `read,write`. */
    tokenWith: async (abilities: string) =>
      findToken(await exec(`${EXEC}svc token --username ada --name more --abilities ${abilities}`)),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

export type Deployment = Awaited<ReturnType<typeof startDeployment>>

const EXEC = 'docker compose exec svc '

const findToken = (text: string) => /^\s*(svc_\S+)$/m.exec(text)?.[1] ?? ''

/** The lines of the section, one a command; a text that a line writes belongs to it. */
async function readPrintedCommands(): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const block = /^## Deploy\n.*?```sh\n(.*?)```/ms.exec(readme)?.[1] ?? ''
  return [...block.matchAll(/^(?:.*<<'END'.*\n(?:.*\n)*?END$|.+$)/gm)].map(([command]) => command)
}

/** Does what the comments of `.env.example` say: runs the command that makes a value, and types the address. */
export async function fillEnvFile(file: string, baseUrl: string): Promise<void> {
  let generator = ''
  const lines: string[] = []
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line.startsWith('#')) generator = /openssl rand [\w -]+\d/.exec(line)?.[0] ?? ''
    if (line === 'BASE_URL=') lines.push(line + baseUrl)
    else if (/^\w+=$/.test(line)) lines.push(line + (await run('sh', ['-c', generator])).stdout.trim())
    else lines.push(line)
  }
  await writeFile(file, lines.join('\n'))
}

async function writeModelsUrl(file: string, url: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(/apiUrl: .*/, `apiUrl: ${url}`))
}
