import { parseArgs } from 'node:util'
import { report } from './report.ts'
import { readServerDescription } from './server-description.ts'
import { failsMust, runSuite } from './suite.ts'
import type { TargetOptions } from './target.ts'

const usage = `Holds a JSON:API 1.1 server to its obligations.

  npm run conformance -- --url URL [--token TOKEN] [--openapi URL] [--types a,b] [--write] [--json]
  npm run conformance -- --describe FILE [--url URL] [--write] ...

  --url       where the resource types are, such as http://localhost:3000/api/svc/v1
  --describe  a file that describes the server: see test/conformance/README.md
  --token     sent as a bearer token
  --openapi   where the server describes itself; {url}/openapi.json unless said otherwise
  --types     look at these types only
  --write     resources may be made, changed and removed
  --json      the results as JSON
`

interface Given extends TargetOptions {
  json: boolean
}

class UsageError extends Error {}

function parseArguments() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({
      options: { url: text, describe: text, token: text, openapi: text, types: text, write: flag, json: flag },
    }).values
  } catch {
    throw new UsageError()
  }
}

async function readArguments(): Promise<Given> {
  const { describe: file, ...values } = parseArguments()
  const description = file === undefined ? undefined : await readServerDescription(file)
  const url = values.url ?? description?.url
  if (!url || !URL.canParse(url)) throw new UsageError()
  const types = values.types?.split(',').filter(Boolean)
  return { ...values, url, types, description, headers: description?.headers, onLeftBehind }
}

const onLeftBehind = (urls: string[]) =>
  process.stderr.write(`There now and not before the tests:\n${urls.join('\n')}\n`)

async function main(): Promise<number> {
  const given = await readArguments()
  const results = await runSuite(given)
  process.stdout.write(given.json ? `${JSON.stringify(results, null, 2)}\n` : report(results))
  return results.some(failsMust) ? 1 : 0
}

process.exitCode = await main().catch((cause: unknown) => {
  const isUsage = cause instanceof UsageError
  process.stderr.write(isUsage ? usage : `${cause instanceof Error ? cause.message : cause}\n`)
  return isUsage ? 2 : 1
})
