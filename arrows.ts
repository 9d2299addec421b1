import { readFile, writeFile } from 'node:fs/promises'

/**
 * Which room may import which, as a table. `npm run arrows` writes the linter's rules from it to `arrows.json`, which `biome.json`
 * extends; `npm run check` fails where they are older than the table.
 *
 * The rooms of a floor stand lowest first. A room knows itself and the rooms on the lines above its own, and nothing else of its floor.
 */
const floors = {
  entities: [
    ['sql'],
    ['events'],
    ['identity'],
    ['catalogue'],
    ['assistants'],
    ['ai'],
    ['rooms'],
    ['oauth'],
    ['apps'],
    ['system'],
    ['views'],
  ],
  routers: [
    ['ports'],
    ['resource'],
    ['core'],
    ['verbs'],
    ['identity'],
    ['catalogue'],
    ['assistants'],
    ['ai'],
    ['rooms'],
    ['oauth'],
    ['apps'],
    ['mcp'],
    ['system'],
  ],
  facades: [
    ['http'],
    ['ai', 'json-api'],
    ['ai-req', 'openai', 'anthropic', 'legacy', 'web', 'client', 'realtime', 'oauth', 'mcp', 'docs'],
  ],
  server: [
    ['config'],
    ['net'],
    ['database'],
    ['stores'],
    ['login', 'ai', 'mcp', 'files', 'knowledge'],
    ['ops'],
    ['http'],
    ['realtime'],
    ['services'],
  ],
}
type Floor = keyof typeof floors

/** The floors, lowest first, and what each may not import beside the floors above it: packages, and floors that it must not pass by. */
const areas = '{identity,catalogue,assistants,ai,rooms,oauth,apps,mcp,system}'
const transports = ['fastify', 'fastify-plugin', '@fastify/*', 'citty', '@clack/*', 'undici', 'ws', 'ioredis']
const bounds: Record<string, readonly string[]> = {
  entities: ['**/../{routers,facades,server,cli,test}/**'],
  routers: ['**/../{facades,server,cli,test}/**', ...transports],
  facades: ['**/../{entities,server,cli,test}/**', `**/routers/${areas}/**`, '@mikro-orm/*', 'pg', 'ioredis'],
  server: ['**/../{cli,test}/**'],
  cli: ['**/../{facades,test}/**'],
}

/** Folders of a room that know the room, which does not know them. */
const inner: Record<string, readonly string[]> = {
  'routers/identity': ['sessions'],
  'routers/rooms': ['ai', 'conversations'],
}

/** Faces that share no code with those that ask a model, or with JSON:API, though they stand above them. */
const strangers: Record<string, readonly string[]> = {
  'facades/ai-req': ['json-api'],
  'facades/openai': ['json-api'],
  'facades/anthropic': ['json-api'],
  'facades/legacy': ['json-api'],
  'facades/web': ['ai', 'json-api'],
  'facades/client': ['ai', 'json-api'],
  'facades/realtime': ['ai', 'json-api'],
  'facades/oauth': ['ai', 'json-api'],
  'facades/mcp': ['ai', 'json-api'],
  'facades/docs': ['ai'],
}

/** A file may lie this deep in its room; the last depth stands for all that lie deeper. */
const DEPTHS = [1, 2, 3]

const rulesFor = (includes: readonly string[], group: readonly string[], message: string) => ({
  includes,
  linter: {
    rules: { style: { noRestrictedImports: { level: 'error', options: { patterns: [{ group, message }] } } } },
  },
})

function roomRules(floor: Floor, room: string, level: number) {
  const lines: readonly (readonly string[])[] = floors[floor]
  const hidden = lines.flatMap((line, at) => (at >= level ? line.filter((other) => other !== room) : []))
  const unknown = [...hidden, ...(strangers[`${floor}/${room}`] ?? [])]
  const higherAreas = floor === 'routers' ? hidden.filter((name) => floors.entities.flat().includes(name)) : []
  const tables = higherAreas.length > 0 && level > 3 ? [`**/entities/{${higherAreas.join(',')},}/**`] : []
  return DEPTHS.map((depth) => {
    const up = '../'.repeat(depth)
    const rooms = unknown.map((name) => `${up}${name}/**`)
    const own =
      depth < 3 ? (inner[`${floor}/${room}`] ?? []).map((name) => `${depth === 1 ? './' : '../'}${name}/**`) : []
    const includes = depth === 3 ? `${floor}/${room}/*/*/**` : `${floor}/${room}/${'*/'.repeat(depth - 1)}*`
    const group = [...(bounds[floor] ?? []), ...rooms, `${up}*.ts`, ...own, ...tables]
    return rulesFor([includes], group, `A room of ${floor}/ knows itself and the rooms below it: see arrows.ts.`)
  })
}

const rooms = Object.entries(bounds).flatMap(([floor, group]) => {
  const message = `Imports go one way: see arrows.ts for what ${floor}/ may know.`
  if (!(floor in floors)) return [rulesFor([`${floor}/**`], group, message)]
  const lines = floors[floor as Floor]
  const rooms =
    floor === 'facades'
      ? lines
          .flat()
          .map((room) => `./${room}/**`)
          .filter((room) => room !== './http/**')
      : []
  const inRooms = lines.flatMap((line, level) => line.flatMap((room) => roomRules(floor as Floor, room, level)))
  return [rulesFor([`${floor}/*.ts`], [...group, ...rooms], message), ...inRooms]
})

/** The front end of people runs in browsers, so it may not know these, beside the server. */
const strangersOfApp = [
  '**/../{entities,routers,server,cli,test}/**',
  '**/../{ai,ai-req,anthropic,docs,http,json-api,legacy,mcp,openai,realtime,pages}/**',
  '**/browser/**',
  '**/../{routes,main}.tsx',
]
/** The cryptography, where the pages before it leave the key, the path that they do not lead to, what is pure text, and a number. */
const known = [
  '!**/browser/crypto.ts',
  '!**/browser/crypto/own.ts',
  '!**/browser/keystore.ts',
  '!**/browser/sign-out-path.ts',
  '!**/identity/token-reference.ts',
  '!**/ports/csv.ts',
  '!**/ports/token-models.ts',
]
const subjects = '**/../{admin,assistants,chat,rooms,settings,share-page,shell,sign-in}/**'
const app = [
  rulesFor(
    ['facades/web/app/**'],
    [...strangersOfApp, ...known, subjects],
    'The front end knows the client and the cryptography; a subject knows what all share, and no other subject.',
  ),
  rulesFor(
    ['facades/web/app/*.tsx', 'facades/web/app/shell/**'],
    strangersOfApp,
    'The frame of the front end knows its subjects and what all share.',
  ),
]

const overrides = [...rooms, ...app]

const file = new URL('arrows.json', import.meta.url)
const written = `${JSON.stringify({ overrides })}\n`
if (process.argv.includes('--check')) {
  if ((await readFile(file, 'utf8').catch(() => '')) !== written) {
    process.stderr.write('arrows.json is older than arrows.ts: run `npm run arrows`.\n')
    process.exitCode = 1
  }
} else await writeFile(file, written)
