import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import type { Env } from '../config/settings.ts'
import type { Telemetry } from './telemetry.ts'

interface OpenedLog {
  log: Logger
  /** Telemetry, which also receives the log lines, if a collector is set. */
  telemetry?: Telemetry
}

/** Opens the log of the service, and telemetry if a collector is set. */
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
const secretNames = new Set(secrets)

/** Creates a log of JSON lines. Members that may have a secret or a person's words are redacted at every depth. */
export function createLog(level: string, destination: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    redact: { paths: secrets.map((name) => `["${name}"]`), censor: '[redacted]' },
    // Nested members are redacted here, because wildcard paths of pino would cost more than the line itself.
    formatters: { log: redactNested },
    serializers: { error: (error) => describeError(error), err: (error) => describeError(error) },
    mixin: (_details, _level, logger) => findWorkIds(logger === log),
  }
  const log = pino(options, destination)
  return log
}

/** Returns the ids of trace and request for a line, if a collector is set. The logger of a request adds the request id itself. */
function findWorkIds(isRootLogger: boolean): object {
  const { requestId, ...trace } = findCurrentSpan()?.ids ?? {}
  return isRootLogger && requestId !== undefined ? { ...trace, requestId } : trace
}

/** Returns whether the log is written for people: by the setting, or by default at a terminal. */
export const shouldPrettyPrint = (format: 'words' | 'json' | undefined, isTerminal: boolean): boolean =>
  format === undefined ? isTerminal : format === 'words'

/** Creates an output that formats JSON lines for people at a terminal. */
export async function createPrettyOutput(
  output: Pick<DestinationStream, 'write'>,
  colorize: boolean,
): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ colorize, singleLine: true, translateTime: 'SYS:HH:MM:ss' })
  return { write: (line) => output.write(pretty(summarizeRequest(JSON.parse(line)))) }
}

/** Replaces the members of a request line by one sentence. */
function summarizeRequest(line: Details): Details {
  if (line['msg'] !== 'request') return line
  const { method, route, status, ms, msg: _, ...others } = line
  return { ...others, msg: `${method} ${route ?? '(no route)'} ${status} in ${ms} ms` }
}

type Details = Record<string, unknown>

const redactNested = (details: Details): Details => mapValues(details, (_, value) => redact(value, 1))

const MAX_DEPTH = 8

/** Copies a value without secrets. Errors are left to the serializer. */
function redact(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error || 'toJSON' in value) return value
  if (depth === MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  return mapValues(value as Details, (name, inner) => (secretNames.has(name) ? '[redacted]' : redact(inner, depth + 1)))
}

function mapValues(details: Details, map: (name: string, value: unknown) => unknown): Details {
  const copy: Details = {}
  for (const name of Object.keys(details)) copy[name] = map(name, details[name])
  return copy
}

const MAX_CAUSES = 3

/** Describes an error by name, code, stack and causes; by its message only if it is ours or the system's. */
function describeError(error: unknown, depth = 0): unknown {
  // A thrown value that is no Error may be secret, for example the text of a provider.
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, code, stack, message, cause } = error as Error & { code?: string }
  const frames = stack
    ?.replace(message, '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8)
  const inner = cause !== undefined && depth < MAX_CAUSES ? { cause: describeError(cause, depth + 1) } : {}
  return { name, code, message: safeMessage(name, message), frames, ...inner }
}

/** Returns the message of known error classes; messages of databases and parsers may quote values. */
const safeMessage = (name: string, message: string) =>
  /^(Problem|TypeError|RangeError|ReferenceError|Error|OutboundError|AccountsError)$/.test(name)
    ? message.slice(0, 300)
    : undefined
