type Input = Record<string, unknown>

export interface AuditedCallInit {
  path: string
  isMutation: boolean
  /** Whether administrators call it, or the host. */
  isAdministrative: boolean
  /** The service does it by itself, and the log tells only of what it changes. */
  isAutomatic?: boolean
  input: unknown
}

/** A call that the audit log tells of, from its begin until it is written down. */
export class AuditedCall {
  readonly path: string
  readonly isAdministrative: boolean
  /** What it is done to, such as `user:5`. */
  subject: string | undefined
  /** Whether it is known who acts only once it is over, so that no transaction of it writes the entry. */
  readonly isSignIn: boolean
  readonly isAutomatic: boolean
  /** The rows that it writes are its change, as it brings them to what a file or a server says. */
  readonly shouldRecordRows: boolean
  #isWritten = false
  readonly #input: unknown
  #change: Input | undefined

  constructor({ path, isAdministrative, isAutomatic = false, input }: AuditedCallInit) {
    this.path = path
    this.isAdministrative = isAdministrative
    this.isAutomatic = isAutomatic
    this.shouldRecordRows = pathsThatRecordRows.includes(path)
    this.isSignIn = path.startsWith('sessions.')
    this.#input = isAdministrative ? input : undefined
  }

  setSubject(subject: string): this {
    this.subject = subject
    return this
  }

  /** Records this in place of the input. What is noted after an entry was written gets another one. */
  recordChange(change: Input): void {
    this.#change = { ...this.#change, ...change }
    this.#isWritten = false
  }

  /** There is something for an entry that none has yet. */
  get needsEntry(): boolean {
    return !this.#isWritten && (!this.isAutomatic || this.#change !== undefined)
  }

  /** Its transaction, if it has several the last one, has written the entry. */
  markWritten(): void {
    this.#isWritten = true
    this.#change = undefined
  }

  /** What changed, or what was asked for, without secrets, and without the person, who is the subject. */
  get change(): Input | undefined {
    if (this.#change) return redact(this.#change) as Input
    if (this.isAutomatic || typeof this.#input !== 'object' || this.#input === null) return undefined
    const { user: _, id: __, ifVersion: ___, ...input } = this.#input as Input
    return Object.keys(input).length > 0 ? { input: redact(input) } : undefined
  }
}

/** These bring rows to what a file says; the rows themselves tell what that changed. */
const syncPaths = ['extApps.sync', 'limits.sync', 'models.sync']
const pathsThatRecordRows = [...syncPaths, 'mcp.approve', 'mcp.sync']

/** Tells if the audit log has what the service does by itself at a start. */
export const isSyncCall = (path: string): boolean => syncPaths.includes(path)

const MAX_TEXT = 4096
const MAX_ITEMS = 100
const MAX_DEPTH = 6

const secretName =
  /(password|passkey|secret|token|key|credential|authorization|cookie|headers|env|hash|cipher(text)?|backup|code|image|avatar|logo|content|query|config)$/i

/** A copy without secrets, bytes and long texts. */
function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortenText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth === MAX_DEPTH || value instanceof Uint8Array) return '…'
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1))
  const members = Object.entries(value).slice(0, MAX_ITEMS)
  return Object.fromEntries(
    members.map(([name, item]) => [
      name,
      secretName.test(name) && hasValue(item) && typeof item !== 'boolean' ? 'changed' : redact(item, depth + 1),
    ]),
  )
}

const hasValue = (value: unknown) => value !== null && value !== undefined && value !== ''

/** An address may hold a password, or a key among its parameters. */
function shortenText(text: string): string {
  const url = /^[a-z]+:\/\//i.test(text) ? URL.parse(text) : null
  if (!url) return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  url.username = url.password = url.search = ''
  return url.href.slice(0, MAX_TEXT)
}
