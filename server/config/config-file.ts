import { readFile } from 'node:fs/promises'
import { type Document, isAlias, isPair, isSeq, LineCounter, type Node, type Pair, parseDocument, visit } from 'yaml'
import type { z } from 'zod'
import { type AppsFile, appsFile } from '../../routers/apps/sync-apps.ts'
import { type LimitsConfig, limitsConfig } from '../../routers/ports/ai/limits-config.ts'

/** Reads and validates a YAML or JSON file, and substitutes `${NAME}` from the environment; throws one error with line and path of each problem. */
export async function readConfigFile<S extends z.ZodType>(
  file: string,
  schema: S,
  env: Record<string, string | undefined>,
): Promise<z.output<S>> {
  const { document, lines } = await readDocument(file)
  const problems = [...document.errors.map(({ message }) => `  ${message}`), ...findAliasProblems(document, lines)]
  if (problems.length > 0) throw new ConfigFileError(file, problems)
  const missing = new Set<string>()
  const parsed = schema.safeParse(substituteVariables(document.toJS(), env, missing))
  const findLine = (path: readonly PropertyKey[]) => findLineAt(document, lines, path)
  const issues = parsed.success
    ? []
    : parsed.error.issues.map(
        ({ path, message }) => `  line ${findLine(path)}, ${path.join('.') || 'the file'}: ${message}`,
      )
  const unset = [...missing].map((name) => `  \${${name}} is not set in the environment`)
  if (!parsed.success || unset.length > 0) throw new ConfigFileError(file, [...unset, ...issues])
  return parsed.data
}

/** Reads a valid configuration file; returns its raw values and a function that finds the line of a path. */
export async function locateInConfigFile(file: string) {
  const { document, lines } = await readDocument(file)
  return {
    value: document.toJS() as unknown,
    findLine: (path: readonly PropertyKey[]) => findLineAt(document, lines, path),
  }
}

async function readDocument(file: string) {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigFileError(file, [`  ${error.message}`])
  })
  const lines = new LineCounter()
  return { document: parseDocument(text, { lineCounter: lines }), lines }
}

const findLineAt = (document: Document, lines: LineCounter, path: readonly PropertyKey[]) =>
  lines.linePos(findOffset(document, path)).line

class ConfigFileError extends Error {
  override name = 'ConfigFileError'

  constructor(file: string, problems: readonly string[]) {
    super(`${file} is not valid.\n${problems.join('\n')}`)
  }
}

/** Substitutes `${NAME}` by variables of the environment in all strings; collects the names of missing variables. */
function substituteVariables(value: unknown, env: Record<string, string | undefined>, missing: Set<string>): unknown {
  if (typeof value === 'string') {
    return value.replace(/\$\{(\w+)\}/g, (_, name: string) => {
      if (env[name] === undefined) missing.add(name)
      return env[name] ?? `\${${name}}`
    })
  }
  if (Array.isArray(value)) return value.map((item) => substituteVariables(item, env, missing))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, substituteVariables(item, env, missing)]))
}

/** Returns the offset of the node at a path, or of its nearest existing parent. */
function findOffset(document: Document, path: readonly PropertyKey[]): number {
  const node = document.getIn(path as (string | number)[], true) as { range?: [number, number, number] } | undefined
  if (node?.range) return node.range[0]
  return path.length > 0 ? findOffset(document, path.slice(0, -1)) : 0
}

type Step = Document | Node | Pair

/** Finds invalid aliases of a document, with line and path: those without an earlier anchor, and those inside their own anchor. */
function findAliasProblems(document: Document, lines: LineCounter): string[] {
  const anchors = new Map<string, Node>()
  const problems: string[] = []
  visit(document, {
    Node(_key, node, above) {
      if (!isAlias(node)) {
        if (node.anchor) anchors.set(node.anchor, node)
        return
      }
      const target = anchors.get(node.source)
      if (target && !above.includes(target)) return
      const location = `line ${findLine(node, lines)}, ${readPath([...above, node])}`
      const message = target ? 'stands in what it names' : `has no anchor &${node.source} before it`
      problems.push(`  ${location}: the alias *${node.source} ${message}`)
    },
  })
  return problems
}

const findLine = ({ range }: Node, lines: LineCounter) => lines.linePos(range?.[0] ?? 0).line

const readPath = (steps: readonly Step[]) =>
  steps
    .flatMap((step, n) => (isPair(step) ? [`${step.key}`] : isSeq(step) ? [`${step.items.indexOf(steps[n + 1])}`] : []))
    .join('.') || 'the file'

/** Reads the file of usage limits; without a file only the limits of administrators apply. */
export async function readLimits(
  file: string | undefined,
  env: Record<string, string | undefined>,
): Promise<LimitsConfig> {
  return file ? readConfigFile(file, limitsConfig, env) : limitsConfig.parse({ limits: [] })
}

/** Reads the file of external apps. */
export const readExtApps = (file: string, env: Record<string, string | undefined>): Promise<AppsFile> =>
  readConfigFile(file, appsFile, env)
