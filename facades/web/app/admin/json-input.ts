import { InputError } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { readText } from './action-dialog.tsx'

/** Reads a field of JSON, such as parameters for a provider; null where it is empty. */
export function readJson(form: FormData, name: string): unknown {
  const text = readText(form, name)
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InputError(t('app.admin.badJson', { reason: error instanceof Error ? error.message : '' }))
  }
}

export const jsonText = (value: unknown): string =>
  value === null || value === undefined ? '' : JSON.stringify(value, null, 2)

/** A number, or null where a field is empty. */
export function readNumber(form: FormData, name: string): number | null {
  const text = readText(form, name)
  return text === '' ? null : Number(text)
}
