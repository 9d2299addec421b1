import type { ComponentProps } from 'react'
import { SvcError } from '../../../client/index.ts'
import { InputError } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'

const MAX_HANDLE = 64

/** The name by which an assistant is asked. */
export const HandleField = (props: Omit<ComponentProps<typeof Field>, 'label'>) => (
  <Field
    label={t('app.assistants.handle')}
    hint={t('app.assistants.handleHint')}
    required
    minLength={2}
    maxLength={MAX_HANDLE}
    pattern="[a-z0-9](-?[a-z0-9])*"
    title={t('app.assistants.handleForm')}
    autoComplete="off"
    autoCapitalize="none"
    spellCheck={false}
    {...props}
  />
)

/** Makes a handle of a name: its letters and digits without marks, with hyphens between words. */
export const suggestHandle = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[äöü]/g, (umlaut) => ({ ä: 'ae', ö: 'oe', ü: 'ue' })[umlaut] ?? umlaut)
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_HANDLE)
    .replace(/^-|-$/g, '')

/** Makes the handle of a copy. */
export const suggestCopyHandle = (handle: string): string => `${handle}-2`.slice(-MAX_HANDLE).replace(/^-/, '')

/** Returns a function that says in the words of the page that a handle is taken, and passes on other errors. */
export const explainHandle =
  (handle: string) =>
  (error: unknown): never => {
    const isTaken = error instanceof SvcError && error.code === 'conflict' && error.message.includes(`'${handle}'`)
    throw isTaken ? new InputError(t('app.assistants.handleTaken', { handle })) : error
  }
