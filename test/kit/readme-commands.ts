import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const block = /^```(\w*)\n(.*?)^```/gms
const program =
  /^(?:\w+=\S+ )*(?:svc(?:-console)?|npm|npx|docker|curl|eval|setsid|systemctl|systemd-analyze|openssl|ln|\.ci\/\w+)(?: |$)/

/** Every README of the repository, by its path. */
export const readmes = globSync(['README.md', '{entities,routers,facades,server,cli,test}/**/README.md'], { cwd: root })

export interface CommandLine {
  file: string
  text: string
}

/** Commands in a README: the lines of its shell blocks. */
export const blockCommands: readonly CommandLine[] = readmes.flatMap((file) =>
  extractBlocks(file).flatMap((block) => extractCommands(block).map((text) => ({ file, text }))),
)

/** Commands in the text of a README, which may lack arguments or have placeholders in capitals. */
export const quotedCommands: readonly CommandLine[] = readmes.flatMap((file) =>
  [
    ...readText(file)
      .replace(block, '')
      .matchAll(/`([^`\n]+)`/g),
  ]
    .map(([, text = '']) => ({ file, text }))
    .filter(({ text }) => program.test(text)),
)

const sources = globSync('{entities,routers,facades,server,cli}/**/*.{ts,tsx,js,json,yaml}', { cwd: root }).filter(
  (file) => !file.startsWith(join('facades', 'client', 'dist')),
)

/** Commands in texts and comments of the code: within backticks, which a template has behind a backslash. */
export const printedCommands: readonly CommandLine[] = sources.flatMap((file) => {
  const text = readText(file)
  return [...text.matchAll(/\\`([^`\\\n]+)\\`|(?<!\\)`([^`$\n]+)`/g)]
    .map(([, escaped = '', plain = '']) => ({ file, text: (escaped || plain).replace(/\$\{[^}]*\}/g, 'VALUE') }))
    .filter((line) => program.test(line.text))
})

function readText(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function extractBlocks(file: string): string[] {
  return [...readText(file).matchAll(block)]
    .filter(([, language = '']) => ['', 'sh'].includes(language))
    .map(([, , text = '']) => text)
}

/** A command goes on after a backslash, within quotes, and with the text that it writes; `$` stands where answers follow. */
function extractCommands(text: string): string[] {
  const startsCommand = /^\$ /m.test(text) ? (line: string) => line.startsWith('$ ') : isCommand
  const commands: string[] = []
  let command = ''
  for (const line of text.split('\n')) {
    if (command) command += `\n${line}`
    else if (startsCommand(line)) command = line.replace(/^\$ /, '')
    if (!command || !isComplete(command)) continue
    commands.push(command.replace(/\s+# .*$/, ''))
    command = ''
  }
  return commands
}

/** A line that sets a variable for a file of settings is no command. */
function isCommand(line: string): boolean {
  return /^[\w./]+ /.test(line) && !/^\w+=/.test(line)
}

function isComplete(command: string): boolean {
  const [, end] = /<<'(\w+)'/.exec(command) ?? []
  if (end) return command.split('\n').at(-1) === end
  const quotes = command.replace(/"[^"]*"/g, '').match(/'/g)?.length ?? 0
  return !command.endsWith('\\') && quotes % 2 === 0
}

/** Commands that cannot run as printed, or that another test runs, each with the reason. */
const runElsewhere: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^npm install && npm (start|test)$/, '.ci/newcomer types both lines in a fresh folder'],
  [/^docker (compose (build|up)|buildx)\b/, 'there is no Docker here: test/process/deployment starts what they start'],
  [/^docker compose (exec|run --rm) svc svc /, 'test/process/deployment runs commands in the image'],
  [/^docker compose (exec|run --rm) (-T )?svc (tar|rm) /, 'there is no Docker here'],
  [/^cp \.env\.example |^cat > ai\.yaml /, 'test/process/deployment types them'],
  [
    /^(useradd|chown|systemctl|npm ci) /,
    'they change the host: deployment/systemd.slow.test.ts does what the unit says',
  ],
  [/^runuser -u svc -- npm run svc -- /, 'deployment/systemd.slow.test.ts runs the command as the user of the unit'],
  [/^npm sbom /, 'test/process/deployment/sbom.test.ts reads what it prints'],
  [/^npm run svc -- backup restore /, 'test/process/backup.slow.test.ts restores into an empty installation'],
  [/^curl -N /, 'test/realtime/curl.test.ts types them'],
  [/^npm run conformance -- /, 'test/json-api/conformance/command.slow.test.ts: the addresses are examples'],
  [/^openssl rand /, 'it makes a key, and is not of this house'],
  [/^npm run dev$/, 'test/web/app-source.slow.test.ts starts the service with what it adds'],
  [/^npm (test|ci|pack|start)\b|^setsid npm start$/, 'test/process and test/client run what these scripts run'],
  [
    /^npm run (check|fix|readme|soak( -- test\/area\/x\.drill\.test\.ts)?|bench|conformance)$/,
    '.ci/run, or they rewrite the checkout',
  ],
  [/^npx mcp-remote /, 'test/mcp/gateway-clients.slow.test.ts runs the program itself'],
  [/^npx @modelcontextprotocol\/inspector /, 'test/clients/gateway-programs.ts runs the newest one'],
  [/^claude /, 'test/clients/walk.ts types them with the newest Claude Code'],
  [/^npm run clients( -- gateway)?$/, 'it installs the newest programs of others, on which no test may depend'],
  [/^npm run svc -- mcp access Library /, 'test/mcp/tool-groups.test.ts types it with a tool server of its own'],
  [/^npm run svc -- oauth check$/, 'test/cli/oauth.test.ts types it: without a way out it says so, and ends with 1'],
  [/^\.ci\/run$|^npx vitest |^TEST_POSTGRES=/, 'they run tests'],
]

export const isRunElsewhere = ({ text }: CommandLine) => runElsewhere.some(([command]) => command.test(text))
