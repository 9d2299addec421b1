import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import type { Env } from '../config/settings.ts'
import type { Telemetry } from './telemetry.ts'

interface OpenedLog {
  log: Logger
  /** Where a collector is set, which the lines go to as well. */
  telemetry?: Telemetry
}

/** The log of a service. */
export async function openLog(env: Env, destination: DestinationStream): Promise<OpenedLog> {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) return { log: createLog(env.LOG_LEVEL, destination) }
  const { createTelemetry } = await import('./telemetry.ts')
  const telemetry = createTelemetry(env)
  const log = createLog(env.LOG_LEVEL, telemetry.copyLines(destination))
  telemetry.reportTo(log)
  return { log, telemetry }
}

const secrets = [
  'authorization',
  'cookie',
  'set-cookie',
  'token',
  'apiKey',
  'password',
  'secret',
  'prompt',
  'messages',
  'text',
  'content',
  'answer',
]
const isSecret = new Set(secrets)

/** Lines of JSON. What could carry a secret or a person's words is blotted out wherever it turns up. */
export function createLog(level: string, destination: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    redact: { paths: secrets.map((name) => `["${name}"]`), censor: '[redacted]' },
    // Below the top, where redaction by wildcards would cost more than the line.
    formatters: { log: blotInner },
    serializers: { error: (error) => describe(error), err: (error) => describe(error) },
    mixin: (_details, _level, logger) => nameWork(logger === log),
  }
  const log = pino(options, destination)
  return log
}

/** The trace and the request that a line is of, where a collector is set; the logger of a request names the request itself. */
function nameWork(isForAll: boolean): object {
  const { requestId, ...trace } = findCurrentSpan()?.ids ?? {}
  return isForAll && requestId !== undefined ? { ...trace, requestId } : trace
}

export const usesWords = (format: 'words' | 'json' | undefined, isTerminal: boolean): boolean =>
  format === undefined ? isTerminal : format === 'words'

/** The same lines in words, for whoever reads them at a terminal. */
export async function inWords(output: Pick<DestinationStream, 'write'>, colorize: boolean): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize, singleLine: true, translateTime: 'SYS:HH:MM:ss' })
  return { write: (line) => output.write(pretty(withSentence(JSON.parse(line)))) }
}

/** What a request was and how it went are the words of its line, and need no names. */
function withSentence(line: Details): Details {
  if (line['msg'] !== 'request') return line
  const { method, route, status, ms, msg: _, ...others } = line
  return { ...others, msg: `${method} ${route ?? '(no route)'} ${status} in ${ms} ms` }
}

type Details = Record<string, unknown>

const blotInner = (details: Details): Details => mapped(details, (_, value) => blot(value, 1))

const DEEPEST = 8

/** A copy without what must not be read. Errors stay as they are: they have a description of their own. */
function blot(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || 'toJSON' in value) return value
  if (depth === DEEPEST) return '[too deep]'
  if (Array.isArray(value)) return value.map((item) => blot(item, depth + 1))
  return mapped(value as Details, (name, inner) => (isSecret.has(name) ? '[redacted]' : blot(inner, depth + 1)))
}

function mapped(details: Details, map: (name: string, value: unknown) => unknown): Details {
  const copy: Details = {}
  for (const name of Object.keys(details)) copy[name] = map(name, details[name])
  return copy
}

const MAX_CAUSES = 3

/** An error by its kind and place, with its causes; its message only where it is ours or the system's. */
function describe(error: unknown, depth = 0): unknown {
  // A value that is no Error may hold something secret, a text too: a provider's own words, for one.
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, code, stack, message, cause } = error as Error & { code?: string }
  const frames = stack
    ?.replace(message, '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8)
  const inner = cause !== undefined && depth < MAX_CAUSES ? { cause: describe(cause, depth + 1) } : {}
  return { name, code, message: safeMessage(name, message), frames, ...inner }
}

/** A database's or a parser's message may quote a value. */
const safeMessage = (name: string, message: string) =>
  /^(Problem|TypeError|RangeError|ReferenceError|Error|OutboundError|AccountsError)$/.test(name)
    ? message.slice(0, 300)
    : undefined
