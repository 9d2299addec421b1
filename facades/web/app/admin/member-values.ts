import type { Member, MemberKind } from '../../admin-inputs.ts'
import { InputError } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'

/** Reads a field and trims its text. */
export const readText = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

const splitText = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Reads words that commas or line breaks separate. */
const readWords = (form: FormData, name: string): string[] => splitText(readText(form, name), /[,\n]/)

/** Reads a field with JSON; undefined if it is empty. */
function readJson(form: FormData, name: string): unknown {
  const text = readText(form, name)
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InputError(t('app.admin.badJson', { reason: error instanceof Error ? error.message : '' }))
  }
}

/** Reads a field with a number; null if it is empty. */
export function readNumber(form: FormData, name: string): number | null {
  const text = readText(form, name)
  return text === '' ? null : Number(text)
}

const formatJson = (value: unknown): string =>
  value === null || value === undefined ? '' : JSON.stringify(value, null, 2)

/** Formats a time for a field, which shows minutes in the time zone of the browser. */
function formatLocalTime(value: unknown): string {
  const time = new Date(String(value))
  time.setMinutes(time.getMinutes() - time.getTimezoneOffset())
  return time.toISOString().slice(0, 16)
}

const formatText = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
const formatList = (separator: string) => (value: unknown) => (Array.isArray(value) ? value.join(separator) : '')

const formats: Partial<Record<MemberKind, (value: unknown) => string>> = {
  time: (value) => (value === null || value === undefined ? '' : formatLocalTime(value)),
  words: formatList(', '),
  lines: formatList('\n'),
  json: formatJson,
  // Secrets are never shown.
  secret: () => '',
}

/** Returns the text of a field with a value. */
export const formatMember = (kind: MemberKind, value: unknown): string => (formats[kind] ?? formatText)(value)

/** Reads the value of a field; undefined if it is empty and the value has no other form for that. */
type Reader = (form: FormData, name: string, member: Member) => unknown

const readIfFilled =
  (parse: (text: string) => unknown): Reader =>
  (form, name, { isNullable }) => {
    const text = readText(form, name)
    if (text !== '') return parse(text)
    return isNullable ? null : undefined
  }

const readList =
  (list: (form: FormData, name: string) => unknown[]): Reader =>
  (form, name, { minLength = 0 }) => {
    const values = list(form, name)
    return values.length < minLength ? undefined : values
  }

const readLine = readIfFilled((text) => text)
const readers: Record<MemberKind, Reader> = {
  text: readLine,
  'long text': readLine,
  address: readLine,
  // An empty field keeps the secret.
  secret: (form, name) => readText(form, name) || undefined,
  choice: readLine,
  time: readIfFilled((text) => new Date(text).toISOString()),
  number: readIfFilled(Number),
  numbers: (form, name, { members = {} }) =>
    readEach(Object.entries(members), (member, each) => readers.number(form, `${name}.${member}`, each)),
  truth: (form, name) => form.has(name),
  choices: readList((form, name) => form.getAll(name)),
  words: readList(readWords),
  lines: readList((form, name) => splitText(readText(form, name), /\n/)),
  texts: (form, name, { choices = [], isRequired }) => {
    const texts = choices.map((language) => [language, readText(form, `${name}.${language}`)] as const)
    const written = texts.filter(([, text]) => text !== '')
    return written.length > 0 || isRequired ? Object.fromEntries(written) : undefined
  },
  json: (form, name, { isNullable }) => readJson(form, name) ?? (isNullable ? null : {}),
}

/** Builds an object from values by name, without those that are undefined. */
const readEach = (members: readonly (readonly [string, Member])[], read: (name: string, member: Member) => unknown) =>
  Object.fromEntries(
    members.map(([name, member]) => [name, read(name, member)]).filter(([, value]) => value !== undefined),
  )

/** The field that names a member of the form; a disabled fieldset leaves it out. */
export const SHOWN = 'shown'

/** Reads the members whose fields are enabled. A text that was not changed keeps the value that it was made from. */
export const readMembers = (
  form: FormData,
  members: readonly (readonly [string, Member])[],
  record: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => {
  const shown = new Set(form.getAll(SHOWN))
  return readEach(
    members.filter(([name]) => shown.has(name)),
    (name, member) => {
      const isKept = member.kind === 'time' && formatMember('time', record[name]) === readText(form, name)
      return isKept ? record[name] : readers[member.kind](form, name, member)
    },
  )
}
