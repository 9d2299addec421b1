import type { Model } from '../../shared/api/client.ts'
import { hasLabel, t } from '../../shared/text/labels.ts'
import { formatPrice } from '../catalogue/prices.tsx'
import { getRoleLabel } from '../people.ts'
import { memberLabels } from './act-texts.ts'

/** A changed member, with its values in words unless they are secret or look alike. */
export interface MemberChange {
  member: string
  values?: { before: string; after: string }
}

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The word that the log has in place of a secret. */
const SECRET = 'changed'

/** Lists the members whose values before and after are recorded. */
export function listChanges(act: string, change: Members | null): MemberChange[] {
  const { before, after } = change ?? {}
  if (!isObject(before) || !isObject(after)) return []
  const isPriceList = act === 'prices.import'
  const names = Object.keys({ ...before, ...after })
  return names.map((name) => {
    const member = isPriceList ? t('app.audit.priceOf', { name }) : describeMember(name)
    const kind = isPriceList ? 'pricing' : name
    const [from, to] = [describeValue(kind, before[name]), describeValue(kind, after[name])]
    const isShown = from !== undefined && to !== undefined && from !== to
    return isShown ? { member, values: { before: from, after: to } } : { member }
  })
}

const describeMember = (name: string): string => {
  const key = memberLabels[name]
  return key && hasLabel(key) ? t(key) : name
}

const MAX_TEXT = 80

/** Members whose values have words of their own. */
const describers: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  active: (value) => t(value === true ? 'app.audit.on' : 'app.audit.off'),
  pricing: describePricing,
  role: (value) => (value === 'user' || value === 'admin' ? getRoleLabel(value) : describePlain(value)),
}

/** Describes a value in a few words; undefined if it is secret. */
const describeValue = (member: string, value: unknown): string | undefined =>
  value === SECRET ? undefined : (describers[member] ?? describePlain)(value)

const isEmpty = (value: unknown) =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

function describePlain(value: unknown): string {
  if (typeof value === 'boolean') return t(value ? 'app.audit.yes' : 'app.audit.no')
  if (isEmpty(value)) return t('app.audit.nothing')
  const isList = Array.isArray(value) && value.every((item) => typeof item !== 'object')
  if (isList) return shorten(value.join(', '))
  return shorten(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

const shorten = (text: string) => {
  const characters = [...text]
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT).join('')}…` : text
}

const isCost = (value: unknown) => value === null || typeof value === 'number'

/** Returns true for prices as they are stored today. */
function isPricing(value: Members): value is Members & NonNullable<Model['pricing']> {
  const { ranges, free } = value
  if (free === true) return true
  const range: unknown = Array.isArray(ranges) ? ranges[0] : undefined
  return isObject(range) && isCost(range['inputCostPerToken']) && isCost(range['outputCostPerToken'])
}

/** Describes a price; undefined if its form is unknown, as in entries of earlier versions. */
function describePricing(value: unknown): string | undefined {
  if (value === null || value === undefined) return t('app.admin.priceUnknown')
  if (!isObject(value)) return undefined
  if (!isPricing(value)) return undefined
  try {
    return formatPrice({ pricing: value }) ?? t('app.admin.priceUnknown')
  } catch {
    // A currency that browsers do not know.
    return undefined
  }
}
