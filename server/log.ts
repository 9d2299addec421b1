import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino'

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

/** Lines of JSON on standard output. What could carry a secret or a person's words is blotted out wherever it turns up. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    redact: {
      // Wildcards would walk every line; nested objects are not logged, and errors go through `describe`.
      paths: secrets.map((name) => `["${name}"]`),
      censor: '[redacted]',
    },
    serializers: { error: describe, err: describe },
  }
  return destination ? pino(options, destination) : pino(options)
}

/** An error by its kind and place; its message only where it is ours or the system's. */
function describe(error: unknown): unknown {
  // A text is our own word; of anything else that is no error nobody knows what it holds.
  if (!(error instanceof Error)) return typeof error === 'string' ? error : { name: typeof error }
  const { name, code, stack, message } = error as Error & { code?: string }
  const frames = stack
    ?.replace(message, '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .slice(0, 8)
  return { name, code, message: safeMessage(name, message), frames }
}

/** A database's or a parser's message may quote a value. */
const safeMessage = (name: string, message: string) =>
  /^(Problem|TypeError|RangeError|ReferenceError|Error|OutboundError)$/.test(name) ? message.slice(0, 300) : undefined
