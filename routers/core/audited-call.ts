type Input = Record<string, unknown>

export interface AuditedCallInit {
  path: string
  isMutation: boolean
  /** True if only administrators or the host may call it. */
  isAdministrative: boolean
  /** True if the service makes the call on its own; the log then records only the changes. */
  isAutomatic?: boolean
  input: unknown
}

/** A call that appears in the audit log, from its start until its entry is written. */
export class AuditedCall {
  readonly path: string
  readonly isAdministrative: boolean
  /** The object of the call, such as `user:5`. */
  subject: string | undefined
  /** True for sign-ins: the actor is known only after the call, so no transaction of the call writes the entry. */
  readonly isSignIn: boolean
  readonly isAutomatic: boolean
  /** True if the written rows are recorded as the change, because the call copies them from a file or a tool server. */
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

  /** Records this in place of the input. Changes recorded after an entry was written get another entry. */
  recordChange(change: Input): void {
    this.#change = { ...this.#change, ...change }
    this.#isWritten = false
  }

  /** True if there is something that no entry contains yet. */
  get needsEntry(): boolean {
    return !this.#isWritten && (!this.isAutomatic || this.#change !== undefined)
  }

  /** Marks the entry as written; the last transaction of the call calls this. */
  markWritten(): void {
    this.#isWritten = true
    this.#change = undefined
  }

  /** The changes, or else the input, without secrets and without the person, who is the subject. */
  get change(): Input | undefined {
    if (this.#change) return redact(this.#change) as Input
    if (this.isAutomatic || typeof this.#input !== 'object' || this.#input === null) return undefined
    const { user: _, id: __, ifVersion: ___, ...input } = this.#input as Input
    return Object.keys(input).length > 0 ? { input: redact(input) } : undefined
  }
}

/** These calls copy rows from a file or a tool server, so the changed rows are recorded. */
const syncPaths = ['extApps.sync', 'limits.sync', 'models.sync']
const pathsThatRecordRows = [...syncPaths, 'mcp.approve', 'mcp.sync']

/** Returns true if the audit log records this call even when the service makes it on its own at startup. */
export const isSyncCall = (path: string): boolean => syncPaths.includes(path)

const MAX_TEXT = 4096
const MAX_ITEMS = 100
const MAX_DEPTH = 6

const secretName =
  /(password|passkey|secret|token|key|credential|authorization|cookie|headers|env|hash|cipher(text)?|backup|code|image|avatar|logo|content|query|config)$/i

/** Members that are numbers, although their names end as those of secrets do. */
const priceName = /CostPer\w*Token$/

/** Copies a value without secrets, bytes and long texts. */
function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return shortenText(value)
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth === MAX_DEPTH || value instanceof Uint8Array) return '…'
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redact(item, depth + 1))
  const members = Object.entries(value).slice(0, MAX_ITEMS)
  return Object.fromEntries(
    members.map(([name, item]) => [name, isSecret(name, item) ? 'changed' : redact(item, depth + 1)]),
  )
}

const isSecret = (name: string, item: unknown) =>
  secretName.test(name) &&
  hasValue(item) &&
  typeof item !== 'boolean' &&
  !(typeof item === 'number' && priceName.test(name))

const hasValue = (value: unknown) => value !== null && value !== undefined && value !== ''

/** Removes username, password and query from a URL, and shortens other texts. */
function shortenText(text: string): string {
  const url = /^[a-z]+:\/\//i.test(text) ? URL.parse(text) : null
  if (!url) return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  url.username = url.password = url.search = ''
  return url.href.slice(0, MAX_TEXT)
}
