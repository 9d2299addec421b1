import { parseArgs } from 'node:util'
import { report } from './report.ts'
import { failsMust, runSuite } from './suite.ts'
import type { TargetOptions } from './target.ts'

const usage = `Holds a JSON:API 1.1 server to its obligations.

  npm run conformance -- --url URL [--token TOKEN] [--openapi URL] [--types a,b] [--write] [--json]

  --url      where the resource types are, such as http://localhost:3000/api/svc/v1
  --token    sent as a bearer token
  --openapi  where the server describes itself; {url}/openapi.json unless said otherwise
  --types    look at these types only
  --write    resources may be made, changed and removed
  --json     the results as JSON
`

interface Given extends TargetOptions {
  json: boolean
}

function readArguments(): Given | undefined {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    const { values } = parseArgs({
      options: { url: text, token: text, openapi: text, types: text, write: flag, json: flag },
    })
    if (!values.url || !URL.canParse(values.url)) return undefined
    return { ...values, url: values.url, types: values.types?.split(',').filter(Boolean) }
  } catch {
    return undefined
  }
}

async function main(): Promise<number> {
  const given = readArguments()
  if (!given) {
    process.stderr.write(usage)
    return 2
  }
  const results = await runSuite(given)
  process.stdout.write(given.json ? `${JSON.stringify(results, null, 2)}\n` : report(results))
  return results.some(failsMust) ? 1 : 0
}

process.exitCode = await main().catch((cause: unknown) => {
  process.stderr.write(`${cause instanceof Error ? cause.message : cause}\n`)
  return 1
})
