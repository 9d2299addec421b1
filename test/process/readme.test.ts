import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createCommandContext } from '../../cli/command-context.ts'
import { findCommand, resolveValue } from '../../cli/command-tree.ts'
import { checkFlags } from '../../cli/flags.ts'
import { createRoot, svc } from '../../cli/programs.ts'
import { getProcessTerminal } from '../../cli/prompts.ts'
import { modelConfig } from '../../routers/ports/ai/model-config.ts'
import { describeSettings, requiredInProduction } from '../../server/config/settings.ts'
import { guides } from '../../server/guides.ts'
import { regenerateSections } from '../../server/readme.ts'
import { startApp } from '../kit/app.ts'
import {
  blockCommands,
  type CommandLine,
  isRunElsewhere,
  printedCommands,
  quotedCommands,
  readmes,
} from '../kit/readme-commands.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

const floors = ['entities', 'routers', 'facades', 'server', 'cli', 'test']
const withoutCode = (text: string) => text.replace(/^```.*?^```/gms, '')

describe('README.md', () => {
  test('README.md begins with the two lines that matter', () => {
    const [first = ''] =
      read('README.md')
        .match(/```\w*\n(.*?)```/s)
        ?.slice(1) ?? []
    const lines = first.trim().split('\n')

    expect(lines.map((line) => line.replace(/\s*#.*/, ''))).toEqual([
      'npm install && npm start',
      'npm install && npm test',
    ])
  })

  test('README.md is one page of less than 8 KB', () => {
    expect(Buffer.byteLength(read('README.md'))).toBeLessThan(8192)
  })
})

describe('the guides', () => {
  /** Top folders, and their subfolders of more than ten files; the generator's configuration says how migrations are made. */
  const rooms = () =>
    floors
      .flatMap((floor) => [floor, ...(floor === 'test' ? [] : largeFoldersOf(floor))])
      .filter((path) => path !== 'entities/migrations')
  const largeFoldersOf = (floor: string) =>
    readdirSync(join(root, floor), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(floor, name))
      .filter((path) => readdirSync(join(root, path), { withFileTypes: true }).filter((it) => it.isFile()).length > 10)

  test('every large folder has a README whose first line says what it contains', () => {
    const firstLines = rooms().map((path) => [path, read(join(path, 'README.md')).split('\n')[0]])

    expect(firstLines.filter(([, line]) => !/^# .+: .+/.test(line ?? ''))).toEqual([])
  })

  test('every link of a README leads to an existing file and heading', () => {
    const links = readmes.flatMap((file) =>
      [...withoutCode(read(file)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, path = '', anchor]) => ({
        file,
        target: path ? join(dirname(file), path) : file,
        anchor,
      })),
    )
    const broken = links.filter(
      ({ target, anchor }) => !existsSync(join(root, target)) || (anchor && !anchorsIn(read(target)).includes(anchor)),
    )

    expect(links.length).toBeGreaterThan(30)
    expect(broken).toEqual([])
  })

  const anchorsIn = (text: string) =>
    [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    )

  test('the guides name only scripts and files that are there', () => {
    const all = readmes.map(read).join('\n')
    const named = [...all.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name]) => name ?? '')
    const paths = [...all.matchAll(/`((?:cli|entities|facades|routers|server|test|\.ci)\/[\w./-]*)`/g)].map(
      ([, path]) => path ?? '',
    )

    const sources = globSync(`{${floors.join()}}/**/*.{ts,js}`, { cwd: root }).map((path) => basename(path))
    const files = [...all.matchAll(/`([\w.-]+\.(?:ts|js))`/g)].map(([, name = '']) => name)

    expect(
      files.filter((name) => !sources.includes(name) && !existsSync(join(root, name)) && !/^x\./.test(name)),
    ).toEqual([])
    expect(named.filter((name) => !scripts[name])).toEqual([])
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('the guides name only identifiers that the sources have', () => {
    const sources = globSync([`{${floors.join()}}/**/*.{ts,tsx,js}`, '*.ts'], { cwd: root })
      .map(read)
      .join('\n')
    const known = new Set(sources.match(/\w+/g))
    const unknown = readmes
      // This guide names addresses and members of earlier versions.
      .filter((file) => file !== join('facades', 'legacy', 'README.md'))
      .flatMap((file) =>
        [...withoutCode(read(file)).matchAll(/`([^`\n]+)`/g)]
          .flatMap(([, text = '']) => text.match(/\b[a-z]+[A-Z]\w*/g) ?? [])
          .filter((name) => !known.has(name))
          .map((name) => `${file}: ${name}`),
      )

    expect(unknown).toEqual([])
  })

  const findWrong = async (lines: readonly CommandLine[]) => {
    const found = await Promise.all(lines.map(async ({ file, text }) => ({ file, text, why: await whyWrong(text) })))
    return found.filter(({ why }) => why)
  }

  test('every command that a guide quotes is known, with its flags', async () => {
    const words = quotedCommands.filter((line) => !isRunElsewhere(line))

    expect(words.length).toBeGreaterThan(20)
    expect(await findWrong(words)).toEqual([])
  })

  test('every command that the code prints is known, with its flags', async () => {
    const words = printedCommands.filter((line) => !isRunElsewhere(line))

    expect(words.length).toBeGreaterThan(20)
    expect(await findWrong(words)).toEqual([])
  })

  test('every command that a guide types in a container is known, with its flags', async () => {
    const words = blockCommands.flatMap(({ file, text }) => {
      const [, inside] = /^docker compose (?:exec|run --rm) svc (svc .*)$/.exec(text) ?? []
      return inside ? [{ file, text: inside }] : []
    })

    expect(words.length).toBeGreaterThan(3)
    expect(await findWrong(words)).toEqual([])
  })

  /** Returns the error in a `svc` command line before it runs. */
  async function whyWrong(text: string): Promise<string | undefined> {
    if (/^svc-console$|^curl …/.test(text)) return undefined
    const [, quoted] = /^(?:eval "\$\()?(?:npm run (?:--silent )?)?svc(?: --)? ?(.*?)(?:\)")?$/.exec(text) ?? []
    const words = quoted?.split(' ').filter((word) => word !== '' && word !== 'help')
    const root = createRoot(svc, createCommandContext({ terminal: getProcessTerminal(), isJson: false }))
    const known = words && findCommand(root, ['svc'], words)
    return (
      known
        ?.then(async ({ command, rest }) => void checkFlags((await resolveValue(command.args)) ?? {}, rest))
        .catch(({ message }: Error) => message.split('\n').find((line) => !line.endsWith(' is missing.'))) ??
      'nobody runs it'
    )
  }

  test('the guide of settings has a row for every setting of the code', () => {
    const guide = read('server/config/README.md')

    expect(regenerateSections(guide) === guide, 'run `npm run readme`').toBe(true)
    expect(describeSettings().filter(({ name }) => !guide.includes(`| \`${name}\` |`))).toEqual([])
    expect(() => regenerateSections('<!-- generated:weather -->\n<!-- /generated -->')).toThrow(/weather/)
  })

  test('the guide of models gives a configuration that is valid', () => {
    const [, yaml = ''] = read('server/ai/README.md').match(/```yaml\n(providers:.*?)```/s) ?? []

    expect(modelConfig.safeParse(parse(yaml)).error?.issues).toBeUndefined()
  })

  test('every guide is a page below /docs, and links to pages that are there', async () => {
    await using app = await startApp()
    const pages = await Promise.all(
      guides.map(async ({ slug, file }) => {
        const response = await app.send('GET', `/docs/${slug}`)
        return { file, status: response.status, html: await response.text() }
      }),
    )
    const linked = new Set(
      pages.flatMap(({ html }) => [...html.matchAll(/href="(\/[^"#]*)/g)].map(([, path = '']) => path)),
    )
    const statuses = await Promise.all([...linked].map(async (path) => [path, (await app.send('GET', path)).status]))

    for (const { file, status, html } of pages) {
      const [title = ''] = read(file).split('\n')
      expect([file, status]).toEqual([file, 200])
      expect(html).toContain(
        `>${
          title
            .slice(2)
            .replaceAll('`', '')
            .split(/[:'] ?/)[0]
        }`,
      )
      expect(html).not.toMatch(/&lt;!--|href="(?!https?:|#|\/)/)
    }
    expect(statuses.filter(([, status]) => status !== 200)).toEqual([])
    expect(await (await app.send('GET', '/docs/settings')).text()).toContain('<code>BASE_URL</code>')
    expect((await app.send('GET', '/docs/nothing')).status).toBe(404)
    expect(await (await app.send('GET', '/api/svc/v1/openapi.json')).text()).toContain('(/docs/settings)')
  })
})

test('the scripts of package.json run in cmd.exe, too', () => {
  expect(Object.values(scripts).filter((script) => /(?:^|&& *)\w+=|\bexec\b|[$;'`]/.test(script))).toEqual([])
})

const dockerfile = read('server/Dockerfile')

test('the Dockerfile starts the service as `npm start` does', () => {
  const [, command = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? []
  expect(JSON.parse(command).join(' ')).toBe(scripts['start'])
})

describe('compose.yaml', async () => {
  const { services } = parse(read('compose.yaml'))

  test('probes the service as the specification says', () => {
    const { test: probe, ...timing } = services.svc.healthcheck

    expect(timing).toEqual({ interval: '30s', timeout: '10s', retries: 3, start_period: '30s' })
    expect(probe.join(' ')).toContain('/health')
  })

  test('compose.yaml brings PostgreSQL 18 and a key-value store, which the service waits for', () => {
    expect(services.postgres.image).toMatch(/\bpostgres:18/)
    expect(services.valkey.image).toMatch(/\bvalkey\/valkey:/)
    expect(Object.keys(services.svc.depends_on).sort()).toEqual(['postgres', 'valkey'])
  })

  test('every image has an exact version', () => {
    const text = read('compose.yaml') + dockerfile
    const images = [...text.matchAll(/_IMAGE(?::-|=)([\w/.-]+:[\w.-]+)/g)].map(([, image = '']) => image)

    expect(images.length).toBe(4)
    expect(images.filter((image) => !/:\d+\.\d+(\.\d+)?(-slim)?$/.test(image))).toEqual([])
    expect(text.match(/^\s*(?:FROM|image:) (?!\$\{\w+)/gm)).toBeNull()
  })

  test('compose.yaml holds no secret of its own', () => {
    const { environment } = services.postgres

    expect(environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/)
    expect(services.svc.environment.DATABASE_URL).toContain('${POSTGRES_PASSWORD:?')
    expect(Object.keys(services.svc.environment).filter((name) => /KEY|SALT|SECRET/.test(name))).toEqual([])
  })
})

test('.env.example starts nothing as it is: it names every secret and gives none', async () => {
  const given = parseEnv(read('.env.example'))
  const wanted = Object.keys(requiredInProduction)

  expect(Object.keys(given)).toEqual(
    expect.arrayContaining(['POSTGRES_PASSWORD', ...wanted.filter((name) => /KEY|SALT/.test(name))]),
  )
  const known = describeSettings()
  for (const [name, value] of Object.entries(given)) {
    const setting = known.find((row) => row.name === name)
    if (!setting) expect(['POSTGRES_PASSWORD', 'VALKEY_PASSWORD']).toContain(name)
    if (!setting || setting.secret) expect(value, name).toBe('')
  }
})
