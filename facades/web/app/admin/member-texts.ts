import type { Member, MemberKind } from '../../admin-inputs.ts'
import { formatDateTime, formatNumber } from '../shared/text/formats.ts'
import { hasLabel, t } from '../shared/text/labels.ts'

/** Finds the label of a member by its name: that of the area, which means something else by it, or the common one. */
const findLabel = (area: string, name: string): string | undefined =>
  [`app.field.${area}.${name}`, `app.field.${name}`].find(hasLabel)

/** Writes a name as words: «Link days» for `linkDays`. */
const toWords = (name: string) =>
  name
    .replace(/^.*\./, '')
    .replace(/^./, (letter) => letter.toUpperCase())
    .replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** Returns the label of a member, or its name in words. */
export function getMemberLabel(name: string, area = ''): string {
  const label = findLabel(area, name)
  return label === undefined ? toWords(name) : t(label)
}

/** The hints for kinds whose form people cannot see. */
const kindHints: Partial<Record<MemberKind, string>> = { words: 'app.admin.wordsHint', lines: 'app.admin.linesHint' }

interface MemberTexts {
  label: string
  hint: string | undefined
  /** True if there is no label in the language of the page. */
  isDeclared: boolean
}

/** Returns the words for a member. Without a label, these are its name and the description that it is declared with. */
export function describeMember(area: string, name: string, { kind, description }: Member): MemberTexts {
  const isDeclared = findLabel(area, name) === undefined
  const hint = findLabel(area, `${name}.hint`) ?? kindHints[kind]
  return { label: getMemberLabel(name, area), hint: isDeclared ? description : hint && t(hint), isDeclared }
}

/** Returns the word for one of the choices of a member. */
export function getChoiceLabel(name: string, choice: string, area = ''): string {
  const label = findLabel(area, `${name}.${choice}`)
  return label === undefined ? choice : t(label)
}

/** Describes a value for people; an empty text if there is none. */
export function describeValue(name: string, kind: MemberKind, value: unknown, area = ''): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value))
    return value
      .map((each) => (kind === 'choices' ? getChoiceLabel(name, String(each), area) : String(each)))
      .join(', ')
  if (kind === 'choice') return getChoiceLabel(name, String(value), area)
  if (kind === 'time') return formatDateTime(String(value))
  if (kind === 'truth') return t(value === true ? 'app.audit.yes' : 'app.audit.no')
  return typeof value === 'number' ? formatNumber(value) : String(value)
}
